#!/usr/bin/env python3
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Real viewers on the real spice-server, over every way to reach it, stock and with the add-on.

The demo server shows a frozen frame. The picture on the screen must be the server's own, pixel
for pixel, in the stock run and in the run with the add-on, whose log must know the window.
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib.cases import Missing, arguments, run_cases  # noqa: E402
from lib.connectproxy import ConnectProxy  # noqa: E402
from lib.display import Display  # noqa: E402
from lib.keydraw import KeydrawServer, dump_frame  # noqa: E402
from lib.picture import read_ppm  # noqa: E402
from lib.pki import Pki  # noqa: E402
from lib.scope import Failure, Scope, check, wait_for  # noqa: E402
from lib.statslog import wait_for_log  # noqa: E402
from lib.viewers import Addon, PyViewer, RemoteViewer, Spicy, SpicyScreenshot, Target  # noqa: E402

FRAME = 8
SCENE = ['--freeze-at', FRAME, '--activity', 'busy', '--seed', 3]
TICKET = 'open-sesame'
WINDOW = 20


class Ways:
    """Servers, each started when first asked for, and the way to them."""

    def __init__(self, scope, program):
        self.scope, self.program = scope, program
        self.servers = {}
        self.proxy = None
        self.pki = Pki(scope)

    def _server(self, name, *options):
        if name not in self.servers:
            self.servers[name] = KeydrawServer(self.scope, self.program, *(list(options) + SCENE))
        return self.servers[name]

    def tcp(self):
        server = self._server('tcp', '--port', 0)
        return server, Target(port=server.port)

    def tcp6(self):
        server = self._server('tcp6', '--port', 0, '--addr', '::1')
        return server, Target(host='::1', port=server.port)

    def unix(self):
        path = os.path.join(self.scope.dir, 'spice.sock')
        return self._server('unix', '--unix', path), Target(unix=path)

    def ticket(self):
        server = self._server('ticket', '--port', 0, '--ticket', TICKET)
        return server, Target(port=server.port, password=TICKET)

    def tls(self):
        server = self._server('tls', '--tls-port', 0, '--tls-dir', self.pki.dir,
                              '--ticket', TICKET)
        return server, Target(tls_port=server.tls_port, password=TICKET, ca_file=self.pki.ca)

    def proxied(self):
        self.proxy = self.proxy or ConnectProxy(self.scope)
        server, target = self.tcp()
        target.proxy = self.proxy.url
        return server, target

    def proxied_tls(self):
        self.proxy = self.proxy or ConnectProxy(self.scope)
        server, target = self.tls()
        target.proxy = self.proxy.url
        return server, target


class Bench:
    def __init__(self, scope, roots, module):
        self.scope, self.module = scope, module
        program = roots.need_rig('keydraw-server')
        self.ways = Ways(scope, program)
        self.display = Display(scope)
        self.reference = dump_frame(scope, program, FRAME, *SCENE)
        check(not self.reference.plain(), 'the server draws one colour')

    def one_run(self, viewer, server, target, addon):
        """The picture the viewer shows, once it is the server's own."""
        tunnels = self.ways.proxy.tunnels if target.proxy else 0
        if viewer.gtk:
            self.display.wait_without(self.reference)
            process = viewer.start(self.scope, target, self.display, addon)
            self.display.wait_for_picture(self.reference, process)
            if addon:
                self.check_log(addon)
            process.stop()
        else:
            process = viewer.start(self.scope, target, None, addon)
            status = process.wait(60)
            check(status == 0, 'exit status %d: %s' % (status, process.errors()))
            difference = read_ppm(viewer.out_file).difference(self.reference)
            check(not difference, 'picture: ' + difference)
            if addon:
                self.check_log(addon)
        server.wait_event('client-disconnected')
        if target.proxy:
            check(self.ways.proxy.tunnels >= tunnels + 2, 'the proxy was not used')
        return process

    def check_log(self, addon):
        log = wait_for_log(addon.log, lambda log: log.values('display:0', 'window'),
                           'window of display:0')
        windows = log.values('display:0', 'window')
        check(windows == [WINDOW], 'windows %s in the log' % windows)
        peak = log.max('display:0', 'in_flight')
        check(peak is not None and peak <= 2 * WINDOW + 1, 'in flight %s' % peak)

    def settle_frame(self, server, way):
        """The picture moves only once a first viewer is there: wait until it stands."""
        if getattr(server, 'settled', False):
            return
        shot = SpicyScreenshot()
        target = getattr(self.ways, way)()[1]
        target.proxy = None

        def attempt():
            shot.start(self.scope, target).wait(60)
            if not os.path.exists(shot.out_file):
                raise Failure('spicy-screenshot got no picture')
            return not read_ppm(shot.out_file).difference(self.reference)
        wait_for(attempt, 'frozen frame', 30, 0.2)
        server.settled = True

    def case(self, viewer, way):
        server, target = getattr(self.ways, way)()
        self.settle_frame(server, way)
        del server.seen[:]
        while not server.events.empty():
            server.events.get_nowait()
        stock = self.one_run(viewer, server, target, None)
        if not self.module:
            raise Missing('stock is right; the add-on is not built')
        addon = Addon(self.scope, self.module)
        process = self.one_run(viewer, server, target, addon)
        before, after = stock.complaints(), process.complaints()
        check(before == after, 'standard error stock:\n%s\nwith the add-on:\n%s'
              % ('\n'.join(before), '\n'.join(after)))

MATRIX = (
    (RemoteViewer(), ('tcp', 'tcp6', 'unix', 'ticket', 'tls', 'proxied', 'proxied_tls')),
    (RemoteViewer(use_vv=True), ('ticket', 'tls')),
    (Spicy(), ('tcp', 'unix', 'ticket', 'tls')),
    (SpicyScreenshot(), ('tcp', 'tcp6', 'unix', 'ticket', 'tls', 'proxied')),
    (PyViewer(), ('tcp', 'unix', 'tls')),
    (PyViewer(by_fd=True), ('tcp', 'tcp6', 'unix', 'ticket')),
)


def main():
    roots, words = arguments()
    with Scope() as scope:
        bench = Bench(scope, roots, roots.module)
        cases = [('%s %s' % (viewer.name, way),
                  lambda viewer=viewer, way=way: bench.case(viewer, way))
                 for viewer, ways in MATRIX for way in ways]
        return run_cases(cases, words)


if __name__ == '__main__':
    sys.exit(main())
