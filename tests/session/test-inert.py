#!/usr/bin/env python3
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What inherits the add-on without being a viewer stays as it is.

Children under LD_PRELOAD: no output, no thread, no client library mapped, less than 1 ms more to
start. A viewer with SPICE_ACCEL=0: nothing of the client library mapped, no log. An idle session:
not one wake-up more than stock's.
"""
import os
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import scene  # noqa: E402
from lib.cases import arguments, run_cases  # noqa: E402
from lib.display import Display  # noqa: E402
from lib.keydraw import KeydrawServer  # noqa: E402
from lib.scope import Failure, Scope, check, skip, wait_for  # noqa: E402
from lib.viewers import (PRELOAD, Addon, RemoteViewer, Target,  # noqa: E402
                         base_environment)
from synthserver import SynthServer  # noqa: E402

RUNS = 200
LIMIT_MS = 1.0
# A timer of one second would show as so many wake-ups.
IDLE_SECONDS = 8
CLIENT = 'libspice-accel-client'


def mapped(pid):
    """File names of the objects a process has mapped."""
    with open('/proc/%d/maps' % pid, encoding='utf-8') as file:
        return {os.path.basename(line.split(None, 5)[5].strip()) for line in file
                if len(line.split(None, 5)) == 6}


class Bench:
    def __init__(self, scope, roots):
        self.scope, self.roots = scope, roots
        self.module = roots.need_module()

    def environment(self, preloaded, options=None):
        env = base_environment(self.scope)
        if preloaded:
            env['LD_PRELOAD'] = self.module
            env['SPICE_ACCEL'] = options or 'log=' + self.scope.path('inert.csv')
        return env

    def output(self, argv):
        """A child says the same with and without."""
        said = []
        for preloaded in (False, True):
            done = subprocess.run(argv, env=self.environment(preloaded), check=False,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
            out = done.stdout
            for name in (b'LD_PRELOAD=', b'SPICE_ACCEL=', b'_='):
                out = b'\n'.join(line for line in out.split(b'\n') if not line.startswith(name))
            said.append((done.returncode, out, done.stderr))
        check(said[0] == said[1], '%s: %s without, %s with the module' % (
            argv[0], said[0], said[1]))

    def threads(self, argv):
        """A child that stays has one thread and nothing of the client library."""
        child = self.scope.start(argv, env=self.environment(True))
        module = os.path.basename(self.module)
        try:
            wait_for(lambda: module in mapped(child.pid), 'module in %s' % argv[0])
            # It is past its start when it waits in the kernel for what it was told to.
            wait_for(lambda: self.state(child.pid) == 'S', '%s at rest' % argv[0])
            count = len(os.listdir('/proc/%d/task' % child.pid))
            check(count == 1, '%s: %d threads' % (argv[0], count))
            strange = [name for name in mapped(child.pid)
                       if name.startswith((CLIENT, 'libspice-client', 'libglib', 'libgtk'))]
            check(not strange, '%s has mapped %s' % (argv[0], strange))
        finally:
            child.stop()
        check(child.errors() == '', '%s: %s' % (argv[0], child.errors()))

    @staticmethod
    def state(pid):
        with open('/proc/%d/stat' % pid, encoding='ascii') as file:
            return file.read().rpartition(')')[2].split()[0]

    def start_up(self):
        """Interleaved runs; the medians' difference, since a loaded machine has long tails."""
        environments = [self.environment(False), self.environment(True)]
        times = ([], [])
        for index in range(RUNS):
            for which in ((0, 1) if index % 2 else (1, 0)):
                start = time.perf_counter()
                pid = os.posix_spawn('/bin/true', ['true'], environments[which])
                _pid, status = os.waitpid(pid, 0)
                times[which].append((time.perf_counter() - start) * 1000)
                check(status == 0, '/bin/true: status %d' % status)
        medians = [statistics.median(one) for one in times]
        print('start-up of /bin/true: %.3f ms without, %.3f ms with the module' % tuple(medians))
        check(medians[1] - medians[0] < LIMIT_MS, 'start-up takes %.3f ms longer'
              % (medians[1] - medians[0]))

    def wake_ups(self, preloaded):
        """How often a client of an idle server slept and woke in so many seconds."""
        with Scope() as scope:
            server = KeydrawServer(scope, self.roots.need_rig('keydraw-server'), '--port', 0,
                                   '--activity', 'idle')
            env = self.environment(preloaded, 'pace=1')
            client = scope.start([self.roots.need_rig('keydraw-client'), '--uri',
                                  server.target().uri(), '--presses', '1', '--warmup', '1', '--hold'],
                                 env=env, stdin=subprocess.PIPE)
            server.wait_event('key-drawn', 60)
            time.sleep(2)  # what follows the press is over
            before = self.slept(client.pid)
            time.sleep(IDLE_SECONDS)
            return self.slept(client.pid) - before

    @staticmethod
    def slept(pid):
        with open('/proc/%d/status' % pid, encoding='ascii') as file:
            return next(int(line.split()[1]) for line in file
                        if line.startswith('voluntary_ctxt_switches'))

    def idle(self):
        stock, addon = self.wake_ups(False), self.wake_ups(True)
        print('%d s idle: %d wake-ups stock, %d with the add-on' % (IDLE_SECONDS, stock, addon))
        check(addon <= stock + IDLE_SECONDS / 2, '%d wake-ups in %d s, %d stock'
              % (addon, IDLE_SECONDS, stock))

    def switched_off(self, viewer, display):
        """SPICE_ACCEL=0 in a real viewer, and the opposite, so that the look itself is tested."""
        for options in ('0', None):
            addon = Addon(self.scope, self.module)
            if options is not None:
                addon.options = options
            recording = scene.make()
            server = SynthServer(self.scope, recording,
                                 os.path.join(self.roots.data, 'synthserver-key.pem'))
            process = viewer.start(self.scope, Target(port=server.port), display, addon)
            server.wait_finished(1, 0, process)
            found = [name for name in mapped(process.pid) if name.startswith(CLIENT)]
            process.stop()
            server.stop()
            if options is not None:
                check(not found, 'SPICE_ACCEL=0, and %s is mapped' % found)
                check(not os.path.exists(addon.log), 'SPICE_ACCEL=0, and there is a log')
            elif not found:
                raise Failure('%s is not mapped without SPICE_ACCEL=0 either' % CLIENT)


