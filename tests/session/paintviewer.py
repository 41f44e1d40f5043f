#!/usr/bin/env python3
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""pyviewer.py with commands for what a window can go through while it is painted at once.

    paintviewer.py [--gtk3-module FILE] [options of pyviewer.py]

More commands on standard input; N is a display of the first session:
    counts             print {"event": "counts", ...}: what the module has painted and left alone
    size N W H         resize the window
    scaling N 0|1      scale the picture to the window
    toolbar N 0|1      slide a toolbar in or out over the picture, as in fullscreen
    hide N, show N     the window
    rattle N COUNT     as many steps of resizing it and adding and removing a widget beside the
                       picture, one each 7 ms; prints {"event": "rattled"}
    nest N MS          the next ::draw of the toolbar runs a main loop of its own for so long;
                       prints {"event": "nested", ...} with the counts before and after
    gl N               realize the display's OpenGL page, as a first GL scanout does
    depth              print the deepest nesting of the window's ::draw since "nest"
"""
import ctypes
import sys

import pyviewer
from pyviewer import GLib, Gtk, say


class Counts:
    """The module's own figures, when it is in this process."""

    def __init__(self, path):
        self.path = path
        self.function = None

    def find(self):
        """The object that is in the process, not a second one; the add-on loads it with the first
        channel."""
        if self.function is None and self.path:
            mode = ctypes.DEFAULT_MODE | 4  # RTLD_NOLOAD
            try:
                self.function = ctypes.CDLL(self.path, mode).spice_accel_gtk3_paint_counts
            except OSError:
                pass

    def read(self):
        self.find()
        if self.function is None:
            return {'paints': None, 'left': None}
        paints, left = ctypes.c_uint64(), ctypes.c_uint64()
        self.function(ctypes.byref(paints), ctypes.byref(left))
        return {'paints': paints.value, 'left': left.value}


class Drawing:
    """Handlers of ::draw by way of C: the bindings pass a cairo context only with pycairo."""
    FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    AFTER = 1  # G_CONNECT_AFTER

    def __init__(self):
        self.kept = []
        self.gobject = ctypes.CDLL('libgobject-2.0.so.0')
        self.gobject.g_signal_connect_data.restype = ctypes.c_ulong
        self.gobject.g_signal_connect_data.argtypes = [
            ctypes.c_void_p, ctypes.c_char_p, self.FUNCTION, ctypes.c_void_p, ctypes.c_void_p,
            ctypes.c_int]

    def connect(self, widget, function, after=False):
        def handler(*_arguments):
            function()
            return 0
        callback = self.FUNCTION(handler)
        self.kept.append(callback)
        # hash() of a GObject is its address
        self.gobject.g_signal_connect_data(hash(widget), b'draw', callback, None, None,
                                           self.AFTER if after else 0)


class PaintSession(pyviewer.Session):
    """Each window: a picture under a toolbar that slides, beside a place for one more widget."""

    def add_window(self, number):
        super().add_window(number)
        window = self.windows[number]
        display = window.get_child()
        window.remove(display)
        window.display = display
        window.box = Gtk.Box()
        overlay = Gtk.Overlay()
        overlay.add(display)
        window.bar = Gtk.Revealer(valign=Gtk.Align.START, halign=Gtk.Align.CENTER)
        bar = Gtk.Toolbar()
        for name in ('zoom-in', 'zoom-out', 'window-close'):
            bar.insert(Gtk.ToolButton(icon_name=name, label=name), -1)
        window.bar.add(bar)
        overlay.add_overlay(window.bar)
        window.box.pack_start(overlay, True, True, 0)
        window.add(window.box)
        window.show_all()


class PaintViewer(pyviewer.Viewer):
    def __init__(self, args, counts):
        self.counts, self.depth, self.deepest = counts, 0, 0
        self.drawing = Drawing()
        pyviewer.Session = PaintSession
        super().__init__(args)

    def enter_draw(self):
        self.depth += 1
        self.deepest = max(self.deepest, self.depth)

    def leave_draw(self):
        self.depth -= 1

    def on_command(self, channel, condition):
        # Commands come one at a time: the test waits for each one's answer.
        words = self.read_line()
        if not words:
            return False
        handler = getattr(self, 'do_' + words[0], None)
        if handler is None:
            return self.pyviewer_command(words)
        handler(*(int(word) for word in words[1:]))
        return True

    def read_line(self):
        line = b''
        while not line.endswith(b'\n'):
            byte = sys.stdin.buffer.raw.read(1)
            if not byte:
                return []
            line += byte
        return line.decode().split()

    def pyviewer_command(self, words):
        if words[0] == 'quit':
            Gtk.main_quit()
        return True

    def window(self, number):
        return self.sessions[0].windows[number]

    def do_counts(self):
        say('counts', **self.counts.read())

    def do_depth(self):
        say('depth', deepest=self.deepest)

    def do_size(self, number, width, height):
        self.window(number).resize(width, height)
        say('done')

    def do_scaling(self, number, on):
        self.window(number).display.set_property('scaling', bool(on))
        say('done')

    def do_toolbar(self, number, on):
        self.window(number).bar.set_reveal_child(bool(on))
        say('done')

    def do_hide(self, number):
        self.window(number).hide()
        say('done')

    def do_show(self, number):
        self.window(number).show()
        say('done')

    def do_gl(self, number):
        stack = self.window(number).display.get_child()
        for child in stack.get_children():
            if isinstance(child, Gtk.GLArea):
                child.realize()
        say('done')

    def do_nest(self, number, loop_ms):
        window = self.window(number)
        nested = False

        def nest():
            nonlocal nested
            if nested:
                return
            nested = True
            before = self.counts.read()
            loop = GLib.MainLoop()
            GLib.timeout_add(loop_ms, loop.quit)
            loop.run()
            say('nested', before=before, after=self.counts.read())

        self.drawing.connect(window, self.enter_draw)
        self.drawing.connect(window, self.leave_draw, after=True)
        self.drawing.connect(window.bar, nest)
        window.bar.queue_draw()
        say('done')

    def do_rattle(self, number, count):
        window = self.window(number)
        width, height = window.get_size()
        extra = []

        def step():
            nonlocal count
            count -= 1
            if extra:
                extra.pop().destroy()
            if count <= 0:
                window.resize(width, height)
                say('rattled')
                return False
            if count % 3:
                extra.append(Gtk.ProgressBar(show_text=True, text='step %d' % count))
                window.box.pack_start(extra[0], False, False, count % 5)
                extra[0].show()
            window.resize(width - 40 + 7 * (count % 13), height - 30 + 5 * (count % 11))
            return True

        GLib.timeout_add(7, step)


def main():
    module = None
    if '--gtk3-module' in sys.argv:
        at = sys.argv.index('--gtk3-module')
        module = sys.argv[at + 1]
        del sys.argv[at:at + 2]
    counts = Counts(module)
    pyviewer.Viewer = lambda args: PaintViewer(args, counts)
    return pyviewer.main()


if __name__ == '__main__':
    sys.exit(main())
