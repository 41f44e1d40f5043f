#!/usr/bin/env python3
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The measuring matrix: its arithmetic, its order, its records, and that nothing is left behind.

usage: test-matrix.py BUILD-ROOT SOURCE-ROOT [CASE...]
"""
import json
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

from lib.cases import Missing, arguments, run_cases
from lib.scope import Failure

ROOTS, WORDS = arguments()
sys.path.insert(0, os.path.join(ROOTS.source, 'tests', 'rig'))
sys.dont_write_bytecode = True

from matrix import (  # noqa: E402
    Trouble, geometry, limits, machine, numbers, picture, plan, plots, processes, quick, results,
    sockets, svg, tables)

RUN = os.path.join(ROOTS.source, 'tests', 'rig', 'run-matrix')


def expect(ok, text):
    if not ok:
        raise Failure(text)


def equal(found, wanted, text):
    expect(found == wanted, '%s: %r, not %r' % (text, found, wanted))


def run(*args, **more):
    return subprocess.run([sys.executable, RUN, *args], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=120, check=False, **more)


# --- arithmetic ----------------------------------------------------------------------------------


def noise(width, height, seed):
    return picture.Picture(width, height, random.Random(seed).randbytes(3 * width * height))


def plain_ssim(a, b, masks):
    """The definition, window by window."""
    n, values = picture.WINDOW, []
    rows = [[picture.luma(p.row(y)) for y in range(p.height)] for p in (a, b)]
    for top in range(a.height - n + 1):
        for left in range(a.width - n + 1):
            if any(left < x + w and x < left + n and top < y + h and y < top + n
                   for x, y, w, h in masks):
                continue
            x, y = ([v for row in side[top:top + n] for v in row[left:left + n]] for side in rows)
            mx, my = sum(x) / n**2, sum(y) / n**2
            vx, vy = (sum((v - m)**2 for v in s) / n**2 for s, m in ((x, mx), (y, my)))
            cov = sum((p - mx) * (q - my) for p, q in zip(x, y)) / n**2
            values.append((2 * mx * my + picture.C1) * (2 * cov + picture.C2) /
                          ((mx**2 + my**2 + picture.C1) * (vx + vy + picture.C2)))
    return sum(values) / len(values)


def case_picture():
    a = noise(30, 24, 1)
    same = picture.compare(a, picture.Picture(30, 24, a.data))
    equal((same['differing'], same['psnr_db'], same['ssim']), (0, math.inf, 1.0), 'equal pictures')
    data = bytearray(a.data)
    data[3 * (5 * 30 + 7) + 1] ^= 16
    b = picture.Picture(30, 24, bytes(data))
    found = picture.compare(a, b)
    equal(found['differing'], 1, 'one pixel')
    expect(abs(found['psnr_db'] - 10 * math.log10(255**2 * 30 * 24 * 3 / 16**2)) < 1e-9, 'PSNR')
    expect(abs(found['ssim'] - plain_ssim(a, b, ())) < 1e-9, 'SSIM of one changed pixel')
    equal(picture.compare(a, b, [(7, 5, 1, 1)])['differing'], 0, 'that pixel masked')
    equal(picture.compare(a, b, [(8, 5, 1, 1)])['differing'], 1, 'its neighbour masked')
    for masks in ((), ((9, 3, 4, 5),), ((0, 0, 12, 9), (20, 10, 30, 30))):
        c = noise(30, 24, 2)
        got, want = picture.ssim(a, c, masks), plain_ssim(a, c, masks)
        expect(abs(got - want) < 1e-9, 'SSIM with %d masks: %r, not %r' % (len(masks), got, want))
        looked_at = picture.differing(a, c, masks)[2]
        wanted = sum(not any(x <= px < x + w and y <= py < y + h for x, y, w, h in masks)
                     for px in range(30) for py in range(24))
        equal(looked_at, wanted, 'pixels looked at')


def case_quality_program():
    program = os.path.join(ROOTS.source, 'tests', 'rig', 'quality')
    with tempfile.TemporaryDirectory() as directory:
        for name, value in (('a', b'\1\2\3'), ('b', b'\1\2\4')):
            with open(os.path.join(directory, name), 'wb') as file:
                file.write(b'P6\n# text\n16 8\n255\n' + b'\1\2\3' * 127 + value)
        with open(os.path.join(directory, 'short'), 'wb') as file:
            file.write(b'P6\n16 8\n255\nxyz')
        for names, more, status, word in (
                ('aa', (), 0, '0 of 128 pixels differ, PSNR inf dB, SSIM 1.0000'),
                ('ab', (), 1, '1 of 128 pixels differ'),
                ('ab', ('--mask', '1x1+15+7'), 0, '0 of 127 pixels differ')):
            done = subprocess.run([sys.executable, program, *more,
                                   *(os.path.join(directory, n) for n in names)],
                                  stdout=subprocess.PIPE, text=True, check=False)
            equal(done.returncode, status, '%s %s' % (names, more))
            expect(word in done.stdout, done.stdout)
        for name in ('short', 'absent'):
            done = subprocess.run([sys.executable, program, os.path.join(directory, 'a'),
                                   os.path.join(directory, name)],
                                  stderr=subprocess.PIPE, text=True, check=False)
            expect(done.returncode == 2 and name in done.stderr and
                   done.stderr.count('\n') == 1, '%s: %s' % (name, done.stderr))


def case_numbers():
    equal([numbers.quantile(range(1, 21), p) for p in (0, 50, 95, 100)], [1, 10, 19, 20], 'ranks')
    equal(numbers.quantile([], 50), None, 'nothing')
    rand = random.Random(3)
    repeats = [[rand.gauss(100, 10) for _ in range(40)] for _ in range(2)]
    low, high = numbers.bootstrap(repeats, 50)
    median = numbers.quantile(sum(repeats, []), 50)
    expect(low <= median <= high and 1 < high - low < 15, 'interval %r to %r' % (low, high))
    equal(numbers.bootstrap(repeats, 50), (low, high), 'the same again')
    ratio, (low, high) = numbers.bootstrap_ratio([[v / 2 for v in r] for r in repeats], repeats, 50)
    expect(abs(ratio - 0.5) < 1e-9 and low <= 0.5 <= high, 'half: %r' % ratio)


SS = '''\
ESTAB 0      529408 [::ffff:10.77.0.1]:5901 [::ffff:10.77.0.2]:40000
\t skmem:(r0,rb1,t0) cubic rtt:137.976/8.5 cwnd:114 bytes_sent:9 bytes_acked:9000 \
bytes_received:30 busy:900ms rwnd_limited:540ms(60.0%) notsent:1024 retrans:0/19
ESTAB 1048576 0      10.77.0.1:41000 10.77.0.1:5900
\t cubic rtt:0.1/0.1 cwnd:10 bytes_acked:30 bytes_received:99999
ESTAB 0      0      10.77.0.1:5901 10.77.0.2:40001
\t cubic rtt:80/1 cwnd:10 bytes_acked:17 bytes_received:1
ESTAB 7      0      10.77.0.1:41002 10.77.0.1:5900
\t cubic bytes_acked:1 bytes_received:2
'''


def case_sockets():
    places = sockets.places('relay', '5901', '5900', '10.77.0.1', '10.77.0.2')
    found = sockets.parse(SS.splitlines())
    equal(len(found), 4, 'sockets')
    for place in places.values():
        if place.side == 'server':
            place.take(found)
    backlog, series, leg = sockets.report(places)
    equal(series['relay_sendq'], [517], 'the display connection towards the client')
    equal(series['relay_rcvq'], [1024], 'the display connection towards the server')
    equal((leg['rwnd_limited_pct'], leg['cwnd'], leg['retrans']), (60.0, 114.0, 19.0), 'the leg')
    equal(backlog['relay_rcvq']['max'], 1024, 'backlog')


# --- the plan ------------------------------------------------------------------------------------


def case_order():
    cells = plan.make('pairs', {}, ('cubic',), 2)
    equal(len(cells), 240, 'cells of the pairs')
    equal(len(set(cells)), len(cells), 'no cell twice')
    for one, other in zip(cells[0::2], cells[1::2]):
        equal(plan.pair(one), plan.pair(other), 'neighbours are a pair')
        equal({one.client, other.client}, {'stock', 'addon'}, 'of both clients')
    first = [cell.client for cell in cells[0::2]]
    expect(0 < first.count('stock') < len(first), 'the order alternates')
    half = len(first) // 2
    expect(all(a != b for a, b in zip(first[:half], first[half:])), 'also from repeat to repeat')
    for text in ('80', '80:', 'x:5', '80:5:6:7', '-1:5', '70000:1', '1e3:5'):
        try:
            plan.parse_link(text)
        except Trouble as trouble:
            expect(text in str(trouble) and trouble.status == 2, str(trouble))
            continue
        raise Failure('link %s is taken' % text)
    equal(plan.parse_client('addon:pace=0+latency=50@25'),
          plan.Client('addon', 'pace=0,latency=50', 25), 'a client with all there is')


def case_geometry():
    places = [geometry.draw(5, 'pair %d' % i) for i in range(200)]
    equal(geometry.draw(5, 'pair 7'), places[7], 'the same pair, the same geometry')
    expect(geometry.draw(6, 'pair 7') != places[7], 'another run, another geometry')
    expect(len({p['area'] for p in places}) > 190, 'it varies')
    for place in places:
        (ax, ay, aw, ah), (bx, by, bw, bh) = geometry.masks(place)
        expect(0 <= ax <= 1280 - aw and 0 <= ay <= 800 - ah, 'the area lies inside')
        expect(0 <= bx <= 1280 - bw and 0 <= by <= 800 - bh, 'the box lies inside')
        expect(bx + bw <= ax or ax + aw <= bx or by + bh <= ay or ay + ah <= by, 'and apart')


def record(client, samples, status='ok', activity='heavy', topology='relay', mbit=9.6, repeat=1):
    cell = plan.Cell('80:10', activity, 'off', topology, 'cubic', client, repeat)
    return {'type': 'cell', 'id': plan.identity(cell), **cell._asdict(), 'status': status,
            'reason': None if status == 'ok' else 'because', 'samples_ms': samples, 'timeouts': 0,
            'timeout_ms': 15000, 'display_mbit': mbit, 'seconds': 10, 'accel': None,
            'pressed_s': [], 'fps': {'slowest_cell_fps': 1.0}, 'cores': {'client': 0.1},
            'peak_mib': {'client': 30.0}, 'leg': {'rwnd_limited_pct': 0}}


def case_quick_judges():
    cells = [plan.Cell('80:10', activity, 'off', 'relay', 'cubic', client, 1)
             for activity in ('idle', 'heavy') for client in ('stock', 'addon')]
    checks = quick.checks(cells)
    equal(len(checks), 4, 'checks')

    def outcome(*changes):
        records = [record('stock', [100] * 5, activity='idle'),
                   record('addon', [101] * 5, activity='idle'),
                   record('stock', [2000] * 5), record('addon', [1000] * 5)]
        for index, change in changes:
            records[index].update(change)
        return [check.judge(records, 1)[0] for check in checks]

    equal(outcome(), [True] * 4, 'all well')
    for change, index in (((1, {'samples_ms': [116] * 5}), 0), ((3, {'samples_ms': [1600] * 5}), 1),
                          ((0, {'samples_ms': [500] * 5}), 2), ((3, {'display_mbit': 8.0}), 3)):
        equal(outcome(change)[index], False, 'a regression is seen by check %d' % index)
    equal(outcome((3, {'samples_ms': [1600] * 5, 'status': 'void', 'reason': 'busy'}))[1], None,
          'what a void cell says against the add-on is not held against it')


def case_tables():
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, 'records')
        rows = [record('stock', [2000.0, 2100.0, 2200.0]),
                record('addon', [1000.0, 1050.0, 1100.0]),
                record('addon', [5.0], status='void', repeat=2),
                record('addon', [5.0], status='void', repeat=1)]
        with open(path, 'w', encoding='utf-8') as file:
            file.writelines(json.dumps(row) + '\n' for row in rows)
        headers, pools = results.read([path])
        text = tables.Tables(headers, pools).document()
        expect('| 80 ms / 10 Mbit | heavy | off | relay | addon | 1 of 2 | 3 | 1050 (1000-1100) |'
               in text, text)
        expect('| addon | 0.50 (0.45-0.55) |' in text, text)
        expect('| 2 | void | because |' in text, text)
        names = [name for name, document in plots.all_latency(pools) if '</svg>' in document]
        equal(names, ['latency-heavy-off'], 'plots')
        with open(path, 'a', encoding='utf-8') as file:
            file.write('{"type":"cell"}\n')
        try:
            results.read([path])
        except Trouble as trouble:
            expect(':5:' in str(trouble), str(trouble))
        else:
            raise Failure('a line that is no record is taken')
    equal([words for _, words in svg.Log(18, 3000, 0, 1).ticks()],
          ['10', '20', '50', '100', '200', '500', '1000', '2000', '5000'], 'logarithmic ticks')
    equal([words for _, words in svg.Linear(0, 100, 0, 1).ticks(5)],
          ['0', '20', '40', '60', '80', '100'], 'linear ticks')


# --- real ----------------------------------------------------------------------------------------


def need_rig():
    for name in ('link', 'relay', 'keydraw-server', 'keydraw-client'):
        ROOTS.need_rig(name)
    done = subprocess.run([ROOTS.rig('link'), '--stats', os.devnull, '--', 'true'],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode == 77:
        raise Missing(done.stderr.strip())


def case_cpu_limit():
    try:
        limit = limits.Limit(10)
    except limits.Unavailable as reason:
        raise Missing(reason) from None
    group = processes.Group()
    try:
        spinner = group.start('spinner', [sys.executable, '-c', 'while True: pass'],
                              procs=limit.procs)
        begin, used = time.monotonic(), machine.process_seconds(spinner.pid)
        group.next(begin + 1.5)
        share = (machine.process_seconds(spinner.pid) - used) / (time.monotonic() - begin)
        expect(share < 0.25, '10 %% of a core became %.0f %%' % (share * 100))
    finally:
        group.end()
        limit.remove()
    expect(not os.path.exists(limit.directory), 'the group is gone')


def leftovers(directory):
    """Processes with this directory in their command line, and what is in it."""
    found = []
    for pid in os.listdir('/proc'):
        try:
            with open('/proc/%s/cmdline' % pid, 'rb') as file:
                if pid.isdigit() and directory.encode() in file.read():
                    found.append(pid)
        except OSError:
            pass
    return found


def descendants(pid):
    """Name of every process below one, by pid."""
    parents, names = {}, {}
    for entry in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open('/proc/%s/stat' % entry, encoding='utf-8', errors='replace') as file:
                before, _, after = file.read().rpartition(')')
        except OSError:
            continue
        parents[int(entry)] = int(after.split()[1])
        names[int(entry)] = before.partition('(')[2]
    below = {pid}
    while True:
        more = {child for child, parent in parents.items() if parent in below} - below
        if not more:
            return {child: names[child] for child in below - {pid}}
        below |= more


def tiny(directory, *more):
    """A cell of seconds."""
    return ('--build', ROOTS.build, '--links', '10:20', '--activities', 'idle', '--streaming',
            'off', '--topologies', 'relay', '--clients', 'stock', '--repeats', '1', '--presses',
            '2', '--interval', '50', '--warmup', '0.5', *more, os.path.join(directory, 'out'))


def read_records(directory):
    with open(os.path.join(directory, 'out'), encoding='utf-8') as file:
        return [json.loads(line) for line in file]


def case_resume():
    need_rig()
    with tempfile.TemporaryDirectory() as directory:
        env = {**os.environ, 'TMPDIR': directory}
        done = run(*tiny(directory, '--quality'), env=env)
        equal((done.returncode, done.stderr), (0, ''), 'a run')
        header, cell = read_records(directory)
        equal(header['type'], 'header', 'first record')
        expect(cell['status'] in ('ok', 'void'), str(cell.get('reason')))
        equal(len(cell['samples_ms']), 2, 'samples')
        equal(cell['quality']['background_differing'], 0, 'the background is exact')
        equal(cell['quality']['frozen_ssim'], 1.0, 'and so is the frozen picture')
        equal(sorted(cell['cores']), ['client', 'link', 'relay', 'server'], 'whose CPU is known')
        equal(os.listdir(directory), ['out'], 'nothing but the records is left')
        # The end of a run that was killed in the middle of a record.
        with open(os.path.join(directory, 'out'), 'a', encoding='utf-8') as file:
            file.write('{"type":"ce')
        again = run(*tiny(directory, '--quality', '--repeats', '2', '--mixed'), env=env)
        equal(again.returncode, 0, again.stderr)
        expect('1 of 2 cells to run' in again.stdout, again.stdout)
        records = read_records(directory)
        equal([r['type'] for r in records], ['header', 'cell', 'header', 'cell'], 'records')
        equal(records[2]['run_seed'], header['run_seed'], 'the seed stays')
        other = run(*tiny(directory, '--presses', '3'), env=env)
        expect(other.returncode == 2 and 'measured with another' in other.stderr, other.stderr)


def case_interrupt():
    need_rig()
    with tempfile.TemporaryDirectory() as directory:
        process = subprocess.Popen(
            [sys.executable, RUN, *tiny(directory, '--warmup', '60')], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env={**os.environ, 'TMPDIR': directory})
        try:
            # The client is the last one to start; nothing tells of it from outside.
            until = time.monotonic() + 40
            family = {}
            while 'keydraw-client' not in family.values() and time.monotonic() < until:
                time.sleep(0.05)
                family = descendants(process.pid)
            expect({'keydraw-client', 'keydraw-server', 'relay', 'link'} <= set(family.values()),
                   'the session does not start: %s' % family)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=30)
        finally:
            if process.poll() is None:
                process.kill()
        equal(process.returncode, 130, 'status')
        expect(errors.startswith('run-matrix: interrupted') and errors.count('\n') == 1, errors)
        equal([name for pid, name in family.items() if os.path.exists('/proc/%d' % pid)], [],
              'processes left')
        equal(os.listdir(directory), ['out'], 'files left')
        equal([r['type'] for r in read_records(directory)], ['header'], 'records')


def fake_build(directory, **replaced):
    """A build directory of links, some of its programs replaced."""
    rig = os.path.join(directory, 'fake', 'tests', 'rig')
    os.makedirs(rig)
    for name in ('link', 'relay', 'keydraw-server', 'keydraw-client'):
        path = os.path.join(rig, name)
        text = replaced.get(name.replace('-', '_'), name)
        if text is None:
            continue
        if text == name:
            os.symlink(ROOTS.rig(name), path)
            continue
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        os.chmod(path, 0o755)
    return os.path.join(directory, 'fake')


def case_dead_server():
    need_rig()
    with tempfile.TemporaryDirectory() as directory:
        for text, word in (
                ('#!/bin/sh\necho oh no >&2\nexit 4\n', 'status 4: oh no'),
                # In the middle of a session.
                ('#!/bin/sh\nexec timeout -s KILL 3 %s "$@"\n' % ROOTS.rig('keydraw-server'),
                 'keydraw-server ended')):
            with tempfile.TemporaryDirectory() as inner:
                build = fake_build(inner, keydraw_server=text)
                done = run(*tiny(inner, '--build', build, '--warmup', '60'),
                           env={**os.environ, 'TMPDIR': directory})
                equal(done.returncode, 1, 'status')
                cell = read_records(inner)[1]
                expect(cell['status'] == 'failed' and word in cell['reason'], str(cell))
                equal(leftovers(inner), [], 'processes left')
        equal(os.listdir(directory), [], 'files left')


def case_usage():
    with tempfile.TemporaryDirectory() as directory:
        build = fake_build(directory, relay=None) if ROOTS.rig('link') else ROOTS.build
        out = os.path.join(directory, 'out')
        for args, word in (
                ((), 'no OUT'),
                (('--links', '80', out), 'link 80'),
                (('--clients', 'viewer', out), 'client viewer'),
                (('--clients', 'stock@5', out), '10 to 400'),
                (('--activities', 'lazy', out), 'activity lazy'),
                (('--topologies', 'star', out), 'topology star'),
                (('--quick', '--set', 'pairs', out), '--quick'),
                (('--presses', '0', out), '--presses'),
                (('--redo', 'ok', out), 'redo ok'),
                (('--build', os.path.join(directory, 'absent'), out), 'absent'),
                (('--build', build, out), 'relay is not built')):
            done = run(*args)
            equal(done.returncode, 2, 'status of %s' % (args,))
            expect(word in done.stderr.splitlines()[-1], done.stderr)
        expect(not os.path.exists(out), 'no file for a run that never began')


CASES = [(name[5:].replace('_', '-'), function) for name, function in sorted(globals().items())
         if name.startswith('case_')]

if __name__ == '__main__':
    sys.exit(run_cases(CASES, WORDS))
