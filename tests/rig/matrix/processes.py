# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Processes whose lines are waited for."""
import ctypes
import os
import queue
import signal
import subprocess
import threading
import time

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


class Ended(Exception):
    """A process that should run on has ended."""


def die_with_parent(sig=signal.SIGKILL):
    LIBC.prctl(PR_SET_PDEATHSIG, int(sig), 0, 0, 0)


class Process:
    def __init__(self, group, name, argv, env=None, procs=None):
        self.name = name
        self.ended = False
        self.last_errors = []
        self.readers = []

        def before_exec():
            die_with_parent()
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            if procs:
                with open(procs, 'w', encoding='ascii') as file:
                    file.write(str(os.getpid()))

        # pylint: disable=consider-using-with,subprocess-popen-preexec-fn
        self.popen = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, errors='replace', bufsize=1, env=env, preexec_fn=before_exec)
        self.pid = self.popen.pid
        for stream in ('out', 'err'):
            pipe = self.popen.stdout if stream == 'out' else self.popen.stderr
            reader = threading.Thread(target=self.read, args=(group, stream, pipe), daemon=True)
            reader.start()
            self.readers.append(reader)

    def read(self, group, stream, pipe):
        for line in pipe:
            line = line.rstrip('\n')
            if stream == 'err' and line:
                self.last_errors = self.last_errors[-9:] + [line]
            group.lines.put((self, stream, line))
        if stream == 'out':
            group.lines.put((self, stream, None))

    def say(self, line):
        try:
            self.popen.stdin.write(line + '\n')
            self.popen.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass

    def why(self):
        """One line about its end."""
        try:
            status = self.popen.wait(5)
        except subprocess.TimeoutExpired:
            return '%s closed its output' % self.name
        for reader in self.readers:
            reader.join(1)
        text = '%s ended with status %d' % (self.name, status)
        return '%s: %s' % (text, self.last_errors[-1]) if self.last_errors else text


class Group:
    """Processes that end together, and one queue of all their lines."""

    def __init__(self):
        self.lines = queue.Queue()
        self.processes = []
        self.may_end = set()

    def start(self, name, argv, **more):
        process = Process(self, name, argv, **more)
        self.processes.append(process)
        return process

    def next(self, until):
        """(process, 'out' or 'err', line), the line being None once its output has ended, or None
        if there is none before that time.monotonic(). Ended for a process that must not end."""
        try:
            entry = self.lines.get(timeout=max(until - time.monotonic(), 0))
        except queue.Empty:
            return None
        process, _, line = entry
        if line is None:
            process.ended = True
            if process not in self.may_end:
                raise Ended(process.why())
        return entry

    def end(self):
        """Ends all of them, the last one first."""
        for process in reversed(self.processes):
            if process.popen.poll() is None:
                process.popen.terminate()
        until = time.monotonic() + 3
        for process in reversed(self.processes):
            try:
                process.popen.wait(max(until - time.monotonic(), 0.05))
            except subprocess.TimeoutExpired:
                process.popen.kill()
                process.popen.wait()
