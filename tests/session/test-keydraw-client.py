#!/usr/bin/env python3
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The headless measuring client against the demo server: does it see what is there?

usage: test-keydraw-client.py SERVER CLIENT RELAY
"""
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading

failures = []


def check(ok, text):
    print(("ok   " if ok else "FAIL ") + text, flush=True)
    if not ok:
        failures.append(text)


class Lines:
    """Lines of a pipe, to be waited for."""

    def __init__(self, pipe):
        self.lines = queue.Queue()
        self.thread = threading.Thread(target=self.read, args=(pipe,), daemon=True)
        self.thread.start()

    def read(self, pipe):
        for line in pipe:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def wait(self, wanted, seconds=30):
        """The first line that has @wanted in it, or None at the end."""
        while True:
            line = self.lines.get(timeout=seconds)
            if line is None or wanted in line:
                return line


def spawn(*args):
    process = subprocess.Popen(
        args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    )
    return process, Lines(process.stdout), Lines(process.stderr)


def say(process, line):
    process.stdin.write(line + "\n")
    process.stdin.flush()


def stop(process):
    if process.poll() is None:
        process.terminate()
    process.wait(10)
    for pipe in (process.stdin, process.stdout, process.stderr):
        try:
            pipe.close()
        except OSError:
            pass


def pixels(path):
    with open(path, "rb") as file:
        return file.read()


def differing(a, b, inside):
    """Pixels of two PPM files of 1280x800 that differ, where @inside says so."""
    if len(a) != len(b):
        return -1
    body = len(a) - 1280 * 800 * 3
    count = 0
    for y in range(800):
        row = body + y * 1280 * 3
        if a[row : row + 3840] == b[row : row + 3840]:
            continue
        for x in range(1280):
            at = row + 3 * x
            if a[at : at + 3] != b[at : at + 3] and inside(x, y):
                count += 1
    return count


def background(x, y):
    return not (624 <= x < 1264 and 160 <= y < 640) and not (64 <= x < 160 and 176 <= y < 272)


def test_busy(server_program, client_program, directory):
    """Presses while something moves, then the frozen picture."""
    path = f"{directory}/spice"
    server, events, _ = spawn(server_program, "--unix", path, "--activity", "busy", "--fps", "20")
    client = None
    try:
        events.wait('"listening"')
        client, out, err = spawn(
            client_program, "--uri", f"spice+unix://{path}", "--presses", "8", "--interval", "150", "--warmup", "1",
            "--fps", "20", "--shot-mid", f"{directory}/mid.ppm", "--shot-frozen", f"{directory}/frozen.ppm",
            "--settle", "400", "--timeout", "5000",
        )  # fmt: skip
        started = json.loads(events.wait('"started"'))
        say(client, f"epoch {started['time_us'] - started['frame'] * 1000000 // 20}")
        check(err.wait("ok epoch") is not None, "the epoch is taken")
        check(err.wait("presses done") is not None, "the presses end")
        say(client, "press")
        check(err.wait(" press") == "ok press", "one more press on command")
        say(server, "freeze")
        frozen = json.loads(events.wait('"frozen"'))
        say(client, "frozen")
        check(err.wait(" frozen") == "ok frozen", "the frozen picture is written")
        say(client, f"shot {directory}/again.ppm")
        check(err.wait(" shot") == "ok shot", "a picture on command")
        say(client, "nonsense")
        check("no such command" in (err.wait("failed nonsense") or ""), "an unknown command is refused")
        say(client, "quit")
        result = json.loads(out.wait("{"))
        check(client.wait(10) == 0, "quit")
        check(result["drawn"] == 9 and result["timeouts"] == 0 and result["sample_numbers"] == list(range(1, 10)),
              f"all presses drawn: {result['samples_ms']}")  # fmt: skip
        check(all(0 < ms < 5000 for ms in result["samples_ms"]), "all samples are times")
        check(result["min_ms"] <= result["p50_ms"] <= result["p95_ms"] <= result["max_ms"], "percentiles are in order")
        area = result["area"]
        check(len(area["corners"]) == 4 and all(1 < c["fps"] <= 22 for c in area["corners"]),
              f"20 frames a second at most: {[c['fps'] for c in area['corners']]}")  # fmt: skip
        check(all(0 <= c["age_ms"]["p50"] < 2000 for c in area["corners"]),
              f"frames are of a sensible age: {[c['age_ms']['p50'] for c in area['corners']]}")  # fmt: skip
        check(0 < area["slowest_cell_fps"] <= area["median_cell_fps"] <= 22,
              f"no part is forgotten: {area['slowest_cell_fps']}, {area['median_cell_fps']}")  # fmt: skip
        check(result["display_mbit"] > 1 and result["window_invalidates"] > 100, "bytes and draws are counted")

        subprocess.run(
            [server_program, "--activity", "busy", "--dump-frame", str(frozen["frame"]), "--keys", "9",
             f"{directory}/reference.ppm"],
            check=True,
        )  # fmt: skip
        reference = pixels(f"{directory}/reference.ppm")
        check(pixels(f"{directory}/frozen.ppm") == reference, "the frozen picture is the server's, every pixel")
        check(pixels(f"{directory}/again.ppm") == reference, "and so is the one on command")
        mid = pixels(f"{directory}/mid.ppm")
        check(differing(mid, reference, background) == 0, "the picture in the middle has the right background")
        check(mid != reference, "and another middle")
    finally:
        stop(server)
        if client:
            stop(client)


def test_timeout(server_program, client_program, relay_program):
    """Presses whose draw does not come in time are given up, one by one, and Ctrl-C gives what there is."""
    server, events, _ = spawn(server_program, "--port", "0", "--activity", "idle", "--tick", "400")
    client = None
    try:
        port = json.loads(events.wait('"listening"'))["port"]
        client, out, err = spawn(
            client_program, "--uri", f"spice://127.0.0.1:{port}", "--presses", "1000", "--interval", "60",
            "--warmup", "0.5", "--timeout", "100",
        )  # fmt: skip
        for _ in range(4):
            check("was not drawn within 100 ms" in (err.wait("not drawn") or ""), "a press is given up")
        client.send_signal(signal.SIGINT)
        result = json.loads(out.wait("{"))
        check(client.wait(10) == 0, "Ctrl-C ends it")
        check(result["interrupted"] and result["timeouts"] >= 4, f"partial results: {result['timeouts']} timeouts")
        check(all(ms <= 130 for ms in result["samples_ms"]), f"no sample over the limit: {result['samples_ms']}")
        check(not set(result["sample_numbers"]) & set(result["timeout_numbers"]), "no press counts twice")
    finally:
        stop(server)
        if client:
            stop(client)


def test_relay(server_program, client_program, relay_program, directory):
    """Behind the relay, which counts what passes: one SET_ACK, no early ACK, the peak at most 2W+1."""
    server, events, _ = spawn(server_program, "--port", "0", "--activity", "busy")
    relay = client = None
    try:
        port = json.loads(events.wait('"listening"'))["port"]
        relay, said, _ = spawn(
            relay_program, "--listen", "127.0.0.1:0", "--to", f"127.0.0.1:{port}", "--frames", f"{directory}/frames"
        )
        at = said.wait("listening").split()[1]
        client, out, _ = spawn(
            client_program, "--uri", f"spice://{at}", "--presses", "5", "--interval", "200", "--warmup", "1"
        )
        result = json.loads(out.wait("{"))
        check(client.wait(10) == 0 and result["drawn"] == 5, "presses through a relay")
        relay.terminate()
        relay.wait(10)
        with open(f"{directory}/frames", encoding="ascii") as file:
            channels = {c["channel_type"]: c for c in json.load(file)["channels"]}
        display = channels[2]
        window = display["windows"][0]
        check(sorted(channels) == [1, 2, 3, 4] and window in (20, 40), f"four channels, a window of {window}")
        check(
            display["set_acks"] == 1 and display["acks"] > 1 and display["acks_early"] == display["acks_ignored"] == 0,
            f"{display['acks']} ACKs, none early",
        )
        check(window < display["unacked_peak"] <= 2 * window + 1, f"at most {display['unacked_peak']} unacknowledged")
        check(channels[3]["client"]["types"].get("101") == 5, "five key presses passed")
    finally:
        stop(server)
        for process in (relay, client):
            if process:
                stop(process)


def test_errors(server_program, client_program):
    for args, status, word in (
        (["--uri", "spice://127.0.0.1:1"], 1, "127.0.0.1:1"),
        (["--uri", "spice+unix:///nonexistent/socket"], 1, "/nonexistent/socket"),
        (["--uri", "http://127.0.0.1"], 2, "--uri"),
        (["--uri", "spice://127.0.0.1:1", "--presses", "-1"], 2, "--presses"),
        (["--uri", "spice://127.0.0.1:1", "--area", "5x5"], 2, "--area"),
        (["--uri", "spice://127.0.0.1:1", "--box", "700,300"], 2, "overlap"),
        ([], 2, "--uri"),
    ):
        done = subprocess.run([client_program, *args], capture_output=True, text=True, check=False, timeout=30)
        ours = [line for line in done.stderr.splitlines() if line.startswith("keydraw-client: ")]
        check(
            done.returncode == status and len(ours) == 1 and word in ours[0] and not done.stdout,
            f"{' '.join(args) or 'nothing'}: {done.returncode}: {ours}",
        )
    server, events, _ = spawn(server_program, "--port", "0", "--activity", "idle", "--ticket", "secret")
    try:
        port = json.loads(events.wait('"listening"'))["port"]
        uri = ["--uri", f"spice://127.0.0.1:{port}", "--presses", "1", "--interval", "20", "--warmup", "0.2"]
        for password, status in (("wrong", 1), ("secret", 0)):
            done = subprocess.run(
                [client_program, *uri, "--password", password], capture_output=True, text=True, check=False, timeout=30
            )
            check(done.returncode == status, f"password {password}: {done.returncode}")
            if status:
                check("password" in done.stderr, "it says so")
    finally:
        stop(server)


def main():
    server, client, relay = (os.path.abspath(name) for name in sys.argv[1:4])
    threading.Timer(110, lambda: os._exit(1)).start()
    with tempfile.TemporaryDirectory() as directory:
        test_busy(server, client, directory)
        test_timeout(server, client, relay)
        test_relay(server, client, relay, directory)
    test_errors(server, client)
    sys.stdout.flush()
    os._exit(1 if failures else 0)


if __name__ == "__main__":
    main()
