# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the machine is, and how busy."""
import os
import platform
import shutil
import subprocess
import time


def run(*argv, cwd=None):
    """Its output, or None."""
    if not shutil.which(argv[0]):
        return None
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          cwd=cwd, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def field(path, name):
    """The first 'name : value' of a file in /proc."""
    with open(path, encoding='utf-8', errors='replace') as file:
        for line in file:
            before, colon, after = line.partition(':')
            if colon and before.strip() == name:
                return after.strip()
    return None


def library(package, debian):
    return run('pkg-config', '--modversion', package) or \
        run('dpkg-query', '-W', '-f', '${Version}', debian)


def commit(source):
    """(commit id, whether files other than results differ from it), (None, None) outside of a
    checkout."""
    name = run('git', 'rev-parse', 'HEAD', cwd=source)
    if not name:
        return None, None
    return name, bool(run('git', 'status', '--porcelain', '--', '.', ':!data/results',
                          cwd=source))


def describe(source):
    """The part of the header record that does not depend on what is run."""
    commit_id, dirty = commit(source)
    release = {}
    if os.path.exists('/etc/os-release'):
        with open('/etc/os-release', encoding='utf-8') as file:
            release = dict(line.rstrip('\n').split('=', 1) for line in file if '=' in line)
    return {
        'time': time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime()),
        'commit': commit_id,
        'dirty': dirty,
        'machine': {
            'cpu': field('/proc/cpuinfo', 'model name') or platform.machine(),
            'cores': os.cpu_count(),
            'kernel': platform.release(),
            'memory_mib': int(field('/proc/meminfo', 'MemTotal').split()[0]) // 1024,
            'system': release.get('PRETTY_NAME', '').strip('"') or None,
        },
        'versions': {
            'spice_server': library('spice-server', 'libspice-server1'),
            'spice_gtk': library('spice-client-glib-2.0', 'libspice-client-glib-2.0-8'),
            'python': platform.python_version(),
        },
        'load': load(),
    }


def load():
    return [round(value, 2) for value in os.getloadavg()]


def ticks():
    """(busy, all) clock ticks of all cores since the start of the machine."""
    with open('/proc/stat', encoding='ascii') as file:
        values = [int(word) for word in file.readline().split()[1:9]]
    total = sum(values)
    return total - values[3] - values[4], total


def process_seconds(pid):
    """CPU seconds of a process, its ended threads included; None if it is gone."""
    try:
        with open('/proc/%d/stat' % pid, encoding='utf-8', errors='replace') as file:
            words = file.read().rpartition(')')[2].split()
    except OSError:
        return None
    return (int(words[11]) + int(words[12])) / os.sysconf('SC_CLK_TCK')


def peak_mib(pid):
    try:
        text = field('/proc/%d/status' % pid, 'VmHWM')
    except OSError:
        return None
    return round(int(text.split()[0]) / 1024, 1) if text else None
