#!/usr/bin/env python3
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command and the module, as installed in a prefix of the test's own and as built.

    test-cli.py COMMAND MODULE STAND-IN MODULE-DIR

COMMAND and MODULE as built; STAND-IN takes the place of the client library where only the way to
it matters; MODULE-DIR leads from the installed command's directory to the module's.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

COMMAND = MODULE = STANDIN = MODULE_DIR = SANITIZED = None
SPICE = "libspice-client-glib-2.0.so.8"
CLIENT = "libspice-accel-client.so.0"
GTK3 = "libspice-accel-gtk3.so"
ATTACHED = "stand-in: attached\n"
SYMBOLS = (
    "g_socket_client_connect_finish",
    "g_pollable_input_stream_read_nonblocking",
    "g_pollable_input_stream_is_readable",
    "g_pollable_output_stream_write_nonblocking",
    "SSL_read",
    "SSL_write",
)
DROPPED = (
    "SPICE_ACCEL", "GTK_MODULES", "GTK_PATH", "GTK_EXE_PREFIX", "LD_PRELOAD", "LD_LIBRARY_PATH",
)


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = os.path.realpath(tempfile.mkdtemp(prefix="spice-accel-cli-"))
        self.addCleanup(shutil.rmtree, self.dir)

    def call(self, *args, stdin=None, **env):
        """Runs a program; a variable that is None is not set."""
        clean = {k: v for k, v in os.environ.items() if k not in DROPPED}
        # a command built with AddressSanitizer shall not mind what is preloaded
        asan = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        clean.update(HOME=self.dir, LC_ALL="C", ASAN_OPTIONS=asan)
        clean.update({k: v for k, v in env.items() if v is not None})
        return subprocess.run(
            args, env=clean, input=stdin, capture_output=True, text=True, timeout=60, check=False
        )

    def prefix(self, name="prefix", module=True, client=True):
        """A prefix with the command, the module and the stand-in; returns (command, module)."""
        bindir = os.path.join(self.dir, name, "bin")
        moduledir = os.path.normpath(os.path.join(bindir, MODULE_DIR))
        os.makedirs(bindir)
        os.makedirs(moduledir)
        command = shutil.copy(COMMAND, os.path.join(bindir, "spice-accel"))
        path = os.path.join(moduledir, "libspice-accel.so")
        if module:
            shutil.copy(MODULE, path)
        if client:
            shutil.copy(STANDIN, os.path.join(moduledir, "..", "..", CLIENT))
        return command, path

    def environment_of(self, *args, **env):
        """What the command passes on to a program."""
        result = self.call(*args, "env", "-0", **env)
        self.assertEqual(result.returncode, 0, result.stderr)
        return dict(item.split("=", 1) for item in result.stdout.split("\0") if item)

    def assert_fails(self, result, code, *texts):
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        self.assertEqual(result.stdout, "")
        for text in texts:
            self.assertIn(text, result.stderr)


