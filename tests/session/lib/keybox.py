# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""From a key press to a viewer's pixels: XTEST presses, Xvfb's frame buffer shows.

The frame buffer is a file that is mapped here, so looking costs the X server nothing. A press
counts as shown when the demo guest's key box has its new colour in all its 32-pixel columns.
"""
import ctypes
import mmap
import struct
import time

from .keydraw import dump_frame
from .scope import Failure, skip, wait_for

BOX = 96        # pixels, the box's width and height
BOX_AT = 64, 176  # its place in the guest's picture of 1280x800
KEYCODE = 38    # "a" on an evdev keyboard
LOOK_S = 0.0001
DISPLAY_CHANNEL, INPUTS_CHANNEL = 2, 3


class Screen:
    def __init__(self, path):
        with open(path, 'rb') as file:
            self.map = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        words = struct.unpack_from('>25I', self.map)
        self.start, self.stride = words[0] + words[19] * 12, words[12]
        self.width, self.height = words[4], words[5]

    def row(self, x, y, width):
        at = self.start + y * self.stride + x * 4
        return self.map[at:at + width * 4]


class Keyboard:
    def __init__(self, display):
        try:
            self.x11, self.xtst = ctypes.CDLL('libX11.so.6'), ctypes.CDLL('libXtst.so.6')
        except OSError as error:
            skip(str(error))
        pointer, number = ctypes.c_void_p, ctypes.c_int
        self.x11.XOpenDisplay.restype = pointer
        self.x11.XFlush.argtypes = [pointer]
        self.x11.XSync.argtypes = [pointer, number]
        self.x11.XCloseDisplay.argtypes = [pointer]
        self.xtst.XTestFakeKeyEvent.argtypes = [pointer, ctypes.c_uint, number, ctypes.c_ulong]
        self.xtst.XTestFakeMotionEvent.argtypes = [pointer, number, number, number, ctypes.c_ulong]
        self.display = self.x11.XOpenDisplay(display.encode())
        if not self.display:
            raise Failure('cannot open display ' + display)

    def stroke(self):
        """Down and up at once: spice-gtk holds a key that stays down back for 100 ms."""
        self.xtst.XTestFakeKeyEvent(self.display, KEYCODE, 1, 0)
        self.xtst.XTestFakeKeyEvent(self.display, KEYCODE, 0, 0)
        self.x11.XFlush(self.display)

    def point(self, x, y):
        """Without a window manager the keyboard is where the pointer is."""
        self.xtst.XTestFakeMotionEvent(self.display, -1, x, y, 0)
        self.x11.XSync(self.display, 0)

    def close(self):
        self.x11.XCloseDisplay(self.display)


def box_colours(scope, program):
    """The box's two colours as the X server stores them: B, G, R, x."""
    out = []
    for keys in (0, 1):
        picture = dump_frame(scope, program, 0, '--activity', 'idle', '--keys', keys)
        x, y = BOX_AT
        red, green, blue = picture.row(y + BOX - 1)[x * 3:x * 3 + 3]
        out.append(bytes((blue, green, red, 0)))
    return out


def wait_connected(server, timeout=60):
    """Until a viewer has the two channels that a key press needs."""
    missing = {DISPLAY_CHANNEL, INPUTS_CHANNEL}
    while missing:
        missing.discard(server.wait_event('channel-connected', timeout)['type'])


class KeyBox:
    """One viewer's key box on the screen."""

    def __init__(self, display, server, colours):
        self.screen = Screen(display.framebuffer)
        self.server, self.colours = server, colours
        self.keyboard = Keyboard(display.name)
        self.x, self.y = wait_for(self._find, 'key box on the screen', 60, 0.1)
        self.keyboard.point(self.x + BOX // 2, self.y + BOX // 2)

    def _find(self):
        """Its top left corner: found by its last row, below which the colour ends."""
        for y in range(self.screen.height - 1):
            row = self.screen.row(0, y, self.screen.width)
            for colour in self.colours:
                x = row.find(colour * BOX)
                while x >= 0 and x % 4:
                    x = row.find(colour * BOX, x + 1)
                if x >= 0 and self.screen.row(x // 4, y + 1, BOX) != row[x:x + BOX * 4]:
                    return x // 4, y + 1 - BOX
        return None

    def _colour(self):
        """The box's colour if it is the same in all columns near its lower edge, else None."""
        row = self.screen.row(self.x, self.y + BOX - 2, BOX)
        return row[:4] if row == row[:4] * BOX else None

    def press(self, timeout=10.0):
        """Milliseconds of one press: (to its pixels, the same less the guest's wait for its
        refresh timer, from the draw in the server to the pixels)."""
        before = wait_for(self._colour, 'whole key box', timeout, LOOK_S)
        start = time.clock_gettime(time.CLOCK_MONOTONIC)
        self.keyboard.stroke()
        while True:
            colour = self._colour()
            seen = time.clock_gettime(time.CLOCK_MONOTONIC)
            if colour is not None and colour != before:
                break
            if seen > start + timeout:
                raise Failure('a key press was not shown within %.0f s' % timeout)
            time.sleep(LOOK_S)
        arrived = self.server.wait_event('key', timeout)
        drawn = self.server.wait_event('key-drawn', timeout, number=arrived['number'])
        tick_ms = (drawn['time_us'] - arrived['time_us']) / 1e3
        whole_ms = (seen - start) * 1e3
        return whole_ms, whole_ms - tick_ms, seen * 1e3 - drawn['time_us'] / 1e3

    def close(self):
        self.keyboard.close()


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))]
