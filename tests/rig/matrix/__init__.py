# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The measuring matrix: what tests/rig/run-matrix, summarise and quality are made of.

plan        which cells there are, in what order, how long they take
geometry    where things are on the screen, and the seeds, drawn at random
runner      runs the cells one after the other, keeps the records
session     one cell, from inside the link: starts the programs, presses, samples, stops them
processes, sockets, machine, limits   what session and runner look at the machine with
picture     compares two pictures
quick       what a short run must show
numbers, results, tables, svg, plots  what becomes of the records
"""


class Trouble(Exception):
    """Something the user must be told in one line; the exit status that goes with it."""

    def __init__(self, text, status=1):
        super().__init__(text)
        self.status = status
