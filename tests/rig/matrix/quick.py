# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a short run must show. Everything is a ratio or a difference within the run, so that the
machine's speed matters little; one that fails is measured once more."""
import sys
import time

from . import numbers, plan

LONGEST_S = 235     # no retry that would end later


def pooled(records, key):
    """(samples with timeouts at their limit, Mbit/s, whether every record counts)."""
    found = [r for r in records if r['type'] == 'cell' and r['id'] == key]
    if not found or 'samples_ms' not in found[-1]:
        return None
    record = found[-1]
    samples = record['samples_ms'] + [record['timeout_ms']] * record['timeouts']
    return samples, record['display_mbit'] or 0, record['status'] == 'ok', record


class Check:
    """One comparison of two cells."""

    def __init__(self, name, one, other, holds, text):
        self.name, self.one, self.other, self.holds, self.text = name, one, other, holds, text

    def judge(self, records, repeat):
        """(True, False or None for "cannot be judged", what there is to say)."""
        sides = [pooled(records, '%s/r%d' % (key, repeat)) for key in (self.one, self.other)]
        if None in sides:
            return None, 'no result of %s' % (self.one if sides[0] is None else self.other)
        ok = bool(self.holds(*sides))
        text = self.text(*sides)
        if not ok and not all(side[2] for side in sides):
            reasons = [side[3]['reason'] for side in sides if side[3]['reason']]
            return None, '%s, but %s' % (text, reasons[0])
        return ok, text


def p50(side):
    return numbers.quantile(side[0], 50)


def show_p50(a, b):
    return 'p50 %.0f and %.0f ms (%.2f)' % (p50(a), p50(b), p50(a) / p50(b))


def show_rate(a, b):
    return '%.2f and %.2f Mbit/s' % (a[1], b[1])


def checks(cells):
    """Those that the cells of this run allow."""
    known = {plan.key(cell) for cell in cells}
    found = []

    def add(name, one, other, holds, text):
        if one in known and other in known:
            found.append(Check(name, one, other, holds, text))

    for cell in cells:
        if plan.parse_client(cell.client).name != 'addon':
            continue
        addon, stock = plan.key(cell), plan.key(cell._replace(client='stock'))
        shaped = plan.parse_link(cell.link)[1] > 0
        if cell.activity == 'idle':
            add('the add-on is no slower when nothing moves', addon, stock,
                lambda a, s: p50(a) <= p50(s) + 15, show_p50)
        elif cell.topology == 'relay' and cell.activity == 'heavy' and shaped:
            add('the add-on shortens the backlog behind a relay', addon, stock,
                lambda a, s: p50(a) <= 0.75 * p50(s), show_p50)
            idle = plan.key(cell._replace(client='stock', activity='idle'))
            add('there is a backlog behind a relay at all', stock, idle,
                lambda s, i: p50(s) >= 5 * p50(i), show_p50)
        if cell.activity != 'idle':
            add('the add-on costs no throughput', addon, stock,
                lambda a, s: a[1] >= 0.9 * s[1], show_rate)
    return found


def run(runner, cells, begin, say):
    """Judges a finished run, measuring once more what failed; the exit status."""
    records = runner.results.records
    wanted = checks(cells)
    verdicts = {check: check.judge(records, 1) for check in wanted}
    again = [check for check in wanted if verdicts[check][0] is not True]
    keys = {key for check in again for key in (check.one, check.other)}
    retry = []
    for cell in cells:
        cost = sum(plan.estimate(c, runner.options) for c in retry + [cell])
        if plan.key(cell) in keys and time.monotonic() - begin + cost < LONGEST_S:
            retry.append(cell._replace(repeat=2))
    if retry:
        for check in again:
            say('again: %s: %s: %s' % (check.one, check.name, verdicts[check][1]))
        runner.run(retry)
    status = 0
    for check in wanted:
        ok, text = verdicts[check]
        if ok is not True:
            second = check.judge(records, 2)
            if second[0] is not None:
                ok, text = second
        say('%s %s: %s: %s' % ({True: 'ok  ', False: 'FAIL', None: '??  '}[ok], check.one,
                               check.name, text))
        if ok is False:
            status = 1
        elif ok is None and not status:
            status = 77
    if status == 77:
        print('skipped: not all could be judged: the machine is too busy, or a cell failed',
              file=sys.stderr)
    return status
