# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The plots: latency by link and configuration, and the course of one session."""
from . import numbers, plan, results, svg

LEFT, RIGHT, TOP = 64, 20, 64


def configurations(pools):
    """(topology, client) in the order of the legend."""
    return sorted({(p.cell.topology, p.cell.client) for p in pools},
                  key=lambda c: (c[0], results.client_order(c[1])))


def legend(drawing, x, y, entries):
    for words, draw in entries:
        draw(x + 6, y - 4)
        drawing.text(x + 18, y, words)
        x += entry_width(words)


def entry_width(words):
    return 36 + 6.6 * len(words)


def latency(pools, activity, streaming, cc):
    """The median as a mark, from there a line to p95; None if there is nothing to show."""
    pools = [p for p in pools if p.counted and sum(p.samples(), []) and
             (p.cell.activity, p.cell.streaming, p.cell.cc) == (activity, streaming, cc)]
    if not pools:
        return None
    links = sorted({p.cell.link for p in pools}, key=results.link_order)
    kinds = configurations(pools)
    topologies = sorted({kind[0] for kind in kinds})
    clients = sorted({kind[1] for kind in kinds}, key=results.client_order)
    group = max(110, 26 * len(kinds) + 30)
    width, height, bottom = LEFT + RIGHT + group * len(links), 400, 344
    width = max(width, 520, LEFT + sum(entry_width('%s, %s' % kind) for kind in kinds))
    title = 'Key press to draw, %s, streaming %s%s' % (activity, streaming,
                                                       '' if cc == 'cubic' else ', ' + cc)
    drawing = svg.Drawing(width, height, title)
    drawing.text(LEFT, 24, title, size=15, bold=True)
    legend(drawing, LEFT, 48, [
        ('%s, %s' % kind, marker(drawing, kind, topologies, clients)) for kind in kinds])

    values = [numbers.quantile(sum(p.samples(), []), q) for p in pools for q in (50, 95)]
    axis = svg.Log(max(min(values), 1), max(values), bottom, TOP + 8)
    for value, words in axis.ticks():
        drawing.line(LEFT, axis.at(value), width - RIGHT, axis.at(value), svg.GRID)
        drawing.text(LEFT - 8, axis.at(value) + 4, words, anchor='end', colour=svg.FAINT)
    drawing.text(18, (TOP + bottom) / 2, 'key press to draw, ms', anchor='middle', colour=svg.FAINT,
                 turned=True)
    step = (width - LEFT - RIGHT) / len(links)
    for i, link in enumerate(links):
        middle = LEFT + step * (i + 0.5)
        if i:
            drawing.line(LEFT + step * i, TOP + 8, LEFT + step * i, bottom, svg.GRID)
        drawing.text(middle, bottom + 20, results.link_name(link), anchor='middle')
        for pool in pools:
            if pool.cell.link != link:
                continue
            kind = pool.cell.topology, pool.cell.client
            x = middle + (kinds.index(kind) - (len(kinds) - 1) / 2) * 26
            samples = sum(pool.samples(), [])
            p50, p95 = (axis.at(numbers.quantile(samples, q)) for q in (50, 95))
            colour = svg.COLOURS[clients.index(kind[1]) % len(svg.COLOURS)]
            drawing.line(x, p50, x, p95, colour, 2)
            drawing.line(x - 5, p95, x + 5, p95, colour, 2)
            marker(drawing, kind, topologies, clients)(x, p50)
    drawing.line(LEFT, bottom, width - RIGHT, bottom)
    drawing.text((LEFT + width - RIGHT) / 2, bottom + 20 + 16, 'link: round trip / rate',
                 anchor='middle', colour=svg.FAINT, size=11)
    drawing.text(LEFT, height - 8, 'Mark: median; bar: 95th percentile.',
                 size=11, colour=svg.FAINT)
    return drawing.document()


def marker(drawing, kind, topologies, clients):
    """Colour tells the client, shape the topology."""
    colour = svg.COLOURS[clients.index(kind[1]) % len(svg.COLOURS)]
    shape = ('circle', 'square')[topologies.index(kind[0]) % 2]
    hollow = topologies.index(kind[0]) >= 2
    return lambda x, y: drawing.mark(shape, x, y, colour, hollow=hollow)


class Panel:
    """One of several plots over the same time."""

    def __init__(self, drawing, time, top, height, high, title):
        self.drawing, self.time, self.top, self.bottom = drawing, time, top, top + height
        self.axis = svg.Linear(0, high, self.bottom, top)
        drawing.text(LEFT, top - 8, title, size=12, bold=True)
        for value, words in self.axis.ticks(4):
            drawing.line(LEFT, self.axis.at(value), drawing.width - RIGHT, self.axis.at(value),
                         svg.GRID)
            drawing.text(LEFT - 8, self.axis.at(value) + 4, words, anchor='end', colour=svg.FAINT,
                         size=11)

    def at(self, seconds, value):
        return self.time.at(seconds), self.axis.at(value)


