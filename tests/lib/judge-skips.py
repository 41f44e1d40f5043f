#!/usr/bin/env python3
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""judge-skips.py RESULTS.tsv ALLOWED.txt

Prints RESULTS.tsv with each skip turned into a failure whose reason no line of ALLOWED.txt (regular
expressions, '#' starts a comment) matches.
"""

import re
import sys


def main(results, allowed):
    with open(allowed, encoding="utf-8") as lines:
        patterns = [re.compile(line.strip()) for line in lines
                    if line.strip() and not line.startswith("#")]
    with open(results, encoding="utf-8") as lines:
        for line in lines:
            status, step, name, seconds, reason = line.rstrip("\n").split("\t")
            if status == "skip" and not any(p.search(reason) for p in patterns):
                status, reason = "fail", f"skipped where it must run: {reason}"
            print(status, step, name, seconds, reason, sep="\t")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
