#!/usr/bin/env python3
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The shaped link: does it hold what it is set to, and does it leave nothing behind?

usage: test-link.py LINK
"""
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

SERVER = "10.77.0.1"
failures = []


def check(ok, text):
    print(("ok   " if ok else "FAIL ") + text, flush=True)
    if not ok:
        failures.append(text)


def run(args, **more):
    return subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, **more)


# --- what runs at the ends of a link -------------------------------------------------------------------------


def at_server():
    """Sends without end to the first who connects, on IPv4 and IPv6."""
    listener = socket.create_server(("::", 7003), family=socket.AF_INET6, dualstack_ipv6=True)
    print("ready", flush=True)
    conn, _ = listener.accept()
    try:
        while True:
            conn.sendall(bytes(65536))
    except OSError:
        pass


def at_client(seconds, address):
    """Reads for so long; prints when how much had come."""
    conn = socket.create_connection((address, 7003), timeout=10)
    start = time.monotonic()
    total = 0
    rows = []
    while time.monotonic() - start < seconds:
        data = conn.recv(65536)
        if not data:
            break
        total += len(data)
        rows.append((time.monotonic(), total))
    print(json.dumps(rows))


def between(seconds, address):
    """The link's command: starts both and prints, after its own start, what the client printed."""
    start = time.monotonic()
    me = [sys.executable, os.path.abspath(__file__)]
    with subprocess.Popen(
        shlex.split(os.environ["SA_NS_SERVER"]) + me + ["--at-server"], stdout=subprocess.PIPE, text=True
    ) as server:
        server.stdout.readline()
        out = subprocess.run(
            shlex.split(os.environ["SA_NS_CLIENT"]) + me + ["--at-client", str(seconds), address],
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        ).stdout
        server.kill()
    print(json.dumps({"start": start, "rows": json.loads(out)}))


# --- the tests -----------------------------------------------------------------------------------------------


def mbit(rows, start, begin, end):
    inside = [row for row in rows if begin <= row[0] - start <= end]
    if len(inside) < 2:
        return 0
    # Each full packet of 1500 bytes carries 1448.
    return (inside[-1][1] - inside[0][1]) * 8 / 1e6 / (inside[-1][0] - inside[0][0]) * 1500 / 1448


def test_changes(link, address):
    """A step and an outage happen when they should. TCP may lose some of what a smaller queue drops."""
    with tempfile.NamedTemporaryFile() as stats:
        done = run(
            [link, "--rtt", "20", "--rate", "20:5", "--queue", "60000", "--step", "3:5", "--outage", "6:0.7"]
            + ["--stats", stats.name, "--", sys.executable, os.path.abspath(__file__), "--between", "7.5", address]
        )
        if done.returncode:
            check(False, f"{address}: status {done.returncode}: {done.stderr}")
            return
        figures = json.load(stats)
    result = json.loads(done.stdout)
    rows, start = result["rows"], result["start"]
    before = mbit(rows, start, 1.5, 2.9)
    after = mbit(rows, start, 4, 5.9)
    gaps = [(b[0] - a[0], a[0] - start) for a, b in zip(rows, rows[1:]) if a[0] - start > 5]
    gap, at = max(gaps) if gaps else (0, 0)
    check(abs(before - 20) < 1, f"{address}: 20 Mbit/s before the step: {before:.2f}")
    check(abs(after - 5) < 0.3, f"{address}: 5 Mbit/s after it: {after:.2f}")
    # TCP may take its time to notice that it goes on.
    check(0.6 < gap < 1.5 and abs(at - 6) < 0.2, f"{address}: nothing for 0.7 s from 6.0 s on: {gap:.3f} s at {at:.2f}")
    check(
        figures["down"]["bytes"] > figures["up"]["bytes"] > 0 and figures["down"]["drop_queue"] > 0,
        f"{address}: statistics count both directions and the drops",
    )
    check(figures["up"]["mbit"] == 5 and figures["down"]["mbit"] == 20, f"{address}: two rates")


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def gone(pids, seconds=8):
    until = time.monotonic() + seconds
    while any(alive(pid) for pid in pids):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


LEAVE = (
    "echo $$; echo $SA_LINK_CONTROL | tr -c '0-9\\n' ' '; "
    "$SA_NS_CLIENT setsid sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done' & "
    "$SA_NS_SERVER setsid sh -c 'echo $$; exec sleep 1000' & "
)


