#!/usr/bin/env python3
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Connections that come and go: reconnecting, another host, several sessions and displays in one
process, and SASL, whose security layer leaves nothing to watch.

Real viewers, the real spice-server; each picture must be the server's own, pixel for pixel.
"""
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib.cases import Missing, arguments, run_cases  # noqa: E402
from lib.display import Display  # noqa: E402
from lib.keydraw import KeydrawServer, dump_frame  # noqa: E402
from lib.pki import Pki  # noqa: E402
from lib.scope import Scope, check  # noqa: E402
from lib.statslog import StatsLog, wait_for_log  # noqa: E402
from lib.viewers import Addon, PyViewer, RemoteViewer, Target  # noqa: E402

FRAME = 4
WINDOW = 20
SMALL = ['--size', '320x240', '--area', '160x96+150+140', '--box', '8,140']
OWN_MARK = 'spice-accel'
USER, PASSWORD = 'viewer', 'open-sesame'


class Bench:
    def __init__(self, scope, roots):
        self.scope, self.module = scope, roots.need_module()
        self.program = roots.need_rig('keydraw-server')
        self.display = Display(scope)

    def server(self, seed, *options, env=None):
        """(server, its picture)"""
        scene = SMALL + ['--freeze-at', FRAME, '--seed', seed]
        listen = [] if '--tls-port' in options else ['--port', 0]
        server = KeydrawServer(self.scope, self.program, *listen, *options, *scene, env=env)
        return server, self.picture(seed)

    def picture(self, seed, display=0, displays=1):
        return dump_frame(self.scope, self.program, FRAME, '--seed', seed, '--displays', displays,
                          '--dump-display', display, *SMALL)

    def pyviewer(self, target, addon, *options, more=()):
        viewer = PyViewer(options=['--size', '320,240'] + list(options) + list(more))
        return viewer.start(self.scope, target, self.display, addon, stdin=subprocess.PIPE)

    def see(self, picture, process):
        return self.display.wait_for_picture(picture, process)

    def end(self, process):
        """Ask the Python viewer to quit and wait for a good end."""
        command(process, 'quit')
        status = process.wait()
        check(status == 0, '%s: exit status %d: %s' % (process.name, status, process.errors()))

    def reconnect(self):
        server, picture = self.server(11)
        addon = Addon(self.scope, self.module)
        process = self.pyviewer(server.target(), addon)
        for number in (1, 2, 3):
            self.see(picture, process)
            wait_for_log(addon.log, lambda log, number=number: self.sessions(log) == list(
                range(1, number + 1)), 'row of session %d' % number)
            if number < 3:
                command(process, 'reconnect 0')
                server.wait_event('client-disconnected')
                server.wait_event('client-connected')
        self.end(process)
        self.check_windows(StatsLog(addon.log), ['display:0'])

    @staticmethod
    def sessions(log, channel='display:0'):
        return [int(value) for value in log.values(channel, 'session')]

    @staticmethod
    def check_windows(log, channels):
        for channel in channels:
            check(log.values(channel, 'window') == [WINDOW], '%s: windows %s' % (
                channel, log.values(channel, 'window')))
            peak = log.max(channel, 'in_flight')
            check(peak is not None and peak <= 2 * WINDOW + 1, '%s: %s in flight' % (channel,
                                                                                     peak))

    def other_host(self, word, viewer_name):
        """The server sends its client to another one. word: switch-host or migrate."""
        first, first_picture = self.server(21)
        second, second_picture = self.server(22 if word == 'switch-host' else 21)
        addon = Addon(self.scope, self.module)
        if viewer_name == 'pyviewer':
            process = self.pyviewer(first.target(), addon)
        else:
            process = RemoteViewer().start(self.scope, first.target(), self.display, addon)
        self.see(first_picture, process)
        rows = wait_for_log(addon.log, lambda log: log.values('display:0', 'window'),
                            'window of display:0').of('display:0')
        first.command('%s 127.0.0.1 %d' % (word, second.port))
        second.wait_event('client-connected')
        second.wait_event('channel-connected', type=2)
        if word == 'migrate':
            first.wait_event('migrated')
            first.command('quit')
        else:
            # Its picture differs: what is on the screen is the second server's.
            check(first_picture.difference(second_picture), 'both servers show the same')
        self.see(second_picture, process)
        count = len(rows)
        log = wait_for_log(addon.log, lambda log: len(log.of('display:0')) > count + 1,
                           'rows after the switch')
        self.check_windows(log, ['display:0'])
        check(log.channels().count('display:0') == 1, 'channels %s' % log.channels())
        check(process.status() is None, 'the viewer ended with %s' % process.status())
        process.stop()
        second.wait_event('client-disconnected')

    def two_sessions(self):
        first, first_picture = self.server(31)
        second, second_picture = self.server(32)
        addon = Addon(self.scope, self.module)
        process = self.pyviewer(first.target(), addon, '--uri', second.target().uri(),
                                '--sessions', '2', '--place', '0,0', '--place', '400,0')
        self.see(first_picture, process)
        self.see(second_picture, process)
        wait_for_log(addon.log, lambda log: self.sessions(log) == [1, 2],
                     'row of either session')
        command(process, 'disconnect 0')
        first.wait_event('client-disconnected')
        # The other one is not touched by it.
        before = len(StatsLog(addon.log).of('display:0'))
        wait_for_log(addon.log, lambda log: len(log.of('display:0')) > before + 2, 'more rows')
        self.see(second_picture, process)
        self.end(process)
        self.check_windows(StatsLog(addon.log), ['display:0'])

    def two_displays(self):
        server = KeydrawServer(self.scope, self.program, '--port', 0, '--displays', 2,
                               '--freeze-at', FRAME, '--seed', 41, *SMALL)
        pictures = [self.picture(41, number, 2) for number in (0, 1)]
        addon = Addon(self.scope, self.module)
        process = self.pyviewer(server.target(), addon, '--displays', '2', '--place', '0,0',
                                '--place', '400,0')
        places = [self.see(picture, process) for picture in pictures]
        if pictures[0] != pictures[1]:
            check(places[0] != places[1], 'both displays at %s' % (places[0],))
        names = ['display:0', 'display:1']
        log = wait_for_log(addon.log, lambda log: all(log.values(name, 'window')
                                                      for name in names), 'windows of both')
        self.check_windows(log, names)
        self.end(process)

    def sasl_directory(self):
        """A SASL configuration with one user. DIGEST-MD5, since it has a security layer."""
        if not shutil.which('saslpasswd2', path='/usr/sbin:/usr/bin:/sbin:/bin'):
            raise Missing('saslpasswd2 is not installed')
        place = self.scope.path('sasl')
        os.mkdir(place)
        database = os.path.join(place, 'sasldb2')
        program = shutil.which('saslpasswd2', path='/usr/sbin:/usr/bin:/sbin:/bin')
        done = subprocess.run([program, '-p', '-c', '-a', 'spice', '-f', database, USER],
                              input=PASSWORD.encode(), capture_output=True, check=False,
                              timeout=60)
        if done.returncode:
            raise Missing('saslpasswd2: %s' % done.stderr.decode(errors='replace'))
        with open(os.path.join(place, 'spice.conf'), 'w', encoding='ascii') as file:
            file.write('mech_list: DIGEST-MD5\npwcheck_method: auxprop\n'
                       'auxprop_plugin: sasldb\nsasldb_path: %s\n' % database)
        return place

    def sasl(self, tls):
        env = dict(os.environ, SASL_CONF_PATH=self.sasl_directory())
        options = ['--sasl']
        target = Target(password=PASSWORD)
        if tls:
            pki = Pki(self.scope)
            options += ['--tls-port', 0, '--tls-dir', pki.dir]
            target.ca_file = pki.ca
        server, picture = self.server(51, *options, env=env)
        target.port, target.tls_port = (None, server.tls_port) if tls else (server.port, None)
        addon = Addon(self.scope, self.module)
        process = self.pyviewer(target, addon, '--username', USER)
        self.see(picture, process)
        own = [line for line in process.errors().splitlines() if OWN_MARK in line]
        if tls:
            log = wait_for_log(addon.log, lambda log: log.values('display:0', 'window'),
                               'window of display:0')
            self.check_windows(log, ['display:0'])
            check(not own, 'the add-on says: %s' % own)
            self.end(process)
            return
        check(len(own) == 1 and 'SASL' in own[0], 'the add-on says: %s' % own)
        # It goes on to work without being watched.
        server.command('key')
        changed = dump_frame(self.scope, self.program, FRAME, '--seed', 51, '--keys', 1, *SMALL)
        self.see(changed, process)
        self.end(process)
        check(not os.path.exists(addon.log) or not StatsLog(addon.log).values(
            'display:0', 'window'), 'the log knows a window under SASL')


def command(process, line):
    process.popen.stdin.write(line.encode() + b'\n')
    process.popen.stdin.flush()


def main():
    roots, words = arguments()
    with Scope() as scope:
        bench = Bench(scope, roots)
        return run_cases([
            ('reconnect', bench.reconnect),
            ('switch-host remote-viewer', lambda: bench.other_host('switch-host',
                                                                   'remote-viewer')),
            ('switch-host pyviewer', lambda: bench.other_host('switch-host', 'pyviewer')),
            ('migrate remote-viewer', lambda: bench.other_host('migrate', 'remote-viewer')),
            ('two sessions', bench.two_sessions),
            ('two displays', bench.two_displays),
            ('sasl layer', lambda: bench.sasl(False)),
            ('sasl tls', lambda: bench.sasl(True)),
        ], words)


if __name__ == '__main__':
    sys.exit(main())
