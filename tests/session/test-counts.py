#!/usr/bin/env python3
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The log counts what passed: a relay on the way, which knows nothing of the add-on, counts too.

remote-viewer watches a busy demo server for ten seconds through tests/rig/relay --frames. The
activity is frozen before the server ends the session, so that no message is cut in the middle,
and a viewer reads to the end. Messages, bytes and ACKs of each channel must then be equal.
"""
import json
import os
import re
import socket
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import spice  # noqa: E402
from lib.cases import arguments, run_cases  # noqa: E402
from lib.display import Display  # noqa: E402
from lib.keydraw import KeydrawServer  # noqa: E402
from lib.scope import Scope, check  # noqa: E402
from lib.statslog import StatsLog, wait_for_log  # noqa: E402
from lib.viewers import Addon, RemoteViewer, Target  # noqa: E402

WINDOW = 20
SECONDS = 10


def link_phase_bytes(port, kind):
    """Bytes the server sends on a channel before its first message: asked of the server itself.
    A link of an unknown session gets its reply and is refused only afterwards."""
    with socket.create_connection(('127.0.0.1', port), 30) as sock:
        words = spice.words_of(spice.CAP_AUTH_SELECTION, spice.CAP_AUTH_SPICE,
                               spice.CAP_MINI_HEADER)
        body = spice.MESS.pack(0x7fffffff, kind, 0, len(words), 0, 18)
        body += struct.pack('<%dI' % len(words), *words)
        sock.sendall(spice.HEADER.pack(spice.MAGIC, 2, 2, len(body)) + body)
        head = spice.read_exactly(sock, 16)
        size = spice.HEADER.unpack(head)[3]
        reply = head + spice.read_exactly(sock, size)
        error = spice.parse_link_reply(reply)[0]
        check(error == spice.ERR_OK, 'link of channel %d refused with %d' % (kind, error))
        return 16 + size + 4  # and the link result


def one_session(scope, roots, display, activity, more=()):
    server = KeydrawServer(scope, roots.need_rig('keydraw-server'), '--port', 0, '--activity',
                           activity, *more)
    setup = {'display': link_phase_bytes(server.port, spice.DISPLAY),
             'cursor': link_phase_bytes(server.port, spice.CURSOR)}
    frames = scope.path('frames.json')
    relay = scope.start([roots.need_rig('relay'), '--listen', '127.0.0.1:0', '--to',
                         '127.0.0.1:%d' % server.port, '--frames', frames],
                        stdout=subprocess.PIPE)
    said = relay.popen.stdout.readline().decode()
    match = re.match(r'listening 127\.0\.0\.1:(\d+)', said)
    check(match, 'the relay says "%s": %s' % (said, relay.errors()))
    addon = Addon(scope, roots.module)
    viewer = RemoteViewer().start(scope, Target(port=int(match[1])), display, addon)
    server.wait_event('started')
    wait_for_log(addon.log, lambda log: len(log.of('display:0')) >= SECONDS,
                 '%d rows of display:0' % SECONDS, 60)
    server.command('freeze')
    server.wait_event('frozen')
    # What was queued for the viewer before the freeze is through when a row counts no draw.
    wait_for_log(addon.log, lambda log: float(log.of('display:0')[-1]['messages'] or 0) < 2,
                 'quiet second')
    server.command('quit')
    server.process.wait()

    relay_channels = relay_counts(relay, frames)
    names = ['display:0'] + (['cursor:0'] if 'cursor:0' in StatsLog(addon.log).channels() else [])
    for name in names:
        compare(addon.log, name, relay_channels[name], setup[name.partition(':')[0]])
    check(viewer.status() in (None, 0), 'remote-viewer ended with %s' % viewer.status())
    viewer.stop()


def relay_counts(relay, frames):
    """{channel name: what the relay counted}, once its connections are over."""
    status = relay.stop(20)
    check(status in (0, -15), 'relay: exit status %s: %s' % (status, relay.errors()))
    with open(frames, encoding='utf-8') as file:
        counted = json.load(file)
    out = {}
    for one in counted['channels']:
        name = '%s:%d' % (spice.CHANNELS.get(one['channel_type'], '?'), one['channel_id'])
        check(name not in out, '%s was connected twice' % name)
        out[name] = one
    return out


def compare(path, name, relay, setup):
    wanted = {'messages': relay['server']['messages'],
              'bytes': relay['server']['bytes'] - setup,
              'acks': relay['acks']}
    check(wanted['messages'] > 2 * WINDOW or name != 'display:0', 'only %s passed' % wanted)
    log = wait_for_log(path, lambda log: log.sum(name, 'messages') >= wanted['messages'],
                       '%s: %d messages' % (name, wanted['messages']), 20)
    for column, value in wanted.items():
        check(log.sum(name, column) == value, '%s: %d %s in the log, %d at the relay'
              % (name, log.sum(name, column), column, value))
    windows = log.values(name, 'window')
    check(windows == [WINDOW] == sorted(set(relay['windows'])),
          '%s: windows %s in the log, %s at the relay' % (name, windows, relay['windows']))
    peak = log.max(name, 'in_flight')
    check(peak is not None and peak <= 2 * WINDOW + 1, '%s: %s in flight' % (name, peak))
    check(peak >= min(relay['unacked_peak'], 1), '%s: peak %s, %s at the relay'
          % (name, peak, relay['unacked_peak']))
    check(relay['acks_early'] == 0, '%s: %d early ACKs' % (name, relay['acks_early']))
    print('%s: %d messages, %d bytes, %d acks, peak in flight %d (relay: %d unacknowledged)' % (
        name, wanted['messages'], wanted['bytes'], wanted['acks'], peak, relay['unacked_peak']))


def main():
    roots, words = arguments()
    roots.need_module()
    with Scope() as scope:
        display = Display(scope)
        return run_cases([
            ('busy', lambda: one_session(scope, roots, display, 'busy')),
            ('busy columns', lambda: one_session(scope, roots, display, 'busy',
                                                 ['--draws', 'columns', '--size', '640x480',
                                                  '--area', '320x240+300+200',
                                                  '--box', '16,176'])),
        ], words)


if __name__ == '__main__':
    sys.exit(main())