class General(Case):
    def test_help_and_version(self):
        result = self.call(COMMAND, "--help")
        self.assertEqual(result.returncode, 0)
        for name in ("run", "check", "report"):
            self.assertRegex(result.stdout, rf"(?m)^  {name} ")
            own = self.call(COMMAND, name, "--help")
            self.assertEqual((own.returncode, own.stderr), (0, ""))
            self.assertTrue(own.stdout.startswith(f"Usage: spice-accel {name}"), own.stdout)
        result = self.call(COMMAND, "--version")
        self.assertRegex(result.stdout, r"^spice-accel \d+\.\d+\.\d+\n$")

    def test_misuse(self):
        self.assert_fails(self.call(COMMAND), 2, "Usage: spice-accel COMMAND")
        self.assert_fails(self.call(COMMAND, "rum"), 2, "unknown command 'rum'")
        self.assert_fails(self.call(COMMAND, "--rum"), 2, "unknown option '--rum'")
        for name in ("run", "check", "report"):
            self.assert_fails(self.call(COMMAND, name, "--rum"), 2, f"spice-accel {name}: ", "--rum")
        self.assert_fails(self.call(COMMAND, "run"), 2, "spice-accel run: no command to run")
        self.assert_fails(self.call(COMMAND, "run", "-o"), 2, "'o'")
        self.assert_fails(self.call(COMMAND, "check", "x"), 2, "unexpected argument 'x'")
        self.assert_fails(self.call(COMMAND, "report"), 2, "no FILE")
        self.assert_fails(self.call(COMMAND, "report", "a", "b"), 2, "unexpected argument 'b'")

    def test_output_cannot_be_written(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            result = subprocess.run(
                [COMMAND, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot write", result.stderr)


class Run(Case):
    def test_build_tree(self):
        env = self.environment_of(COMMAND, "run", "--")
        self.assertEqual(env["GTK_MODULES"], os.path.realpath(MODULE))
        self.assertEqual(env["LD_PRELOAD"], os.path.realpath(MODULE))
        self.assertNotIn("SPICE_ACCEL", env)

    def test_prefix_anywhere(self):
        command, module = self.prefix()
        env = self.environment_of(command, "run", SPICE_ACCEL="log=a,paint=0")
        self.assertEqual(env["GTK_MODULES"], module)
        self.assertEqual(env["LD_PRELOAD"], module)
        self.assertEqual(env["SPICE_ACCEL"], "log=a,paint=0")
        link = os.path.join(self.dir, "link")
        os.symlink(command, link)
        self.assertEqual(self.environment_of(link, "run")["GTK_MODULES"], module)

    def test_keeps_what_is_there(self):
        command, module = self.prefix()
        env = self.environment_of(command, "run", GTK_MODULES="gail:atk-bridge", LD_PRELOAD="libm.so.6")
        self.assertEqual(env["GTK_MODULES"], "gail:atk-bridge:" + module)
        self.assertEqual(env["LD_PRELOAD"], "libm.so.6:" + module)

    def test_adds_once(self):
        command, module = self.prefix()
        if not SANITIZED:  # its runtime must come before what is preloaded
            env = self.environment_of(command, "run", "--", command, "run", "--")
            self.assertEqual(env["GTK_MODULES"], module)
            self.assertEqual(env["LD_PRELOAD"], module)
            before = f"libm.so.6 {module} libc.so.6"
            env = self.environment_of(command, "run", LD_PRELOAD=before)
            self.assertEqual(env["LD_PRELOAD"], before)
        env = self.environment_of(command, "run", GTK_MODULES=f"x:{module}:y")
        self.assertEqual(env["GTK_MODULES"], f"x:{module}:y")
        # a path that only starts alike is another one
        env = self.environment_of(command, "run", GTK_MODULES=module + ".old")
        self.assertEqual(env["GTK_MODULES"], f"{module}.old:{module}")

    def test_empty_variables(self):
        command, module = self.prefix()
        env = self.environment_of(command, "run", GTK_MODULES="", LD_PRELOAD="")
        self.assertEqual((env["GTK_MODULES"], env["LD_PRELOAD"]), (module, module))

    def test_options(self):
        command, _ = self.prefix()
        for before, args, after in (
            (None, ["-o", "log=f"], "log=f"),
            ("", ["-o", "log=f"], "log=f"),
            ("paint=0", ["-o", "log=f"], "paint=0,log=f"),
            ("paint=0", ["--options=a=1", "-oh\\,j=\xe9"], "paint=0,a=1,h\\,j=\xe9"),
            ("paint=0", ["-o", ""], "paint=0"),
        ):
            env = self.environment_of(command, "run", *args, "--", SPICE_ACCEL=before)
            self.assertEqual(env["SPICE_ACCEL"], after)
        result = self.call(command, "run", "-o", "log=f", "env", SPICE_ACCEL="0")
        self.assertIn("SPICE_ACCEL=0\n", result.stdout)
        self.assertIn("-o log=f does nothing", result.stderr)

    def test_arguments_and_exit_code_are_the_viewers(self):
        command, _ = self.prefix()
        result = self.call(command, "run", "printf", "%s|", "-o", "--preload", "b c", "--", "--help")
        self.assertEqual((result.stdout, result.stderr), ("-o|--preload|b c|--|--help|", ""))
        self.assertEqual(self.call(command, "run", "sh", "-c", "exit 7").returncode, 7)

    def test_path_with_a_space(self):
        command, module = self.prefix("a prefix")
        env = self.environment_of(command, "run", LD_PRELOAD="libm.so.6")
        self.assertEqual(env["GTK_MODULES"], module)
        self.assertEqual(env["LD_PRELOAD"], "libm.so.6")
        self.assert_fails(
            self.call(command, "run", "--preload", "env"), 1, module, "LD_PRELOAD cannot hold"
        )

    def test_path_that_cannot_be_named(self):
        command, module = self.prefix("$LIB")
        env = self.environment_of(command, "run")
        self.assertEqual(env["GTK_MODULES"], module)
        self.assertNotIn("LD_PRELOAD", env)
        command, module = self.prefix("a:prefix")
        self.assert_fails(self.call(command, "run", "env"), 1, module, "colon")

    def test_preload_demanded_and_possible(self):
        command, module = self.prefix()
        self.assertEqual(self.environment_of(command, "run", "--preload")["LD_PRELOAD"], module)

    def test_no_module(self):
        command, module = self.prefix(module=False)
        self.assert_fails(
            self.call(command, "run", "env"),
            1,
            "cannot find libspice-accel.so in " + os.path.dirname(module),
        )

    def test_viewer_not_found(self):
        command, _ = self.prefix()
        for viewer, package in (
            ("remote-viewer", "virt-viewer"),
            ("spicy", "spice-client-gtk"),
            ("spicy-screenshot", "spice-client-gtk"),
            ("virt-manager", "virt-manager"),
            ("/nowhere/remote-viewer", "virt-viewer"),
        ):
            self.assert_fails(
                self.call(command, "run", viewer, PATH=self.dir),
                127,
                f"{viewer}: command not found",
                f"package {package}\n",
            )
        result = self.call(command, "run", "no-such-viewer")
        self.assert_fails(result, 127, "spice-accel run: no-such-viewer: command not found\n")
        self.assertNotIn("Debian", result.stderr)

    def test_viewer_cannot_be_run(self):
        command, _ = self.prefix()
        script = os.path.join(self.dir, "remote-viewer")
        with open(script, "w", encoding="ascii") as file:
            file.write("#!/nowhere/interpreter\n")
        self.assert_fails(self.call(command, "run", script), 126, f"cannot run {script}: ")
        os.chmod(script, 0o755)
        self.assert_fails(self.call(command, "run", script), 126, f"cannot run {script}: ")


class Check(Case):
    def test_everything_is_there(self):
        command, module = self.prefix()
        result = self.call(command, "check")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertEqual(result.stderr, "")
        self.assertRegex(result.stdout, rf"(?m)^spice-gtk +/.*{re.escape(SPICE)}$")
        self.assertRegex(result.stdout, r"(?m)^version +0\.42$")
        for symbol in SYMBOLS:
            self.assertRegex(result.stdout, rf"(?m)(^|\s){symbol}: can be bound$")
        self.assertRegex(result.stdout, rf"(?m)^module +{re.escape(module)}$")
        self.assertRegex(result.stdout, rf"(?m)^client library +/.*/{re.escape(CLIENT)}$")
        self.assertRegex(result.stdout, r"(?m)^result +everything would be hooked$")

    def test_gtk(self):
        command, module = self.prefix()
        for below in ("modules", "3.0.0/modules"):
            directory = os.path.join(self.dir, "gtk", below)
            os.makedirs(directory)
            found = shutil.copy(module, directory)
            result = self.call(command, "check", GTK_PATH="/nowhere:" + os.path.join(self.dir, "gtk"))
            self.assertIn(f"GTK_MODULES=spice-accel finds {found}\n", result.stdout)
        shutil.rmtree(os.path.join(self.dir, "gtk"))
        # one in a prefix that GTK knows nothing of
        result = self.call(command, "check", GTK_EXE_PREFIX=os.path.join(self.dir, "other"))
        self.assertIn("GTK_MODULES=spice-accel finds nothing", result.stdout)

    def test_switched_off(self):
        command, _ = self.prefix()
        result = self.call(command, "check", SPICE_ACCEL="0")
        self.assertEqual((result.returncode, result.stderr), (1, ""))
        self.assertRegex(result.stdout, r"(?m)^environment +SPICE_ACCEL=0 switches the add-on off$")
        self.assertRegex(result.stdout, r"(?m)^result +nothing would be hooked")
        # the rest is shown all the same
        self.assertIn(f"{SYMBOLS[0]}: can be bound\n", result.stdout)
        for value in (None, "", "pace=0"):
            result = self.call(command, "check", SPICE_ACCEL=value)
            self.assertEqual(result.returncode, 0, result.stdout)
            self.assertNotIn("environment", result.stdout)

    def test_painting_at_once(self):
        command, module = self.prefix()
        result = self.call(command, "check")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertRegex(result.stdout, r"(?m)^painting +not found$")
        places = [os.path.join(os.path.dirname(module), "gtk3", GTK3)]
        places.append(os.path.normpath(os.path.join(module, "../../../spice-accel", GTK3)))
        for path in places:  # in a build tree; installed, which comes first
            os.makedirs(os.path.dirname(path))
            shutil.copy(STANDIN, path)
            result = self.call(command, "check")
            self.assertEqual(result.returncode, 0, result.stdout)
            self.assertRegex(result.stdout, rf"(?m)^painting +{re.escape(path)}$")

    def test_another_spice_gtk(self):
        command, _ = self.prefix()
        libdir = os.path.join(self.dir, "lib")
        os.mkdir(libdir)
        shutil.copy(STANDIN, os.path.join(libdir, SPICE))
        result = self.call(command, "check", LD_LIBRARY_PATH=libdir)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, rf"(?m)^spice-gtk +{re.escape(libdir)}/{re.escape(SPICE)}$")
        self.assertRegex(result.stdout, r"(?m)^version +unknown")
        for symbol in SYMBOLS:
            self.assertIn(f"{symbol}: not imported\n", result.stdout)
        self.assertRegex(result.stdout, r"(?m)^result +nothing would be hooked")

    def test_broken_files(self):
        command, module = self.prefix(client=False)
        client = os.path.normpath(os.path.join(module, "..", "..", "..", CLIENT))
        with open(client, "w", encoding="ascii") as file:
            file.write("not a library\n")
        result = self.call(command, "check")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"(?m)^client library +cannot be loaded: .*" + CLIENT)
        libdir = os.path.join(self.dir, "lib")
        os.mkdir(libdir)
        shutil.copy(client, os.path.join(libdir, SPICE))
        result = self.call(command, "check", LD_LIBRARY_PATH=libdir)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"(?m)^spice-gtk +cannot be loaded: .*" + SPICE)
        os.remove(module)
        result = self.call(command, "check")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"(?m)^module +cannot find libspice-accel.so in ")


