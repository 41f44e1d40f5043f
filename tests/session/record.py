#!/usr/bin/env python3
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Record a session of remote-viewer with the demo server, for the synthetic server to replay.

    record.py KEYDRAW-SERVER OUT [--freeze-at N] [server options...]

The picture stored with it is the server's own (--dump-frame); the viewer must have shown it,
pixel for pixel, before the recording is written. data/session.rec was made with

    record.py BUILD/tests/rig/keydraw-server data/session.rec
"""
import argparse
import os
import socket
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib.display import Display  # noqa: E402
from lib.keydraw import KeydrawServer, dump_frame  # noqa: E402
from lib.recorder import Recorder  # noqa: E402
from lib.scope import Scope, check  # noqa: E402
from lib.viewers import RemoteViewer, Target  # noqa: E402

SCENE = ['--size', '320x240', '--area', '160x96+150+140', '--box', '8,140', '--activity',
         'scroll', '--draws', 'columns']


def main():
    parser = argparse.ArgumentParser(description='record a session for synthserver.py')
    parser.add_argument('server')
    parser.add_argument('out')
    parser.add_argument('--freeze-at', type=int, default=14)
    args, options = parser.parse_known_args()
    options = options or SCENE
    program = os.path.abspath(args.server)
    with Scope() as scope:
        picture = dump_frame(scope, program, args.freeze_at, *options)
        server = KeydrawServer(scope, program, '--port', 0, '--freeze-at', args.freeze_at,
                               *options)
        display = Display(scope)
        recorder = Recorder(scope, lambda: socket.create_connection(('127.0.0.1', server.port)))
        viewer = RemoteViewer().start(scope, Target(port=recorder.port), display)
        display.wait_for_picture(picture, viewer)
        viewer.stop()
        server.stop()
        check(not recorder.errors, 'recorder: %s' % recorder.errors)
        recorder.recording.picture = picture
        size = recorder.recording.save(args.out)
        print('%s: %d bytes, messages %s' % (args.out, size, recorder.counts()))


if __name__ == '__main__':
    main()
