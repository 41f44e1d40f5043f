# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pictures of 8-bit RGB pixels: PPM files, an X server's frame buffer, exact comparison."""
import re
import struct
import zlib

from .scope import Failure


class Picture:
    def __init__(self, width, height, rgb):
        if len(rgb) != width * height * 3:
            raise Failure('%d bytes for a picture of %dx%d' % (len(rgb), width, height))
        self.width, self.height, self.rgb = width, height, bytes(rgb)

    def __eq__(self, other):
        return (self.width, self.height, self.rgb) == (other.width, other.height, other.rgb)

    def row(self, y):
        return self.rgb[y * self.width * 3:(y + 1) * self.width * 3]

    def ppm(self):
        return b'P6\n%d %d\n255\n' % (self.width, self.height) + self.rgb

    def crop(self, x, y, width, height):
        rows = [self.row(y + line)[x * 3:(x + width) * 3] for line in range(height)]
        return Picture(width, height, b''.join(rows))

    def plain(self):
        """TRUE when it shows one colour only: a comparison with it would prove nothing."""
        return self.rgb == self.rgb[:3] * (self.width * self.height)

    def difference(self, other):
        """In words; empty when equal."""
        if (self.width, self.height) != (other.width, other.height):
            return '%dx%d against %dx%d' % (self.width, self.height, other.width, other.height)
        if self.rgb == other.rgb:
            return ''
        count, first, top, bottom = 0, None, None, None
        for y in range(self.height):
            mine, theirs = self.row(y), other.row(y)
            if mine == theirs:
                continue
            top = y if top is None else top
            bottom = y
            for x in range(self.width):
                if mine[x * 3:x * 3 + 3] != theirs[x * 3:x * 3 + 3]:
                    count += 1
                    first = first or (x, y, mine[x * 3:x * 3 + 3].hex(),
                                      theirs[x * 3:x * 3 + 3].hex())
        return '%d pixels differ in rows %d to %d, first at %d,%d: %s against %s' % (
            (count, top, bottom) + first)

    def find_in(self, screen):
        """(x, y) of this picture inside a larger one, exactly, or None."""
        if self.width > screen.width or self.height > screen.height:
            return None
        # Search by the row that compresses worst: it occurs in the fewest places.
        rows = range(0, self.height, max(1, self.height // 64))
        key = max(rows, key=lambda y: len(zlib.compress(self.row(y), 1)))
        needle = self.row(key)
        for y in range(key, screen.height - (self.height - 1 - key)):
            line = screen.row(y)
            at = line.find(needle)
            tried = 0
            while at >= 0 and tried < 64:
                if at % 3 == 0 and self._at(screen, at, y - key):
                    return at // 3, y - key
                at = line.find(needle, at + 1)
                tried += 1
        return None

    def _at(self, screen, offset, top):
        length = self.width * 3
        return all(screen.row(top + y)[offset:offset + length] == self.row(y)
                   for y in range(self.height))


def parse_ppm(data):
    match = re.match(rb'P6\s+(?:#[^\n]*\n)?(\d+)\s+(\d+)\s+255\s', data)
    if not match:
        raise Failure('not a P6 picture with 255 levels')
    width, height = int(match[1]), int(match[2])
    return Picture(width, height, data[match.end():match.end() + width * height * 3])


def read_ppm(path):
    with open(path, 'rb') as file:
        return parse_ppm(file.read())


def read_framebuffer(path):
    """Xvfb's -fbdir file: an XWD header of big-endian words, colours, then rows of B, G, R, x."""
    with open(path, 'rb') as file:
        data = file.read()
    words = struct.unpack_from('>25I', data)
    header, width, height, bits, stride, colours = (words[0], words[4], words[5], words[11],
                                                    words[12], words[19])
    if bits != 32 or words[7] != 0:
        raise Failure('frame buffer of %d bits, byte order %d' % (bits, words[7]))
    start = header + colours * 12
    pixels = data[start:start + stride * height]
    rgb = bytearray(width * height * 3)
    if stride != width * 4:
        pixels = b''.join(pixels[y * stride:y * stride + width * 4] for y in range(height))
    rgb[0::3], rgb[1::3], rgb[2::3] = pixels[2::4], pixels[1::4], pixels[0::4]
    return Picture(width, height, rgb)
