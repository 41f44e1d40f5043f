# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Real viewers: command lines and a clean environment, stock or with the add-on."""
import os
import shutil
import subprocess
import sys

from .cases import Missing

# What an instrumented client library needs in a viewer: a sanitizer's runtime.
PRELOAD = 'SA_TEST_PRELOAD'
_python_with_gi = []


def python_with_gi():
    """A Python that has the spice-gtk bindings, or None."""
    if not _python_with_gi:
        probe = ('import gi; gi.require_version("SpiceClientGtk", "3.0"); '
                 'gi.require_version("SpiceClientGLib", "2.0"); '
                 'from gi.repository import SpiceClientGtk')
        found = None
        for python in (sys.executable, '/usr/bin/python3'):
            if os.path.exists(python) and subprocess.run(
                    [python, '-c', probe], stdin=subprocess.DEVNULL, capture_output=True,
                    check=False).returncode == 0:
                found = python
                break
        _python_with_gi.append(found)
    return _python_with_gi[0]


class Target:
    """Where to connect."""

    def __init__(self, host='127.0.0.1', port=None, tls_port=None, unix=None, password=None,
                 ca_file=None, subject=None, proxy=None):
        self.host, self.port, self.tls_port, self.unix = host, port, tls_port, unix
        self.password, self.ca_file, self.subject, self.proxy = password, ca_file, subject, proxy

    def uri(self, with_password=False):
        if self.unix:
            return 'spice+unix://' + self.unix
        host = '[%s]' % self.host if ':' in self.host else self.host
        query = []
        if self.port:
            query.append('port=%d' % self.port)
        if self.tls_port:
            query.append('tls-port=%d' % self.tls_port)
        if with_password and self.password:
            query.append('password=' + self.password)
        return 'spice://%s?%s' % (host, '&'.join(query))

    def vv_file(self, scope):
        """A connection file, as web front ends hand it to remote-viewer."""
        lines = ['[virt-viewer]', 'type=spice', 'host=' + self.host, 'delete-this-file=0']
        for key, value in (('port', self.port), ('tls-port', self.tls_port),
                           ('password', self.password), ('host-subject', self.subject)):
            if value:
                lines.append('%s=%s' % (key, value))
        if self.ca_file:
            with open(self.ca_file, encoding='ascii') as file:
                lines.append('ca=' + file.read().replace('\n', '\\n'))
        path = scope.path('connection.vv')
        with open(path, 'w', encoding='ascii') as file:
            file.write('\n'.join(lines) + '\n')
        return path


class Addon:
    """The add-on in a viewer's environment; log: its CSV file, made in the scope."""

    def __init__(self, scope, module, options=''):
        self.module = module
        self.log = scope.path('addon.csv')
        self.options = 'log=' + self.log + (',' + options if options else '')

    def apply(self, env, gtk):
        preload = [os.environ[PRELOAD]] if os.environ.get(PRELOAD) else []
        if gtk:
            env['GTK_MODULES'] = self.module
        else:
            preload.append(self.module)
        if preload:
            env['LD_PRELOAD'] = ' '.join(preload)
        env['SPICE_ACCEL'] = self.options


def base_environment(scope, display=None):
    """Nothing of the caller's desktop: no bus, no saved settings, no GStreamer plugins (their
    first scan takes seconds, and the tests' pictures need no codec)."""
    home = os.path.join(scope.dir, 'home')
    runtime = os.path.join(scope.dir, 'run')
    for path in (home, runtime):
        os.makedirs(path, mode=0o700, exist_ok=True)
    env = {
        'PATH': os.environ.get('PATH', '/usr/bin:/bin'), 'LANG': 'C.UTF-8', 'HOME': home,
        'XDG_RUNTIME_DIR': runtime, 'XDG_CONFIG_HOME': home + '/config',
        'XDG_CACHE_HOME': home + '/cache', 'XDG_DATA_HOME': home + '/data',
        'DBUS_SESSION_BUS_ADDRESS': 'disabled:', 'DBUS_SYSTEM_BUS_ADDRESS': 'disabled:',
        'NO_AT_BRIDGE': '1', 'GTK_A11Y': 'none', 'GSETTINGS_BACKEND': 'memory',
        'GIO_USE_VFS': 'local', 'GIO_USE_VOLUME_MONITOR': 'unix', 'GTK_CSD': '0',
        'GTK_THEME': 'Adwaita', 'PULSE_SERVER': 'unix:/nonexistent', 'SPICE_PROXY': '',
        'GST_PLUGIN_SYSTEM_PATH_1_0': '', 'GST_REGISTRY_FORK': 'no',
        'G_DEBUG': '', 'NO_PROXY': '', 'GDK_BACKEND': 'x11',
    }
    del env['SPICE_PROXY']
    for name in ('LD_LIBRARY_PATH', 'ASAN_OPTIONS', 'UBSAN_OPTIONS', 'LSAN_OPTIONS'):
        if name in os.environ:
            env[name] = os.environ[name]
    if display is not None:
        env['DISPLAY'] = display.name
    return env


class Viewer:
    """One kind of viewer. arguments(scope, target) gives what follows the program."""
    gtk = True

    def __init__(self, program, name=None):
        self.program = program
        self.name = name or program

    def prefix(self):
        path = shutil.which(self.program)
        if not path:
            raise Missing('%s is not installed' % self.program)
        return [path]

    def arguments(self, scope, target):
        raise NotImplementedError

    def start(self, scope, target, display=None, addon=None, extra=(), env_more=None, **more):
        env = base_environment(scope, display if self.gtk else None)
        if target.proxy:
            env['SPICE_PROXY'] = target.proxy
        if target.ca_file and not self.gtk:
            # spicy-screenshot has no option for it: OpenSSL's default store stands in.
            env['SSL_CERT_FILE'] = target.ca_file
        env.update(env_more or {})
        if addon is not None:
            addon.apply(env, self.gtk)
        argv = self.prefix() + self.arguments(scope, target) + list(extra)
        return scope.start(argv, env=env, **more)


def _common(target):
    out = []
    if target.ca_file:
        out.append('--spice-ca-file=' + target.ca_file)
    if target.subject:
        out.append('--spice-host-subject=' + target.subject)
    return out


class RemoteViewer(Viewer):
    def __init__(self, use_vv=False):
        super().__init__('remote-viewer', 'remote-viewer' + ('-vv' if use_vv else ''))
        self.use_vv = use_vv

    def arguments(self, scope, target):
        out = ['--auto-resize=never', '--spice-disable-audio', '--spice-disable-usbredir']
        if self.use_vv:
            return out + [target.vv_file(scope)]
        return out + _common(target) + [target.uri(with_password=True)]


class Spicy(Viewer):
    def __init__(self):
        super().__init__('spicy')

    def arguments(self, scope, target):
        if os.environ.get(PRELOAD):
            # Without any add-on, too: it never leaves its start with the runtime preloaded.
            raise Missing('spicy does not start under the sanitizer')
        # Pixel by pixel: spicy scales to its window unless its settings say otherwise.
        place = os.path.join(scope.dir, 'home', 'config', 'spicy')
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, 'settings'), 'w', encoding='ascii') as file:
            file.write('[general]\nscaling=false\nresize-guest=false\nauto-usbredir=false\n')
        out = ['--spice-disable-audio', '--spice-disable-usbredir'] + _common(target)
        return out + _spicy_address(target)


class SpicyScreenshot(Viewer):
    """Writes the first picture it gets to .out_file and ends."""
    gtk = False

    def __init__(self):
        super().__init__('spicy-screenshot')
        self.out_file = None

    def arguments(self, scope, target):
        self.out_file = scope.path('shot.ppm')
        return _spicy_address(target) + ['--out-file=' + self.out_file]


def _spicy_address(target):
    if target.unix:
        return ['--uri=' + target.uri()]
    out = ['--host=' + target.host]
    if target.port:
        out.append('--port=%d' % target.port)
    if target.tls_port:
        out.append('--secure-port=%d' % target.tls_port)
    if target.password:
        out.append('--password=' + target.password)
    return out


class PyViewer(Viewer):
    """tests/session/pyviewer.py; by_fd: the script connects the sockets, as behind a tunnel."""

    def __init__(self, by_fd=False, options=()):
        super().__init__('pyviewer', 'pyviewer' + ('-fd' if by_fd else ''))
        self.by_fd = by_fd
        self.options = list(options)

    def prefix(self):
        python = python_with_gi()
        if not python:
            raise Missing('no Python with the SpiceClientGtk bindings')
        here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        return [python, os.path.join(here, 'pyviewer.py')]

    def arguments(self, scope, target):
        out = ['--uri', target.uri()] + (['--fd'] if self.by_fd else [])
        if target.password:
            out += ['--password', target.password]
        if target.ca_file:
            out += ['--ca-file', target.ca_file]
        if target.subject:
            out += ['--host-subject', target.subject]
        return out + self.options
