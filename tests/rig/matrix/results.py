# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Records read back: cells pooled over their repeats."""
import json

from . import Trouble, plan

ACTIVITY_ORDER = {name: i for i, name in enumerate(plan.ACTIVITIES)}
STREAMING_ORDER = {name: i for i, name in enumerate(plan.STREAMING)}


class Pool:
    """All repeats of one cell."""

    def __init__(self, cell):
        self.cell = cell
        self.records = []

    @property
    def counted(self):
        return [r for r in self.records if r['status'] == 'ok']

    def wanted(self):
        """How many repeats there are, whether they count or not; one that did not may have run
        again."""
        return len({(r['file'], r['repeat']) for r in self.records})

    def samples(self):
        """Samples by repeat. A press that timed out counts with its limit, a lower bound."""
        return [r['samples_ms'] + [r['timeout_ms']] * r['timeouts'] for r in self.counted]

    def timeouts(self):
        return sum(r['timeouts'] for r in self.counted)

    def values(self, *path):
        """What the counted repeats have at this place, without those that lack it."""
        found = []
        for value in self.counted:
            for name in path:
                value = value.get(name) if value else None
            if value is not None:
                found.append(value)
        return found

    def key(self):
        return plan.key(self.cell)


def read(paths):
    """(headers, pools in the order of the tables)."""
    headers, pools = [], {}
    for path in paths:
        try:
            with open(path, encoding='utf-8') as file:
                lines = file.read().splitlines()
        except OSError as error:
            raise Trouble('%s: %s' % (path, error.strerror), 2) from None
        for number, line in enumerate(lines, 1):
            try:
                record = json.loads(line)
                kind = record['type']
                if kind == 'header':
                    headers.append(record)
                    continue
                cell = plan.Cell(*(record[name] for name in plan.Cell._fields))
                record['file'] = path
                pools.setdefault(plan.key(cell), Pool(cell)).records.append(record)
            except (ValueError, KeyError, TypeError) as error:
                raise Trouble('%s:%d: no record of run-matrix (%s)' % (path, number, error),
                              2) from None
    if not pools:
        raise Trouble('%s: no cells' % ' '.join(paths), 2)
    return headers, sorted(pools.values(), key=order)


def link_order(link):
    rtt, down, _ = plan.parse_link(link)
    return (down > 0, rtt, -down)


def order(pool):
    cell = pool.cell
    return (link_order(cell.link), ACTIVITY_ORDER[cell.activity], STREAMING_ORDER[cell.streaming],
            cell.topology, cell.cc, client_order(cell.client))


def client_order(client):
    parsed = plan.parse_client(client)
    return parsed.cpu or 0, parsed.name != 'stock', parsed.options


def partner(pool, pools):
    """The stock client of the same pair, None for a stock client or without one."""
    parsed = plan.parse_client(pool.cell.client)
    if parsed.name == 'stock':
        return None
    stock = 'stock' + ('@%d' % parsed.cpu if parsed.cpu else '')
    wanted = plan.key(pool.cell._replace(client=stock))
    return next((other for other in pools if other.key() == wanted), None)


def link_name(link):
    rtt, down, up = plan.parse_link(link)
    if not rtt and not down:
        return 'unshaped'
    rate = '%g' % down if down == up else '%g/%g' % (down, up)
    return '%g ms / %s' % (rtt, rate + ' Mbit' if down else 'unlimited')
