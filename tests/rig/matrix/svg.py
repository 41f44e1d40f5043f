# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A small writer of SVG plots. A plot has a light card of its own, so that it reads the same on a
light and on a dark page."""
import math
from xml.sax.saxutils import escape

PAPER, INK, FAINT, GRID = '#ffffff', '#1f2328', '#59636e', '#d8dee4'
# Told apart with any colour vision, on white.
COLOURS = ('#0969da', '#d1570c', '#1a7f5a', '#8250df', '#b3246b', '#7a6200')
FONT = "font-family='Helvetica, Arial, sans-serif'"


class Drawing:
    def __init__(self, width, height, title):
        self.width, self.height = width, height
        self.parts = [
            "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' viewBox='0 0 %d %d' "
            "role='img' aria-label='%s'>" % (width, height, width, height, quote(title)),
            '<title>%s</title>' % escape(title),
            "<rect width='%d' height='%d' rx='6' fill='%s' stroke='%s'/>"
            % (width, height, PAPER, GRID),
        ]

    def line(self, x1, y1, x2, y2, colour=INK, width=1.0, dash=None):
        self.parts.append(
            "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='%s' stroke-width='%g'%s/>"
            % (x1, y1, x2, y2, colour, width, " stroke-dasharray='%s'" % dash if dash else ''))

    def path(self, points, colour, width=1.5):
        if points:
            self.parts.append(
                "<polyline points='%s' fill='none' stroke='%s' stroke-width='%g' "
                "stroke-linejoin='round'/>"
                % (' '.join('%.1f,%.1f' % point for point in points), colour, width))

    def rect(self, x, y, width, height, colour, opacity=1.0):
        self.parts.append("<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='%s' "
                          "fill-opacity='%g'/>" % (x, y, width, height, colour, opacity))

    def mark(self, shape, x, y, colour, size=4.0, hollow=False):
        paint = "fill='%s' stroke='%s' stroke-width='1.5'" % (PAPER if hollow else colour, colour)
        if shape == 'circle':
            self.parts.append("<circle cx='%.1f' cy='%.1f' r='%g' %s/>" % (x, y, size, paint))
        else:
            self.parts.append("<rect x='%.1f' y='%.1f' width='%g' height='%g' %s/>"
                              % (x - size * .9, y - size * .9, size * 1.8, size * 1.8, paint))

    def text(self, x, y, words, size=12, anchor='start', colour=INK, bold=False, turned=False):
        self.parts.append(
            "<text x='%.1f' y='%.1f' %s font-size='%g' text-anchor='%s' fill='%s'%s%s>%s</text>"
            % (x, y, FONT, size, anchor, colour, " font-weight='bold'" if bold else '',
               " transform='rotate(-90 %.1f %.1f)'" % (x, y) if turned else '', escape(words)))

    def document(self):
        return '\n'.join(self.parts + ['</svg>']) + '\n'


def quote(text):
    return escape(text, {"'": '&apos;'})


class Linear:
    """Values to pixels."""

    def __init__(self, low, high, start, end):
        self.low, self.high = low, high if high > low else low + 1
        self.start, self.end = start, end

    def at(self, value):
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, wanted=5):
        """(value, its text) at round steps."""
        raw = (self.high - self.low) / wanted
        step = 10 ** math.floor(math.log10(raw))
        step *= next(f for f in (1, 2, 5, 10) if f * step >= raw * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [(i * step, '%g' % round(i * step, 6)) for i in range(first, last + 1)]


class Log(Linear):
    """From one of 1, 2, 5 times a power of ten to another."""

    def __init__(self, low, high, start, end):
        super().__init__(log_floor(low), log_ceil(high), start, end)

    def at(self, value):
        share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, wanted=0):
        found = []
        power = math.floor(math.log10(self.low))
        while 10 ** power <= self.high * 1.001:
            found += [f * 10 ** power for f in (1, 2, 5)]
            power += 1
        return [(value, '%g' % value) for value in found
                if self.low * 0.999 <= value <= self.high * 1.001]


def log_floor(value):
    power = 10 ** math.floor(math.log10(value))
    return max(f * power for f in (1, 2, 5) if f * power <= value * 1.0001)


def log_ceil(value):
    power = 10 ** math.floor(math.log10(value))
    return min(f * power for f in (1, 2, 5, 10) if f * power >= value * 0.9999)
