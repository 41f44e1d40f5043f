# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""One cell, from inside the link: run by "link" as its command, told by a file what to do, writes
another file with what it found. Whatever it leaves behind ends with the link."""
import csv
import json
import os
import shlex
import signal
import subprocess
import sys
import time

from . import Trouble, geometry, machine, picture, processes, sockets

SERVER, CLIENT = '10.77.0.1', '10.77.0.2'
BACK, FRONT = '5900', '5901'
SAMPLE_S = 0.5
CONNECT_S = 75     # the client gives up after a minute by itself
FROZEN_S = 180     # as long as the client waits for a quiet picture
TIMEOUT_MS = 15000
SETTLE_MS = 1000


class TimeUp(processes.Ended):
    """Nothing has ended, but what was waited for has not come."""


class Session:
    def __init__(self, spec):
        self.spec = spec
        self.group = processes.Group()
        self.client = self.server = None
        self.listening = {}
        self.answer = {}       # lines of a sampler that are not yet complete
        self.asked = {}        # samplers that owe an answer
        self.places = None
        self.sampling = False
        self.keys = []         # (time, number) of key presses as the server got them
        self.events = {}       # the last of each kind from the server
        self.said = []         # what the client said on stderr
        self.result = None
        self.next_sample = 0

    # --- lines -------------------------------------------------------------------------------

    def take(self, process, stream, line):
        if process is self.client:
            if stream == 'err':
                self.said.append(line)
            elif line and line.startswith('{'):
                self.result = json.loads(line)
        elif process is self.server and stream == 'out' and line:
            event = json.loads(line)
            self.events[event['event']] = event
            if event['event'] == 'key':
                self.keys.append((event['time_us'] / 1e6, event['number']))
        elif process.name.startswith('ss at') and stream == 'out' and line is not None:
            self.take_sample(process, line)
        elif stream == 'out' and line and line.startswith('listening'):
            self.listening[process] = True

    def take_sample(self, process, line):
        if line != '--':
            self.answer[process].append(line)
            return
        found = sockets.parse(self.answer[process])
        side = process.name.rpartition(' ')[2]
        self.asked[process] = False
        if self.sampling:
            for place in self.places.values():
                if place.side == side:
                    place.take(found)

    def ask_samples(self):
        for process, owes in self.asked.items():
            if not owes:
                self.answer[process] = []
                self.asked[process] = True
                process.say('')

    def wait(self, ready, seconds, what):
        """Until @ready(); what comes meanwhile is taken note of."""
        until = time.monotonic() + seconds
        while not ready():
            now = time.monotonic()
            if now > until:
                raise TimeUp('%s: nothing within %.0f s' % (what, seconds))
            if self.asked and now >= self.next_sample:
                self.ask_samples()
                self.next_sample = now + SAMPLE_S
            entry = self.group.next(min(until + 0.01, self.next_sample or until + 0.01))
            if entry:
                self.take(*entry)

    def heard(self, word):
        return any(word in line for line in self.said)

    # --- programs ----------------------------------------------------------------------------

    def at(self, side):
        return shlex.split(os.environ['SA_NS_SERVER' if side == 'server' else 'SA_NS_CLIENT'])

    def start_server(self):
        spec, place = self.spec, self.spec['geometry']
        self.server = self.group.start('keydraw-server', self.at('server') + [
            spec['programs']['keydraw-server'], '--addr', '0.0.0.0', '--port', BACK,
            '--activity', spec['activity'], '--streaming', spec['streaming'],
            '--size', place['size'], '--area', place['area'], '--box', place['box'],
            '--seed', str(place['seed'])] + spec['server_args'])
        self.wait(lambda: 'listening' in self.events, 20, 'keydraw-server')

    def start_topology(self):
        """What stands between server and link; returns the port the client connects to."""
        if self.spec['topology'] == 'direct':
            return BACK
        relay = self.group.start('relay', self.at('server') + [
            self.spec['programs']['relay'], '--listen', '%s:%s' % (SERVER, FRONT),
            '--to', '127.0.0.1:%s' % BACK])
        self.wait(lambda: relay in self.listening, 20, 'relay')
        return FRONT

    def start_samplers(self, port):
        self.places = sockets.places(self.spec['topology'], port, BACK, SERVER, CLIENT)
        for side in ('server', 'client'):
            sampler = self.group.start('ss at %s' % side, self.at(side) + [
                'sh', '-c', sockets.SAMPLER])
            self.answer[sampler], self.asked[sampler] = [], False

    def start_client(self, port):
        spec, place = self.spec, self.spec['geometry']
        argv = [spec['programs']['keydraw-client'], '--uri', 'spice://%s:%s' % (SERVER, port),
                '--presses', str(spec['presses']), '--warmup', str(spec['warmup']),
                '--interval', str(spec['interval_ms']), '--timeout', str(TIMEOUT_MS),
                '--size', place['size'], '--area', place['area'], '--box', place['box'],
                '--seed', str(place['jitter_seed']), '--settle', str(SETTLE_MS), '--hold']
        if spec['quality']:
            argv += ['--shot-mid', self.file('mid.ppm'), '--shot-frozen', self.file('frozen.ppm')]
        env = None
        if spec['client_name'] == 'addon':
            # On the client alone: whatever starts it would load it too.
            options = 'log=' + self.file('addon.csv').replace('\\', '\\\\').replace(',', '\\,')
            options += ',' + spec['client_options'] if spec['client_options'] else ''
            argv = ['env', 'LD_PRELOAD=' + spec['programs']['addon'], 'SPICE_ACCEL=' + options,
                    *argv]
        self.client = self.group.start('keydraw-client', self.at('client') + argv, env=env,
                                       procs=spec['procs'])
        self.wait(lambda: 'started' in self.events, CONNECT_S, 'the first display client')
        self.tell_epoch()
        # A window needs a picture; on a slow link that may take another minute after the warm-up.
        self.wait(lambda: self.heard('warm,'), CONNECT_S + spec['warmup'] + 60, 'the first picture')

    def tell_epoch(self):
        started = self.events['started']
        self.client.say('epoch %d' % (started['time_us'] - started['frame'] * 1000000 //
                                      started['fps']))

    def file(self, name):
        return os.path.join(self.spec['work'], name)

    # --- the course of a cell ----------------------------------------------------------------

    def mark(self):
        used = {p.name: machine.process_seconds(p.pid) for p in self.group.processes}
        used['link'] = machine.process_seconds(os.getppid())
        return {'at': time.monotonic(), 'ticks': machine.ticks(), 'cpu': used}

    def presses(self):
        """True when all presses were made, False when the time was over before."""
        try:
            self.wait(lambda: self.heard('presses done'), self.spec['cell_seconds'], 'presses')
        except TimeUp:
            return False
        return True

    def freeze(self):
        """Stops the animation, waits for the last draw; what the client then holds."""
        begin = time.monotonic()
        self.server.say('freeze')
        self.wait(lambda: 'frozen' in self.events, FROZEN_S, 'freeze')
        asked = time.monotonic()
        self.client.say('frozen')
        self.wait(lambda: self.heard('ok frozen') or self.heard('failed frozen'), FROZEN_S + 10,
                  'the frozen picture')
        return {'before_s': asked - begin, 'failed': self.heard('failed frozen')}

    def stop_client(self, completed):
        self.group.may_end.add(self.client)
        if completed:
            self.client.say('quit')
        else:
            self.client.popen.send_signal(signal.SIGINT)
        self.wait(lambda: self.client.ended, 20, 'the end of keydraw-client')
        if self.result is None:
            raise processes.Ended(self.client.why())

    def run(self):
        spec = self.spec
        self.start_server()
        port = self.start_topology()
        self.start_samplers(port)
        self.start_client(port)
        self.sampling = True
        begin = self.mark()
        begin_wall = time.time()
        completed = self.presses()
        end = self.mark()
        peaks = {p.name: machine.peak_mib(p.pid) for p in self.group.processes}
        peaks['link'] = machine.peak_mib(os.getppid())
        self.sampling = False
        self.server.say('stats')
        self.wait(lambda: 'stats' in self.events, 20, 'stats of keydraw-server')
        frozen = self.freeze() if spec['quality'] and completed else None
        self.stop_client(completed)
        load = machine.load()
        self.group.may_end.update(self.group.processes)
        self.group.end()

        record = self.report(begin, end, peaks, completed)
        record['load'] = load
        record['accel'] = self.read_log(begin_wall, end['at'] - begin['at'])
        if spec['quality']:
            record['quality'] = self.score(frozen)
        return record

    # --- what is kept ------------------------------------------------------------------------

    def report(self, begin, end, peaks, completed):
        seconds = end['at'] - begin['at']
        busy, total = (b - a for a, b in zip(begin['ticks'], end['ticks']))
        cores = {name: round((end['cpu'][name] - used) / seconds, 4)
                 for name, used in begin['cpu'].items()
                 if used is not None and end['cpu'].get(name) is not None}
        backlog, series, leg = sockets.report(self.places)
        got, area = self.result, self.result['area'] or {}
        stats = self.events['stats']
        numbered = {number: at - begin['at'] for at, number in self.keys}
        machine_share = busy / total if total else 0
        if leg:
            leg['sent_mbit'] = round(leg['sent_mbit'] / seconds, 3)
        return {
            'completed': completed,
            'seconds': round(seconds, 2),
            'samples_ms': got['samples_ms'],
            'pressed_s': [round(numbered[n], 2) if n in numbered else None
                          for n in got['sample_numbers']],
            'pending_s': self.pending(end['at']),
            'timeouts': got['timeouts'],
            'timeout_ms': got['timeout_ms'],
            'display_mbit': got.get('display_mbit'),
            'ready_ms': got['ready_after_ms'],
            'fps': {name: area.get(name) for name in (
                'slowest_cell_fps', 'median_cell_fps', 'slowest_corner_fps',
                'longest_cell_gap_ms')},
            'age_ms': [corner['age_ms'] and corner['age_ms']['p50']
                       for corner in area.get('corners', [])],
            'cores': {name.replace('keydraw-', ''): value for name, value in cores.items()
                      if not name.startswith('ss ')},
            'peak_mib': {name.replace('keydraw-', ''): value for name, value in peaks.items()
                         if not name.startswith('ss ')},
            'machine': {'busy': round(machine_share, 3),
                        'others_cores': round(max(machine_share * (os.cpu_count() or 1) -
                                                  sum(cores.values()), 0), 3)},
            'backlog_kib': backlog,
            'series_kib': series,
            'leg': leg,
            'settle_ms': got['settle_ms'],
            'server': {name: stats[name] for name in (
                'frame', 'frames_drawn', 'frames_lost', 'frames_skipped', 'ticks', 'ticks_blocked',
                'draws')},
        }

    def pending(self, end):
        """How long a press that the end of the cell cut off had waited; None without one."""
        known = self.result['sample_numbers'] + self.result['timeout_numbers']
        waiting = [end - at for at, number in self.keys if number not in known and at < end]
        return round(waiting[-1], 2) if waiting else None

    def read_log(self, begin_wall, seconds):
        """The display's rows of the add-on's log during the presses; None for a stock client."""
        if self.spec['client_name'] != 'addon':
            return None
        columns = ('window', 'in_flight', 'credit', 'at_limit_pct', 'stalls', 'holds', 'hold_ms',
                   'messages', 'rtt_ms', 'rate_mbit', 'backlog_ms', 'decode_us')
        rows, sent = [], 0
        try:
            with open(self.file('addon.csv'), encoding='utf-8', newline='') as file:
                for line in csv.DictReader(file):
                    if line['channel'] != 'display:0':
                        continue
                    values = [float(line[c]) if line.get(c) else None for c in columns]
                    sent += values[7] or 0
                    at = float(line['time_s']) - begin_wall
                    if 0 <= at <= seconds + 1:
                        # Credit is counted from the start; what is granted and not yet used is
                        # what one can look at.
                        if values[2] is not None:
                            values[2] -= sent
                        rows.append([round(at, 2), *values, line['verdict']])
        except FileNotFoundError:
            raise processes.Ended('the add-on wrote no log: it was not loaded') from None
        if not rows:
            raise processes.Ended('the log of the add-on has no row of the display channel')
        return {'columns': ['at_s', *columns, 'verdict'], 'rows': rows,
                'holds': sum(row[6] or 0 for row in rows),
                'hold_ms': round(sum(row[7] or 0 for row in rows), 1)}

    def reference(self, frame, name):
        place = self.spec['geometry']
        subprocess.run([
            self.spec['programs']['keydraw-server'], '--activity', self.spec['activity'],
            '--size', place['size'], '--area', place['area'], '--box', place['box'],
            '--seed', str(place['seed']), '--dump-frame', str(frame), '--keys', '0',
            self.file(name)], check=True)
        return picture.read(self.file(name))

    def score(self, frozen):
        """The background in the middle of the animation; the whole picture once it stands still."""
        if frozen is None:
            return {'skipped': 'the time was over before the presses'}
        area, box = geometry.masks(self.spec['geometry'])
        scored = {}
        wanted = self.reference(self.events['frozen']['frame'], 'reference.ppm')
        mid = picture.read(self.file('mid.ppm'))
        count, squares, looked_at = picture.differing(mid, wanted, (area, box))
        scored['background_differing'] = count
        scored['background_psnr_db'] = finite(picture.psnr(squares, looked_at))
        if frozen['failed']:
            scored['frozen_failed'] = self.said[-1]
            return scored
        found = picture.compare(picture.read(self.file('frozen.ppm')), wanted, (box,))
        scored.update({
            'frozen_differing': found['differing'],
            'frozen_psnr_db': finite(found['psnr_db']),
            'frozen_ssim': found['ssim'],
            'settle_s': round(frozen['before_s'] + (self.result['settle_ms'] or 0) / 1000, 2),
        })
        return scored


def finite(db):
    """JSON has no infinity: null stands for equal pictures."""
    return round(db, 2) if db != float('inf') else None


def main(path):
    """The command that "link" runs."""
    with open(path, encoding='utf-8') as file:
        spec = json.load(file)
    session = Session(spec)

    def stop(_sig, _frame):
        raise SystemExit(130)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    try:
        record = session.run()
    except (processes.Ended, Trouble, subprocess.CalledProcessError, OSError) as error:
        record = {'failed': str(error)}
    finally:
        session.group.may_end.update(session.group.processes)
        session.group.end()
    with open(os.path.join(spec['work'], 'result.json'), 'w', encoding='utf-8') as file:
        json.dump(record, file)
    sys.exit(0)
