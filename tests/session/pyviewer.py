#!/usr/bin/env python3
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A viewer on the Python bindings of spice-gtk, put together as virt-manager does it.

    pyviewer.py --uri URI [--fd] [--sessions N] [--displays N] [--reconnect N] [...]

Prints JSON lines: window, channel, channel-event, primary, disconnected. Reads commands from
standard input: reconnect, disconnect N, quit. Ends when all sessions are disconnected for good.
--fd: the script connects every socket itself and hands it in, as behind a tunnel.
"""
import argparse
import json
import os
import socket
import sys
import urllib.parse

import gi
gi.require_version('Gdk', '3.0')
gi.require_version('Gtk', '3.0')
gi.require_version('SpiceClientGLib', '2.0')
gi.require_version('SpiceClientGtk', '3.0')
from gi.repository import GLib, GObject, Gtk, SpiceClientGLib, SpiceClientGtk  # noqa: E402


def say(event, **fields):
    print(json.dumps(dict(event=event, **fields)), flush=True)


class Session:
    """One SpiceSession and a window for each of its displays."""

    def __init__(self, viewer, number):
        self.viewer, self.number = viewer, number
        self.windows = {}
        self.session = None
        self.reconnects = viewer.args.reconnect
        self.connect()

    def connect(self):
        args = self.viewer.args
        session = SpiceClientGLib.Session()
        self.session = session
        SpiceClientGLib.set_session_option(session)
        session.set_property('enable-audio', False)
        session.set_property('enable-usbredir', False)
        uri = args.uri[self.number % len(args.uri)]
        self.address = address_of(uri)
        if not args.fd:
            session.set_property('uri', uri)
        if args.password:
            session.set_property('password', args.password)
        if args.username:
            session.set_property('username', args.username)
        if args.ca_file:
            session.set_property('ca-file', args.ca_file)
        if args.host_subject:
            session.set_property('cert-subject', args.host_subject)
            session.set_property('verify', SpiceClientGLib.SessionVerify.SUBJECT)
        # Session and Channel have connect methods of their own: signals go by the base class.
        GObject.Object.connect(session, 'channel-new', self.on_channel)
        GObject.Object.connect(session, 'disconnected', self.on_disconnected)
        if args.fd:
            session.open_fd(self.new_fd())
        else:
            session.connect()

    def new_fd(self):
        """A connected socket; its owner is the channel from here on."""
        if isinstance(self.address, str):
            sock = socket.socket(socket.AF_UNIX)
            sock.connect(self.address)
        else:
            sock = socket.create_connection(self.address)
        return sock.detach()

    def on_channel(self, _session, channel):
        kind, number = channel.get_property('channel-type'), channel.get_property('channel-id')
        say('channel', session=self.number, type=kind, id=number)
        GObject.Object.connect(channel, 'channel-event', self.on_event, kind, number)
        if self.viewer.args.fd:
            GObject.Object.connect(channel, 'open-fd',
                                   lambda one, _tls: one.open_fd(self.new_fd()))
        if isinstance(channel, SpiceClientGLib.DisplayChannel):
            GObject.Object.connect(channel, 'display-primary-create', self.on_primary, number)
            if number < self.viewer.args.displays:
                self.add_window(number)  # the widget connects display, inputs and cursor

    def add_window(self, number):
        display = SpiceClientGtk.Display.new(self.session, number)
        display.set_property('scaling', False)
        display.set_property('resize-guest', False)
        display.set_property('grab-keyboard', False)
        window = Gtk.Window()
        window.set_decorated(False)
        window.add(display)
        place = self.number * self.viewer.args.displays + number
        window.move(*self.viewer.args.place[place % len(self.viewer.args.place)])
        window.set_default_size(*self.viewer.args.size)
        window.show_all()
        self.windows[number] = window
        say('window', session=self.number, id=number)

    def on_event(self, channel, event, kind, number):
        say('channel-event', session=self.number, type=kind, id=number,
            value=event.value_nick)
        # A session without its main channel is over, but only the program ends it.
        ended = event.value_nick == 'closed' or event.value_nick.startswith('error')
        if isinstance(channel, SpiceClientGLib.MainChannel) and ended and self.session:
            self.session.disconnect()

    def on_primary(self, _channel, _format, width, height, _stride, _shm, _data, number):
        say('primary', session=self.number, id=number, width=width, height=height)
        if number in self.windows:
            self.windows[number].resize(width, height)

    def on_disconnected(self, session):
        if session is not self.session:
            return
        say('disconnected', session=self.number)
        for window in self.windows.values():
            window.destroy()
        self.windows = {}
        self.session = None
        if self.reconnects > 0:
            self.reconnects -= 1
            GLib.idle_add(self.connect)
        else:
            self.viewer.ended()


class Viewer:
    def __init__(self, args):
        self.args = args
        self.sessions = [Session(self, number) for number in range(args.sessions)]
        GLib.io_add_watch(GLib.IOChannel.unix_new(0), GLib.PRIORITY_DEFAULT,
                          GLib.IOCondition.IN | GLib.IOCondition.HUP, self.on_command)

    def on_command(self, _channel, _condition):
        words = os.read(0, 4096).decode().split()
        if not words:
            return False
        if words[0] == 'quit':
            Gtk.main_quit()
        elif words[0] in ('disconnect', 'reconnect'):
            chosen = self.sessions[int(words[1]) if len(words) > 1 else 0]
            chosen.reconnects = 1 if words[0] == 'reconnect' else 0
            if chosen.session:
                chosen.session.disconnect()
        return True

    def ended(self):
        if all(one.session is None for one in self.sessions):
            Gtk.main_quit()


def address_of(uri):
    """(host, port) or a unix socket's path."""
    if uri.startswith('spice+unix://'):
        return uri[len('spice+unix://'):]
    parts = urllib.parse.urlsplit(uri)
    query = urllib.parse.parse_qs(parts.query)
    port = parts.port or int(query.get('port', ['0'])[0])
    return parts.hostname, port


def pair(text):
    left, right = text.split(',')
    return int(left), int(right)


def main():
    parser = argparse.ArgumentParser(description='a SPICE viewer on the Python bindings')
    parser.add_argument('--uri', action='append', required=True,
                        help='given again: for the sessions after the first')
    parser.add_argument('--fd', action='store_true', help='connect the sockets in this script')
    parser.add_argument('--sessions', type=int, default=1)
    parser.add_argument('--displays', type=int, default=1, help='windows a session')
    parser.add_argument('--reconnect', type=int, default=0, help='times to connect again')
    parser.add_argument('--place', type=pair, action='append', help='X,Y of the next window')
    parser.add_argument('--size', type=pair, default=(320, 200), help='W,H of a new window')
    parser.add_argument('--username', help='for SASL')
    parser.add_argument('--password')
    parser.add_argument('--ca-file')
    parser.add_argument('--host-subject')
    args = parser.parse_args()
    args.place = args.place or [(0, 0)]
    viewer = Viewer(args)
    Gtk.main()
    for one in viewer.sessions:
        if one.session:
            one.session.disconnect()
    return 0


if __name__ == '__main__':
    sys.exit(main())
