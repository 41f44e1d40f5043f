#!/usr/bin/env python3
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes the seeds of fuzz-wire, fuzz-link, fuzz-tap and fuzz-options: tests/fuzz/make-seeds.py [DIRECTORY]

DIRECTORY is where the corpus directories are, beside this script when not given.
"""
import os
import struct
import sys

LE32 = struct.Struct("<I")


def u32(*values):
    return b"".join(LE32.pack(v) for v in values)


# --- wire: flags, two bytes that seed the cuts, the stream ---


def mini(kind, body=b""):
    return struct.pack("<HI", kind, len(body)) + body


def full(serial, kind, body=b"", sub_list=0):
    return struct.pack("<QHII", serial, kind, len(body), sub_list) + body


def sub_list(offsets):
    return struct.pack("<H", len(offsets)) + u32(*offsets)


SET_ACK = u32(1, 20)
SUB = mini(105, b"\xbe\xef")
WAIT = mini(5, b"\x01")

WIRE = {
    "mini": b"\0\x11\x22" + mini(3, SET_ACK) + mini(102) + mini(304, bytes(range(100))) + mini(2),
    "mini-list": b"\0\x12\x22"
    + mini(8, sub_list([10, 10 + len(SUB)]) + SUB + WAIT)
    + mini(8, sub_list([]))
    + mini(102),
    "mini-list-hostile": b"\0\x13\x22" + mini(8, sub_list([0xFFFFFFFE, 6, 0, 14]) + WAIT),
    "mini-broken": b"\0\x14\x22" + mini(102) + struct.pack("<HI", 304, 0xFFFFFFFF) + bytes(8),
    "full": b"\1\x15\x22"
    + full(1, 3, SET_ACK)
    + full(2, 304, bytes(12) + SUB + sub_list([12]), 12 + len(SUB))
    + full(3, 102),
    "full-list": b"\1\x16\x22" + full(1, 8, sub_list([6]) + WAIT) + full(2, 8, b"", 0xFFFFFFFF),
    "full-cut": b"\1\x17\x22" + full(1, 304, bytes(200))[:-20],
}

# --- link: flags, two bytes that seed the cuts, records ---


def client(data):
    return struct.pack("<H", len(data)) + data


def server(data):
    return struct.pack("<H", len(data) | 0x8000) + data


def message(common, channel=(0x6FBF,)):
    body = u32(0x2DA9C70D) + b"\2\3" + u32(len(common), len(channel), 18) + u32(*common, *channel)
    return b"REDQ" + u32(2, 2, len(body)) + body


def reply(common, channel=(0x1052,), error=0):
    caps = u32(*common, *channel)
    body = u32(error) + bytes(162) + u32(len(common), len(channel), 178) + caps
    return b"REDQ" + u32(2, 2, len(body)) + body


TICKET = bytes(range(128))
SASL_CLIENT = u32(10) + b"DIGEST-MD5" + u32(0)
MECHLIST = u32(12) + b",DIGEST-MD5,"
SASL_ON = u32(6) + b"nonce\0" + b"\0"
SASL_LAST = u32(9) + b"rspauth=\0" + b"\1"
FRAMES = mini(3, SET_ACK)
START = client(message([0xD])) + server(reply([0xB]))
SASL_START = (
    client(message([0xD]))
    + server(reply([0xD]))
    + client(u32(2))
    + server(MECHLIST)
    + client(SASL_CLIENT)
    + server(SASL_ON)
    + client(SASL_CLIENT)
)

LINK = {
    "ticket": b"\0\x11\x33" + START + client(u32(1) + TICKET) + server(u32(0) + FRAMES),
    "ticket-refused": b"\0\x12\x33" + START + client(u32(1) + TICKET) + server(u32(7)),
    "no-selection": b"\0\x13\x33"
    + client(message([8], []))
    + server(reply([0xB]))
    + client(TICKET)
    + server(u32(0)),
    "no-caps": b"\0\x14\x33"
    + client(message([], []))
    + server(reply([], []))
    + client(TICKET)
    + server(u32(0)),
    "many-caps": b"\0\x15\x33" + client(message([0xD] + [0] * 99, [7] * 50)) + server(reply([0xB])),
    "error-reply": b"\0\x16\x33" + client(message([0xD])) + server(reply([], [], 5)),
    "sasl": b"\0\x17\x33"
    + SASL_START
    + server(SASL_LAST + u32(0))
    + server(b"\0\0\0\x14" + FRAMES),
    "sasl-tls": b"\1\x18\x33" + SASL_START + server(SASL_LAST + u32(0) + u32(0) + FRAMES),
    "sasl-refused": b"\0\x19\x33" + SASL_START + server(SASL_LAST + u32(1, 22)),
    "http": b"\0\x1a\x33" + client(b"GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n"),
    "hostile-counts": b"\0\x1b\x33"
    + client(b"REDQ" + u32(2, 2, 26) + bytes(6) + u32(1024, 1024, 0xFFFFF000) + bytes(8)),
}

# --- tap: flags (1 TLS), records {flags, length, bytes}: 1 from the server, 2 then dry, 4 the
# connection takes only as many bytes as the upper four bits say, 8 then a second passes ---


def record(flags, data):
    return b"".join(
        bytes((flags, len(data[at : at + 255]))) + data[at : at + 255]
        for at in range(0, len(data), 255)
    )


def linked(kind, result=0):
    body = u32(0x1234) + bytes((kind, 0)) + u32(1, 0, 18, 0xB)
    return (
        record(0, b"REDQ" + u32(2, 2, len(body)) + body)
        + record(1, reply([0xB], []))
        + record(0, u32(1) + TICKET)
        + record(1, u32(result))
    )


DISPLAY = b"\0" + linked(2)
ACK = mini(2)
DRAW = mini(304, bytes(30))
KEPT = (
    DISPLAY
    + record(9, mini(3, u32(1, 8)))
    + record(0, mini(1, u32(1)))
    + record(9, DRAW) * 8
    + record(0, ACK)
)

TAP = {
    "display": DISPLAY
    + record(1, mini(3, u32(1, 2)) + DRAW)
    + record(0, mini(1, u32(1)))
    + record(3, DRAW)
    + record(0, ACK),
    "streams": DISPLAY + record(1, mini(122, u32(0, 5, 0)) + mini(123, bytes(20)) + mini(125, u32(5))),
    "kept": KEPT + record(9, DRAW) * 20 + record(0, ACK),
    "kept-sync": KEPT + record(0, mini(1, u32(2))),
    "kept-choked": KEPT + record(13, DRAW) * 9 + record(4, mini(3, bytes(12))) * 3,
    "kept-partly": KEPT
    + record(0x2D, DRAW) * 9
    + record(0x14, mini(3, bytes(12))) * 3
    + record(0x14, ACK)
    + record(0, mini(1, u32(2))),
    "kept-tls": b"\1"
    + KEPT[1:]
    + record(13, DRAW) * 9
    + record(0x46, mini(3, bytes(12))) * 3
    + record(0xB4, ACK + ACK)
    + record(0, mini(4, bytes(8))),
    "kept-behind-blocked": KEPT
    + record(4, mini(3, bytes(12)))
    + record(13, DRAW) * 9
    + record(0, ACK),
    "kept-given-up": KEPT + record(1, struct.pack("<HI", 304, 0xFFFFFFFF)) + record(0, ACK),
    "kept-given-up-partly": KEPT
    + record(9, DRAW) * 2
    + record(0, ACK)
    + record(0x2D, DRAW) * 7
    + record(0x21, struct.pack("<HI", 304, 0xFFFFFFFF))
    + record(0, mini(3, bytes(12))),
    "main": b"\0"
    + linked(1)
    + record(1, mini(103, bytes(32)) + mini(4, bytes(12)))
    + record(0, mini(104))
    + record(1, mini(104, u32(0))),
    "inputs": b"\0" + linked(3) + record(0, mini(112, bytes(11)) * 4) + record(1, mini(111)),
    "refused": b"\0" + linked(2, 7),
    "not-spice": b"\1" + record(0, b"GET / HTTP/1.1\r\n\r\n"),
}

OPTIONS = {
    "list": b"log=/tmp/a\\,b.csv,pace=0,latency=50,paint,help",
    "wrong": b"lgo=1,pace=maybe,latency=,=,,\\,\n\x80",
}


def main():
    base = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "corpus")
    for target, seeds in (
        ("wire", WIRE),
        ("link", LINK),
        ("tap", TAP),
        ("options", OPTIONS),
    ):
        os.makedirs(os.path.join(base, target), exist_ok=True)
        for name, data in seeds.items():
            with open(os.path.join(base, target, name), "wb") as out:
                out.write(data)


if __name__ == "__main__":
    main()
