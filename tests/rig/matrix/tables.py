# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Records as tables in Markdown."""
from . import numbers, plan, results


def table(head, rows):
    """Text columns to the left, all others to the right: a head that begins with '<' is text."""
    lines = ['| ' + ' | '.join(name.lstrip('<') for name in head) + ' |',
             '|' + '|'.join('---' if name[0] == '<' else '---:' for name in head) + '|']
    lines += ['| ' + ' | '.join(row) + ' |' for row in rows]
    return '\n'.join(lines) + '\n'


def place(pool, several_cc):
    cell = pool.cell
    columns = [results.link_name(cell.link), cell.activity, cell.streaming, cell.topology,
               cell.client]
    return columns + [cell.cc] if several_cc else columns


def place_head(several_cc):
    head = ['<Link', '<Activity', '<Streaming', '<Topology', '<Client']
    return head + ['<Congestion control'] if several_cc else head


def figure(value, digits=0):
    return '-' if value is None else '%.*f' % (digits, value)


def with_interval(pool, percent):
    repeats = pool.samples()
    samples = sum(repeats, [])
    if not samples:
        waited = pool.values('pending_s')
        return 'over %.0f s' % max(waited) if waited else '-'
    low, high = numbers.bootstrap(repeats, percent)
    return '%.0f (%.0f-%.0f)' % (numbers.quantile(samples, percent), low, high)


def counted(pool):
    n, of = len(pool.counted), pool.wanted()
    return str(n) if n == of else '%d of %d' % (n, of)


