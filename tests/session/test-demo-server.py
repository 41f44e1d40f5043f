#!/usr/bin/env python3
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The demo server itself: what a real viewer gets from it is what it says it shows.

    test-demo-server.py BUILD-ROOT SOURCE-ROOT [CASE...]

The reference is keydraw-server --dump-frame; the viewer that reads the picture back is
spicy-screenshot, which needs no X server.
"""
import os
import shutil
import signal
import stat
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib.cases import Missing, arguments, run_cases  # noqa: E402
from lib.display import Display  # noqa: E402
from lib.keydraw import KeydrawServer, dump_frame  # noqa: E402
from lib.picture import read_ppm  # noqa: E402
from lib.scope import Scope, check, run, wait_for  # noqa: E402
from lib.viewers import Spicy, SpicyScreenshot, Target  # noqa: E402

PASSWORD = 'open-sesame'
DISPLAY, CURSOR, PORT = 2, 4, 10


class Bench:
    """What the cases share."""

    def __init__(self, scope, roots, program):
        self.scope, self.roots, self.program = scope, roots, program
        self.screen = None

    def server(self, *options, env=None):
        return KeydrawServer(self.scope, self.program, *options, env=env)

    def reference(self, frame, *options, keys=0):
        return dump_frame(self.scope, self.program, frame, *options, '--keys', keys)

    def display(self):
        if not self.screen:
            self.screen = Display(self.scope)
        return self.screen

    def shot(self, target):
        """(picture, None) or (None, what the viewer said)."""
        viewer = SpicyScreenshot()
        process = viewer.start(self.scope, target)
        if process.wait(60) != 0:
            return None, process.errors()
        return read_ppm(viewer.out_file), None

    def expect(self, target, expected):
        check(not expected.plain(), 'the reference shows one colour')
        picture, said = self.shot(target)
        check(picture, 'no picture: %s' % said)
        difference = expected.difference(picture)
        check(not difference, 'picture: ' + difference)

    def certificates(self):
        if not shutil.which('openssl'):
            raise Missing('openssl is not installed')
        directory = self.scope.path('tls')
        run([os.path.join(self.roots.source, 'tests', 'rig', 'certs.sh'), directory])
        return directory


def frozen_pictures(bench, target_of, *options):
    """Frame 0 for the first client, which starts the animation; then frame 9."""
    server = bench.server('--freeze-at', 9, *options)
    target = target_of(server)
    bench.expect(target, bench.reference(0, *scene_options(options)))
    server.wait_event('frozen', frame=9)
    bench.expect(target, bench.reference(9, *scene_options(options)))
    server.command('quit')
    status = server.process.wait()
    check(status == 0, 'exit status %d: %s' % (status, server.process.errors()))


def scene_options(options):
    """Those that say what is shown, with their values."""
    known = ('--activity', '--size', '--area', '--box', '--seed', '--depth')
    out = []
    for option, value in zip(options, options[1:]):
        if option in known:
            out += [option, value]
    return out


def exact_unix(bench):
    path = bench.scope.path('spice.sock')
    for activity in ('idle', 'busy', 'heavy', 'scroll', 'photo'):
        def target(_server):
            return Target(unix=path)
        if activity == 'idle':
            server = bench.server('--unix', path, '--activity', 'idle')
            check(server.listening['unix'] == path, 'listening: %s' % server.listening)
            bench.expect(Target(unix=path), bench.reference(0, '--activity', 'idle'))
            server.command('quit')
            server.process.wait()
            continue
        frozen_pictures(bench, target, '--unix', path, '--activity', activity)


def exact_tcp(bench):
    frozen_pictures(bench, lambda server: server.target(), '--port', 0)


def exact_tls_ticket(bench):
    directory = bench.certificates()
    mode = stat.S_IMODE(os.stat(os.path.join(directory, 'server-key.pem')).st_mode)
    check(mode == 0o600, 'the private key has mode %o' % mode)

    def target(server):
        check(server.port == 0 and server.tls_port > 0, 'listening: %s' % server.listening)
        return Target(host='localhost', tls_port=server.tls_port, password=PASSWORD,
                      ca_file=os.path.join(directory, 'ca-cert.pem'))
    frozen_pictures(bench, target, '--tls-port', 0, '--tls-dir', directory, '--ticket', PASSWORD)


def exact_other_ways(bench):
    """Each way of reporting damage and of drawing it, sizes, places and compressions."""
    for options in (('--damage', 'rect', '--draws', 'columns'),
                    ('--damage', 'rect', '--draws', 'whole', '--activity', 'scroll'),
                    ('--damage', 'full', '--draws', 'whole', '--activity', 'photo'),
                    ('--size', '801x601', '--area', '333x257+401+99', '--box', '7,301'),
                    ('--size', '3840x2160', '--activity', 'heavy', '--seed', '77'),
                    ('--compression', 'lz4'),
                    ('--compression', 'quic', '--activity', 'photo'),
                    ('--compression', 'off', '--tick', '10', '--fps', '60')):
        frozen_pictures(bench, lambda server: server.target(), *options)


def wrong_ticket(bench):
    server = bench.server('--ticket', PASSWORD)
    picture, _said = bench.shot(server.target(password='open-barley'))
    check(picture is None, 'a picture for a wrong password')
    bench.expect(server.target(password=PASSWORD), bench.reference(0))
    server.stop()


def expired_ticket(bench):
    """No event tells of it. The library counts in whole seconds, so one may be nearly two. A viewer
    that came in between, its first channel in and the next refused, would wait for ever."""
    server = bench.server('--ticket', PASSWORD, '--ticket-expire', 1)
    expired = server.listening['time_us'] / 1e6 + 2.5
    wait_for(lambda: time.monotonic() > expired, 'passing of time')
    picture, _said = bench.shot(server.target(password=PASSWORD))
    check(picture is None, 'a picture for an expired password')
    server.stop()


def sasl(bench):
    if not shutil.which('saslpasswd2'):
        raise Missing('saslpasswd2 is not installed')
    directory = bench.scope.path('sasl')
    os.mkdir(directory)
    database = os.path.join(directory, 'users.db')
    with open(os.path.join(directory, 'spice.conf'), 'w', encoding='ascii') as file:
        file.write('mech_list: digest-md5\npwcheck_method: auxprop\nauxprop_plugin: sasldb\n'
                   'sasldb_path: %s\n' % database)
    subprocess.run(['saslpasswd2', '-p', '-c', '-f', database, '-a', 'spice', 'alice'],
                   input=PASSWORD.encode(), check=True, timeout=30, capture_output=True)
    server = bench.server('--sasl', env=dict(os.environ, SASL_CONF_PATH=directory))
    out = bench.scope.path('shot.ppm')
    uri = 'spice://alice@localhost:%d?password=' % server.port
    refused = subprocess.run(['spicy-screenshot', '--uri', uri + 'wrong', '-o', out], timeout=60,
                             capture_output=True, check=False)
    check(refused.returncode != 0 and not os.path.exists(out), 'a picture for a wrong password')
    run(['spicy-screenshot', '--uri', uri + PASSWORD, '-o', out])
    difference = bench.reference(0).difference(read_ppm(out))
    check(not difference, 'picture: ' + difference)
    server.stop()


def keys(bench):
    server = bench.server('--activity', 'idle')
    for number in (1, 2, 3):
        server.command('key')
        pressed = server.wait_event('key', number=number)
        drawn = server.wait_event('key-drawn', number=number)
        check(pressed['time_us'] <= drawn['time_us'], 'drawn before it was pressed')
    bench.expect(server.target(), bench.reference(0, '--activity', 'idle', keys=3))
    server.stop()


def activity_delay(bench):
    server = bench.server('--activity-delay', '0.5')
    bench.expect(server.target(), bench.reference(0))
    connected = server.wait_event('started')
    first = next(event for event in server.seen if event.get('type') == DISPLAY)
    delay = (connected['time_us'] - first['time_us']) / 1e6
    check(0.5 <= delay < 10, 'started %.3f s after the first display client' % delay)
    server.stop()


def resume(bench):
    """Freeze, resume, freeze at a later frame, another activity, another size."""
    server = bench.server('--freeze-at', 3)
    bench.expect(server.target(), bench.reference(0))
    server.wait_event('frozen', frame=3)
    server.command('freeze-at 40')
    server.command('resume')
    server.wait_event('frozen', frame=40)
    server.command('activity photo')
    server.wait_event('frozen', frame=40)
    bench.expect(server.target(), bench.reference(40, '--activity', 'photo'))
    server.command('resize 1024x768')
    server.wait_event('resized', width=1024, height=768)
    server.wait_event('frozen', frame=40)
    expected = bench.reference(40, '--activity', 'photo', '--size', '1024x768')
    bench.expect(server.target(), expected)
    server.command('draw-all')
    server.wait_event('frozen', frame=40)
    bench.expect(server.target(), expected)
    server.command('stats')
    stats = server.wait_event('stats')
    check(stats['frames_drawn'] + stats['frames_skipped'] == 40, 'stats: %s' % stats)
    check(stats['draws'] > 40 and stats['queued'] == 0, 'stats: %s' % stats)
    server.stop()


def bad_commands(bench):
    server = bench.server()
    for line, word in (('dance', 'dance'), ('freeze-at', 'freeze-at'),
                       ('freeze-at -1', 'freeze-at'), ('activity', 'activity'),
                       ('activity "x', 'activity'),
                       ('resize 10x10', '10x10'), ('resize 0x0', 'resize'),
                       ('resize 4000x4000', '4000x4000'), ('switch-host a', 'switch-host'),
                       ('switch-host a 70000', 'switch-host'), ('migrate', 'migrate'),
                       ('x' * 100000, 'xxx')):
        server.command(line)
        message = server.wait_event('error')['message']
        check(word in message, '%s: answered "%s"' % (line[:40], message[:80]))
    bench.expect(server.target(), bench.reference(0))
    server.stop()


def bad_options(bench):
    """One line that names the option and its value; exit status 2; nothing on stdout."""
    plain = bench.scope.path('plain')
    with open(plain, 'w', encoding='ascii'):
        pass
    empty = bench.scope.path('empty')
    os.mkdir(empty)
    junk = bench.scope.path('junk')
    os.mkdir(junk)
    for name in ('ca-cert.pem', 'server-cert.pem', 'server-key.pem'):
        with open(os.path.join(junk, name), 'w', encoding='ascii') as file:
            file.write('no certificate\n')
    busy = bench.server()
    cases = [
        (['--port', '65536'], '--port', '65536'),
        (['--port', '-1'], '--port', '-1'),
        (['--port', ''], '--port', "''"),
        (['--port', '7x'], '--port', '7x'),
        (['--port', str(busy.port)], '--port', str(busy.port)),
        (['--addr', '192.0.2.1'], '--addr', '192.0.2.1'),
        (['--size', '1280'], '--size', '1280'),
        (['--size', '1280x800x3'], '--size', '1280x800x3'),
        (['--size', '99999999999x1'], '--size', '99999999999x1'),
        (['--size', '300x200'], '--size', '300x200'),
        (['--area', '640x480'], '--area', '640x480'),
        (['--area', '640x480+1000+0'], '--area', '640x480+1000+0'),
        (['--area', '10x10+0+0'], '--area', '10x10+0+0'),
        (['--box', '700,200'], '--box', '700,200'),
        (['--box', '1'], '--box', '1'),
        (['--fps', '0'], '--fps', '0'),
        (['--tick', '0'], '--tick', '0'),
        (['--seed', '-3'], '--seed', '-3'),
        (['--displays', '0'], '--displays', '0'),
        (['--displays', '9'], '--displays', '9'),
        (['--depth', '24'], '--depth', '24'),
        (['--activity', 'Busy'], '--activity', 'Busy'),
        (['--activity-delay', 'soon'], '--activity-delay', 'soon'),
        (['--activity-delay', 'nan'], '--activity-delay', 'nan'),
        (['--streaming', 'on'], '--streaming', 'on'),
        (['--compression', 'zip'], '--compression', 'zip'),
        (['--jpeg', 'sometimes'], '--jpeg', 'sometimes'),
        (['--zlib', '1'], '--zlib', '1'),
        (['--damage', 'some'], '--damage', 'some'),
        (['--draws', 'rows'], '--draws', 'rows'),
        (['--freeze-at', '4294967296'], '--freeze-at', '4294967296'),
        (['--ticket', 'x' * 61], '--ticket', 'x' * 61),
        (['--ticket-expire', '5'], '--ticket-expire', '5'),
        (['--unix', plain], '--unix', plain),
        (['--unix', '/nonexistent/s'], '--unix', '/nonexistent/s'),
        (['--unix', bench.scope.dir + '/' + 'x' * 120], '--unix', 'x' * 120),
        (['--unix', 'a', '--port', '1'], '--unix', 'a'),
        (['--tls-port', '1234'], '--tls-port', '1234'),
        (['--tls-dir', empty], '--tls-dir', empty),
        (['--tls-port', '0', '--tls-dir', empty], '--tls-dir', empty),
        (['--tls-port', '0', '--tls-dir', junk], '--tls-dir', junk),
        (['--dump-frame', '1'], '--dump-frame', '1'),
        (['--dump-frame', 'x', 'file'], '--dump-frame', 'x'),
        (['--dump-frame', '1', '/nonexistent/f.ppm'], '--dump-frame', '/nonexistent/f.ppm'),
        (['--dump-frame', '1', '--dump-display', '1', 'f'], '--dump-display', '1'),
        (['--keys', '3'], '--keys', '3'),
        (['--no-such-option'], '--no-such-option', ''),
        (['stray'], 'stray', ''),
    ]
    for argv, option, value in cases:
        done = subprocess.run([bench.program] + argv, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=60, check=False, cwd=bench.scope.dir)
        said = done.stderr.decode()
        what = '%s: status %d, "%s"' % (' '.join(argv), done.returncode, said)
        check(done.returncode == 2, what)
        check(said.startswith('keydraw-server: ') and said.count('\n') == 1, what)
        check(option in said and value in said, what)
        check(not done.stdout, what)
    busy.stop()
    with open(plain, encoding='ascii') as file:
        check(file.read() == '', 'the file that was no socket is not what it was')


def nothing_left(bench):
    """Every way to end it: status 0, no socket left, no process; with a client connected too."""
    path = bench.scope.path('spice.sock')
    for way in ('quit', 'eof', 'TERM', 'INT'):
        server = bench.server('--unix', path, '--quit-on-eof', '--playback', '--port-channel')
        check(stat.S_ISSOCK(os.stat(path).st_mode), 'no socket at %s' % path)
        bench.expect(Target(unix=path), bench.reference(0))
        if way == 'quit':
            server.command('quit')
        elif way == 'eof':
            server.process.popen.stdin.close()
        else:
            server.process.popen.send_signal(getattr(signal, 'SIG' + way))
        status = server.process.wait()
        check(status == 0, '%s: exit status %d: %s' % (way, status, server.process.errors()))
        check(not os.path.exists(path), '%s: the socket is still there' % way)
        server.wait_event('quit')


def with_viewer(bench, *options):
    """(server, viewer) with a viewer in an X server, its display channel connected."""
    server = bench.server(*options)
    viewer = Spicy().start(bench.scope, server.target(), bench.display())
    server.wait_event('channel-connected', type=DISPLAY)
    return server, viewer


def viewer_channels(bench):
    """Two displays, a cursor each, sound and the port; then it ends under the viewer's nose."""
    server = bench.server('--displays', 2, '--playback', '--port-channel')
    Spicy().start(bench.scope, server.target(), bench.display())
    wanted = {(DISPLAY, 0), (DISPLAY, 1), (CURSOR, 0), (CURSOR, 1), (PORT, 0)}
    while wanted:
        event = server.wait_event('channel-connected')
        wanted.discard((event['type'], event['id']))
    server.command('quit')
    status = server.process.wait()
    check(status == 0, 'exit status %d: %s' % (status, server.process.errors()))


