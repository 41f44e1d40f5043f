# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A test program: named cases, run in turn, all of them even when one fails.

    test-NAME.py BUILD-ROOT SOURCE-ROOT [WORD...]

runs the cases whose names contain one of the words; all without words.
"""
import os
import sys
import time
import traceback

from .scope import Failure, skip


class Roots:
    """Where the things under test are."""

    def __init__(self, build, source):
        self.build = os.path.abspath(build)
        self.source = os.path.abspath(source)
        self.session = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        self.data = os.path.join(self.session, 'data')

    def built(self, *parts):
        """Absolute path of something built, or None when it is not there."""
        path = os.path.join(self.build, *parts)
        return path if os.path.exists(path) else None

    def need(self, *parts):
        path = self.built(*parts)
        if not path:
            skip('%s is not built' % os.path.join(*parts))
        return path

    @property
    def module(self):
        return self.built('plugin', 'libspice-accel.so')

    def need_module(self):
        return self.need('plugin', 'libspice-accel.so')

    def rig(self, name):
        return self.built('tests', 'rig', name)

    def need_rig(self, name):
        return self.need('tests', 'rig', name)


def arguments():
    """(Roots, words) from the command line."""
    if len(sys.argv) < 3:
        print('usage: %s BUILD-ROOT SOURCE-ROOT [CASE...]' % sys.argv[0], file=sys.stderr)
        raise SystemExit(2)
    return Roots(sys.argv[1], sys.argv[2]), sys.argv[3:]


class Missing(Exception):
    """One case cannot run here; the others can."""


def run_cases(cases, words):
    """cases: list of (name, function). Exit status of the program: 0 all passed, 1 one failed,
    77 none failed and none could run."""
    failed, passed, missing = [], 0, []
    for name, function in cases:
        if words and not any(word in name for word in words):
            continue
        start = time.monotonic()
        try:
            function()
        except Missing as reason:
            missing.append(name)
            print('missing %s: %s' % (name, reason), file=sys.stderr, flush=True)
            continue
        except Failure as error:
            failed.append(name)
            print('FAILED %s: %s' % (name, error), flush=True)
            continue
        except Exception:
            failed.append(name)
            print('FAILED %s:\n%s' % (name, traceback.format_exc()), flush=True)
            continue
        passed += 1
        print('passed %s (%.1f s)' % (name, time.monotonic() - start), flush=True)
    print('%d passed, %d failed, %d could not run' % (passed, len(failed), len(missing)))
    if failed:
        return 1
    if not passed:
        print('skipped: no case could run', file=sys.stderr)
        return 77
    return 0
