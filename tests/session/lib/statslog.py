# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The add-on's log: CSV, a header line, one row a second and channel."""
import csv
import os

from .scope import Failure, wait_for


class StatsLog:
    def __init__(self, path):
        self.path = path
        with open(path, newline='', encoding='utf-8') as file:
            text = file.read()
        # A row that is being written has no line end yet.
        lines = text[:text.rfind('\n') + 1].splitlines()
        self.rows = list(csv.DictReader(lines))
        for number, row in enumerate(self.rows, 2):
            if None in row or None in row.values():
                raise Failure('%s line %d: not as many fields as the header has' % (path, number))

    def channels(self):
        """Names of the channels, in order of appearance."""
        return list(dict.fromkeys(row['channel'] for row in self.rows))

    def of(self, channel):
        return [row for row in self.rows if row['channel'] == channel]

    def sum(self, channel, column):
        return sum(float(row[column] or 0) for row in self.of(channel))

    def max(self, channel, column):
        return max((float(row[column]) for row in self.of(channel) if row[column]), default=None)

    def values(self, channel, column):
        """The distinct values, absent ones left out."""
        return sorted({float(row[column]) for row in self.of(channel) if row[column]})


def wait_for_log(path, probe=lambda log: True, what='log with rows', timeout=30.0):
    """The log once probe(log) holds."""
    def attempt():
        if not os.path.exists(path):
            return None
        log = StatsLog(path)
        return log if log.rows and probe(log) else None
    return wait_for(attempt, what + ' in the log', timeout, 0.1)
