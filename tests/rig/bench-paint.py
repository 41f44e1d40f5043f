#!/usr/bin/env python3
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What painting at once is worth: a real viewer with and without it, in interleaved pairs.

    bench-paint.py BUILD-ROOT SOURCE-ROOT [--viewer NAME] [--activity NAME] [--pairs N] [...]

Prints one JSON object a line: "machine", then "run" for each viewer started, then "summary" for
either side over all its runs. Times are milliseconds, see tests/session/lib/keybox.py:
    key            from the press to the pixels
    key_less_tick  the same less the demo guest's wait for its refresh timer (--tick)
    draw           from the draw in the server to the pixels
viewer_cores is the viewer's processor time over the time it took, while the keys were pressed.
Run by the link tool (link --rtt 80 --rate 10 -- bench-paint.py ...), server and viewer are at the
two ends of that link.
"""
import argparse
import json
import os
import platform
import random
import shlex
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'session'))
from lib.cases import Roots  # noqa: E402
from lib.display import Display  # noqa: E402
from lib.keybox import KeyBox, box_colours, percentile, wait_connected  # noqa: E402
from lib.keydraw import KeydrawServer  # noqa: E402
from lib.scope import Scope  # noqa: E402
from lib.viewers import PyViewer, RemoteViewer, Spicy, Target  # noqa: E402

SERVER_ADDRESS = '10.77.0.1'  # the link tool's
VIEWERS = {'remote-viewer': RemoteViewer, 'spicy': Spicy, 'python': PyViewer}


def cpu_seconds(pid):
    with open('/proc/%d/stat' % pid, encoding='ascii') as file:
        fields = file.read().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


class Bench:
    def __init__(self, scope, args, program):
        self.scope, self.args = scope, args
        self.display = Display(scope)
        self.colours = box_colours(scope, program)
        command = shlex.split(os.environ.get('SA_NS_SERVER', '')) + [program]
        address = SERVER_ADDRESS if len(command) > 1 else '127.0.0.1'
        self.server = KeydrawServer(scope, command[0], *command[1:], '--addr', address,
                                    '--activity', args.activity, '--tick', args.tick,
                                    *args.server_option)
        self.target = Target(host=address, port=self.server.port)
        if args.connect:
            host, _, port = args.connect.rpartition(':')
            self.target = Target(host=host, port=int(port))
        self.rng = random.Random(args.seed)

    def run(self, env):
        """One viewer from its start to its end: (samples, cores)."""
        kind = VIEWERS[self.args.viewer]()
        plain_prefix = kind.prefix
        kind.prefix = lambda: shlex.split(os.environ.get('SA_NS_CLIENT', '')) + plain_prefix()
        link = {name: value for name, value in os.environ.items() if name.startswith('SA_')}
        viewer = kind.start(self.scope, self.target, self.display, env_more=dict(link, **env))
        wait_connected(self.server)
        box = KeyBox(self.display, self.server, self.colours)
        for _warm_up in range(3):
            box.press()
        cpu, start, samples = cpu_seconds(viewer.pid), time.monotonic(), []
        for _number in range(self.args.presses):
            time.sleep(self.args.interval * self.rng.uniform(0.5, 1.5))
            samples.append(box.press())
        wall = time.monotonic() - start
        cores = (cpu_seconds(viewer.pid) - cpu) / wall
        box.close()
        viewer.stop()
        self.server.wait_event('client-disconnected', 30)
        return samples, cores


def machine(args):
    commit = subprocess.run(['git', '-C', args.source, 'rev-parse', 'HEAD'], capture_output=True,
                            text=True, check=False).stdout.strip() or None
    with open('/proc/cpuinfo', encoding='ascii', errors='replace') as file:
        model = next((line.split(':', 1)[1].strip() for line in file
                      if line.startswith('model name')), None)
    return {'event': 'machine', 'cpus': os.cpu_count(), 'model': model,
            'kernel': platform.release(), 'commit': commit, 'load': os.getloadavg(),
            'viewer': args.viewer, 'activity': args.activity, 'tick_ms': args.tick,
            'connect': args.connect, 'server_options': args.server_option,
            'time': time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())}


def summary(samples, cores):
    out = {'presses': len(samples)}
    for name, values in zip(('key', 'key_less_tick', 'draw'), zip(*samples)):
        for label, share in (('p50', 0.5), ('p95', 0.95), ('max', 1.0)):
            out['%s_%s_ms' % (name, label)] = round(percentile(values, share), 2)
    out['viewer_cores'] = round(sum(cores) / len(cores), 4)
    return out


def main():
    parser = argparse.ArgumentParser(description='key-to-pixel with and without paint at once')
    parser.add_argument('build')
    parser.add_argument('source')
    parser.add_argument('--viewer', choices=sorted(VIEWERS), default='remote-viewer')
    parser.add_argument('--activity', default='idle')
    parser.add_argument('--pairs', type=int, default=3)
    parser.add_argument('--presses', type=int, default=20, help='in a run')
    parser.add_argument('--interval', type=float, default=0.2, help='mean seconds between them')
    parser.add_argument('--tick', type=int, default=30, help="the guest's refresh timer, ms")
    parser.add_argument('--connect', metavar='HOST:PORT',
                        help='where the viewer connects when something stands in between')
    parser.add_argument('--server-option', action='append', default=[], metavar='OPTION')
    parser.add_argument('--seed', type=int, default=1)
    args = parser.parse_args()
    roots = Roots(args.build, args.source)
    program = roots.need_rig('keydraw-server')
    module = roots.need('plugin', 'gtk3', 'libspice-accel-gtk3.so')
    sides = {False: {}, True: {'GTK_MODULES': module}}
    samples, cores = {False: [], True: []}, {False: [], True: []}
    print(json.dumps(machine(args)), flush=True)
    with Scope('bench-paint') as scope:
        bench = Bench(scope, args, program)
        for pair in range(args.pairs):
            for paint in ((False, True), (True, False))[pair % 2]:
                got, used = bench.run(sides[paint])
                samples[paint] += got
                cores[paint].append(used)
                print(json.dumps(dict(event='run', pair=pair, paint=paint,
                                      load=os.getloadavg()[0], **summary(got, [used]))),
                      flush=True)
        for paint in sides:
            print(json.dumps(dict(event='summary', paint=paint,
                                  **summary(samples[paint], cores[paint]))), flush=True)
        bench.server.stop()
    return 0


if __name__ == '__main__':
    sys.exit(main())
