#!/usr/bin/env python3
#!/usr/bin/env python3
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The rig's plain relay: bytes pass unchanged, its memory is bounded, and it counts SPICE messages rightly.

usage: test-relay.py RELAY
"""
import contextlib
import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading

failures = []


def check(ok, text):
    print(("ok   " if ok else "FAIL ") + text, flush=True)
    if not ok:
        failures.append(text)


@contextlib.contextmanager
def relay(program, listen, to, *more):
    with subprocess.Popen(
        [program, "--listen", listen, "--to", to, *more], stdout=subprocess.PIPE, text=True
    ) as process:
        line = process.stdout.readline().split()
        try:
            yield line[1] if len(line) == 2 else None
        finally:
            process.send_signal(signal.SIGTERM)
            check(process.wait(10) == 0, "the relay ends on SIGTERM")


def connect(address):
    if address.startswith("unix:"):
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(20)
        sock.connect(address[5:])
        return sock
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host.strip("[]"), int(port)), timeout=20)


def listen(address):
    if address.startswith("unix:"):
        sock = socket.socket(socket.AF_UNIX)
        sock.bind(address[5:])
        sock.listen(5)
        return sock, address
    sock = socket.create_server(("127.0.0.1", 0))
    return sock, f"127.0.0.1:{sock.getsockname()[1]}"


def read_all(sock):
    data = bytearray()
    while True:
        more = sock.recv(100000)
        if not more:
            return bytes(data)
        data += more


def test_bytes(program, listen_at, backend_at):
    """Both directions at once, ended one after the other: each side's end reaches the other."""
    rand = random.Random(1)
    down, up = rand.randbytes(5_000_000), rand.randbytes(2_000_000)
    backend, address = listen(backend_at)
    with backend, relay(program, listen_at, address) as at:
        client = connect(at)
        server, _ = backend.accept()
        server.settimeout(20)
        got = {}
        threads = [
            threading.Thread(target=lambda: got.update(down=read_all(client))),
            threading.Thread(target=lambda: (server.sendall(down), server.shutdown(socket.SHUT_WR))),
            threading.Thread(target=lambda: (client.sendall(up), client.shutdown(socket.SHUT_WR))),
        ]
        for thread in threads:
            thread.start()
        got["up"] = read_all(server)
        for thread in threads:
            thread.join(20)
        client.close()
        server.close()
        check(got.get("down") == down and got["up"] == up, f"{at} to {address}: 5 MB down, 2 MB up, unchanged")


def test_bounded(program):
    """A client that does not read stops the server; what waits is the relay's 256 KiB and four socket buffers."""
    backend, address = listen("tcp")
    with backend, relay(program, "127.0.0.1:0", address) as at:
        client = connect(at)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        server, _ = backend.accept()
        server.settimeout(1)
        sent = 0
        try:
            while sent < 200_000_000:
                sent += server.send(bytes(65536))
        except socket.timeout:
            pass
        check(sent < 60_000_000, f"a client that does not read holds the server up after {sent} bytes")
        client.close()
        server.close()


def test_refused(program):
    backend, address = listen("tcp")
    backend.close()
    with relay(program, "127.0.0.1:0", address) as at:
        client = connect(at)
        check(read_all(client) == b"", "no backend: the client's connection is closed")
        client.close()
    for args in (["--listen", "127.0.0.1:0"], ["--to", "127.0.0.1:1"], ["--nonsense"]):
        done = subprocess.run([program, *args], capture_output=True, text=True, check=False)
        check(done.returncode == 2 and done.stderr.count("\n") == 1, f"{args}: {done.stderr.strip()}")


# --- frames --------------------------------------------------------------------------------------------------


def link_message(body):
    return b"REDQ" + struct.pack("<III", 2, 2, len(body)) + body


def mini(kind, body=b""):
    return struct.pack("<HI", kind, len(body)) + body


def full(kind, body=b""):
    return struct.pack("<QHII", 1, kind, len(body), 0) + body