def timeline(record):
    """Credit, ACKs held, backlog and key presses of one session with the add-on."""
    column = {name: i for i, name in enumerate(record['accel']['columns'])}
    rows = record['accel']['rows']
    seconds = record['seconds']
    title = 'One session: %s, %s, streaming %s, %s, %s' % (
        results.link_name(record['link']), record['activity'], record['streaming'],
        record['topology'], record['client'])
    drawing = svg.Drawing(900, 620, title)
    drawing.text(LEFT, 26, title, size=15, bold=True)
    time = svg.Linear(0, seconds, LEFT, drawing.width - RIGHT)
    for at in record['pressed_s']:
        if at is not None:
            drawing.line(time.at(at), 58, time.at(at), 568, svg.GRID, 1, '2 3')
    credit_panel(drawing, time, rows, column)
    held_panel(drawing, time, rows, column)
    backlog_panel(drawing, time, record)
    press_panel(drawing, time, record)
    drawing.line(LEFT, 568, drawing.width - RIGHT, 568)
    for value, words in time.ticks(10):
        drawing.line(time.at(value), 568, time.at(value), 573)
        drawing.text(time.at(value), 588, words, anchor='middle', colour=svg.FAINT, size=11)
    drawing.text((LEFT + drawing.width - RIGHT) / 2, 608, 'seconds; dashed: a key press',
                 anchor='middle', colour=svg.FAINT)
    return drawing.document()


def credit_panel(drawing, time, rows, column):
    window = rows[-1][column['window']]
    panel = Panel(drawing, time, 70, 100, 2 * window + 10 if window else 90,
                  'Credit outstanding, the most that can be in flight (messages)')
    if window:
        y = panel.axis.at(2 * window + 1)
        drawing.line(LEFT, y, drawing.width - RIGHT, y, svg.COLOURS[4], 1, '5 3')
        drawing.text(drawing.width - RIGHT - 4, y - 4, '2W+1 = %d' % (2 * window + 1),
                     anchor='end', size=11, colour=svg.COLOURS[4])
    points = [(row[0], row[column['in_flight']]) for row in rows
              if row[column['in_flight']] is not None]
    drawing.path([panel.at(*point) for point in points if point[0] <= time.high],
                 svg.COLOURS[0])


def held_panel(drawing, time, rows, column):
    panel = Panel(drawing, time, 200, 80, 1000, 'Time ACKs were held (ms in each second)')
    for before, row in zip([None] + rows, rows):
        start = before[0] if before else max(row[0] - 1, 0)
        end = min(row[0], time.high)
        if row[column['hold_ms']] and end > start:
            x, y = panel.at(start, min(row[column['hold_ms']], 1000))
            drawing.rect(x, y, time.at(end) - x - 1, panel.bottom - y, svg.COLOURS[1], 0.75)


def backlog_panel(drawing, time, record):
    series = record['series_kib']
    names = [name for name in ('server_sendq', 'relay_rcvq', 'relay_sendq', 'client_rcvq')
             if name in series]
    high = max((max(series[name], default=0) for name in names), default=0)
    panel = Panel(drawing, time, 316, 110, max(high * 1.05, 10), 'Bytes waiting (KiB)')
    entries = []
    for i, name in enumerate(names):
        colour = svg.COLOURS[i]
        step = record['seconds'] / max(len(series[name]) - 1, 1)
        drawing.path([panel.at(k * step, v) for k, v in enumerate(series[name])], colour)
        words = name.replace('_', ' ').replace('rcvq', 'Recv-Q').replace('sendq', 'Send-Q')
        entries.append((words, lambda x, y, c=colour: drawing.line(x - 7, y, x + 7, y, c, 2)))
    legend(drawing, LEFT + 180, 308, entries)


def press_panel(drawing, time, record):
    pairs = [(at, ms) for at, ms in zip(record['pressed_s'], record['samples_ms'])
             if at is not None]
    panel = Panel(drawing, time, 464, 104, max((ms for _, ms in pairs), default=1) * 1.1,
                  'Key press to draw (ms)')
    for at, ms in pairs:
        x, y = panel.at(at, ms)
        drawing.line(x, panel.bottom, x, y, svg.COLOURS[3], 1.5)
        drawing.mark('circle', x, y, svg.COLOURS[3], 3)


def all_latency(pools):
    """(name, document) of each plot that has something to show."""
    kinds = sorted({(p.cell.activity, p.cell.streaming, p.cell.cc) for p in pools},
                   key=lambda k: (plan.ACTIVITIES.index(k[0]), k[1:]))
    for activity, streaming, cc in kinds:
        document = latency(pools, activity, streaming, cc)
        if document:
            name = 'latency-%s-%s' % (activity, streaming) + ('' if cc == 'cubic' else '-' + cc)
            yield name, document
