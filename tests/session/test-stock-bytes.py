#!/usr/bin/env python3
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""With the add-on a viewer says to the server byte for byte what it says without.

The synthetic server (synthserver.py, where the meaning of "position" is explained) replays a
session to a real viewer, stock and with the add-on. Compared: channels linked, link messages
without their capability words, mechanism, ticket (decrypted), every client message with type,
size, bytes, order and position, and the picture. Two sessions are replayed: one recorded from a
real spice-server, and one made by hand whose picture needs no decoder.
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import recording as rec  # noqa: E402
from lib import scene, spice, transcript  # noqa: E402
from lib.cases import Missing, arguments, run_cases  # noqa: E402
from lib.display import Display  # noqa: E402
from lib.picture import read_ppm  # noqa: E402
from lib.pki import Pki  # noqa: E402
from lib.scope import Scope, check  # noqa: E402
from lib.statslog import wait_for_log  # noqa: E402
from lib.viewers import (Addon, PyViewer, RemoteViewer, Spicy, SpicyScreenshot,  # noqa: E402
                         Target)
from synthserver import SynthServer  # noqa: E402

PASSWORD = 'open-sesame'


class Bench:
    """What the cases share."""

    def __init__(self, scope, roots, module):
        self.scope, self.roots, self.module = scope, roots, module
        self.display = Display(scope)
        self.pki = Pki(scope)
        self.key = os.path.join(roots.data, 'synthserver-key.pem')
        self.stock_runs = {}

    def run(self, viewer, recording, addon, **options):
        """(transcripts, picture) of one run."""
        tls = options.pop('tls', False)
        server = SynthServer(self.scope, recording, self.key,
                             self.pki.dir if tls else None, **options)
        target = Target(port=None if tls else server.port, tls_port=server.tls_port,
                        password=PASSWORD, ca_file=self.pki.ca if tls else None)
        if viewer.gtk:
            self.display.wait_without(recording.picture)
        process = viewer.start(self.scope, target, self.display, addon)
        if viewer.gtk:
            for channel in recording.channels:
                server.wait_finished(channel.type, channel.id, process)
            self.display.wait_for_picture(recording.picture, process)
            picture = recording.picture
            server.hang_up()
            if addon:
                self.check_log(addon, server)
            process.stop()
        else:
            status = process.wait(60)
            check(status == 0, '%s: exit status %d: %s' % (viewer.name, status,
                                                          process.errors()))
            picture = read_ppm(viewer.out_file)
        for connection in server.connections:
            server.wait_closed(connection)
        server.stop()
        check(not server.errors, 'synthetic server: %s' % server.errors)
        return transcript.transcripts(server), picture

    @staticmethod
    def check_log(addon, server):
        """Proof that the add-on was there: it counted what the server sent and got."""
        sent = server.of(spice.DISPLAY)
        acks = sum(kind == spice.ACK for _position, kind, _body in sent.messages)
        wanted = {'messages': sent.sent, 'acks': acks}

        def complete(log):
            return all(log.sum('display:0', name) >= value for name, value in wanted.items())
        log = wait_for_log(addon.log, complete, 'complete count %s' % wanted)
        for name, value in wanted.items():
            check(log.sum('display:0', name) == value, 'the log counts %d %s, the server %d'
                  % (log.sum('display:0', name), name, value))

    def compare(self, viewer, recording, **options):
        # One stock run serves every case that asks for the same.
        asked = (viewer.name, id(recording), tuple(sorted(options.items())))
        if asked not in self.stock_runs:
            self.stock_runs[asked] = self.run(viewer, recording, None, **options)
        stock, stock_picture = self.stock_runs[asked]
        # Pacing is the one thing whose purpose is to move a message: ACKs. All else must be stock.
        addon = Addon(self.scope, self.module, 'pace=0') if self.module else None
        other, picture = self.run(viewer, recording, addon, **options)
        check(not stock_picture.plain(), 'the stock picture shows one colour')
        difference = stock_picture.difference(picture)
        check(not difference, 'pictures: ' + difference)
        until = None
        if not viewer.gtk:
            display = recording.find(spice.DISPLAY, 0)
            until = {'display:0': transcript.first_draw(display)}
        elif options.get('split') != 'merge':
            transcript.check_window(stock['display:0'], scene.WINDOW)
        transcript.compare(stock, other, until)
        for name, one in stock.items():
            check(one.ticket == PASSWORD.encode(), '%s: ticket "%s"' % (name, one.ticket))


def build_cases(bench):
    hand_made = scene.make()
    recorded_path = os.path.join(bench.roots.data, 'session.rec')
    recorded = rec.load(recorded_path) if os.path.exists(recorded_path) else None
    cases = []

    def add(name, viewer, recording, **options):
        def function():
            if recording is None:
                raise Missing('no recording at %s' % recorded_path)
            bench.compare(viewer, recording, **options)
        cases.append((name, function))

    for tls in (False, True):
        way = 'tls' if tls else 'plain'
        add('spicy-screenshot recorded ' + way, SpicyScreenshot(), recorded, tls=tls)
        add('remote-viewer recorded ' + way, RemoteViewer(), recorded, tls=tls)
        add('pyviewer recorded ' + way, PyViewer(), recorded, tls=tls)
        for split in ('whole', 'header', 'bytes', 'merge'):
            add('remote-viewer made %s %s' % (split, way), RemoteViewer(), hand_made, tls=tls,
                split=split)
        add('spicy-screenshot made bytes ' + way, SpicyScreenshot(), hand_made, tls=tls,
            split='bytes')
        add('spicy made whole ' + way, Spicy(), hand_made, tls=tls)
        add('remote-viewer made full-header ' + way, RemoteViewer(), hand_made, tls=tls,
            mini=False)
        add('remote-viewer made full-header bytes ' + way, RemoteViewer(), hand_made, tls=tls,
            mini=False, split='bytes')
    add('pyviewer-fd made whole plain', PyViewer(by_fd=True), hand_made)
    add('pyviewer-fd made merge plain', PyViewer(by_fd=True), hand_made, split='merge')
    return cases


def main():
    roots, words = arguments()
    # Stock against stock, to see that the method itself is stable.
    self_test = '--stock' in words
    module = None if self_test else roots.need_module()
    with Scope() as scope:
        bench = Bench(scope, roots, module)
        return run_cases(build_cases(bench), [word for word in words if word != '--stock'])


if __name__ == '__main__':
    sys.exit(main())
