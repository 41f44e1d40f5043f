#!/usr/bin/env python3
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""SPICE_ACCEL as users write it: what is wrong is named in one line, the rest applies, and the
session goes on as if nothing had been said."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib.cases import arguments, run_cases  # noqa: E402
from lib.keydraw import KeydrawServer  # noqa: E402
from lib.picture import read_ppm  # noqa: E402
from lib.scope import Scope, check  # noqa: E402
from lib.statslog import StatsLog  # noqa: E402
from lib.viewers import Addon, SpicyScreenshot  # noqa: E402


class Bench:
    def __init__(self, roots):
        self.roots = roots
        self.module = roots.need_module()
        self.program = roots.need_rig('keydraw-server')

    def shot(self, options, preload=()):
        """(lines of the add-on on stderr, log file) of a session whose picture was compared."""
        with Scope() as scope:
            server = KeydrawServer(scope, self.program, '--port', 0, '--activity', 'idle')
            pictures = []
            for addon in (None, Addon(scope, self.module)):
                viewer = SpicyScreenshot()
                more = {}
                if addon is not None:
                    addon.options = options.replace('@LOG@', addon.log)
                    addon.options = addon.options.replace('@DIR@', scope.dir)
                    addon.apply(more, False)
                    more['LD_PRELOAD'] = ' '.join([more['LD_PRELOAD'], *preload])
                process = viewer.start(scope, server.target(), env_more=more)
                check(process.wait(60) == 0, 'spicy-screenshot: ' + process.errors())
                pictures.append(read_ppm(viewer.out_file))
                said = process.errors().splitlines()
            check(pictures[0] == pictures[1], 'the pictures differ')
            log = StatsLog(addon.log) if os.path.exists(addon.log) else None
            return [line for line in said if line.startswith(('spice-accel', '  '))], said, log

    def one_warning(self, options, *words, logs=True, preload=()):
        lines, said, log = self.shot(options, preload)
        check(len(lines) == 1, '%s: said %r' % (options, said))
        for word in words:
            check(word in lines[0], '%s: no "%s" in %r' % (options, word, lines[0]))
        check((log is not None) == logs, '%s: log %s' % (options, log))

    def silent(self, options, logs):
        lines, said, log = self.shot(options)
        check(not lines, '%s: said %r' % (options, said))
        check((log is not None) == logs, '%s: log %s' % (options, log))

    def help(self):
        lines, said, log = self.shot('help,log=@LOG@')
        text = '\n'.join(said)
        for key in ('log=FILE', 'pace=0|1', 'latency=MS', 'paint=0|1', 'help=0|1'):
            check(key in text, 'help does not name %s: %r' % (key, said))
        check(log is not None, 'no log beside help')

    def named_pipe(self):
        with Scope() as scope:
            path = scope.path('pipe')
            os.mkfifo(path)
            self.one_warning('log=' + path, path, logs=False)


def main():
    roots, words = arguments()
    bench = Bench(roots)
    other = roots.need('tests', 'session', 'libother-version.so')
    return run_cases([
        ('log', lambda: bench.silent('log=@LOG@', True)),
        ('nothing', lambda: bench.silent('', False)),
        ('disabled', lambda: bench.silent('0', False)),
        ('log off', lambda: bench.silent('log=@LOG@,log=0', False)),
        ('unknown key', lambda: bench.one_warning('lgo=1,log=@LOG@', "'lgo'", ' log', ' pace')),
        ('unknown value', lambda: bench.one_warning('pace=soon,log=@LOG@', 'pace=soon', '0|1')),
        ('no such directory', lambda: bench.one_warning('log=@DIR@/no/file', '/no/file',
                                                        'No such file', logs=False)),
        ('a directory', lambda: bench.one_warning('log=@DIR@', 'directory', logs=False)),
        ('full disk', lambda: bench.one_warning('log=/dev/full', '/dev/full', 'No space',
                                                logs=False)),
        ('named pipe nobody reads', bench.named_pipe),
        ('unknown spice-gtk', lambda: bench.one_warning('log=@LOG@', 'spice-gtk 9.99',
                                                        logs=False, preload=[other])),
        ('help', bench.help),
    ], words)


if __name__ == '__main__':
    sys.exit(main())