def start_link(link, script):
    """A link whose command prints its own pid, those of the holders and of two daemons in the namespaces."""
    process = subprocess.Popen(
        [link, "--rtt", "10", "--rate", "10", "--stats", "/dev/null", "--", "sh", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    pids = []
    while len(pids) < 5:
        line = process.stdout.readline()
        if not line:
            break
        pids += [int(word) for word in line.split()]
    return process, pids


def end(process):
    process.stdin.close()
    status = process.wait(20)
    process.stdout.close()
    return status


def test_teardown(link):
    process, pids = start_link(link, LEAVE + "read line; exit 7")
    process.stdin.write("\n")
    status = end(process)
    check(len(pids) == 5 and status == 7, f"the command's status comes through: {status}, {len(pids)} processes")
    check(gone(pids, 1), "with the command's end all it left is gone, and both namespaces")

    for sig in (signal.SIGTERM, signal.SIGINT):
        process, pids = start_link(link, LEAVE + "exec sleep 1000")
        process.send_signal(sig)
        status = end(process)
        check(status == 128 + sig and gone(pids, 1), f"{sig.name}: status {status}, nothing left")

    process, pids = start_link(link, LEAVE + "exec sleep 1000")
    process.kill()
    end(process)
    # The command and the holders die with the link; what the command detached is nobody's any more.
    check(gone(pids[:3]), "SIGKILL: the command and the namespaces' holders die too")
    for pid in pids[3:]:
        if alive(pid):
            os.kill(pid, signal.SIGKILL)


def test_errors(link):
    for args, word in (
        (["--rate", "ten", "--", "true"], "--rate"),
        (["--rtt", "-1", "--", "true"], "--rtt"),
        (["--loss", "100", "--", "true"], "--loss"),
        (["--queue", "100", "--", "true"], "--queue"),
        (["--step", "1", "--", "true"], "--step"),
        (["--outage", "1", "--", "true"], "--outage"),
        (["--exec", "middle", "--", "true"], "--exec"),
        ([], "COMMAND"),
    ):
        done = run([link] + args)
        check(
            done.returncode == 2 and word in done.stderr and done.stderr.count("\n") == 1,
            f"{' '.join(args) or 'nothing'}: {done.stderr.strip()}",
        )
    done = run([link, "--stats", "/dev/null", "--", "/nonexistent"])
    check(done.returncode == 127, f"a command that is not there: {done.returncode}")
    done = run([link, "--stats", "/dev/null", "--cc", "nonesuch", "--", "true"])
    check(done.returncode == 77 and "nonesuch" in done.stderr, f"unknown congestion control: {done.stderr.strip()}")


def test_netem(link):
    done = run([link, "--netem", "--rtt", "20", "--rate", "10", "--", "true"])
    if done.returncode == 77:
        check("netem" in done.stderr and done.stderr.count("\n") == 1, f"--netem says why not: {done.stderr.strip()}")
    else:
        check(done.returncode == 0, f"--netem: status {done.returncode}: {done.stderr}")


def test_unprivileged(link):
    """The same, but as nobody, in a user namespace of its own."""
    if os.geteuid() != 0:
        return
    # The test's own directory may not be open to others.
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        copy = os.path.join(directory, "link")
        with open(link, "rb") as source, open(copy, "wb") as target:
            target.write(source.read())
        os.chmod(copy, 0o755)
        done = run([copy, "--self-test", "--only", "20:50"], user=65534, group=65534, extra_groups=[], cwd="/")
    if done.returncode == 77:
        print(f"skip as nobody: {done.stderr.strip()}", flush=True)
        return
    check(done.returncode == 0, f"as nobody: {done.stdout}{done.stderr}".rstrip())


def main():
    if sys.argv[1] == "--at-server":
        return at_server()
    if sys.argv[1] == "--at-client":
        return at_client(float(sys.argv[2]), sys.argv[3])
    if sys.argv[1] == "--between":
        return between(float(sys.argv[2]), sys.argv[3])

    link = os.path.abspath(sys.argv[1])
    threading.Timer(170, lambda: os._exit(1)).start()
    done = run([link, "--stats", "/dev/null", "--", "true"])
    if done.returncode == 77:
        print(f"no link can be made here: {done.stderr.strip()}", file=sys.stderr)
        os._exit(77)
    done = run([link, "--self-test"])
    print(done.stdout, end="", flush=True)
    check(done.returncode == 0, f"the self-test passes {done.stderr.strip()}".strip())
    done = run([link, "--self-test", "--only", "20:50", "--skew", "5"])
    check(done.returncode == 1, "the self-test notices a rate that is 5 per cent off")
    test_errors(link)
    test_netem(link)
    test_teardown(link)
    test_changes(link, SERVER)
    test_changes(link, "fd77::1")
    test_unprivileged(link)
    sys.stdout.flush()
    os._exit(1 if failures else 0)


if __name__ == "__main__":
    main()
