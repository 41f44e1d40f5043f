# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The demo server (tests/rig/keydraw-server): started, listened to, told what to do."""
import json
import queue
import subprocess
import threading
import time

from .picture import read_ppm
from .scope import Failure, run
from .viewers import Target


class KeydrawServer:
    def __init__(self, scope, program, *options, env=None):
        self.process = scope.start([program] + [str(option) for option in options],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self.events = queue.Queue()
        self.seen = []
        threading.Thread(target=self._read, daemon=True).start()
        self.listening = self.wait_event('listening')
        self.port = self.listening.get('port')
        self.tls_port = self.listening.get('tls_port')

    def _read(self):
        for line in self.process.popen.stdout:
            try:
                self.events.put(json.loads(line))
            except ValueError:
                self.events.put({'event': 'unreadable', 'line': repr(line)})
        self.events.put(None)

    def wait_event(self, name, timeout=30.0, **fields):
        """The next event of that name and with those fields; the others are kept in seen."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                event = self.events.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                raise Failure('keydraw-server: no event "%s" within %.0f s; seen: %s'
                              % (name, timeout, self.seen[-5:])) from None
            if event is None:
                self.events.put(None)
                raise Failure('keydraw-server ended: ' + self.process.errors())
            self.seen.append(event)
            if event.get('event') == name and all(event.get(key) == value
                                                  for key, value in fields.items()):
                return event

    def command(self, line):
        self.process.popen.stdin.write(line.encode() + b'\n')
        self.process.popen.stdin.flush()

    def target(self, **more):
        return Target(port=self.port, **more)

    def stop(self):
        return self.process.stop()


def dump_frame(scope, program, number, *options):
    """The picture the server shows when frozen at that frame, as the server says."""
    path = scope.path('frame.ppm')
    run([program] + [str(option) for option in options] + ['--dump-frame', str(number), path])
    return read_ppm(path)