def conversation(caps, message, size=70000):
    """Client and server parts in the order they go: a display channel with a window of 3."""
    mess = struct.pack("<IBBIII", 7, 2, 1, 1, 1, 18) + struct.pack("<II", caps, 0xFFFF)
    reply = struct.pack("<I", 0) + bytes(162) + struct.pack("<III", 1, 0, 178) + struct.pack("<I", caps)
    image = message(304, bytes(size))
    parts = [("c", link_message(mess)), ("s", link_message(reply))]
    if caps & 1:
        parts.append(("c", struct.pack("<I", 1)))
    parts += [
        ("c", bytes(128)),
        ("s", struct.pack("<I", 0)),
        ("s", message(3, struct.pack("<II", 5, 3))),  # SET_ACK: counts as 1
        ("s", image * 3),  # 4
        ("c", message(2)),  # an ACK before ACK_SYNC: ignored
        ("c", message(1, struct.pack("<I", 5))),
        ("s", image * 3),  # 7: the limit
        ("c", message(2) * 2),  # 1
        ("s", message(102)),  # 2, an empty message
        ("c", message(2)),  # early: -1
    ]
    return parts


def play(program, parts, chunk):
    """Sends the parts in order, waiting for each to arrive, in pieces of so many bytes."""
    backend, address = listen("tcp")
    with tempfile.NamedTemporaryFile() as file, backend:
        with relay(program, "127.0.0.1:0", address, "--frames", file.name) as at:
            client = connect(at)
            server, _ = backend.accept()
            server.settimeout(20)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for side, data in parts:
                source, target = (client, server) if side == "c" else (server, client)
                piece = chunk or len(data)
                for start in range(0, len(data), piece):
                    source.sendall(data[start : start + piece])
                    left = len(data[start : start + piece])
                    while left:
                        left -= len(target.recv(left))
            client.close()
            server.close()
        return json.load(file)


def test_frames(program):
    for name, caps, message, chunk in (
        ("mini headers", 0b1011, mini, 0),
        ("full headers", 0b0011, full, 0),
        ("mini headers, bytes in sevens", 0b1011, mini, 7),
        ("no choice of authentication", 0b1010, mini, 0),
    ):
        result = play(program, conversation(caps, message, 300 if chunk else 70000), chunk)
        channel = result["channels"][0]
        wanted = {
            "channel_type": 2,
            "channel_id": 1,
            "link_error": 0,
            "mini_header": message is mini,
            "opaque": None,
            "windows": [3],
            "set_acks": 1,
            "acks": 4,
            "acks_ignored": 1,
            "acks_early": 1,
            "unacked": -1,
            "unacked_peak": 7,
        }
        wrong = {key: channel[key] for key, value in wanted.items() if channel[key] != value}
        check(not wrong and channel["server"]["messages"] == 8 and channel["client"]["messages"] == 5, f"{name} {wrong}")
        check(
            channel["server"]["types"] == {"3": 1, "102": 1, "304": 6} and channel["client"]["types"] == {"1": 1, "2": 4},
            f"{name}: types",
        )
    result = play(program, [("c", b"\x16\x03\x01" + bytes(60)), ("s", b"hello")], 0)
    check(result["channels"][0]["opaque"] == "not SPICE (TLS?)", "TLS is passed on and said so")
    refused = link_message(struct.pack("<I", 7) + bytes(174))
    result = play(program, conversation(0b1011, mini)[:1] + [("s", refused)], 0)
    check(result["channels"][0]["link_error"] == 7, "a refusal is counted as one")
    huge = b"REDQ" + struct.pack("<III", 2, 2, 1 << 30) + bytes(100)
    result = play(program, [("c", huge)], 0)
    check(result["channels"][0]["opaque"] == "oversized link message", "an oversized link message is not followed")


def main():
    program = os.path.abspath(sys.argv[1])
    threading.Timer(50, lambda: os._exit(1)).start()
    with tempfile.TemporaryDirectory() as directory:
        test_bytes(program, "127.0.0.1:0", "tcp")
        test_bytes(program, f"unix:{directory}/front", f"unix:{directory}/back")
        check(not os.path.exists(f"{directory}/front"), "the relay's socket is removed")
    test_bounded(program)
    test_refused(program)
    test_frames(program)
    sys.stdout.flush()
    os._exit(1 if failures else 0)


if __name__ == "__main__":
    main()
