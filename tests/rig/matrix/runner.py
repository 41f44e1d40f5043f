# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs cells one after the other and keeps a record of each, one JSON object a line."""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from . import Trouble, geometry, limits, machine, plan, processes

PROGRAMS = ('link', 'relay', 'keydraw-server', 'keydraw-client')
BUSY_MAX = 0.90       # of the whole machine: above, a cell measures the machine
LIMITED_MAX = 50.0    # per cent of the busy time that the sender waited for the receive window
FAILURES_MAX = 3      # in a row: more of them would tell nothing new
RULES = {
    'void': 'the whole machine was busy for more than %d %% of the presses' % (BUSY_MAX * 100),
    'stalled': 'the link\'s sender waited for the client\'s receive window (rwnd_limited) for more '
               'than %d %% of its busy time, on a shaped link and a client with a whole core'
               % LIMITED_MAX,
    'failed': 'no result',
    'skipped': 'the machine lacks something',
}


def find_build(source, wanted):
    """The build directory: @wanted, or the first one in the source tree that has the rig."""
    if wanted:
        if not os.path.isdir(wanted):
            raise Trouble('--build %s: no such directory' % wanted, 2)
        return os.path.abspath(wanted)
    near = [os.path.join(source, name) for name in sorted(os.listdir(source))
            if name.startswith('build')]
    near += [os.path.join(parent, name) for parent in near if os.path.isdir(parent)
             for name in sorted(os.listdir(parent))]
    for directory in near:
        if os.path.exists(os.path.join(directory, 'tests', 'rig', 'link')):
            return directory
    raise Trouble('no build directory in %s: give --build DIR' % source, 2)


def find_programs(build, clients, status=2):
    """Absolute paths by name; Trouble names the first one that is missing."""
    found = {name: os.path.join(build, 'tests', 'rig', name) for name in PROGRAMS}
    if any(plan.parse_client(client).name == 'addon' for client in clients):
        found['addon'] = os.path.join(build, 'plugin', 'libspice-accel.so')
    for name, path in found.items():
        if not os.path.exists(path):
            raise Trouble('%s is not built: %s' % (name, path), status)
    if not shutil.which('ss'):
        raise Trouble('ss is missing (package iproute2)', status)
    return found


