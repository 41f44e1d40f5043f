#!/usr/bin/env python3
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A SPICE server that says, byte for byte, what a recording says, and keeps what the client says.

    synthserver.py RECORDING [--key PEM] [--tls-dir DIR] [--split MODE] [--password TEXT]

prints {"event": "listening", "port": N, "tls_port": N or null}, serves until its standard input
ends, then prints one JSON line for each connection. Tests use the class.

Position. A client message's position is the number of recorded messages this server had sent on
its channel when the message arrived. So that no scheduling can shift it, the server sends one
step, then a PING of its own, and goes on only when the PONG is here: spice-gtk answers in order,
hence everything it wrote because of the step has arrived and counts for this step. What a client
queues from other parts of the program (mouse mode, keyboard lights; see QUEUED) may arrive one
step later; only the order of those is comparable. The script of the main channel ends before the
scripts of the others begin.
"""
import argparse
import json
import os
import socket
import ssl
import struct
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import recording as rec  # noqa: E402
from lib import rsa, spice  # noqa: E402
from lib.scope import Failure, Scope, wait_for  # noqa: E402

BARRIER_ID = 0xBA000000
# Client messages that spice-gtk writes from within its channel's coroutine, so whose position is
# determined: ACK_SYNC, ACK, PONG, MIGRATE_*, and by channel type those below.
IN_ORDER = {spice.MAIN: {spice.ATTACH_CHANNELS}, spice.DISPLAY: {spice.DISPLAY_INIT}}
COMMON_LAST = 6


def queued(channel_type, kind):
    """TRUE for a client message whose position says nothing."""
    return kind > COMMON_LAST and kind not in IN_ORDER.get(channel_type, ())


def split_whole(messages):
    """Each message in one write."""
    return [[data] for data in messages]


def split_bytes(messages):
    """The first 64 bytes of each message one by one, the rest in pieces of 1021."""
    return [[data[at:at + 1] for at in range(min(64, len(data)))]
            + [data[at:at + 1021] for at in range(64, len(data), 1021)] for data in messages]


def split_header(messages):
    """Header and body apart."""
    return [[data[:6]] + ([data[6:]] if len(data) > 6 else []) for data in messages]


def split_merge(messages):
    """Up to seven messages in a row, cut every 4099 bytes."""
    out = []
    for start in range(0, len(messages), 7):
        data = b''.join(messages[start:start + 7])
        out.append([data[at:at + 4099] for at in range(0, len(data), 4099)])
    return out


SPLITS = {'whole': split_whole, 'bytes': split_bytes, 'header': split_header,
          'merge': split_merge}


class Step:
    """What to do next on a channel. kind: send (chunks, count), barrier, hold (read on until the
    client closes), close (end the sending direction, then hold), reset."""

    def __init__(self, kind, chunks=(), count=0):
        self.kind, self.chunks, self.count = kind, list(chunks), count


def script_of(channel, split='whole', mini=True):
    """The steps that replay a recorded channel."""
    messages = [spice.pack_message(kind, body, mini, serial)
                for serial, (kind, body) in enumerate(channel.from_server(), 1)]
    groups = SPLITS[split](messages)
    per_group = 7 if split == 'merge' else 1
    steps = [Step('barrier')]
    for index, chunks in enumerate(groups):
        count = min(per_group, len(messages) - index * per_group)
        steps += [Step('send', chunks, count), Step('barrier')]
    return steps + [Step('hold')]


class LinkReply:
    """Sent in place of the link reply. authenticate: mechanism and ticket are read behind it, and
    result is sent, chunk by chunk; else the script follows at once."""

    def __init__(self, chunks, authenticate=False, result=()):
        self.chunks, self.authenticate, self.result = list(chunks), authenticate, list(result)


class Connection:
    """What one connection's client said."""

    def __init__(self):
        self.tls = False
        self.socket = None
        self.link = None        # spice.LinkMess
        self.mechanism = None   # the word, None when none was sent
        self.ticket = None      # decrypted; None when it was not for this key
        self.messages = []      # (position, type, body), own PONGs left out
        self.position = 0       # recorded messages sent
        self.sent = 0           # with the PINGs between them
        self.finished = threading.Event()  # the script came to its last step
        self.closed = threading.Event()    # the connection is over
        self.ending = ''        # how it ended: 'client', 'server', or an error

    def as_json(self):
        return {'event': 'connection', 'channel': self.link.name if self.link else None,
                'tls': self.tls, 'mechanism': self.mechanism, 'ending': self.ending,
                'messages': [[position, kind, len(body)]
                             for position, kind, body in self.messages]}