def keys_of_viewer(bench):
    """Plain and extended keys count, when they go down; lock keys do not."""
    if not shutil.which('xdotool'):
        raise Missing('xdotool is not installed')
    options = ('--activity', 'idle', '--size', '640x480')
    expected = bench.reference(0, *options)
    server, viewer = with_viewer(bench, *options)
    place = bench.display().wait_for_picture(expected, viewer)
    env = dict(os.environ, DISPLAY=bench.display().name)
    run(['xdotool', 'mousemove', str(place[0] + 320), str(place[1] + 240)], env=env)
    number = 0
    for key, code in (('a', 0x1e), ('Right', 0xe04d), ('Caps_Lock', None), ('Caps_Lock', None),
                      ('b', 0x30)):
        run(['xdotool', 'key', key], env=env)
        if code:
            number += 1
            server.wait_event('key', number=number, scancode=code)
            server.wait_event('key-drawn', number=number)
    expected = bench.reference(0, *options, keys=number)
    # Away from the picture, which has no pointer in it.
    run(['xdotool', 'mousemove', '1599', '1199'], env=env)
    bench.display().wait_for_picture(expected, viewer)
    viewer.stop()
    server.stop()
    bench.display().wait_without(expected)


def sixteen_bits(bench):
    options = ('--depth', 16, '--size', '640x480')
    expected = bench.reference(9, *options)
    server, viewer = with_viewer(bench, '--freeze-at', 9, *options)
    server.wait_event('frozen', frame=9)
    bench.display().wait_for_picture(expected, viewer)
    viewer.stop()
    server.stop()
    bench.display().wait_without(expected)


