# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Processes and files of one test, and their end.

Every process a Scope starts inherits a random token in its environment. The end of the scope ends
every process that carries it, those that forked away from their parents included, and removes the
scope's directory. A guard process does the same when the test itself is killed: it holds the read
end of a pipe and acts when the write end closes without a farewell. It starts with the first
process, before the test has threads.
"""
import ctypes
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TOKEN = 'SA_TEST_TOKEN'
PR_SET_PDEATHSIG = 1
# What the sanitizer remarks about coroutines and refused allocations; its errors end the program.
SANITIZER_NOTE = re.compile('WARNING: (AddressSanitizer|ASan)|^False positive error reports|'
                            '^For details see')
_libc = ctypes.CDLL(None, use_errno=True)


class Failure(Exception):
    """A test's assertion did not hold; the message is all the reader gets."""


def skip(reason):
    """End the test: a part it needs is missing."""
    print('skipped: ' + reason, file=sys.stderr)
    raise SystemExit(77)


def check(condition, text):
    if not condition:
        raise Failure(text)


def wait_for(probe, what, timeout=30.0, step=0.02):
    """The first true value of probe(), asked again until the deadline.

    For what announces itself by no event: a file's content, a window's pixels, /proc."""
    deadline = time.monotonic() + timeout
    while True:
        value = probe()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Failure('no %s within %.0f s' % (what, timeout))
        time.sleep(step)


def carriers(token):
    """The pids whose environment holds the token, this process left out."""
    mark = ('%s=%s' % (TOKEN, token)).encode()
    found = []
    for name in os.listdir('/proc'):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open('/proc/%s/environ' % name, 'rb') as file:
                if mark in file.read().split(b'\0'):
                    found.append(int(name))
        except OSError:
            continue
    return found


def end_carriers(token, grace=2.0):
    """TERM, then KILL, to every process that carries the token."""
    deadline = time.monotonic() + grace
    number = signal.SIGTERM
    while True:
        pids = carriers(token)
        if not pids:
            return
        for pid in pids:
            try:
                os.kill(pid, number)
            except OSError:
                pass
        if time.monotonic() > deadline:
            if number == signal.SIGKILL and time.monotonic() > deadline + 5:
                return
            number = signal.SIGKILL
        time.sleep(0.05)


class Process:
    """A started program. Its standard error goes to a file, its standard output too unless the
    caller asked for a pipe."""

    def __init__(self, popen, name, out_path, err_path):
        self.popen = popen
        self.name = name
        self.pid = popen.pid
        self.out_path = out_path
        self.err_path = err_path

    def wait(self, timeout=30.0):
        """Exit status, as subprocess has it (negative: a signal)."""
        try:
            return self.popen.wait(timeout)
        except subprocess.TimeoutExpired:
            raise Failure('%s has not ended within %.0f s; its errors:\n%s'
                          % (self.name, timeout, self.errors())) from None

    def status(self):
        return self.popen.poll()

    def stop(self, grace=5.0):
        """Ask it to end, then end it. Exit status."""
        if self.popen.poll() is None:
            self.popen.terminate()
            try:
                self.popen.wait(grace)
            except subprocess.TimeoutExpired:
                self.popen.kill()
                self.popen.wait()
        return self.popen.returncode

    def _read(self, path):
        if not path:
            return ''
        with open(path, encoding='utf-8', errors='replace') as file:
            return file.read()

    def output(self):
        return self._read(self.out_path)

    def errors(self):
        return self._read(self.err_path)

    def complaints(self):
        """The distinct lines on standard error, without times, process ids and paths."""
        lines = re.sub(r'\d\d:\d\d:\d\d\.\d+|:\d+\)|/\S+|0x[0-9a-f]+', '#', self.errors())
        return sorted({line.strip() for line in lines.splitlines()
                       if line.strip() and not SANITIZER_NOTE.search(line)})


class Scope:
    """with Scope() as scope: everything started or made in it is gone afterwards."""

    def __init__(self, name='spice-accel-test'):
        self.token = secrets.token_hex(12)
        self.dir = tempfile.mkdtemp(prefix=name + '-')
        self.deferred = []
        self.processes = []
        self.counter = 0
        self.farewell = None
        self.handlers = {}

    def __enter__(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            self.handlers[number] = signal.signal(number, self._interrupted)
        self._start_guard()
        return self

    def _interrupted(self, number, _frame):
        raise SystemExit(128 + number)

    def _start_guard(self):
        read_end, self.farewell = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid:
            os.close(read_end)
            self.guard = pid
            return
        # The guard: out of the test's process group, so that what kills the group spares it.
        try:
            os.setsid()
            os.close(self.farewell)
            for number in self.handlers:
                signal.signal(number, signal.SIG_IGN)
            null = os.open('/dev/null', os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(null, fd)
            while True:
                said = os.read(read_end, 64)
                if said:
                    os._exit(0)
                end_carriers(self.token)
                shutil.rmtree(self.dir, ignore_errors=True)
                os._exit(0)
        finally:
            os._exit(1)

    def __exit__(self, *_exc):
        # A second interrupt must not cut the clean-up short.
        for number in self.handlers:
            signal.signal(number, signal.SIG_IGN)
        for function in reversed(self.deferred):
            try:
                function()
            except Exception as error:  # the rest is still to be cleaned
                print('clean-up: %s' % error, file=sys.stderr)
        for process in reversed(self.processes):
            process.stop(2.0)
        end_carriers(self.token)
        shutil.rmtree(self.dir, ignore_errors=True)
        os.write(self.farewell, b'done')
        os.close(self.farewell)
        os.waitpid(self.guard, 0)
        for number, handler in self.handlers.items():
            signal.signal(number, handler)
        return False

    def defer(self, function):
        """Call function at the end, last deferred first."""
        self.deferred.append(function)

    def path(self, name):
        """A path in the scope's directory that nothing else was given."""
        self.counter += 1
        stem, dot, ending = name.partition('.')
        return os.path.join(self.dir, '%s-%d%s%s' % (stem, self.counter, dot, ending))

    def start(self, argv, env=None, stdin=subprocess.DEVNULL, stdout=None, cwd=None,
              death_signal=signal.SIGKILL, pass_fds=()):
        """Start a program; call it on the main thread only, since the kernel sends death_signal
        when the *thread* that started it ends. env: all of its environment (None: this one's)."""
        env = dict(os.environ if env is None else env)
        env[TOKEN] = self.token
        name = os.path.basename(argv[0])
        err_path = self.path(name + '.err')
        out_path = None
        parent = os.getpid()
        with open(err_path, 'wb') as err:
            out = stdout
            if stdout is None:
                out_path = self.path(name + '.out')
                out = open(out_path, 'wb')

            def in_child():
                _libc.prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0)
                if os.getppid() != parent:
                    os._exit(1)
            try:
                popen = subprocess.Popen(argv, env=env, stdin=stdin, stdout=out, stderr=err,
                                         cwd=cwd or self.dir, preexec_fn=in_child,
                                         pass_fds=pass_fds, start_new_session=True)
            finally:
                if stdout is None:
                    out.close()
        process = Process(popen, name, out_path, err_path)
        self.processes.append(process)
        return process


def run(argv, timeout=60.0, env=None, **more):
    """A short program's result; Failure when it fails."""
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout,
                          env=env, check=False, **more)
    check(done.returncode == 0, '%s: exit status %d: %s'
          % (argv[0], done.returncode, done.stderr.decode(errors='replace')))
    return done.stdout