class ClientGone(Exception):
    pass


class SynthServer:
    """Serves recorded channels. Every client connection has a thread.

    scripts: {(type, id): [Step]} instead of the recorded ones; link_replies: {(type, id):
    LinkReply} instead of the right one.
    mini: announce the short message header, as every server since 2011 does."""

    def __init__(self, scope, recording, key_path, tls_dir=None, split='whole',
                 scripts=None, link_replies=None, mini=True):
        self.recording, self.split, self.mini = recording, split, mini
        self.key = rsa.Key(key_path)
        self.scripts, self.link_replies = scripts or {}, link_replies or {}
        self.connections = []
        self.lock = threading.Lock()
        self.main_done = threading.Event()
        self.stopping = threading.Event()
        self.errors = []
        self.context = None
        self.listeners = []
        scope.defer(self.stop)
        self.port = self._listen(False)
        self.tls_port = None
        if tls_dir:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(os.path.join(tls_dir, 'server-cert.pem'),
                                         os.path.join(tls_dir, 'server-key.pem'))
            self.tls_port = self._listen(True)

    def _listen(self, tls):
        listener = socket.create_server(('127.0.0.1', 0), backlog=16)
        self.listeners.append(listener)
        threading.Thread(target=self._accept, args=(listener, tls), daemon=True).start()
        return listener.getsockname()[1]

    def stop(self):
        self.stopping.set()
        for listener in self.listeners:
            listener.close()

    def hang_up(self):
        """End every connection, as a server does that shuts down."""
        with self.lock:
            sockets = [connection.socket for connection in self.connections
                       if not connection.closed.is_set()]
        for sock in sockets:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def _accept(self, listener, tls):
        while not self.stopping.is_set():
            try:
                sock = listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._serve, args=(sock, tls), daemon=True).start()

    def of(self, kind, number=0):
        """The newest connection of that channel, or None."""
        with self.lock:
            for connection in reversed(self.connections):
                if connection.link and (connection.link.type, connection.link.id) == (kind,
                                                                                      number):
                    return connection
        return None

    def wait_finished(self, kind, number=0, process=None, timeout=60.0):
        """The connection of that channel, once its script is at the end. Fails at once when
        process, the viewer, has ended."""
        def probe():
            connection = self.of(kind, number)
            if connection and connection.finished.is_set():
                return connection
            if process is not None and process.status() is not None:
                raise Failure('%s ended with %s: %s' % (process.name, process.status(),
                                                        process.errors()))
            return None
        try:
            return wait_for(probe, 'end of the script', timeout)
        except Failure as failure:
            connection = self.of(kind, number)
            where = ('at message %d, %s' % (connection.position, connection.ending or 'open')
                     if connection else 'not linked')
            raise Failure('channel %d:%d: %s; %s %s' % (kind, number, failure, where,
                                                        self.errors)) from None

    def wait_closed(self, connection, timeout=30.0):
        if not connection.closed.wait(timeout):
            raise Failure('%s: still open' % connection.link.name)

    def _serve(self, sock, tls):
        connection = Connection()
        connection.tls, connection.socket = tls, sock
        with self.lock:
            self.connections.append(connection)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.settimeout(120)
            if tls:
                sock = self.context.wrap_socket(sock, server_side=True)
                connection.socket = sock
            self._link(sock, connection)
        except (ClientGone, EOFError, ConnectionError, ssl.SSLError) as error:
            connection.ending = connection.ending or 'client'
            if not isinstance(error, (ClientGone, EOFError)):
                connection.ending = 'client: %s' % type(error).__name__
        except Exception as error:  # a bug or a time-out: the test must see it
            self.errors.append('%s: %r' % (connection.link and connection.link.name, error))
            connection.ending = 'error: %r' % error
        finally:
            connection.closed.set()
            try:
                sock.close()
            except OSError:
                pass

    def _link(self, sock, connection):
        link = spice.read_link_mess(sock)
        connection.link = link
        key = (link.type, link.id)
        channel = self.recording.find(*key)
        steps = self.scripts.get(key)
        reply = self.link_replies.get(key)
        if reply is None and channel is None:
            sock.sendall(spice.link_reply(self.key.public_der(), [], [], error=6))
            connection.ending = 'server'
            return
        if reply is None:
            reply = LinkReply([self.reply_of(channel)], True, [struct.pack('<I', spice.ERR_OK)])
        for chunk in reply.chunks:
            sock.sendall(chunk)
        if reply.authenticate:
            if spice.bit(link.common, spice.CAP_AUTH_SELECTION):
                connection.mechanism = struct.unpack('<I', spice.read_exactly(sock, 4))[0]
            connection.ticket = self.key.decrypt(spice.read_exactly(sock, spice.TICKET_SIZE))
            for chunk in reply.result:
                sock.sendall(chunk)
        if link.type != spice.MAIN:
            while not self.main_done.wait(0.1):
                if self.stopping.is_set():
                    return
        if steps is None:
            steps = script_of(channel, self.split, self.mini)
        self._play(sock, connection, steps)

    def reply_of(self, channel):
        """The right link reply of a recorded channel."""
        common = list(channel.common)
        if not self.mini:
            common[0] &= ~(1 << spice.CAP_MINI_HEADER)
        return spice.link_reply(self.key.public_der(), common, channel.channel)

    def _play(self, sock, connection, steps):
        framer = spice.Framer(self.mini)
        barrier = 0
        for step in steps:
            if step.kind == 'send':
                for chunk in step.chunks:
                    sock.sendall(chunk)
                connection.position += step.count
                connection.sent += step.count
            elif step.kind == 'barrier':
                barrier += 1
                ping = struct.pack('<IQ', BARRIER_ID + barrier, 0)
                sock.sendall(spice.pack_message(spice.PING, ping, self.mini))
                connection.sent += 1
                while not self._receive(sock, connection, framer, ping):
                    pass
            elif step.kind == 'hold':
                self._reached_end(connection)
                while True:
                    self._receive(sock, connection, framer, None)
            elif step.kind == 'reset':
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
                connection.ending = 'server'
                self._reached_end(connection)
                return
            elif step.kind == 'close':
                connection.ending = 'server'
                self._reached_end(connection)
                try:
                    if isinstance(sock, ssl.SSLSocket):
                        sock.settimeout(5)
                        sock = sock.unwrap()
                    sock.shutdown(socket.SHUT_WR)
                except OSError:
                    raise ClientGone() from None  # it was faster
                while True:
                    self._receive(sock, connection, framer, None)

    def _reached_end(self, connection):
        connection.finished.set()
        if connection.link.type == spice.MAIN:
            self.main_done.set()

    def _receive(self, sock, connection, framer, awaited):
        """Read once; TRUE when the PONG of the awaited PING was among it."""
        sock.settimeout(0.2)
        try:
            data = sock.recv(65536)
        except (socket.timeout, ssl.SSLWantReadError):
            if self.stopping.is_set():
                raise ClientGone() from None
            return False
        finally:
            sock.settimeout(120)
        if not data:
            raise ClientGone()
        found = False
        for kind, body in framer.feed(data):
            own = kind == spice.PONG and len(body) == 12 and body[3] == BARRIER_ID >> 24
            if own:
                found = found or body == awaited
            else:
                with self.lock:
                    connection.messages.append((connection.position, kind, body))
        return found


def main():
    parser = argparse.ArgumentParser(description='replay a recorded SPICE session')
    parser.add_argument('recording')
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument('--key', default=os.path.join(here, 'data', 'synthserver-key.pem'))
    parser.add_argument('--tls-dir')
    parser.add_argument('--split', choices=sorted(SPLITS), default='whole')
    args = parser.parse_args()
    with Scope() as scope:
        server = SynthServer(scope, rec.load(args.recording), args.key, args.tls_dir, args.split)
        print(json.dumps({'event': 'listening', 'port': server.port,
                          'tls_port': server.tls_port}), flush=True)
        while sys.stdin.readline():
            pass
        server.stop()
        deadline = time.monotonic() + 2
        for connection in server.connections:
            connection.closed.wait(max(0, deadline - time.monotonic()))
            print(json.dumps(connection.as_json()), flush=True)


if __name__ == '__main__':
    main()