HEADER = "time_s,channel,window,rtt_ms,verdict\n"


class Report(Case):
    def report(self, text, *args, mode="w"):
        self.path = os.path.join(self.dir, "log.csv")
        with open(self.path, mode, **({} if "b" in mode else {"encoding": "utf-8"})) as file:
            file.write(text)
        return self.call(COMMAND, "report", *args, self.path)

    def figures(self, text):
        result = self.report(text, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout), result.stderr

    def test_percentiles(self):
        rows = [f"{i},display:0,40,{i * i},idle\n" for i in range(1, 101)]
        rows += [f"{i},cursor:0,,{i},\n" for i in range(3)]
        parsed, errors = self.figures(HEADER + "".join(rows))
        self.assertEqual(errors, "")
        self.assertEqual(list(parsed["channels"]), ["display:0", "cursor:0"])
        display = parsed["channels"]["display:0"]
        self.assertEqual(display["rows"], 100)
        self.assertEqual(list(display["columns"]), ["time_s", "window", "rtt_ms"])
        squares = [i * i for i in range(1, 101)]
        rtt = display["columns"]["rtt_ms"]
        self.assertEqual(rtt["values"], 100)
        self.assertAlmostEqual(rtt["p50"], (squares[49] + squares[50]) / 2)
        self.assertAlmostEqual(rtt["p95"], squares[94] + 0.05 * (squares[95] - squares[94]))
        self.assertEqual(rtt["max"], 10000)
        cursor = parsed["channels"]["cursor:0"]["columns"]
        self.assertEqual(list(cursor), ["time_s", "rtt_ms"])  # window was never there
        self.assertEqual(cursor["rtt_ms"], {"values": 3, "p50": 1, "p95": 1.9, "max": 2})

    def test_text(self):
        result = self.report(HEADER + "1,display:0,40,80.5,idle\n2,display:0,40,,idle\n")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("display:0, 2 rows\n", result.stdout)
        self.assertRegex(result.stdout, r"(?m)^  rtt_ms +1 +80\.5 +80\.5 +80\.5$")
        self.assertRegex(result.stdout, r"(?m)^  window +2 +40 +40 +40$")
        self.assertNotIn("verdict", result.stdout)

    def test_torn_last_line(self):
        for torn in ("2,disp", "2,display:0,40,9", "2,display:0,40,9,idle"):
            parsed, errors = self.figures(HEADER + "1,display:0,40,8,idle\n" + torn)
            self.assertEqual(errors, "")
            self.assertEqual(parsed["channels"]["display:0"]["rows"], 1)

    def test_bad_lines(self):
        result = self.report(
            HEADER
            + "1,display:0,40,8,idle\n"
            + "2,display:0,40\n"
            + "3,display:0,40,x\ty,idle\n"
            + "4,,40,8,idle\n"
            + "5,display:0,40,nan,idle\n"
            + "\n"
            + "6,display:0,40,12,idle\n"
            + HEADER  # appended to
            + "7,display:0,40,13,idle\r\n"
        )
        self.assertEqual(result.returncode, 0)
        self.assertEqual(
            result.stderr,
            f"{self.path}:3: 3 values, the header has 5\n"
            f"{self.path}:4: rtt_ms is not a number: 'x\\ty'\n"
            f"{self.path}:5: no channel\n"
            f"{self.path}:6: rtt_ms is not a number: 'nan'\n"
            f"{self.path}:7: 0 values, the header has 5\n",
        )
        self.assertRegex(result.stdout, r"(?m)^  rtt_ms +3 +12 ")

    def test_many_bad_lines(self):
        result = self.report(HEADER + "x\n" * 1000)
        self.assert_fails(result, 1, "log.csv: no usable row", "980 more like these")
        self.assertLess(result.stderr.count("\n"), 30)

    def test_nothing_usable(self):
        self.assert_fails(self.report(""), 1, "it is empty")
        self.assert_fails(self.report(HEADER), 1, "no usable row")
        self.assert_fails(self.report(HEADER[:-1]), 1, "not the header of a log")
        self.assert_fails(self.report("a,b\n1,2\n"), 1, "no column 'channel'")
        self.assert_fails(self.report(HEADER + ",display:0,,,idle\n"), 1, "no usable row")
        self.assert_fails(self.report(b"\0\1\2\377" * 1000, mode="wb"), 1, "not the header")
        self.assert_fails(
            self.report(HEADER.encode() + b"1,display:0\0,40,1,idle\n", mode="wb"), 1, ":2: not text"
        )
        self.assert_fails(self.report(HEADER + "7" * 100000 + "\n"), 1, ":2: longer than ")
        self.assert_fails(self.call(COMMAND, "report", "/nowhere/x"), 1, "/nowhere/x: No such file")
        self.assert_fails(self.call(COMMAND, "report", self.dir), 1, "Is a directory")

    def test_column_order_is_free(self):
        parsed, _ = self.figures("rtt_ms,new_column,channel\n5,1e3,display:1\n")
        columns = parsed["channels"]["display:1"]["columns"]
        self.assertEqual(columns["new_column"]["max"], 1000)
        self.assertEqual(columns["rtt_ms"]["p50"], 5)

    def test_odd_names(self):
        parsed, _ = self.figures('a"b\\,channel\n1,x\x01"y\n')
        self.assertEqual(parsed["channels"]['x\x01"y']["columns"]['a"b\\']["max"], 1)

    LOG = "time_s,channel,window,rtt_ms,verdict,pid,session,generation,tls\n"

    def test_several_viewers(self):
        # two viewers, the second one with two sessions, in one log
        log = self.LOG + "".join(
            f"{i},display:0,40,{rtt},idle,{pid},{session},1,0\n"
            for i, (pid, session, rtt) in enumerate(
                ((71, 1, 10), (72, 1, 200), (72, 2, 3000), (71, 1, 20), (72, 1, 400), (72, 2, 5000))
            )
        )
        result = self.report(log)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(
            re.findall(r"(?m)^(\S.*), 2 rows$|^  rtt_ms .* (\S+)$", result.stdout),
            [
                ("display:0, pid 71, session 1", ""), ("", "20"),
                ("display:0, pid 72, session 1", ""), ("", "400"),
                ("display:0, pid 72, session 2", ""), ("", "5000"),
            ],
        )
        channels = self.figures(log)[0]["channels"]
        self.assertEqual(
            [(c["channel"], c["pid"], c["session"], c["rows"]) for c in channels.values()],
            [("display:0", 71, 1, 2), ("display:0", 72, 1, 2), ("display:0", 72, 2, 2)],
        )
        self.assertEqual(channels["display:0, pid 72, session 1"]["columns"]["rtt_ms"]["p50"], 300)

    def test_headings_name_what_differs(self):
        row = "1,display:0,40,8,idle,{},{},1,0\n"
        for ids, titles in (
            ([(71, 1)], ["display:0"]),
            ([(71, 1), (72, 1)], ["display:0, pid 71", "display:0, pid 72"]),
            ([(71, 1), (71, 2)], ["display:0, session 1", "display:0, session 2"]),
            ([(71, 1), ("", "")], ["display:0, pid 71, session 1", "display:0"]),
        ):
            parsed, _ = self.figures(self.LOG + "".join(row.format(*i) for i in ids))
            self.assertEqual(list(parsed["channels"]), titles)
        # a log of another version, with one of the columns only
        parsed, _ = self.figures("channel,rtt_ms,session\ndisplay:0,8,1\ndisplay:0,9,2\n")
        self.assertEqual(
            list(parsed["channels"]), ["display:0, session 1", "display:0, session 2"]
        )
        self.assertNotIn("pid", parsed["channels"]["display:0, session 1"])

    def test_columns_that_only_tell_rows_apart(self):
        log = self.LOG + "1,display:0,40,8,idle,71,1,1,0\n"
        shown = re.findall(r"(?m)^  (\S+) +1 ", self.report(log).stdout)
        self.assertEqual(shown, ["window", "rtt_ms"])
        shown = re.findall(r"(?m)^  (\S+) +1 ", self.report(log, "--all").stdout)
        every = ["time_s", "window", "rtt_ms", "pid", "session", "generation", "tls"]
        self.assertEqual(shown, every)
        columns = self.figures(log)[0]["channels"]["display:0"]["columns"]
        self.assertEqual(list(columns), every)
        text = self.call(COMMAND, "report", "--help").stdout
        self.assertIn("time_s, pid, session, generation and tls", text)

    def test_standard_input(self):
        result = self.call(COMMAND, "report", "-", stdin=HEADER + "1,display:0,40,8,idle\n")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("display:0, 1 row\n", result.stdout)


