# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Percentiles and how sure they are."""
import random


def quantile(values, percent):
    """The nearest rank: the least value that so many per cent do not exceed; None of nothing."""
    if not values:
        return None
    ordered = sorted(values)
    rank = (len(ordered) * percent + 99) // 100
    return ordered[max(int(rank), 1) - 1]


def resample(repeats, rand):
    """Repeats are drawn with replacement, then presses within each: presses of one session have
    the session's mood in common."""
    values = []
    for _ in repeats:
        chosen = rand.choice(repeats)
        values += rand.choices(chosen, k=len(chosen))
    return values


def interval(estimates):
    ordered = sorted(estimates)
    n = len(ordered)
    return ordered[int(n * 0.025)], ordered[min(int(n * 0.975), n - 1)]


def bootstrap(repeats, percent, rounds=1000):
    """95 % interval of a percentile. @repeats: a list of samples for each repeat. The same samples
    always give the same interval."""
    repeats = [r for r in repeats if r]
    if not repeats:
        return None
    rand = random.Random(1)
    return interval([quantile(resample(repeats, rand), percent) for _ in range(rounds)])


def bootstrap_ratio(above, below, percent, rounds=1000):
    """(ratio of percentiles, its 95 % interval), None where a side has no samples."""
    above, below = [r for r in above if r], [r for r in below if r]
    if not above or not below:
        return None
    rand = random.Random(1)
    ratios = [quantile(resample(above, rand), percent) / quantile(resample(below, rand), percent)
              for _ in range(rounds)]
    return (quantile(sum(above, []), percent) / quantile(sum(below, []), percent),
            interval(ratios))


def mean(values):
    values = [v for v in values if v is not None]
    return sum(values) / len(values) if values else None