def main():
    roots, words = arguments()
    roots.need_module()
    if os.environ.get(PRELOAD):
        skip('a sanitizer in every child is not what is looked at here')
    with Scope() as scope:
        bench = Bench(scope, roots)
        display = Display(scope)
        script = 'import threading; print(threading.active_count())'
        cases = [
            ('output sh', lambda: bench.output(
                ['/bin/sh', '-c', 'echo one; echo two >&2; exit 3'])),
            ('output sh child', lambda: bench.output(
                ['/bin/sh', '-c', '/bin/true; cat /dev/null'])),
            ('output env', lambda: bench.output(['/usr/bin/env'])),
            ('output python', lambda: bench.output([sys.executable, '-c', script])),
            ('output ls', lambda: bench.output(['/bin/ls', '/'])),
            ('threads sleep', lambda: bench.threads(['/bin/sleep', '60'])),
            ('threads sh', lambda: bench.threads(['/bin/sh', '-c', 'sleep 60; :'])),
            ('threads python', lambda: bench.threads(
                [sys.executable, '-c', 'import time; time.sleep(60)'])),
            ('start-up', bench.start_up),
            ('idle session', bench.idle),
            ('off remote-viewer', lambda: bench.switched_off(RemoteViewer(), display)),
        ]
        return run_cases(cases, words)


if __name__ == '__main__':
    sys.exit(main())
