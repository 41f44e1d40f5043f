#!/usr/bin/env python3
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the add-on costs a headless client: CPU and resident memory against stock.

    bench-addon-cost.py BUILD-ROOT SOURCE-ROOT [--seconds 60] [--pairs 5] [--activity busy]

Interleaved pairs of tests/rig/keydraw-client, stock and with the add-on, at a demo server of
30 frames a second in small draws on loopback. A JSON line a run, then one of the medians.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib.cases import Roots  # noqa: E402
from lib.keydraw import KeydrawServer  # noqa: E402
from lib.scope import Scope, check, wait_for  # noqa: E402
from lib.statslog import wait_for_log  # noqa: E402
from lib.viewers import Addon, base_environment  # noqa: E402

SCENE = ['--size', '640x480', '--area', '320x192+300+200', '--box', '16,176']
TICK = os.sysconf('SC_CLK_TCK')


def cpu_seconds(pid):
    with open('/proc/%d/stat' % pid, encoding='ascii') as file:
        fields = file.read().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def resident_kib(pid):
    with open('/proc/%d/status' % pid, encoding='ascii') as file:
        return next(int(line.split()[1]) for line in file if line.startswith('VmRSS'))


def machine():
    model = 'unknown'
    with open('/proc/cpuinfo', encoding='utf-8', errors='replace') as file:
        for line in file:
            if line.startswith('model name'):
                model = line.partition(':')[2].strip()
                break
    return '%s, %d cpus, Linux %s' % (model, os.cpu_count(), os.uname().release)


def commit(source):
    done = subprocess.run(['git', '-C', source, 'describe', '--always', '--dirty'],
                          capture_output=True, check=False, text=True)
    return done.stdout.strip() or None


def one_run(scope, roots, args, with_addon):
    """A client that watches for args.seconds, once it is past its start."""
    server = KeydrawServer(scope, roots.need_rig('keydraw-server'), '--port', 0, '--draws',
                           'columns', '--activity', args.activity, *SCENE)
    env = base_environment(scope)
    addon = None
    if with_addon:
        addon = Addon(scope, roots.need_module(), args.options)
        addon.apply(env, False)
    client = scope.start([roots.need_rig('keydraw-client'), '--uri',
                          'spice://127.0.0.1:%d' % server.port, '--presses', '1', '--warmup', '1',
                          '--hold'] + SCENE, env=env, stdin=subprocess.PIPE)
    server.wait_event('key-drawn', 60)
    time.sleep(2)  # the measure begins on a session that has settled
    load = os.getloadavg()[0]
    cpu, start = cpu_seconds(client.pid), time.monotonic()
    time.sleep(args.seconds)
    used, elapsed = cpu_seconds(client.pid) - cpu, time.monotonic() - start
    resident = resident_kib(client.pid)
    check(client.status() is None, 'the client ended: ' + client.errors())
    out = {'addon': with_addon, 'cpu_s': round(used, 3), 'seconds': round(elapsed, 2),
           'core_percent': round(100 * used / elapsed, 3), 'rss_kib': resident,
           'load': load}
    if addon:
        log = wait_for_log(addon.log, lambda log: log.of('display:0'), 'row of display:0')
        out['messages'] = log.sum('display:0', 'messages')
    client.stop()
    wait_for(lambda: client.status() is not None, 'end of the client')
    server.stop()
    return out


def main():
    parser = argparse.ArgumentParser(description="the add-on's cost in a headless client")
    parser.add_argument('build')
    parser.add_argument('source')
    parser.add_argument('--seconds', type=float, default=60)
    parser.add_argument('--pairs', type=int, default=5)
    parser.add_argument('--activity', default='busy', help='of the demo server')
    parser.add_argument('--options', default='', help='more of SPICE_ACCEL')
    args = parser.parse_args()
    roots = Roots(args.build, args.source)
    runs = []
    with Scope('spice-accel-bench') as scope:
        for pair in range(args.pairs):
            for with_addon in ((False, True) if pair % 2 == 0 else (True, False)):
                run = one_run(scope, roots, args, with_addon)
                run['pair'] = pair
                runs.append(run)
                print(json.dumps(run), flush=True)

    def differences(key):
        return [next(run[key] for run in runs if run['pair'] == pair and run['addon'])
                - next(run[key] for run in runs if run['pair'] == pair and not run['addon'])
                for pair in range(args.pairs)]
    print(json.dumps({
        'summary': 'addon-cost', 'activity': args.activity, 'pairs': args.pairs,
        'core_percent_over_stock': round(statistics.median(differences('core_percent')), 3),
        'rss_kib_over_stock': statistics.median(differences('rss_kib')),
        'core_percent_stock': statistics.median(run['core_percent'] for run in runs
                                                if not run['addon']),
        'machine': machine(), 'load': os.getloadavg()[0], 'commit': commit(args.source),
        'unix_time': int(time.time())}), flush=True)


if __name__ == '__main__':
    main()