def resize_under_viewer(bench):
    server, viewer = with_viewer(bench, '--size', '640x480', '--freeze-at', 0)
    bench.display().wait_for_picture(bench.reference(0, '--size', '640x480'), viewer)
    server.command('resize 800x600')
    server.wait_event('frozen')
    expected = bench.reference(0, '--size', '800x600')
    bench.display().wait_for_picture(expected, viewer)
    viewer.stop()
    server.stop()
    bench.display().wait_without(expected)


def change_server(bench, command):
    """The viewer leaves the first server and shows what the second one shows."""
    second = bench.server('--size', '640x480', '--seed', 5, '--freeze-at', 0)
    expected = bench.reference(0, '--size', '640x480', '--seed', 5)
    first, viewer = with_viewer(bench, '--size', '640x480', '--freeze-at', 0)
    bench.display().wait_for_picture(bench.reference(0, '--size', '640x480'), viewer)
    first.command('%s 127.0.0.1 %d' % (command, second.port))
    first.wait_event('switched' if command == 'switch-host' else 'migrated')
    second.wait_event('channel-connected', type=DISPLAY)
    first.wait_event('client-disconnected')
    bench.display().wait_for_picture(expected, viewer)
    viewer.stop()
    first.stop()
    second.stop()
    bench.display().wait_without(expected)


def main():
    roots, words = arguments()
    program = roots.need_rig('keydraw-server')
    with Scope('demo-server') as scope:
        bench = Bench(scope, roots, program)
        cases = [
            ('exact over a unix socket', exact_unix),
            ('exact over TCP', exact_tcp),
            ('exact over TLS with a ticket', exact_tls_ticket),
            ('exact in every other way', exact_other_ways),
            ('wrong ticket', wrong_ticket),
            ('expired ticket', expired_ticket),
            ('SASL', sasl),
            ('key command', keys),
            ('activity delay', activity_delay),
            ('freeze, resume, activity, resize, draw-all', resume),
            ('bad commands', bad_commands),
            ('bad options', bad_options),
            ('nothing left', nothing_left),
            ('channels of a viewer', viewer_channels),
            ('keys of a viewer', keys_of_viewer),
            ('sixteen bits', sixteen_bits),
            ('resize under a viewer', resize_under_viewer),
            ('switch-host', lambda b: change_server(b, 'switch-host')),
            ('migrate', lambda b: change_server(b, 'migrate')),
        ]
        return run_cases([(name, lambda f=function: f(bench)) for name, function in cases], words)


if __name__ == '__main__':
    sys.exit(main())
