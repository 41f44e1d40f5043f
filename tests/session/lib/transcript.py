# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a viewer said to the synthetic server, in a form that can be compared between runs."""
import synthserver

from . import spice
from .scope import check


class ChannelTranscript:
    """link: without capability words. ordered: (position, type, body) of what has a determined
    position. loose: (type, size) of the rest in order, repetitions in a row told once, since the
    toolkit repeats them with each focus event."""

    def __init__(self, connection):
        link = connection.link
        self.name = link.name
        self.link = link.without_caps()
        self.caps = (link.common, link.channel)
        self.mechanism = connection.mechanism
        self.ticket = connection.ticket
        self.ordered, self.loose = [], []
        for position, kind, body in connection.messages:
            if synthserver.queued(link.type, kind):
                if self.loose[-1:] != [(kind, len(body))]:
                    self.loose.append((kind, len(body)))
            else:
                self.ordered.append((position, kind, body))


def transcripts(server):
    """{channel name: ChannelTranscript}; a channel linked twice gets a number after its name."""
    out = {}
    for connection in server.connections:
        if not connection.link:
            continue
        one = ChannelTranscript(connection)
        name, number = one.name, 2
        while name in out:
            name, number = '%s (%d)' % (one.name, number), number + 1
        out[name] = one
    return out


def compare(stock, other, until=None):
    """Check that the add-on's run says what the stock run says. until: {channel name: position}
    up to which both must have spoken; behind it the viewer may have ended at any moment, and one
    run's messages must be the beginning of the other's."""
    check(sorted(stock) == sorted(other), 'channels linked: %s stock, %s with the add-on'
          % (sorted(stock), sorted(other)))
    for name in stock:
        left, right = stock[name], other[name]
        check(left.link == right.link, '%s: link message %s stock, %s with the add-on'
              % (name, left.link, right.link))
        check(left.mechanism == right.mechanism, '%s: mechanism %s stock, %s with the add-on'
              % (name, left.mechanism, right.mechanism))
        check(left.ticket is not None, '%s: stock ticket is not for the key' % name)
        check(left.ticket == right.ticket, '%s: the tickets differ' % name)
        limit = (until or {}).get(name)
        _compare_lists(name, left.ordered, right.ordered, limit)
        if limit is None:
            check(left.loose == right.loose, '%s: queued messages %s stock, %s with the add-on'
                  % (name, left.loose, right.loose))


def _compare_lists(name, left, right, limit):
    if limit is not None:
        certain = [[message for message in one if message[0] < limit] for one in (left, right)]
        _compare_lists(name, certain[0], certain[1], None)
        size = min(len(left), len(right))
        left, right = left[:size], right[:size]
    for index, (mine, theirs) in enumerate(zip(left, right)):
        check(mine == theirs, '%s: client message %d is (position %d, type %d, %d bytes: %s) '
              'stock, (position %d, type %d, %d bytes: %s) with the add-on' % (
                  (name, index) + _words(mine) + _words(theirs)))
    check(len(left) == len(right), '%s: %d client messages stock, %d with the add-on'
          % (name, len(left), len(right)))


def _words(message):
    position, kind, body = message
    return position, kind, len(body), body[:32].hex()


def first_draw(channel):
    """Position before the first draw of a recorded display channel."""
    for index, (kind, _body) in enumerate(channel.from_server()):
        if kind in (104,) or 302 <= kind <= 313 or kind == 318:
            return index
    return None


def check_window(transcript, window):
    """Check the ACKs against the windows' rule, so that two equally wrong runs do not pass."""
    acks = [position for position, kind, _body in transcript.ordered if kind == spice.ACK]
    syncs = [position for position, kind, _body in transcript.ordered if kind == spice.ACK_SYNC]
    check(len(syncs) == 1, '%s: %d ACK_SYNC' % (transcript.name, len(syncs)))
    check(len(acks) >= 3, '%s: only %d ACKs of window %d: the recording is too short'
          % (transcript.name, len(acks), window))
