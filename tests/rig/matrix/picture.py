# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Two pictures of the same size: how many pixels differ, PSNR, SSIM. Pure Python; what is the same
in both costs next to nothing, since most pictures here differ in a small part only.

PSNR: over the three colours of every pixel that counts, peak 255.
SSIM: of the luma Y = (299 R + 587 G + 114 B) / 1000, uniform windows of 8x8 pixels at every
position, C1 = (0.01 * 255)^2, C2 = (0.03 * 255)^2, population variances; the mean over all windows
that hold no masked pixel.
"""
import itertools
import math
import operator

from . import Trouble

WINDOW = 8
C1 = (0.01 * 255) ** 2
C2 = (0.03 * 255) ** 2


class Picture:
    def __init__(self, width, height, data):
        self.width = width
        self.height = height
        self.data = data

    def row(self, y):
        return self.data[y * self.width * 3:(y + 1) * self.width * 3]


def read(path):
    """A binary PPM of 8 bits a colour."""
    try:
        with open(path, 'rb') as file:
            data = file.read()
    except OSError as error:
        raise Trouble('%s: %s' % (path, error.strerror), 2) from None
    words, at = [], 0
    while len(words) < 4 and at < len(data):
        if data[at:at + 1].isspace():
            at += 1
        elif data[at:at + 1] == b'#':
            at = data.find(b'\n', at) + 1 or len(data)
        else:
            end = at
            while end < len(data) and not data[end:end + 1].isspace():
                end += 1
            words.append(data[at:end])
            at = end
    if len(words) < 4 or words[0] != b'P6' or words[3] != b'255' or \
            not (words[1].isdigit() and words[2].isdigit()):
        raise Trouble('%s: not a binary PPM of 8 bits a colour' % path, 2)
    width, height = int(words[1]), int(words[2])
    pixels = data[at + 1:]
    if width * height == 0 or len(pixels) != width * height * 3:
        raise Trouble('%s: %d bytes of pixels, %dx%d needs %d'
                      % (path, len(pixels), width, height, width * height * 3), 2)
    return Picture(width, height, pixels)


def spans(width, y, masks):
    """The parts [from, to) of a row that no mask (X, Y, WIDTH, HEIGHT) covers."""
    parts = [(0, width)]
    for mx, my, mw, mh in masks:
        if not my <= y < my + mh:
            continue
        parts = [(lo, hi) for a, b in parts
                 for lo, hi in ((a, min(b, mx)), (max(a, mx + mw), b)) if lo < hi]
    return parts


def differing(a, b, masks=()):
    """(pixels that differ, sum of the squares of all differences, pixels looked at)."""
    count = squares = looked_at = 0
    for y in range(a.height):
        row_a, row_b = a.row(y), b.row(y)
        for lo, hi in spans(a.width, y, masks):
            looked_at += hi - lo
            part_a, part_b = row_a[3 * lo:3 * hi], row_b[3 * lo:3 * hi]
            if part_a == part_b:
                continue
            diff = list(map(operator.sub, part_a, part_b))
            squares += sum(map(operator.mul, diff, diff))
            count += sum(map(any, zip(diff[0::3], diff[1::3], diff[2::3])))
    return count, squares, looked_at


def psnr(squares, pixels):
    """In dB; infinite for equal pictures."""
    if squares == 0 or pixels == 0:
        return math.inf
    return 10 * math.log10(255.0 ** 2 * 3 * pixels / squares)


def luma(row):
    return [(299 * r + 587 * g + 114 * b) / 1000
            for r, g, b in zip(row[0::3], row[1::3], row[2::3])]


def sliding(values):
    """Sums of WINDOW values from each position."""
    total = [0.0, *itertools.accumulate(values)]
    return map(operator.sub, total[WINDOW:], total)


class Columns:
    """For each column the sums over the last WINDOW rows of x, y, x*x, y*y and x*y."""

    def __init__(self, a, b):
        self.a, self.b = a, b
        self.sums = None
        self.top = None

    def products(self, y):
        x, v = luma(self.a.row(y)), luma(self.b.row(y))
        return (x, v, list(map(operator.mul, x, x)), list(map(operator.mul, v, v)),
                list(map(operator.mul, x, v)))

    def at(self, top):
        """The sums for the windows whose first row is @top."""
        if self.top is not None and top == self.top + 1:
            old, new = self.products(top - 1), self.products(top + WINDOW - 1)
            self.sums = [list(map(operator.add, map(operator.sub, s, o), n))
                         for s, o, n in zip(self.sums, old, new)]
        else:
            rows = [self.products(y) for y in range(top, top + WINDOW)]
            self.sums = [[sum(column) for column in zip(*(row[k] for row in rows))]
                         for k in range(5)]
        self.top = top
        return self.sums


def window_values(sums):
    """SSIM of each window along one row of windows."""
    n = WINDOW * WINDOW
    values = []
    for x, v, xx, vv, xv in zip(*map(sliding, sums)):
        mean_x, mean_v = x / n, v / n
        product = mean_x * mean_v
        square = mean_x * mean_x + mean_v * mean_v
        values.append((2 * product + C1) * (2 * (xv / n - product) + C2) /
                      ((square + C1) * ((xx + vv) / n - square + C2)))
    return values


def ssim(a, b, masks=()):
    """None if no window is free of masks."""
    if a.width < WINDOW or a.height < WINDOW:
        return None
    same = [a.row(y) == b.row(y) for y in range(a.height)]
    # A window that touches a mask begins up to WINDOW - 1 before it.
    grown = [(x - WINDOW + 1, y - WINDOW + 1, w + WINDOW - 1, h + WINDOW - 1)
             for x, y, w, h in masks]
    columns = Columns(a, b)
    total, count = 0.0, 0
    for top in range(a.height - WINDOW + 1):
        parts = spans(a.width - WINDOW + 1, top, grown)
        free = sum(hi - lo for lo, hi in parts)
        count += free
        if not free:
            continue
        if all(same[top:top + WINDOW]):
            total += free
            continue
        values = window_values(columns.at(top))
        total += sum(sum(values[lo:hi]) for lo, hi in parts)
    return total / count if count else None


def compare(a, b, masks=()):
    """All three; the pictures must be of one size."""
    if (a.width, a.height) != (b.width, b.height):
        raise Trouble('the pictures are of different sizes: %dx%d and %dx%d'
                      % (a.width, a.height, b.width, b.height), 2)
    count, squares, looked_at = differing(a, b, masks)
    return {'differing': count, 'pixels': looked_at, 'psnr_db': psnr(squares, looked_at),
            'ssim': 1.0 if count == 0 and looked_at else ssim(a, b, masks)}
