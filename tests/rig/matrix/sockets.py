# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where the backlog sits: the output of "ss -tinmH", asked for at both ends of the link."""
import re

from . import numbers

SAMPLER = 'while read -r _; do ss -tinmH; echo --; done'
INFO = re.compile(r'([a-z_]+):(\S+)')


def parse(lines):
    """Sockets as dictionaries: recvq, sendq, local, peer (HOST, PORT) and what -i and -m tell."""
    sockets = []
    for line in lines:
        if line[:1].strip():
            words = line.split()
            if len(words) < 5 or not words[1].isdigit():
                continue
            sockets.append({'recvq': int(words[1]), 'sendq': int(words[2]),
                            'local': address(words[3]), 'peer': address(words[4])})
            line = ' '.join(words[5:])
        if sockets:
            sockets[-1].update(INFO.findall(line))
    return sockets


def address(text):
    host, _, port = text.rpartition(':')
    host = host.strip('[]')
    return (host[7:] if host.startswith('::ffff:') else host), port


def number(sock, name):
    """The leading number of a field, 0 without it."""
    match = re.match(r'[\d.]+', sock.get(name, ''))
    return float(match.group()) if match else 0.0


def limited_percent(sock):
    """How much of its busy time it waited for the peer's receive window."""
    match = re.search(r'\(([\d.]+)%\)', sock.get('rwnd_limited', ''))
    return float(match.group(1)) if match else 0.0


class Place:
    """One place where data can wait; of its connections the one with the most bytes counts, which
    is the display channel."""

    def __init__(self, side, queue, chooses):
        self.side = side
        self.queue = queue
        self.chooses = chooses
        self.samples = []

    def take(self, sockets):
        self.samples.append({(s['local'], s['peer']): s for s in sockets if self.chooses(s)})

    def display(self):
        """Its socket in each sample, None where it is not there."""
        last = self.samples[-1] if self.samples else {}
        if not last:
            return []
        key = max(last, key=lambda k: number(last[k], 'bytes_acked') +
                  number(last[k], 'bytes_received'))
        return [sample.get(key) for sample in self.samples]

    def kib(self):
        return [round(s[self.queue] / 1024) for s in self.display() if s]


def places(topology, front_port, back_port, server_host, client_host):
    """By name; 'client leg' is the socket that the link is behind."""
    def front(s):
        return s['local'][1] == front_port and s['peer'][0] == client_host

    found = {
        'leg': Place('server', 'sendq', front),
        'client_rcvq': Place('client', 'recvq', lambda s: s['peer'] == (server_host, front_port)),
    }
    if topology == 'direct':
        found['server_sendq'] = Place('server', 'sendq', front)
    else:
        found['server_sendq'] = Place('server', 'sendq', lambda s: s['local'][1] == back_port)
        found['relay_rcvq'] = Place('server', 'recvq', lambda s: s['peer'][1] == back_port)
        found['relay_sendq'] = Place('server', 'sendq', front)
    return found


def report(found):
    """What is kept of all samples."""
    backlog, series = {}, {}
    for name, place in found.items():
        values = place.kib()
        if name == 'leg' or not values:
            continue
        series[name] = values
        backlog[name] = {'p50': numbers.quantile(values, 50), 'p95': numbers.quantile(values, 95),
                         'max': max(values)}
    leg = [s for s in found['leg'].display() if s]
    if not leg:
        return backlog, series, None
    return backlog, series, {
        'rtt_ms': numbers.quantile([number(s, 'rtt') for s in leg], 50),
        'cwnd': numbers.quantile([number(s, 'cwnd') for s in leg], 50),
        'notsent_kib': numbers.quantile([number(s, 'notsent') / 1024 for s in leg], 50),
        'rwnd_limited_pct': limited_percent(leg[-1]),
        'retrans': number({'r': leg[-1].get('retrans', '0/0').rpartition('/')[2]}, 'r'),
        'sent_mbit': round((number(leg[-1], 'bytes_acked') - number(leg[0], 'bytes_acked')) * 8 /
                           1e6, 3),
    }
