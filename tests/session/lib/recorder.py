# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Between a viewer and a server: passes every byte on and keeps the messages of both sides."""
import socket
import struct
import threading

from . import recording as rec
from . import spice


class Recorder:
    """Listens on a free loopback port; connect(): a new socket to the server."""

    def __init__(self, scope, connect):
        self.connect = connect
        self.recording = rec.Recording()
        self.lock = threading.Lock()
        self.errors = []
        self.listener = socket.create_server(('127.0.0.1', 0), backlog=16)
        self.port = self.listener.getsockname()[1]
        scope.defer(self.listener.close)
        threading.Thread(target=self._accept, daemon=True).start()

    def counts(self):
        with self.lock:
            return {channel.name: len(channel.messages) for channel in self.recording.channels}

    def _accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        try:
            with client, self.connect() as server:
                self._link(client, server)
        except (EOFError, OSError) as error:
            self.errors.append(repr(error))

    def _link(self, client, server):
        link = spice.read_link_mess(client)
        server.sendall(link.raw)
        head = spice.read_exactly(server, 16)
        reply = head + spice.read_exactly(server, spice.HEADER.unpack(head)[3])
        client.sendall(reply)
        _error, common, channel_caps = spice.parse_link_reply(reply)
        if (spice.bit(link.common, spice.CAP_AUTH_SELECTION)
                and spice.bit(common, spice.CAP_AUTH_SELECTION)):
            server.sendall(spice.read_exactly(client, 4))
        server.sendall(spice.read_exactly(client, spice.TICKET_SIZE))
        result = spice.read_exactly(server, 4)
        client.sendall(result)
        if struct.unpack('<I', result)[0] != spice.ERR_OK:
            raise EOFError('the server refused the ticket')
        channel = rec.Channel(link.type, link.id, common, channel_caps)
        with self.lock:
            self.recording.channels.append(channel)
        mini = (spice.bit(link.common, spice.CAP_MINI_HEADER)
                and spice.bit(common, spice.CAP_MINI_HEADER))
        back = threading.Thread(target=self._pass, daemon=True, args=(
            server, client, channel, rec.FROM_SERVER, mini))
        back.start()
        self._pass(client, server, channel, rec.FROM_CLIENT, mini)
        back.join()

    def _pass(self, source, sink, channel, direction, mini):
        framer = spice.Framer(mini)
        try:
            while True:
                data = source.recv(65536)
                if not data:
                    break
                with self.lock:
                    channel.messages += [(direction, kind, body)
                                         for kind, body in framer.feed(data)]
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass
