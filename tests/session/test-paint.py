#!/usr/bin/env python3
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Painting at once shows the same pixels as GTK's own clock, sooner, and seldom enough.

The demo server stops at a frame it was told, so what a viewer has to show in the end is known:
exactly the server's own picture, or, where the viewer scales or covers it, what the same viewer
shows without painting at once. The way there is an animation that is painted at once.
"""
import json
import os
import queue
import shutil
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib.cases import Missing, arguments, run_cases  # noqa: E402
from lib.display import Display  # noqa: E402
from lib.keybox import KeyBox, Keyboard, box_colours, percentile, wait_connected  # noqa: E402
from lib.keydraw import KeydrawServer, dump_frame  # noqa: E402
from lib.scope import Failure, Scope, check, wait_for  # noqa: E402
from lib.viewers import Addon, PyViewer, RemoteViewer, Spicy  # noqa: E402

FRAME = 75          # at 30 a second
SCREEN = 1600, 1200
SIZE = '640x400'    # small, so that the pictures of two windows and of zoomed ones fit
PAINTS_A_SECOND = 125
# Scaled by a fraction, a few pixels where two draws meet come out one or two levels apart from run
# to run, also without the add-on: which pixels are painted together decides the rounding.
SEAM = 3
PRESSES, PAIRS = 12, 2


class PaintViewer(PyViewer):
    """tests/session/paintviewer.py: told what to do, one answer a command."""

    def __init__(self, module, options=()):
        super().__init__(options=['--gtk3-module', module] + list(options))
        self.name = 'paintviewer'

    def prefix(self):
        python, script = super().prefix()
        return [python, os.path.join(os.path.dirname(script), 'paintviewer.py')]

    def start(self, *args, **more):
        process = super().start(*args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **more)
        process.events = queue.Queue()
        threading.Thread(target=self._read, args=(process,), daemon=True).start()
        return process

    @staticmethod
    def _read(process):
        for line in process.popen.stdout:
            process.events.put(json.loads(line))
        process.events.put({'event': 'ended'})

    @staticmethod
    def wait(process, name, timeout=60):
        deadline = time.monotonic() + timeout
        while True:
            try:
                event = process.events.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                raise Failure('paintviewer: no event "%s"' % name) from None
            if event['event'] == name:
                return event
            if event['event'] == 'ended':
                raise Failure('paintviewer ended before "%s": %s' % (name, process.errors()))

    @classmethod
    def ask(cls, process, command, answer='done', timeout=60):
        process.popen.stdin.write(command.encode() + b'\n')
        process.popen.stdin.flush()
        return cls.wait(process, answer, timeout)


def steady(display):
    """The screen once it has been the same for a second."""
    last, since = None, time.monotonic()

    def probe():
        nonlocal last, since
        shot = display.screenshot()
        if last is None or shot != last:
            last, since = shot, time.monotonic()
        return shot if time.monotonic() - since > 1 else None
    return wait_for(probe, 'steady screen', 60, 0.1)


def alike(one, other, tolerance):
    """No channel of any pixel differs by more."""
    if one == other:
        return True
    return bool(tolerance) and one.width == other.width and one.height == other.height and all(
        abs(a - b) <= tolerance for a, b in zip(one.rgb, other.rgb) if a != b)


def complaints(process):
    """What GTK says when it is asked to paint at the wrong time."""
    return [line for line in process.errors().splitlines()
            if ('Gtk-' in line or 'Gdk-' in line) and ('WARNING' in line or 'CRITICAL' in line)]


class Bench:
    def __init__(self, scope, roots):
        self.scope, self.roots = scope, roots
        self.program = roots.need_rig('keydraw-server')
        self.module = roots.need('plugin', 'gtk3', 'libspice-accel-gtk3.so')
        self.display = Display(scope, *SCREEN)
        self.keyboard = Keyboard(self.display.name)
        self.pictures = {}
        self.colours = None

    def env(self, paint):
        return {'GTK_MODULES': self.module} if paint else {}

    def picture(self, *options):
        if options not in self.pictures:
            self.pictures[options] = dump_frame(self.scope, self.program, FRAME, *options)
        return self.pictures[options]

    def server(self, *options):
        return KeydrawServer(self.scope, self.program, *options)

    def paint_viewer(self, *options):
        return PaintViewer(self.module, options)

    # --- pictures ------------------------------------------------------------------------------

    def exact(self, viewer, activity):
        """Animated, then frozen: the pixels of the server's own picture."""
        options = ('--activity', activity, '--size', SIZE)
        picture = self.picture(*options)
        self.display.wait_without(picture)
        server = self.server(*options, '--freeze-at', FRAME)
        process = viewer.start(self.scope, server.target(), self.display, env_more=self.env(True))
        server.wait_event('frozen', 60)
        self.display.wait_for_picture(picture, process)
        check(self.module in open('/proc/%d/maps' % process.pid, encoding='utf-8').read(),
              'the module is not in %s' % viewer.name)
        check(not complaints(process), '%s' % complaints(process))
        process.stop()
        server.stop()

    def as_stock(self, play, *server_options, tolerance=0):
        """The whole screen at the end of play(paint, server), which returns the viewer."""
        shots = []
        for paint in (False, True):
            server = self.server('--freeze-at', FRAME, *server_options)
            process = play(paint, server)
            server.wait_event('frozen', 60)
            if paint:
                def same():
                    return alike(self.display.screenshot(), shots[0], tolerance)
                try:
                    wait_for(same, 'screen as without painting at once', 20, 0.2)
                except Failure as error:
                    raise Failure('%s: %s' % (
                        error, shots[0].difference(self.display.screenshot()))) from None
            else:
                shots.append(steady(self.display))
                check(not shots[0].plain(), 'the screen shows one colour')
            check(paint or self.module not in open('/proc/%d/maps' % process.pid,
                                                   encoding='utf-8').read(),
                  'the module is in the stock viewer')
            warnings = complaints(process)
            check(not (paint and warnings), '%s' % warnings)
            process.stop()
            server.stop()

    def zoom(self, percent):
        def play(paint, server):
            return RemoteViewer().start(self.scope, server.target(), self.display,
                                        extra=['--zoom=%d' % percent], env_more=self.env(paint))
        self.as_stock(play, '--size', SIZE, '--activity', 'busy',
                      tolerance=SEAM if percent % 100 else 0)

    def toolbar(self):
        def play(paint, server):
            viewer = self.paint_viewer('--size', '640,400')
            process = viewer.start(self.scope, server.target(), self.display,
                                   env_more=self.env(paint))
            viewer.wait(process, 'primary')
            viewer.ask(process, 'toolbar 0 1')  # it slides in while the picture moves
            server.wait_event('started', 60)
            return process
        area = ('--size', SIZE, '--activity', 'busy', '--area', '400x300+120+10')
        self.as_stock(play, *area)

    def fullscreen(self):
        """remote-viewer's own toolbar; only a window manager makes a window fullscreen."""
        manager = shutil.which('openbox')
        if not manager:
            raise Missing('openbox is not installed')
        display = Display(self.scope, 1280, 1024)
        wm = self.scope.start([manager, '--sm-disable'], env=dict(
            os.environ, DISPLAY=display.name, HOME=self.scope.dir))
        mine, self.display = self.display, display
        keyboard = Keyboard(display.name)

        def play(paint, server):
            keyboard.point(640, 500)
            process = RemoteViewer().start(self.scope, server.target(), self.display,
                                           extra=['--full-screen'], env_more=self.env(paint))
            server.wait_event('started', 60)
            for y in (2, 1, 0):
                keyboard.point(640, y)
            return process
        try:
            self.as_stock(play, '--activity', 'busy')
        finally:
            self.display = mine
            keyboard.close()
            wm.stop()

    def two_displays(self):
        def play(paint, server):
            viewer = self.paint_viewer('--displays', '2', '--place', '0,0', '--place', '700,0')
            process = viewer.start(self.scope, server.target(), self.display,
                                   env_more=self.env(paint))
            for _display in range(2):
                viewer.wait(process, 'primary')
            return process
        self.as_stock(play, '--displays', 2, '--size', SIZE, '--activity', 'busy')

    def rattled(self):
        """Resized and laid out anew all the time while it is painted; GTK must not complain."""
        def play(paint, server):
            viewer = self.paint_viewer('--size', '640,400')
            process = viewer.start(self.scope, server.target(), self.display,
                                   env_more=dict(self.env(paint), G_DEBUG='fatal-warnings'))
            viewer.wait(process, 'primary')
            viewer.ask(process, 'scaling 0 1')
            viewer.ask(process, 'rattle 0 200', 'rattled')
            if paint:
                check(viewer.ask(process, 'counts', 'counts')['left'] > 0,
                      'no paint was left to the clock while the window was resized')
            return process
        self.as_stock(play, '--size', SIZE, '--activity', 'busy', tolerance=SEAM)

    # --- how often, and when not ----------------------------------------------------------------

    def watched(self, *server_options, viewer_options=()):
        """A Python viewer that has begun to paint at once: (viewer, process, server)."""
        server = self.server('--size', SIZE, *server_options)
        viewer = self.paint_viewer(*viewer_options)
        process = viewer.start(self.scope, server.target(), self.display, env_more=self.env(True))
        viewer.wait(process, 'primary')

        def painting():
            return viewer.ask(process, 'counts', 'counts')['paints']
        wait_for(painting, 'first extra paint', 60)
        return viewer, process, server

    def often(self):
        options = ('--activity', 'heavy', '--tick', 2, '--fps', 120, '--displays', 2,
                   '--area', '160x96+300+100')
        viewer, process, server = self.watched(*options, viewer_options=(
            '--displays', '2', '--place', '0,0', '--place', '700,0'))
        most = 0
        for _second in range(4):
            before, start = viewer.ask(process, 'counts', 'counts')['paints'], time.monotonic()
            time.sleep(1)  # the second that is counted
            after = viewer.ask(process, 'counts', 'counts')['paints']
            # The answers' own way there and back may move a paint or two across the edges.
            rate = (after - before) / (time.monotonic() - start)
            most = max(most, rate)
        check(most > 5, 'only %.1f extra paints a second: nothing was tested' % most)
        check(most <= PAINTS_A_SECOND + 5, '%.1f extra paints a second' % most)
        process.stop()
        server.stop()

    def idle(self):
        """Frozen: no paint without a draw."""
        viewer, process, server = self.watched('--activity', 'busy', '--freeze-at', FRAME)
        server.wait_event('frozen', 60)
        self.display.wait_for_picture(self.picture('--size', SIZE, '--activity', 'busy'), process)
        before = viewer.ask(process, 'counts', 'counts')
        time.sleep(1)  # in which nothing must happen
        check(viewer.ask(process, 'counts', 'counts') == before, 'it paints although all is still')
        process.stop()
        server.stop()

    def still(self, command, text, undo=None):
        """After that command the animation goes on and no window is painted at once."""
        viewer, process, server = self.watched('--activity', 'busy')
        viewer.ask(process, command)
        before = viewer.ask(process, 'counts', 'counts')
        start = frames(server)
        wait_for(lambda: frames(server) > start + 30, '30 more frames', 30, 0.1)
        after = viewer.ask(process, 'counts', 'counts')
        check(after['paints'] == before['paints'], '%d extra paints %s'
              % (after['paints'] - before['paints'], text))
        if undo:
            viewer.ask(process, undo)
            wait_for(lambda: viewer.ask(process, 'counts', 'counts')['paints'] > after['paints'],
                     'extra paint after "%s"' % undo)
        process.stop()
        server.stop()

    def nested(self):
        """A main loop that a draw handler runs must not paint."""
        viewer, process, server = self.watched('--activity', 'busy')
        viewer.ask(process, 'toolbar 0 1')
        viewer.ask(process, 'nest 0 300')
        counts = viewer.wait(process, 'nested')
        check(counts['before']['paints'] == counts['after']['paints'],
              'painted from within a draw handler: %s' % counts)
        check(counts['before']['left'] < counts['after']['left'],
              'no draw came while the draw handler ran: %s' % counts)
        deepest = viewer.ask(process, 'depth', 'depth')['deepest']
        check(deepest == 1, '::draw of a display was nested %d deep' % deepest)
        after = viewer.ask(process, 'counts', 'counts')
        wait_for(lambda: viewer.ask(process, 'counts', 'counts')['paints'] > after['paints'],
                 'extra paint after the draw handler')
        process.stop()
        server.stop()

    # --- Wayland ---------------------------------------------------------------------------------

    def weston(self):
        """(environment for a viewer, its process): a compositor without a screen."""
        program = shutil.which('weston')
        if not program:
            raise Missing('weston is not installed')
        runtime = self.scope.path('wayland')
        os.mkdir(runtime, 0o700)
        process = self.scope.start(
            [program, '--backend=headless-backend.so', '--socket=wayland-9', '--width=1024',
             '--height=768'], env=dict(os.environ, XDG_RUNTIME_DIR=runtime, HOME=self.scope.dir))

        def up():
            if process.status() is not None:
                raise Missing('weston does not run here: ' + process.errors()[-300:])
            return os.path.exists(os.path.join(runtime, 'wayland-9'))
        wait_for(up, 'compositor', 30)
        return {'XDG_RUNTIME_DIR': runtime, 'WAYLAND_DISPLAY': 'wayland-9', 'DISPLAY': '',
                'GDK_BACKEND': 'wayland', 'WAYLAND_DEBUG': '1'}, process

    def wayland(self):
        """GTK's clock alone commits frames there, so nothing is painted ahead of it; but a draw
        is one frame, not the first column and, a frame later, the rest."""
        commits = {}
        for paint in (False, True):
            env, compositor = self.weston()
            server = self.server('--size', SIZE, '--activity', 'idle')
            viewer = self.paint_viewer('--size', '640,400')
            process = viewer.start(self.scope, server.target(), self.display,
                                   env_more=dict(self.env(paint), **env))
            viewer.wait(process, 'primary')
            wait_quiet(process)
            start = damaged_commits(process)
            for _key in range(PRESSES):
                server.command('key')
                server.wait_event('key-drawn', 30)
                wait_quiet(process)
            commits[paint] = damaged_commits(process) - start
            if paint:
                counts = viewer.ask(process, 'counts', 'counts')
                check(counts['paints'] == 0, 'painted ahead of a clock that commits: %s' % counts)
            # without a seat, as here, GTK complains about that alone, stock too
            warnings = [line for line in complaints(process) if 'GDK_IS_SEAT' not in line]
            check(not (paint and warnings), '%s' % warnings)
            for one in (process, server, compositor):
                one.stop()
        print('wayland: %d frames stock, %d painted at once, for %d draws' % (
            commits[False], commits[True], PRESSES))
        check(PRESSES <= commits[True] < commits[False], 'frames committed for %d draws: %s'
              % (PRESSES, commits))

    # --- speed, and the way in -------------------------------------------------------------------

    def faster(self, viewer):
        """Interleaved: from the draw in the server to the pixels. Without: 19 ms at the median,
        as GTK paints the first column at once and the others a frame later; with: 1 to 2."""
        self.colours = self.colours or box_colours(self.scope, self.program)
        server = self.server('--activity', 'idle')
        times = {False: [], True: []}
        for pair in range(PAIRS):
            for paint in ((False, True), (True, False))[pair % 2]:
                process = viewer.start(self.scope, server.target(), self.display,
                                       env_more=self.env(paint))
                wait_connected(server)
                box = KeyBox(self.display, server, self.colours)
                box.press()
                times[paint] += [box.press()[2] for _press in range(PRESSES)]
                box.close()
                process.stop()
                server.wait_event('client-disconnected', 30)
        server.stop()
        stock, painted = (percentile(times[paint], 0.5) for paint in (False, True))
        print('%s: %.1f ms stock, %.1f ms painted at once' % (viewer.name, stock, painted))
        check(painted < 0.6 * stock, '%.1f ms from draw to pixels against %.1f' % (painted, stock))

    def module_loads_it(self, options, expected):
        """Through the add-on's own module, as users have it."""
        server = self.server('--size', SIZE, '--activity', 'busy')
        viewer = self.paint_viewer()
        addon = Addon(self.scope, self.roots.need_module(), options)
        process = viewer.start(self.scope, server.target(), self.display, addon)
        viewer.wait(process, 'primary')
        start = frames(server)
        wait_for(lambda: frames(server) > start + 60, '60 frames', 30, 0.1)
        paints = viewer.ask(process, 'counts', 'counts')['paints']
        check(bool(paints) == expected, '%s extra paints with options "%s"' % (paints, options))
        process.stop()
        server.stop()


def damaged_commits(process):
    """Frames with new pixels that a viewer under WAYLAND_DEBUG=1 has committed."""
    count, damage = 0, False
    for line in process.errors().splitlines():
        if '-> wl_surface@' in line:
            if '.damage' in line:
                damage = True
            elif '.commit' in line:
                count, damage = count + damage, False
    return count


def wait_quiet(process):
    """Until it has not talked to the compositor for 0.2 s."""
    last, since = None, time.monotonic()

    def probe():
        nonlocal last, since
        size = os.path.getsize(process.err_path)
        if size != last:
            last, since = size, time.monotonic()
        return time.monotonic() - since > 0.2
    wait_for(probe, 'quiet viewer', 30, 0.02)


def frames(server):
    server.command('stats')
    return server.wait_event('stats', 30)['frame']


def build_cases(bench):
    cases = [('picture %s %s' % (viewer.name, activity),
              lambda viewer=viewer, activity=activity: bench.exact(viewer, activity))
             for viewer in (RemoteViewer(), Spicy(), PyViewer()) for activity in ('busy', 'scroll')]
    cases += [('faster ' + viewer.name, lambda viewer=viewer: bench.faster(viewer))
              for viewer in (RemoteViewer(), Spicy(), PyViewer())]
    cases += [
        ('zoom 150', lambda: bench.zoom(150)),
        ('zoom 200', lambda: bench.zoom(200)),
        ('zoom 70', lambda: bench.zoom(70)),
        ('toolbar', bench.toolbar),
        ('fullscreen', bench.fullscreen),
        ('two displays', bench.two_displays),
        ('rattled', bench.rattled),
        ('often', bench.often),
        ('idle', bench.idle),
        ('hidden', lambda: bench.still('hide 0', 'of a hidden window', 'show 0')),
        ('opengl', lambda: bench.still('gl 0', 'of a window that OpenGL paints')),
        ('nested', bench.nested),
        ('wayland', bench.wayland),
        ('module', lambda: bench.module_loads_it('', True)),
        ('module paint=0', lambda: bench.module_loads_it('paint=0', False)),
    ]
    return cases


def alone(bench, function):
    """A case starts without the pointer on the pictures (its shape depends on when the viewer got
    it) and, also when it fails, leaves no window on the screen of the next one."""
    scope = bench.scope

    def case():
        before = len(scope.processes)
        bench.keyboard.point(SCREEN[0] - 1, SCREEN[1] - 1)
        try:
            function()
        finally:
            for process in scope.processes[before:]:
                process.stop()
    return case


def main():
    roots, words = arguments()
    with Scope() as scope:
        bench = Bench(scope, roots)
        return run_cases([(name, alone(bench, function)) for name, function in build_cases(bench)],
                         words)


if __name__ == '__main__':
    sys.exit(main())