class Module(Case):
    """The module in programs that are no viewers: the loader maps spice-gtk, or Python calls the
    module as GTK does."""

    GTK = (
        "import ctypes, sys\n"
        "module = ctypes.CDLL(sys.argv[1])\n"
        "print('loaded', file=sys.stderr, flush=True)\n"
        "for i in range(2):\n"
        "    module.gtk_module_init(None, None)\n"
    )

    def python(self, module, **env):
        return self.call(sys.executable, "-c", self.GTK, module, **env)

    def test_needs_nothing_but_libc(self):
        readelf = shutil.which("readelf")
        if not readelf:
            self.skipTest("readelf is not installed")
        dynamic = self.call(readelf, "-dW", MODULE).stdout
        self.assertEqual(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic), ["libc.so.6"])
        self.assertRegex(dynamic, r"FLAGS_1.*NODELETE")
        symbols = self.call(readelf, "-W", "--dyn-syms", MODULE).stdout
        exported = re.findall(r"(?:GLOBAL|WEAK) +DEFAULT +\d+ (\S+)", symbols)
        self.assertEqual(exported, ["gtk_module_init"])

    def test_preloaded_into_something_else(self):
        _, module = self.prefix()
        result = self.call("cat", "/proc/self/maps", LD_PRELOAD=module)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn(module, result.stdout)
        self.assertNotIn("libspice-accel-client", result.stdout)
        self.assertNotIn("libglib", result.stdout)

    def test_preloaded_beside_spice_gtk(self):
        _, module = self.prefix()
        for preload in (f"{SPICE}:{module}", f"{module}:{SPICE}"):
            result = self.call("true", LD_PRELOAD=preload)
            self.assertEqual((result.returncode, result.stderr), (0, ATTACHED))

    def test_gtk_module(self):
        _, module = self.prefix()
        result = self.python(module)
        self.assertEqual((result.returncode, result.stderr), (0, "loaded\n" + ATTACHED))

    def test_both_ways(self):
        _, module = self.prefix()
        result = self.python(module, LD_PRELOAD=f"{module}:{SPICE}")
        self.assertEqual((result.returncode, result.stderr), (0, ATTACHED + "loaded\n"))

    def test_build_tree(self):
        build = os.path.join(self.dir, "build")
        for name in ("plugin", "src/client"):
            os.makedirs(os.path.join(build, name))
        module = shutil.copy(MODULE, os.path.join(build, "plugin"))
        shutil.copy(STANDIN, os.path.join(build, "src/client", CLIENT))
        self.assertEqual(self.python(module).stderr, "loaded\n" + ATTACHED)

    def test_elsewhere(self):
        _, module = self.prefix(client=False)
        shutil.copy(STANDIN, os.path.join(self.dir, CLIENT))
        result = self.python(module, LD_LIBRARY_PATH=self.dir)
        self.assertEqual(result.stderr, "loaded\n" + ATTACHED)

    def test_switched_off(self):
        _, module = self.prefix()
        result = self.python(module, SPICE_ACCEL="0")
        self.assertEqual((result.returncode, result.stderr), (0, "loaded\n"))
        result = self.call("true", SPICE_ACCEL="0", LD_PRELOAD=f"{SPICE}:{module}")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        # any other value is the client library's to read
        self.assertIn(ATTACHED, self.python(module, SPICE_ACCEL="pace=0").stderr)

    def assert_one_line(self, result, text):
        self.assertEqual(result.returncode, 0)
        self.assertRegex(
            result.stderr, rf"\Aloaded\nspice-accel: cannot load {re.escape(CLIENT)}: .*{text}.*\n\Z"
        )

    def test_client_library_is_missing(self):
        if self.call(sys.executable, "-c", f"import ctypes; ctypes.CDLL('{CLIENT}')").returncode == 0:
            self.skipTest(f"{CLIENT} is installed on this system")
        _, module = self.prefix(client=False)
        self.assert_one_line(self.python(module), "No such file")

    def test_client_library_is_broken(self):
        _, module = self.prefix()
        client = os.path.normpath(os.path.join(module, "..", "..", "..", CLIENT))
        with open(client, "w", encoding="ascii") as file:
            file.write("not a library\n")
        self.assert_one_line(self.python(module), CLIENT)
        # a library, but not the one
        shutil.copy(MODULE, client)
        self.assert_one_line(self.python(module), "it has no spice_accel_attach_from_environment")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    COMMAND, MODULE, STANDIN, MODULE_DIR = sys.argv[1:5]
    with open(COMMAND, "rb") as program:
        SANITIZED = b"__asan_init" in program.read()
    unittest.main(argv=sys.argv[:1])