def probe(programs):
    """Trouble with status 77 where no link can be made."""
    done = subprocess.run([programs['link'], '--stats', os.devnull, '--', 'true'],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise Trouble(last_line(done.stderr) or 'link ended with status %d' % done.returncode,
                      77 if done.returncode == 77 else 1)


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ''


class Results:
    """The file of records: what is there already, and what comes to it."""

    def __init__(self, path):
        self.path = path
        self.records = []
        self.header = None
        if path and os.path.exists(path):
            self.read()

    def read(self):
        with open(self.path, encoding='utf-8') as file:
            lines = file.read().split('\n')
        for number, line in enumerate(lines, 1):
            if not line:
                continue
            try:
                self.records.append(json.loads(line))
            except ValueError:
                if number < len(lines):
                    raise Trouble('%s:%d: not JSON' % (self.path, number), 2) from None
                # A run that was killed while it wrote: the cell runs again.
                with open(self.path, 'r+', encoding='utf-8') as file:
                    file.truncate(len('\n'.join(lines[:-1]).encode()) + 1)
        headers = [r for r in self.records if r.get('type') == 'header']
        if self.records and not headers:
            raise Trouble('%s: no header record' % self.path, 2)
        self.header = headers[-1] if headers else None

    def done(self, redo=()):
        """The cells that need not run: a failed one does, and those with a status of @redo."""
        return {r['id'] for r in self.records
                if r.get('type') == 'cell' and r['status'] not in ('failed', *redo)}

    def add(self, record):
        self.records.append(record)
        if self.path:
            with open(self.path, 'a', encoding='utf-8') as file:
                file.write(json.dumps(record, separators=(',', ':')) + '\n')
                file.flush()
                os.fsync(file.fileno())


class Runner:
    def __init__(self, source, programs, options, results, say):
        self.source = source
        self.programs = programs
        self.options = options
        self.results = results
        self.say = say
        self.work = None
        self.link = None
        self.spent = self.expected = 0.0

    # --- header ------------------------------------------------------------------------------

    def header(self):
        """Written at the start of each run; a file holds runs of one kind only."""
        options = self.options
        kind = {name: getattr(options, name) for name in (
            'presses', 'cell_seconds', 'interval', 'warmup', 'quality', 'geometry', 'server_args')}
        record = {'type': 'header', **machine.describe(self.source), 'options': kind,
                  'rules': RULES}
        before = self.results.header
        if before:
            for name in ('commit', 'options'):
                if before[name] != record[name] and not options.mixed:
                    raise Trouble('%s was measured with another %s (%s, now %s): another file, or '
                                  '--mixed' % (self.results.path, name, before[name],
                                               record[name]), 2)
        record['run_seed'] = before['run_seed'] if before else options.run_seed
        if record['run_seed'] is None:
            record['run_seed'] = random.SystemRandom().randint(1, 2**31 - 1)
        self.results.add(record)
        self.results.header = record
        return record

    # --- one cell ----------------------------------------------------------------------------

    def spec(self, cell, work, procs):
        options, client = self.options, plan.parse_client(cell.client)
        place = geometry.draw(self.results.header['run_seed'], plan.pair(cell),
                              options.geometry == 'reference')
        return {
            'work': work, 'programs': self.programs, 'geometry': place, 'procs': procs,
            'activity': cell.activity, 'streaming': cell.streaming, 'topology': cell.topology,
            'client_name': client.name, 'client_options': client.options,
            'presses': options.presses, 'cell_seconds': options.cell_seconds,
            'interval_ms': plan.interval(cell, options), 'quality': options.quality,
            'warmup': options.warmup if options.warmup is not None else plan.warm_up(cell),
            'server_args': options.server_args,
        }

    def run_link(self, cell, work):
        """Runs the session inside the link: (status of the link, what it said)."""
        rtt, down, up = plan.parse_link(cell.link)
        argv = [self.programs['link'], '--rtt', '%g' % rtt, '--rate', '%g:%g' % (down, up),
                '--cc', cell.cc, '--stats', os.path.join(work, 'link.json'), '--',
                sys.executable, os.path.abspath(sys.argv[0]), '--inside',
                os.path.join(work, 'spec.json')]

        def before_exec():
            processes.die_with_parent(signal.SIGTERM)

        # A session of its own: Ctrl-C reaches it through us, once.
        with open(os.path.join(work, 'log'), 'w+', encoding='utf-8', errors='replace') as log:
            # pylint: disable=consider-using-with,subprocess-popen-preexec-fn
            self.link = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                         start_new_session=True, preexec_fn=before_exec)
            try:
                status = self.link.wait(600 + self.options.cell_seconds)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                self.end_link()
            log.seek(0)
            return status, log.read()

    def end_link(self):
        if self.link and self.link.poll() is None:
            self.link.terminate()
            try:
                self.link.wait(12)
            except subprocess.TimeoutExpired:
                self.link.kill()
                self.link.wait()
        self.link = None

    def measure(self, cell):
        """The record of a cell without what identifies it."""
        client, limit = plan.parse_client(cell.client), None
        work = os.path.join(self.work, plan.identity(cell).replace('/', '_').replace(':', '-'))
        os.makedirs(work, exist_ok=True)
        if client.cpu:
            try:
                limit = limits.Limit(client.cpu)
            except limits.Unavailable as error:
                return {'status': 'skipped', 'reason': 'no CPU limit: %s' % error}
        try:
            spec = self.spec(cell, work, limit.procs if limit else None)
            with open(os.path.join(work, 'spec.json'), 'w', encoding='utf-8') as file:
                json.dump(spec, file)
            status, said = self.run_link(cell, work)
            record = self.judge(cell, client, status, said, work)
            return {**{name: spec[name] for name in ('geometry', 'warmup', 'interval_ms')},
                    **record}
        finally:
            if limit:
                limit.remove()
            if not self.options.keep:
                shutil.rmtree(work, ignore_errors=True)

    def judge(self, cell, client, status, said, work):
        if status == 77:
            return {'status': 'skipped', 'reason': last_line(said)}
        try:
            with open(os.path.join(work, 'result.json'), encoding='utf-8') as file:
                record = json.load(file)
        except (OSError, ValueError):
            why = 'no end in sight' if status is None else 'status %s' % status
            return {'status': 'failed', 'reason': last_line(said) or 'link: %s' % why}
        if 'failed' in record:
            return {'status': 'failed', 'reason': record['failed']}
        with open(os.path.join(work, 'link.json'), encoding='utf-8') as file:
            link = json.load(file)
        record['shaper'] = {name: link['down'][name] for name in (
            'bytes', 'drop_queue', 'queueing_ms', 'lateness_ms')}
        record['status'], record['reason'] = verdict(cell, client, record)
        return record

    # --- all of them -------------------------------------------------------------------------

    def run(self, cells):
        """Returns how many cells failed. KeyboardInterrupt leaves nothing running."""
        done = self.results.done(self.options.redo)
        todo = [cell for cell in cells if plan.identity(cell) not in done]
        header = self.header()
        self.say('spice-accel %s%s, seed %d, load %s, %d of %d cells to run, about %s' % (
            (header['commit'] or 'outside of git')[:12], ' (changed)' if header['dirty'] else '',
            header['run_seed'], ' '.join('%.1f' % v for v in header['load']), len(todo),
            len(cells), plan.clock(sum(plan.estimate(c, self.options) for c in todo))))
        failed = in_a_row = 0
        with self.directory():
            for number, cell in enumerate(todo, 1):
                record = self.one(cell, number, todo)
                in_a_row = in_a_row + 1 if record['status'] == 'failed' else 0
                failed += record['status'] == 'failed'
                if in_a_row == FAILURES_MAX:
                    raise Trouble('%d cells in a row failed, the last one: %s'
                                  % (in_a_row, record['reason']))
        return failed

    def directory(self):
        if self.options.keep:
            os.makedirs(self.options.keep, exist_ok=True)
            self.work = os.path.abspath(self.options.keep)
            return open(os.devnull, encoding='ascii')
        temporary = tempfile.TemporaryDirectory(prefix='sa-matrix-')
        self.work = temporary.name
        return temporary

    def one(self, cell, number, todo):
        begin = time.monotonic()
        record = self.measure(cell)
        took = time.monotonic() - begin
        record = {'type': 'cell', 'id': plan.identity(cell), **cell._asdict(),
                  'time': time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime()),
                  'took_s': round(took, 1), **record}
        self.results.add(record)
        if record['status'] != 'skipped':
            self.spent += took
            self.expected += plan.estimate(cell, self.options)
        left = sum(plan.estimate(c, self.options) for c in todo[number:])
        left *= self.spent / self.expected if self.expected else 1
        self.say('[%d/%d] %s: %s; %s left' % (number, len(todo), record['id'], brief(record),
                                              plan.clock(left)))
        return record


def verdict(cell, client, record):
    """Whether a cell counts, and why not."""
    if record['machine']['busy'] > BUSY_MAX:
        return 'void', 'the machine was %.0f %% busy (%.1f cores by others)' % (
            record['machine']['busy'] * 100, record['machine']['others_cores'])
    limited = (record['leg'] or {}).get('rwnd_limited_pct', 0)
    if limited > LIMITED_MAX and plan.parse_link(cell.link)[1] and not client.cpu:
        return 'stalled', 'the client\'s receive window was closed %.0f %% of the time' % limited
    return 'ok', None


def brief(record):
    """A cell in half a line."""
    if 'samples_ms' not in record:
        return '%s: %s' % (record['status'], record['reason'])
    samples = sorted(record['samples_ms'])
    text = 'p50 %.0f max %.0f ms of %d' % (samples[(len(samples) - 1) // 2], samples[-1],
                                           len(samples)) if samples else 'no sample'
    if record['timeouts']:
        text += ', %d timeouts' % record['timeouts']
    text += ', %.1f Mbit/s, %.0f s' % (record['display_mbit'] or 0, record['took_s'])
    if record['status'] != 'ok':
        text = '%s (%s): %s' % (record['status'].upper(), record['reason'], text)
    return text
