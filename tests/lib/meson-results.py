#!/usr/bin/env python3
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""meson-results.py STEP TESTLOG.json RESULTS.tsv [COUNT]

Appends one line per test of a meson log to RESULTS.tsv, and prints the end of the output of those
that failed, the reasons of those that were skipped, and one line of counts per suite. A case that
a passing test program could not run ("missing NAME: REASON" on stderr, or TAP's SKIP) is a skip of
its own. COUNT is how many tests meson was to run: one that left no trace is a failure.
"""

import json
import re
import sys

SHOWN_LINES = 60
STATUS = {"OK": "pass", "EXPECTEDFAIL": "pass", "SKIP": "skip"}


def skip_reason(test):
    """The last line a skipped test wrote to stderr, or its TAP skip directive."""
    for line in reversed(test.get("stderr", "").splitlines()):
        if line.strip():
            return line.strip()
    for line in test.get("stdout", "").splitlines():
        _, found, reason = line.partition("# SKIP")
        if found and reason.strip():
            return reason.strip()
    return "no reason given"


def missing_cases(test):
    """(name, reason) of each case that a test which passed has left out."""
    yield from re.findall(r"^missing (\S+): (.*)$", test.get("stderr", ""), re.MULTILINE)
    yield from re.findall(r"^ok \d+ (?:- )?(\S+) # SKIP *(.*)$", test.get("stdout", ""),
                          re.MULTILINE)


def tail(text):
    lines = text.splitlines()
    if len(lines) > SHOWN_LINES:
        lines = [f"... {len(lines) - SHOWN_LINES} lines before"] + lines[-SHOWN_LINES:]
    return "\n".join("    " + line for line in lines)


def show_failure(name, test):
    print(f"  FAIL  {name}: {test['result']}, status {test['returncode']}, {test['duration']:.1f} s")
    for stream in ("stdout", "stderr"):
        if test.get(stream, "").strip():
            print(f"    {stream}:")
            print(tail(test[stream]))


def main(step, log, results, expected):
    counts = {}
    seen = 0

    def put(status, name, seconds="", reason=""):
        reason = " ".join(reason.split())
        print(status, step, name, seconds, reason, sep="\t", file=out)
        if status == "skip":
            print(f"  skip  {name}: {reason}")

    with open(log, encoding="utf-8") as lines, open(results, "a", encoding="utf-8") as out:
        for line in lines:
            test = json.loads(line)
            seen += 1
            # "project:suite / test" or "test", as meson names them
            suite, _, name = test["name"].rpartition(" / ")
            suite = suite.rpartition(":")[2]
            status = STATUS.get(test["result"], "fail")
            reason = ""
            if status == "fail":
                reason = test["result"]
                show_failure(name, test)
            elif status == "skip":
                reason = skip_reason(test)
            put(status, f"{suite}/{name}", f"{test['duration']:.1f}", reason)
            count = counts.setdefault(suite, {"pass": 0, "fail": 0, "skip": 0})
            count[status] += 1
            if status == "pass":
                for case, reason in missing_cases(test):
                    put("skip", f"{suite}/{name}/{case}", reason=reason)
                    count["skip"] += 1
        if seen < expected:
            put("fail", "meson test", reason=f"{expected - seen} tests left no result")
    for suite, count in sorted(counts.items()):
        print(f"  {suite or 'tests'}: {count['pass']} ok, {count['fail']} failed, "
              f"{count['skip']} skipped")


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    main(*sys.argv[1:4], int(sys.argv[4]) if len(sys.argv) == 5 else 0)
