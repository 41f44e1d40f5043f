# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A session made by hand: raw bitmaps drawn on one surface, whose picture is known without a
decoder. Message layouts: spice-common's spice.proto as generated for protocol minor 2."""
import struct

from . import recording as rec
from . import spice
from .picture import Picture

COMMON_CAPS = spice.words_of(spice.CAP_AUTH_SELECTION, spice.CAP_AUTH_SPICE,
                             spice.CAP_MINI_HEADER)
SESSION_ID = 0x5a5a0001
WINDOW = 20


def main_init(agent=0):
    return struct.pack('<8I', SESSION_ID, 1, 1, 1, agent, 10, 1, 1 << 20)


def channels_list(channels):
    return struct.pack('<I', len(channels)) + b''.join(struct.pack('<BB', *pair)
                                                       for pair in channels)


def draw_copy(x, y, width, height, rgb):
    """A raw 32-bit bitmap put at x, y of surface 0."""
    area = struct.pack('<4i', y, x, y + height, x + width)  # top, left, bottom, right
    base = struct.pack('<I', 0) + area + b'\0'              # surface, box, no clip
    source = struct.pack('<4i', 0, 0, height, width)
    copy = struct.pack('<I', 57) + source + struct.pack('<HBBiiI', 8, 0, 0, 0, 0, 0)
    image = struct.pack('<QBBII', 0, 0, 0, width, height)
    bitmap = struct.pack('<BBIIII', 8, 4, width, height, width * 4, 0)
    pixels = bytearray(width * height * 4)
    pixels[0::4], pixels[1::4], pixels[2::4] = rgb[2::3], rgb[1::3], rgb[0::3]
    return base + copy + image + bitmap + bytes(pixels)


def pattern(width, height, seed):
    """Pixels that no viewer's own window shows: a gradient with a generator's noise over it."""
    state, out = seed * 2654435761 & 0xffffffff or 1, bytearray()
    for y in range(height):
        for x in range(width):
            state = (state * 1664525 + 1013904223) & 0xffffffff
            noise = state >> 28
            out += bytes(((x * 3 + seed * 40 + noise) & 255, (y * 5 + noise) & 255,
                          (x + y + seed * 16) & 255))
    return bytes(out)


def make(width=320, height=200, draws=60, displays=1):
    """A Recording: a first draw over all of the surface, then draws of 32x20."""
    recording = rec.Recording()

    def channel(kind, number, caps, messages):
        one = rec.Channel(kind, number, COMMON_CAPS, caps)
        one.messages = [(rec.FROM_SERVER, message, body) for message, body in messages]
        recording.channels.append(one)

    pairs = [(spice.DISPLAY, number) for number in range(displays)]
    pairs += [(spice.INPUTS, 0), (spice.CURSOR, 0)]
    channel(spice.MAIN, 0, [0x9], [(spice.MAIN_INIT, main_init()),
                                   (spice.CHANNELS_LIST, channels_list(pairs))])
    for number in range(displays):
        rgb = bytearray(pattern(width, height, 1 + number))
        messages = [(spice.SET_ACK, struct.pack('<II', 1, WINDOW)),
                    (108, b''),  # INVAL_ALL_PALETTES
                    (spice.SURFACE_CREATE, struct.pack('<5I', 0, width, height, 32, 1)),
                    (spice.DRAW_COPY, draw_copy(0, 0, width, height, rgb)),
                    (102, b'')]  # MARK: the surface is complete
        for index in range(draws):
            x, y = index * 32 % (width - 31), index * 28 % (height - 19)
            part = pattern(32, 20, 100 + index)
            messages.append((spice.DRAW_COPY, draw_copy(x, y, 32, 20, part)))
            for line in range(20):
                at = ((y + line) * width + x) * 3
                rgb[at:at + 96] = part[line * 96:line * 96 + 96]
        if number == 0:
            recording.picture = Picture(width, height, rgb)
        channel(spice.DISPLAY, number, [0], messages)
    channel(spice.INPUTS, 0, [], [(101, struct.pack('<H', 0))])
    channel(spice.CURSOR, 0, [], [
        (spice.SET_ACK, struct.pack('<II', 1, WINDOW)),
        (101, struct.pack('<hhHHBH', 0, 0, 0, 0, 1, 1))])
    return recording
