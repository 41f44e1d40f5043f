# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A recorded SPICE session in a file: both directions of every channel, and its last picture.

Layout, all of it compressed with zlib: the line "spice-accel recording 1", a line of JSON
{"picture": [width, height] or null, "channels": [{"type", "id", "common", "channel"}...]} with
the server's capability words, then records {channel u8, direction u8, type u16, size u32, body},
little endian, in the order seen on the wire. Direction 0: from the server, 1: from the client,
2: the picture's RGB bytes.
"""
import json
import struct
import zlib

from . import spice
from .picture import Picture
from .scope import Failure

MARK = b'spice-accel recording 1\n'
RECORD = struct.Struct('<BBHI')
FROM_SERVER, FROM_CLIENT, PICTURE = 0, 1, 2
SIZE_MAX = 64 << 20


class Channel:
    def __init__(self, kind, number, common=(), channel=()):
        self.type, self.id = kind, number
        self.common, self.channel = list(common), list(channel)
        self.messages = []  # (direction, type, body)

    @property
    def name(self):
        return '%s:%d' % (spice.CHANNELS.get(self.type, str(self.type)), self.id)

    def from_server(self):
        return [(kind, body) for direction, kind, body in self.messages
                if direction == FROM_SERVER]


class Recording:
    def __init__(self):
        self.channels = []
        self.picture = None

    def find(self, kind, number):
        for channel in self.channels:
            if (channel.type, channel.id) == (kind, number):
                return channel
        return None

    def save(self, path):
        head = {'picture': None, 'channels': [
            {'type': channel.type, 'id': channel.id, 'common': channel.common,
             'channel': channel.channel} for channel in self.channels]}
        if self.picture:
            head['picture'] = [self.picture.width, self.picture.height]
        out = [MARK, json.dumps(head).encode(), b'\n']
        for index, channel in enumerate(self.channels):
            for direction, kind, body in channel.messages:
                out += [RECORD.pack(index, direction, kind, len(body)), body]
        if self.picture:
            out += [RECORD.pack(0, PICTURE, 0, len(self.picture.rgb)), self.picture.rgb]
        data = zlib.compress(b''.join(out), 9)
        with open(path, 'wb') as file:
            file.write(data)
        return len(data)


def load(path):
    with open(path, 'rb') as file:
        data = zlib.decompressobj().decompress(file.read(), SIZE_MAX)
    if not data.startswith(MARK):
        raise Failure('%s: not a recording' % path)
    end = data.index(b'\n', len(MARK))
    head = json.loads(data[len(MARK):end])
    recording = Recording()
    for entry in head['channels']:
        recording.channels.append(Channel(entry['type'], entry['id'], entry['common'],
                                          entry['channel']))
    at = end + 1
    while at < len(data):
        index, direction, kind, size = RECORD.unpack_from(data, at)
        at += RECORD.size
        body = data[at:at + size]
        if len(body) != size:
            raise Failure('%s: cut off' % path)
        at += size
        if direction == PICTURE:
            recording.picture = Picture(head['picture'][0], head['picture'][1], body)
        else:
            recording.channels[index].messages.append((direction, kind, body))
    return recording
