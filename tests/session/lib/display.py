# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""An X server without a screen, on a display of its own choice."""
import os
import select
import shutil
import signal
import socket
import struct

from .picture import read_framebuffer
from .scope import Failure, skip, wait_for
from .spice import read_exactly


def warp_pointer(display, x, y):
    """Move the pointer. Returns the connection, whose end would be the server's cue to move on."""
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(30)
    sock.connect('/tmp/.X11-unix/X' + display.lstrip(':'))
    sock.sendall(struct.pack('<BxHHHH2x', ord('l'), 11, 0, 0, 0))
    status, length = struct.unpack('<BxHHH', read_exactly(sock, 8))[0::3]
    body = read_exactly(sock, length * 4)
    if status != 1:
        raise Failure('%s refuses connections: %r' % (display, body))
    vendor_length, = struct.unpack_from('<H', body, 16)
    formats = body[21]
    root, = struct.unpack_from('<I', body, 32 + (vendor_length + 3) // 4 * 4 + formats * 8)
    # WarpPointer to the root window, then GetInputFocus: its reply says that it is done.
    sock.sendall(struct.pack('<BxHIIhhHHhh', 41, 6, 0, root, 0, 0, 0, 0, x, y)
                 + struct.pack('<BxH', 43, 1))
    read_exactly(sock, 32)
    return sock


class Display:
    """Xvfb with its frame buffer in a file: a screenshot is a read, whatever the viewer does."""

    def __init__(self, scope, width=1600, height=1200):
        if not shutil.which('Xvfb'):
            skip('Xvfb is not installed')
        fbdir = scope.path('fb')
        os.mkdir(fbdir)
        read_end, write_end = os.pipe()
        try:
            # TERM, so that it removes its lock and socket under /tmp also when the test dies.
            self.process = scope.start(
                ['Xvfb', '-displayfd', str(write_end), '-screen', '0',
                 '%dx%dx24' % (width, height), '-nolisten', 'tcp', '-noreset', '-fbdir', fbdir],
                pass_fds=(write_end,), death_signal=signal.SIGTERM)
            os.close(write_end)
            write_end = -1
            text = b''
            while not text.endswith(b'\n'):
                if not select.select([read_end], [], [], 60)[0]:
                    raise Failure('Xvfb named no display within 60 s: '
                                  + self.process.errors())
                more = os.read(read_end, 64)
                if not more:
                    raise Failure('Xvfb ended: ' + self.process.errors())
                text += more
        finally:
            os.close(read_end)
            if write_end >= 0:
                os.close(write_end)
        self.name = ':' + text.decode().strip()
        self.framebuffer = os.path.join(fbdir, 'Xvfb_screen0')
        # The pointer is drawn into the frame buffer: out of the windows' way with it.
        self._hold = warp_pointer(self.name, width - 1, height - 1)
        scope.defer(self._hold.close)

    def screenshot(self):
        return read_framebuffer(self.framebuffer)

    def wait_for_picture(self, picture, process=None, timeout=60.0):
        """Where on the screen the picture is, once all its pixels are."""
        def probe():
            if process is not None and process.status() is not None:
                raise Failure('%s ended with %s before its picture was complete:\n%s' % (
                    process.name, process.status(), process.errors()))
            return picture.find_in(self.screenshot())
        return wait_for(probe, 'exact picture of %dx%d on the screen'
                        % (picture.width, picture.height), timeout, 0.1)

    def wait_without(self, picture):
        """Until the picture of an ended viewer is off the screen."""
        wait_for(lambda: picture.find_in(self.screenshot()) is None, 'screen without the picture')
