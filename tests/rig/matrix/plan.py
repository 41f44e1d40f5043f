# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which cells a run has: links x activities x server settings x topologies x clients."""
import collections
import re

from . import Trouble

ACTIVITIES = ('idle', 'busy', 'heavy', 'scroll', 'photo')
STREAMING = ('off', 'filter', 'all')
TOPOLOGIES = ('direct', 'relay')
CLIENTS = ('stock', 'addon')
FIVE_LINKS = ('20:50', '80:50', '80:10', '80:5', '150:2')

SETS = {
    # Looks at the rig itself and at gross regressions; less than four minutes.
    'quick': [
        {'links': ('80:10',), 'activities': ('idle', 'heavy'), 'topologies': ('direct', 'relay')},
        {'links': ('unshaped',), 'activities': ('idle', 'heavy'), 'topologies': ('direct',)},
    ],
    # The add-on against stock, everywhere.
    'pairs': [
        {'links': FIVE_LINKS, 'activities': ('idle', 'busy', 'heavy'), 'streaming': ('off', 'all'),
         'topologies': ('direct', 'relay')},
    ],
    # What was found before there was an add-on: a stock client behind a relay.
    'reference': [
        {'links': ('unshaped', '80:10'), 'activities': ('idle',), 'streaming': ('off', 'all'),
         'topologies': ('relay',), 'clients': ('stock',)},
        {'links': ('unshaped',) + FIVE_LINKS, 'activities': ('busy', 'heavy'),
         'streaming': ('off', 'all'), 'topologies': ('relay',), 'clients': ('stock',)},
    ],
}

Cell = collections.namedtuple('Cell', 'link activity streaming topology cc client repeat')
Client = collections.namedtuple('Client', 'name options cpu')


def parse_link(text):
    """(round trip ms, Mbit/s down, Mbit/s up) of RTT:DOWN[:UP]; 0 Mbit/s is unlimited."""
    if text == 'unshaped':
        return 0.0, 0.0, 0.0
    parts = text.split(':')
    if not 2 <= len(parts) <= 3 or not all(re.fullmatch(r'\d+(\.\d+)?', p) for p in parts):
        raise Trouble('link %s: expected RTT_MS:MBIT[:MBIT_UP] or unshaped' % text, 2)
    rtt, down, up = (float(p) for p in (parts + parts[-1:])[:3])
    if rtt > 60000 or max(down, up) > 100000:
        raise Trouble('link %s: at most 60000 ms and 100000 Mbit/s' % text, 2)
    return rtt, down, up


def parse_client(text):
    """NAME[:OPTION=VALUE[+OPTION=VALUE...]][@PERCENT], such as addon:pace=0@25."""
    match = re.fullmatch(r'([a-z]+)(?::([a-z0-9=+_.-]+))?(?:@(\d+))?', text)
    if not match or match.group(1) not in CLIENTS:
        raise Trouble('client %s: expected one of %s, with @PERCENT of a core if limited'
                      % (text, ' '.join(CLIENTS)), 2)
    name, options, cpu = match.groups()
    if options and name != 'addon':
        raise Trouble('client %s: only addon takes options' % text, 2)
    if cpu and not 10 <= int(cpu) <= 400:
        raise Trouble('client %s: expected 10 to 400 per cent of a core' % text, 2)
    return Client(name, (options or '').replace('+', ','), int(cpu) if cpu else None)


def key(cell):
    """What is measured, without the repeat."""
    return '/'.join(cell[:6])


def identity(cell):
    return '%s/r%d' % (key(cell), cell.repeat)


def pair(cell):
    """What the clients that are compared with each other have in common."""
    return '/'.join(cell[:5]) + '/r%d' % cell.repeat


def make(name, overrides, cc, repeats):
    """The cells in the order they run: the clients of a pair next to each other, the order of the
    clients reversed from one pair to the next and from one repeat to the next."""
    cells = []
    for repeat in range(1, repeats + 1):
        seen = set()
        for part in SETS[name]:
            part = {**{'streaming': ('off',), 'clients': CLIENTS}, **part, **overrides}
            for group in groups(part, cc):
                if group in seen:
                    continue
                clients = list(part['clients'])
                if (len(seen) + repeat) % 2 == 0:
                    clients.reverse()
                seen.add(group)
                cells += [Cell(*group, client, repeat) for client in clients]
    return cells


def groups(part, cc):
    return [(link, activity, streaming, topology, one_cc)
            for link in part['links'] for activity in part['activities']
            for streaming in part['streaming'] for topology in part['topologies'] for one_cc in cc]


def check(values, known, what):
    for value in values:
        if value not in known:
            raise Trouble('%s %s: expected one of %s' % (what, value, ' '.join(known)), 2)


# What earlier runs came to, in Mbit that are ahead of a key press.
AHEAD = {('direct', 'busy'): 0.7, ('direct', 'heavy'): 4, ('relay', 'busy'): 1.2,
         ('relay', 'heavy'): 22}


def expected_latency(cell):
    """Seconds, roughly; for the warm-up and the time left only."""
    rtt, down, _ = parse_link(cell.link)
    if cell.activity == 'idle' or not down:
        return 0.03 + rtt / 1000
    kind = 'busy' if cell.activity != 'heavy' or cell.streaming == 'all' else 'heavy'
    ahead = AHEAD[cell.topology, kind]
    if cell.streaming == 'all' and cell.topology == 'relay' and down < 3:
        ahead = 15
    if cell.client.startswith('addon') and cell.topology == 'relay' and kind == 'heavy':
        ahead /= 2
    return 0.03 + rtt / 1000 + ahead / down


def warm_up(cell):
    """Seconds until the backlog has built up; the same for all clients of a pair."""
    if cell.activity == 'idle':
        return 2.0
    stock = expected_latency(cell._replace(client='stock'))
    return round(4.0 + 1.5 * stock + (2.0 if cell.streaming != 'off' else 0.0), 1)


def estimate(cell, options):
    """Seconds a cell takes."""
    rtt = parse_link(cell.link)[0]
    latency = expected_latency(cell)
    presses = options.presses * (latency + interval(cell, options) / 1000)
    after = 3.5 + latency if options.quality else 0
    warm = options.warmup if options.warmup is not None else warm_up(cell)
    return 1.5 + 12 * rtt / 1000 + warm + min(presses, options.cell_seconds) + after


def interval(cell, options):
    """Mean milliseconds from a draw to the next press. While pictures wait in a queue it must be
    long against the time between two grants of credit; with nothing moving it may be short."""
    return min(options.interval, 250) if cell.activity == 'idle' else options.interval


def clock(seconds):
    seconds = int(seconds + 0.5)
    if seconds < 100:
        return '%d s' % seconds
    if seconds < 6000:
        return '%d min' % ((seconds + 30) // 60)
    return '%d h %02d min' % (seconds // 3600, seconds % 3600 // 60)
