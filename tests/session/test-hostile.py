#!/usr/bin/env python3
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A server that sends nonsense: the viewer with the add-on does what the stock viewer does.

The synthetic server breaks the link phase or the display channel's stream in one way a case.
Compared between the stock run and the run with the add-on: what the viewer said to the server,
its channels' events, how it ended (where spice-gtk itself dies, so does it with the add-on), its
complaints, and the picture where the session goes on. The add-on's own lines are few.
"""
import json
import os
import random
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import rsa, scene, spice, transcript  # noqa: E402
from lib.cases import arguments, run_cases  # noqa: E402
from lib.display import Display  # noqa: E402
from lib.pki import Pki  # noqa: E402
from lib.scope import Failure, Scope, check, wait_for  # noqa: E402
from lib.viewers import Addon, PyViewer, Target  # noqa: E402
from synthserver import LinkReply, Step, SynthServer, script_of  # noqa: E402

OWN_LINES = 4
OWN_MARK = 'spice-accel'
# Over the add-on's limit for one message (64 Mi pixels of 4 bytes and room around them), legal for
# spice-gtk, which takes any size below 2 GiB.
OVERSIZE = 64 * 1024 * 1024 * 4 + 65536 + 1


def message(kind, body=b'', size=None):
    return spice.MINI.pack(kind, len(body) if size is None else size) + body


def noise(size, seed=1):
    return random.Random(seed).randbytes(size)


class Case:
    """steps: what the display's script has between two halves of the scene. goes_on: the second
    half follows and the picture must come; else the server closes. links: LinkReply by channel.
    stops_watching: the add-on must have noticed, in words."""

    def __init__(self, name, steps=(), goes_on=False, links=None, tls=False, mini=True,
                 stops_watching=False):
        self.name, self.steps, self.goes_on = name, list(steps), goes_on
        self.links, self.tls, self.mini = links, tls, mini
        self.stops_watching = stops_watching


def send(data, count=1, pieces=None):
    chunks = [data] if not pieces else [data[at:at + pieces]
                                        for at in range(0, len(data), pieces)]
    return Step('send', chunks, count)


def stream_cases():
    barrier = Step('barrier')
    big = [Step('send', [spice.MINI.pack(5000, OVERSIZE)] + [bytes(1 << 20)] * (OVERSIZE >> 20)
                + [bytes(OVERSIZE & 0xfffff)], 1), barrier]
    for tls in (False, True):
        way = ' tls' if tls else ''
        yield Case('size 0xffffffff' + way, [send(message(304, noise(4000), 0xffffffff))], tls=tls)
        yield Case('size 0x7fffffff' + way, [send(message(304, noise(4000), 0x7fffffff))], tls=tls,
                   stops_watching=True)
        yield Case('truncated body' + way, [send(message(304, noise(100), 1000))], tls=tls)
        yield Case('closed in header' + way, [send(message(304)[:3])], tls=tls)
        yield Case('oversized then sound' + way, big, True, tls=tls, stops_watching=True)
        yield Case('unknown types' + way,
                   [send(b''.join(message(5000 + index, noise(index)) for index in range(50)), 50),
                    barrier], True, tls=tls)
        yield Case('noise' + way, [send(b'\x39\x30\xff\xff\x00\x7f' + noise(65536))], tls=tls)
    yield Case('reset in body', [send(message(304, noise(100), 1000)), Step('reset')])
    yield Case('header byte by byte', [send(message(5000, noise(40)), 1, 1), barrier], True)
    yield Case('garbage draws', [send(message(304, noise(size, size))) for size in range(0, 80, 8)]
               + [barrier], True)
    yield Case('SET_ACK of 2 bytes', [send(message(3, b'\1\0')), barrier], True)
    yield Case('SET_ACK of 0 bytes', [send(message(3)), barrier], True)
    yield Case('SET_ACK of 200 bytes', [send(message(3, struct.pack('<II', 7, 5) + noise(192))),
                                        barrier], True)
    yield Case('SET_ACK window 0', [send(message(3, struct.pack('<II', 2, 0))), barrier], True)
    yield Case('SET_ACK window 0xffffffff',
               [send(message(3, struct.pack('<II', 2, 0xffffffff))), barrier], True)
    yield Case('SET_ACK window 1', [send(message(3, struct.pack('<II', 0xffffffff, 1))), barrier],
               True)
    yield Case('SET_ACK again and again',
               [send(b''.join(message(3, struct.pack('<II', index, index % 7))
                              for index in range(60)), 60), barrier], True)
    yield Case('PING of 3 bytes', [send(message(4, b'abc')), barrier], True)
    # Stream messages: cut short, and for streams that were never created.
    yield Case('stream messages cut short',
               [send(message(kind, noise(3, kind))) for kind in (122, 123, 124, 125)]
               + [barrier], True)
    yield Case('full header, type 5000', [Step('send', [spice.pack_message(
        5000, noise(40), False, 77)], 1), barrier], True, mini=False)
    yield Case('full header, list of none', [Step('send', [spice.FULL.pack(
        77, 5000, 8, 4) + bytes(8)], 1), barrier], True, mini=False)
    yield Case('full header, size 0x7fffffff', [Step('send', [spice.FULL.pack(
        77, 304, 0x7fffffff, 0) + noise(4000)], 1)], mini=False)


def link_cases(server_key):
    """The link phase broken on one channel."""
    good = spice.link_reply(server_key, scene.COMMON_CAPS, [0])
    result = [struct.pack('<I', 0)]
    head = spice.HEADER.pack
    kinds = {
        'wrong magic': LinkReply([b'QDER' + good[4:]]),
        'HTTP': LinkReply([b'HTTP/1.0 400 Bad Request\r\n\r\n' + bytes(300)]),
        'error 7': LinkReply([spice.link_reply(server_key, scene.COMMON_CAPS, [0], 7)]),
        'error 0xffffffff': LinkReply([spice.link_reply(server_key, [], [], 0xffffffff)]),
        'major 99': LinkReply([spice.link_reply(server_key, scene.COMMON_CAPS, [0], major=99)]),
        'size 0': LinkReply([head(spice.MAGIC, 2, 2, 0)]),
        'size 177': LinkReply([head(spice.MAGIC, 2, 2, 177) + good[16:16 + 177]]),
        'size 0x7fffffff': LinkReply([head(spice.MAGIC, 2, 2, 0x7fffffff) + good[16:]]),
        'size 5000': LinkReply([head(spice.MAGIC, 2, 2, 5000) + good[16:]
                                + bytes(5000 - len(good) + 16)], True, result),
        'caps past the end': LinkReply([_with_caps(good, 4000, 0, 178)]),
        'caps offset past the end': LinkReply([_with_caps(good, 1, 1, 0x1000)]),
        'reply byte by byte': LinkReply([bytes([byte]) for byte in good], True,
                                        [bytes([byte]) for byte in result[0]]),
        'closed in header': LinkReply([good[:9]]),
        'closed in reply': LinkReply([good[:100]]),
        'closed before result': LinkReply([good], True, []),
        'closed in result': LinkReply([good], True, [result[0][:2]]),
        'result 7': LinkReply([good], True, [struct.pack('<I', 7)]),
        'result 0xffffffff': LinkReply([good], True, [struct.pack('<I', 0xffffffff)]),
    }
    sound = ('reply byte by byte', 'size 5000')
    for channel in (spice.MAIN, spice.DISPLAY):
        for name, reply in kinds.items():
            yield Case('link %s: %s' % (spice.CHANNELS[channel], name),
                       goes_on=name in sound[:1], links={(channel, 0): reply})


def _with_caps(good, common, channel, offset):
    at = 16 + 4 + spice.KEY_SIZE
    return good[:at] + spice.REPLY_TAIL.pack(common, channel, offset) + good[at + 12:]


class Bench:
    def __init__(self, scope, roots, module):
        self.scope, self.module = scope, module
        self.display = Display(scope)
        self.pki = Pki(scope)
        self.key = os.path.join(roots.data, 'synthserver-key.pem')
        self.recording = scene.make()

    def scripts(self, case):
        display = self.recording.find(spice.DISPLAY, 0)
        steps = script_of(display, 'whole', case.mini)
        if case.links:
            if case.goes_on:
                return {}
            return {key: [Step('close')] for key in case.links}
        half = len(steps) // 2 | 1  # behind a barrier
        return {(spice.DISPLAY, 0): steps[:half] + case.steps
                + (steps[half:] if case.goes_on else [Step('close')])}

    def run(self, case, addon):
        server = SynthServer(self.scope, self.recording, self.key,
                             self.pki.dir if case.tls else None, scripts=self.scripts(case),
                             link_replies=case.links, mini=case.mini)
        self.display.wait_without(self.recording.picture)
        target = Target(port=None if case.tls else server.port, tls_port=server.tls_port,
                        ca_file=self.pki.ca if case.tls else None)
        process = PyViewer().start(self.scope, target, self.display, addon)
        if case.goes_on:
            for channel in self.recording.channels:
                server.wait_finished(channel.type, channel.id, process)
            self.display.wait_for_picture(self.recording.picture, process)
        else:
            broken = next(iter(case.links)) if case.links else (spice.DISPLAY, 0)
            self.wait_broken(server, broken, process)
            if broken[0] == spice.DISPLAY and process.status() is None:
                # The others say what they have to say first.
                for kind in (spice.INPUTS, spice.CURSOR):
                    server.wait_finished(kind)
        server.hang_up()
        try:
            status = process.wait(30)
        except Failure:
            status = 'still running'
            process.stop()
        server.stop()
        check(not server.errors, 'synthetic server: %s' % server.errors)
        return server, process, status

    @staticmethod
    def wait_broken(server, key, process):
        def probe():
            connection = server.of(*key)
            return (connection and connection.closed.is_set()) or process.status() is not None
        wait_for(probe, 'end of the broken channel', 60)

    def case(self, case):
        stock_server, stock, stock_status = self.run(case, None)
        addon = Addon(self.scope, self.module, 'pace=0') if self.module else None
        server, process, status = self.run(case, addon)
        check(stock_status == status, 'stock ends with %s, with the add-on %s: %s'
              % (stock_status, status, process.errors()[-2000:]))
        died = isinstance(status, int) and status < 0
        if not died:
            check(events(stock) == events(process), 'events stock %s, with the add-on %s'
                  % (events(stock), events(process)))
        left, right = (transcript.transcripts(one) for one in (stock_server, server))
        for one in (left, right):
            for channel in one.values():
                # Cut off at any point, or never asked for.
                channel.ticket = channel.ticket or b''
        until = {name: 0 for name in left} if died else None
        transcript.compare(left, right, until)
        own = [line for line in process.errors().splitlines() if OWN_MARK in line]
        check(len(own) <= OWN_LINES, '%d lines of the add-on:\n%s' % (len(own), '\n'.join(own)))
        if case.stops_watching and not died and addon:
            check(own, 'the add-on says nothing of what it no longer watches')
        rest = [line for line in process.complaints() if OWN_MARK not in line]
        check(stock.complaints() == rest, 'standard error stock:\n%s\nwith the add-on:\n%s'
              % ('\n'.join(stock.complaints()), '\n'.join(rest)))


def events(process):
    """Each channel's events in order; between channels the order is the scheduler's."""
    out = {}
    for line in process.output().splitlines():
        event = json.loads(line)
        out.setdefault((event.get('type'), event.get('id')), []).append(
            (event['event'], event.get('value')))
    return out


def main():
    roots, words = arguments()
    self_test = '--stock' in words
    module = None if self_test else roots.need_module()
    with Scope() as scope:
        bench = Bench(scope, roots, module)
        key = rsa.Key(bench.key).public_der()
        cases = [(case.name, lambda case=case: bench.case(case))
                 for case in list(stream_cases()) + list(link_cases(key))]
        return run_cases(cases, [word for word in words if word != '--stock'])


if __name__ == '__main__':
    sys.exit(main())
