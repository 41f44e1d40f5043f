# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The SPICE wire as far as the tests speak it. Facts: spice-protocol, protocol.h and enums.h."""
import struct

MAGIC = b'REDQ'
HEADER = struct.Struct('<4sIII')       # magic, major, minor, size of what follows
MESS = struct.Struct('<IBBIII')        # connection id, type, id, common, channel, caps offset
REPLY_TAIL = struct.Struct('<III')     # common, channel, caps offset; after error and key
KEY_SIZE = 162
TICKET_SIZE = 128
MINI = struct.Struct('<HI')            # type, size
FULL = struct.Struct('<QHII')          # serial, type, size, sub list

CHANNELS = {1: 'main', 2: 'display', 3: 'inputs', 4: 'cursor', 5: 'playback', 6: 'record',
            8: 'smartcard', 9: 'usbredir', 10: 'port', 11: 'webdav'}
MAIN, DISPLAY, INPUTS, CURSOR = 1, 2, 3, 4

CAP_AUTH_SELECTION, CAP_AUTH_SPICE, CAP_AUTH_SASL, CAP_MINI_HEADER = 0, 1, 2, 3
AUTH_SPICE, AUTH_SASL = 1, 2
ERR_OK, ERR_PERMISSION_DENIED = 0, 7

# Every channel, server to client and client to server.
SET_ACK, PING, DISCONNECTING, NOTIFY = 3, 4, 6, 7
ACK_SYNC, ACK, PONG = 1, 2, 3
MAIN_INIT, CHANNELS_LIST = 103, 104
ATTACH_CHANNELS, MOUSE_MODE_REQUEST = 104, 105
DISPLAY_INIT = 101
SURFACE_CREATE, DRAW_COPY = 314, 304


def bit(words, number):
    return number // 32 < len(words) and bool(words[number // 32] >> (number % 32) & 1)


def words_of(*bits):
    words = [0] * (max(bits) // 32 + 1)
    for number in bits:
        words[number // 32] |= 1 << (number % 32)
    return words


def read_exactly(sock, size):
    """size bytes, or EOFError."""
    data = bytearray()
    while len(data) < size:
        more = sock.recv(size - len(data))
        if not more:
            raise EOFError('%d of %d bytes' % (len(data), size))
        data += more
    return bytes(data)


class LinkMess:
    def __init__(self, data):
        magic, self.major, self.minor, size = HEADER.unpack_from(data)
        (self.connection_id, self.type, self.id, common, channel,
         offset) = MESS.unpack_from(data, 16)
        words = struct.unpack_from('<%dI' % (common + channel), data, 16 + offset)
        self.common, self.channel = list(words[:common]), list(words[common:])
        self.raw = bytes(data)
        self.valid = magic == MAGIC and size == len(data) - 16

    @property
    def name(self):
        return '%s:%d' % (CHANNELS.get(self.type, str(self.type)), self.id)

    def without_caps(self):
        """All of it but the capability words and what follows from their number."""
        return [self.valid, self.major, self.minor, self.connection_id, self.type, self.id]


def read_link_mess(sock):
    head = read_exactly(sock, 16)
    size = HEADER.unpack(head)[3]
    if head[:4] != MAGIC or size > 4096:
        raise EOFError('not a link message: ' + head.hex())
    return LinkMess(head + read_exactly(sock, size))


def link_reply(key, common, channel, error=ERR_OK, major=2, minor=2):
    body = (struct.pack('<I', error) + key + REPLY_TAIL.pack(len(common), len(channel), 178)
            + struct.pack('<%dI' % (len(common) + len(channel)), *common, *channel))
    return HEADER.pack(MAGIC, major, minor, len(body)) + body


def parse_link_reply(data):
    """(error, common words, channel words) of a whole reply, header included."""
    error = struct.unpack_from('<I', data, 16)[0]
    common, channel, offset = REPLY_TAIL.unpack_from(data, 16 + 4 + KEY_SIZE)
    words = struct.unpack_from('<%dI' % (common + channel), data, 16 + offset)
    return error, list(words[:common]), list(words[common:])


def pack_message(kind, body, mini=True, serial=0):
    head = MINI.pack(kind, len(body)) if mini else FULL.pack(serial, kind, len(body), 0)
    return head + body


class Framer:
    """Cuts a byte stream into messages."""

    def __init__(self, mini):
        self.header = MINI if mini else FULL
        self.mini = mini
        self.buffer = bytearray()

    def feed(self, data):
        """The (type, body) pairs that are complete now."""
        self.buffer += data
        out = []
        while len(self.buffer) >= self.header.size:
            fields = self.header.unpack_from(self.buffer)
            kind, size = fields if self.mini else fields[1:3]
            end = self.header.size + size
            if len(self.buffer) < end:
                break
            out.append((kind, bytes(self.buffer[self.header.size:end])))
            del self.buffer[:end]
        return out