class Tables:
    def __init__(self, headers, pools, note=None):
        self.headers = headers
        self.note = note
        self.pools = pools
        self.several_cc = len({pool.cell.cc for pool in pools}) > 1
        self.shown = [pool for pool in pools if pool.counted]

    def rows(self, columns, pools=None):
        return [place(pool, self.several_cc) + columns(pool)
                for pool in (self.shown if pools is None else pools)]

    def head(self, *more):
        return place_head(self.several_cc) + list(more)

    def latency(self):
        def columns(pool):
            samples = pool.samples()
            moves = pool.cell.activity != 'idle'
            return [counted(pool), str(sum(map(len, samples))), with_interval(pool, 50),
                    with_interval(pool, 95), str(pool.timeouts()),
                    figure(numbers.mean(pool.values('display_mbit')), 1),
                    figure(min(pool.values('fps', 'slowest_cell_fps'), default=None)
                           if moves else None, 1)]
        return table(self.head('Repeats', 'Presses', 'p50 ms', 'p95 ms', 'Timeouts',
                               'Display Mbit/s', 'fps, slowest part'), self.rows(columns))

    def cost(self):
        names = [name for name in ('client', 'relay', 'server')
                 if any(pool.values('cores', name) for pool in self.shown)]

        def columns(pool):
            return [figure(numbers.mean(pool.values('cores', name)), 3) for name in names] + \
                [figure(max(pool.values('peak_mib', name), default=None)) for name in names]
        return table(self.head(*('%s cores' % name for name in names),
                               *('%s peak MiB' % name for name in names)), self.rows(columns))

    def backlog(self):
        names = ('client_rcvq', 'relay_sendq', 'relay_rcvq', 'server_sendq')

        def columns(pool):
            return [figure(numbers.mean(pool.values('backlog_kib', name, 'p50')))
                    for name in names] + \
                [figure(numbers.mean(pool.values('leg', 'rtt_ms'))),
                 figure(numbers.mean(pool.values('leg', 'cwnd'))),
                 figure(max(pool.values('leg', 'rwnd_limited_pct'), default=None))]
        return table(self.head('Client Recv-Q KiB', 'Relay Send-Q KiB', 'Relay Recv-Q KiB',
                               'Server Send-Q KiB', 'TCP RTT ms', 'cwnd', 'rwnd_limited %'),
                     self.rows(columns))

    def addon(self):
        def columns(pool):
            return ['%.0f' % sum(pool.values('accel', 'holds')),
                    '%.0f' % (100 * sum(pool.values('accel', 'hold_ms')) /
                              max(sum(pool.values('seconds')) * 1000, 1))]
        pools = [pool for pool in self.shown if pool.values('accel')]
        return table(self.head('ACKs held', 'Time held %'),
                     self.rows(columns, pools)) if pools else None

    def picture(self):
        def columns(pool):
            differing = pool.values('quality', 'background_differing')
            frozen = [r['quality'] for r in pool.counted
                      if 'frozen_ssim' in (r.get('quality') or {})]
            if not differing:
                return None
            # null stands for equal pictures.
            dbs = [q['frozen_psnr_db'] for q in frozen if q['frozen_psnr_db'] is not None]
            settle = [q['settle_s'] for q in frozen]
            return ['%d of %d (%d)' % (differing.count(0), len(differing), max(differing)),
                    figure(min((q['frozen_ssim'] for q in frozen), default=None), 4),
                    '%.1f' % min(dbs) if dbs else 'inf' if frozen else '-',
                    figure(numbers.quantile(settle, 50), 1)]
        rows = [place(pool, self.several_cc) + columns(pool)
                for pool in self.shown if columns(pool)]
        return table(self.head('Background exact (most px differing)', 'Frozen SSIM min',
                               'Frozen PSNR min dB', 'Settled after s'), rows) if rows else None

    def ratios(self):
        rows = []
        for pool in self.shown:
            stock = results.partner(pool, self.pools)
            if not stock or not stock.counted:
                continue
            row = place(pool, self.several_cc)
            for percent in (50, 95):
                found = numbers.bootstrap_ratio(pool.samples(), stock.samples(), percent)
                row.append('%.2f (%.2f-%.2f)' % (found[0], *found[1]) if found else '-')
            for path in (('display_mbit',), ('cores', 'client'), ('peak_mib', 'client')):
                ours, theirs = (numbers.mean(p.values(*path)) for p in (pool, stock))
                if path[0] == 'display_mbit':
                    row.append(figure(ours / theirs if ours is not None and theirs else None, 2))
                else:
                    row.append('-' if None in (ours, theirs) else '%+.*f' % (
                        3 if path[0] == 'cores' else 1, ours - theirs))
            rows.append(row)
        return table(self.head('p50 ratio', 'p95 ratio', 'Throughput ratio', 'Client cores more',
                               'Client MiB more'), rows) if rows else None

    def floor(self):
        """The best a client can see on a link: stock, direct, nothing moving."""
        rows = []
        for pool in self.shown:
            cell = pool.cell
            if (cell.activity, cell.topology, cell.client) != ('idle', 'direct', 'stock'):
                continue
            rows.append(place(pool, self.several_cc) +
                        [with_interval(pool, percent) for percent in (50, 95)])
        return table(self.head('p50 ms', 'p95 ms'), rows) if rows else None

    def left_out(self):
        rows = []
        for pool in self.pools:
            rows += [place(pool, self.several_cc) + [str(r['repeat']), r['status'],
                                                     str(r['reason']).replace('|', '\\|')]
                     for r in pool.records if r['status'] != 'ok']
        return table(self.head('Repeat', '<Why', '<Reason'), rows) if rows else None

    def runs(self):
        lines = []
        for header in self.headers:
            machine, versions = header['machine'], header['versions']
            lines.append(
                '- %s: commit %s%s; %s, %s cores, %s MiB, Linux %s, %s; libspice-server %s, '
                'spice-gtk %s; load %s at the start; seed %s; %s presses or %s s a cell' % (
                    header['time'], (header['commit'] or 'unknown')[:12],
                    ' with changes' if header['dirty'] else '', machine['cpu'], machine['cores'],
                    machine['memory_mib'], machine['kernel'], machine['system'],
                    versions['spice_server'], versions['spice_gtk'],
                    ' '.join('%.1f' % v for v in header['load']), header['run_seed'],
                    header['options']['presses'], header['options']['cell_seconds']))
        return '\n'.join(dict.fromkeys(lines)) + '\n'

    def document(self):
        sections = [
            ('Runs', self.runs(), None),
            ('Latency', self.latency() if self.shown else None,
             'From key press to draw of the key box, pooled over the repeats counted, with 95 % '
             'bootstrap intervals (repeats drawn with replacement, then presses within each). A '
             'press that timed out counts with its limit. Display Mbit/s is what the client read '
             'on the display channel during the presses; fps is that of the slowest part of the '
             'moving area.'),
            ('The add-on against stock', self.ratios(),
             'Add-on over stock of the same cell, with 95 % bootstrap intervals. Cores and MiB '
             'are differences.'),
            ('Idle floor', self.floor(), 'Stock, direct, nothing moving.'),
            ('Cost', self.cost() if self.shown else None,
             'CPU in cores during the presses, mean over the repeats; peak RSS over the whole '
             'cell, the highest.'),
            ('Picture', self.picture(),
             'Background: every pixel outside the moving area and the key box, in the middle of '
             'the animation. Frozen: the whole frame less the key box, after the animation '
             'stopped; SSIM of the luma in uniform 8x8 windows; 1.0000 and inf mean identical. '
             'Settled: from the freeze to the last draw, median.'),
            ('Where the backlog sits', self.backlog() if self.shown else None,
             'Median of ss samples twice a second, mean over the repeats. Where there is no relay '
             'the server\'s Send-Q faces the link.'),
            ('What the add-on did', self.addon(), None),
            ('Not counted', self.left_out(), rules(self.headers)),
        ]
        text = self.note + '\n\n' if self.note else ''
        for title, body, words in sections:
            if body:
                text += '## %s\n\n%s%s\n' % (title, words + '\n\n' if words else '', body)
        return text


def rules(headers):
    found = headers[-1].get('rules', {}) if headers else {}
    return ' '.join('%s: %s.' % (name, text) for name, text in found.items()) or None


def cells(pools):
    """One line a cell, for --list."""
    return '\n'.join('%s %s' % (plan.identity(plan.Cell(*(r[n] for n in plan.Cell._fields))),
                                r['status']) for pool in pools for r in pool.records)
