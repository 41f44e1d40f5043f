# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A client held to a part of a core by a control group, version 1 or 2.

The group is made in the caller's own place and entered before the network namespace: tools that
change into a namespace may hide /sys/fs/cgroup."""
import os
import time

PERIOD_US = 10000


class Unavailable(Exception):
    pass


def mounts():
    """(type, root, mount point, options of the file system) of every mount."""
    with open('/proc/self/mountinfo', encoding='utf-8') as file:
        for line in file:
            before, _, after = line.partition(' - ')
            words, rest = before.split(), after.split()
            yield rest[0], words[3], words[4], rest[2].split(',')


def own_paths():
    """Controllers to the path of this process, '' for version 2."""
    with open('/proc/self/cgroup', encoding='utf-8') as file:
        return [line.rstrip('\n').split(':', 2)[1:] for line in file]


def below(mount_point, root, path):
    if root != '/' and path.startswith(root):
        path = path[len(root):]
    return os.path.join(mount_point, path.lstrip('/'))


def write(directory, name, text):
    with open(os.path.join(directory, name), 'w', encoding='ascii') as file:
        file.write(text)


class Limit:
    """A control group of its own. 'procs' is the file a process writes itself into."""

    def __init__(self, percent):
        reasons = []
        for kind, root, point, options in mounts():
            try:
                if kind == 'cgroup' and 'cpu' in options:
                    self.directory = self.version1(percent, root, point)
                elif kind == 'cgroup2':
                    self.directory = self.version2(percent, root, point)
                else:
                    continue
            except (OSError, Unavailable) as error:
                reasons.append('%s: %s' % (point, getattr(error, 'strerror', None) or error))
                continue
            self.procs = os.path.join(self.directory, 'cgroup.procs')
            return
        raise Unavailable('; '.join(reasons) or 'no control groups are mounted')

    def version1(self, percent, root, point):
        own = [path for controllers, path in own_paths() if 'cpu' in controllers.split(',')]
        parent = below(point, root, own[0]) if own else point
        directory = self.make(parent if os.path.isdir(parent) else point)
        try:
            write(directory, 'cpu.cfs_period_us', str(PERIOD_US))
            write(directory, 'cpu.cfs_quota_us', str(PERIOD_US * percent // 100))
        except OSError:
            os.rmdir(directory)
            raise
        return directory

    def version2(self, percent, root, point):
        own = [path for controllers, path in own_paths() if not controllers]
        start = below(point, root, own[0]) if own else point
        parent = start
        while parent.startswith(point):
            try:
                with open(os.path.join(parent, 'cgroup.subtree_control'), encoding='ascii') as file:
                    if 'cpu' in file.read().split():
                        break
            except OSError:
                pass
            parent = os.path.dirname(parent)
        else:
            raise Unavailable('no group above hands the cpu controller down')
        directory = self.make(parent)
        try:
            write(directory, 'cpu.max', '%d %d' % (PERIOD_US * percent // 100, PERIOD_US))
        except OSError:
            os.rmdir(directory)
            raise
        return directory

    @staticmethod
    def make(parent):
        directory = os.path.join(parent, 'sa-matrix-%d' % os.getpid())
        os.mkdir(directory)
        return directory

    def remove(self):
        """Its processes have ended; the kernel may take a moment to notice."""
        for _ in range(50):
            try:
                os.rmdir(self.directory)
                return
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(0.02)
