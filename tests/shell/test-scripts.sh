#!/bin/bash
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Tests of the scripts themselves: what they say to bad options, what data/packages.sh does with and
# without the right to install, and how tests/run.sh counts. Programs that would change the machine
# are replaced by stubs in a PATH of our own.
set -uo pipefail

cd "${BASH_SOURCE[0]%/*}/../.." || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failures=0

# expect NAME STATUS PATTERN COMMAND...: PATTERN must occur in what the command prints.
expect()
{
    local name=$1 wanted=$2 pattern=$3 output status
    shift 3
    output=$("$@" 2>&1 </dev/null)
    status=$?
    if ((status != wanted)) || ! grep -qE -- "$pattern" <<<"$output"; then
        printf 'FAIL %s: status %d (expected %d), no "%s" in:\n%s\n' \
            "$name" "$status" "$wanted" "$pattern" "$output"
        failures=$((failures + 1))
    else
        printf 'ok   %s\n' "$name"
    fi
}

# stub NAME: a program for $dir/bin, its text from standard input
stub()
{
    mkdir -p "$dir/bin"
    { printf '#!/bin/sh\n'; cat; } >"$dir/bin/$1"
    chmod +x "$dir/bin/$1"
}

# with_stubs COMMAND...: only stubs and the named few programs are found
with_stubs()
{
    local tool
    for tool in bash cat env grep mktemp paste rm sed sort tail; do
        ln -sf "$(type -P "$tool")" "$dir/bin/$tool"
    done
    env -i PATH="$dir/bin" STUB_DIR="$dir" "$@"
}

test_options()
{
    expect "run.sh: unknown option" 2 "unknown option '--nonsense'" tests/run.sh --nonsense
    expect "run.sh: unknown step" 2 "unknown step 'nonsense'" tests/run.sh --only nonsense
    expect "run.sh: step missing" 2 "--only needs" tests/run.sh --only
    expect "run.sh: help" 0 '^Usage: tests/run.sh' tests/run.sh --help
    expect "quickstart: unknown option" 2 "unknown option '--nonsense'" data/quickstart.sh --nonsense
    expect "quickstart: not a URI" 2 "'http://x' is neither" data/quickstart.sh http://x
    expect "quickstart: two URIs" 2 "more than one URI" data/quickstart.sh spice://a:1 spice://b:2
    expect "quickstart: seconds" 2 "--seconds needs a number" data/quickstart.sh --seconds many
    expect "quickstart: help" 0 '^Usage: data/quickstart.sh' data/quickstart.sh --help
    expect "packages: no purpose" 2 'usage: packages.sh' data/packages.sh list
    expect "packages: unknown purpose" 2 "unknown purpose 'x'" data/packages.sh list x
    expect "packages: unknown action" 2 "unknown action 'x'" data/packages.sh x build
    expect "packages: list" 0 '^libspice-client-glib-2.0-dev$' data/packages.sh list build
}

# shellcheck disable=SC2016 # a stub expands its own variables
test_packages()
{
    stub dpkg-query <<'END'
case "$*" in *gcc*) printf installed ;; *) exit 1 ;; esac
END
    stub id <<<'echo 1000'
    expect "packages: missing" 0 '^meson$' with_stubs data/packages.sh missing build
    expect "packages: no root, no sudo" 4 'Run as root' with_stubs data/packages.sh install build
    with_stubs data/packages.sh install build run >"$dir/said" 2>&1
    expect "packages: one line to run" 0 '^1$' \
        grep -c '^apt-get .*install --no-install-recommends -y .*virt-viewer' "$dir/said"
    expect "packages: it leaves out what is there" 1 '^$' grep -w gcc "$dir/said"
    stub sudo <<<'exit 1'
    expect "packages: no root, sudo refuses" 4 'Run as root' with_stubs data/packages.sh install build
    expect "quickstart: stops there" 4 'Run as root' with_stubs data/quickstart.sh

    stub id <<<'echo 0'
    stub sleep <<<'exit 0'
    stub apt-get <<<'echo "apt-get $*" >>"$STUB_DIR/calls"; exit 100'
    expect "packages: apt-get fails" 1 'apt-get update failed three times' \
        with_stubs data/packages.sh install build
    expect "packages: it was tried three times" 0 '^3$' grep -c update "$dir/calls"
    stub apt-get <<<'echo "apt-get $*" >>"$STUB_DIR/calls"'
    expect "packages: as root" 0 'Installing [0-9]+ packages' with_stubs data/packages.sh install build
    expect "packages: no recommends" 0 'install --no-install-recommends -y .*meson' cat "$dir/calls"
    rm "$dir/bin/dpkg-query"
    expect "packages: not Debian" 3 'no dpkg' with_stubs data/packages.sh install build
    stub dpkg-query <<<'printf installed'
    rm "$dir/calls"
    expect "packages: nothing to do" 0 '^$' with_stubs data/packages.sh install build
    expect "packages: apt-get was not called" 1 '^$' test -e "$dir/calls"
}

test_counting()
{
    local log="$dir/testlog.json" results="$dir/results.tsv"
    cat >"$log" <<'END'
{"name": "unit / good", "stdout": "", "result": "OK", "duration": 0.1, "returncode": 0}
{"name": "p:unit / bad", "stdout": "the reason\n", "result": "FAIL", "duration": 1, "returncode": 1}
{"name": "session / none", "stdout": "", "stderr": "x\nno KVM\n", "result": "SKIP", "duration": 0, "returncode": 77}
{"name": "session / lazy", "stdout": "", "stderr": "no viewer\n", "result": "SKIP", "duration": 0, "returncode": 77}
{"name": "session / part", "stdout": "ok 2 /a/b # SKIP too old", "stderr": "missing tls: no viewer\n", "result": "OK", "duration": 1, "returncode": 0}
{"name": "session / slow", "stdout": "", "result": "TIMEOUT", "duration": 30, "returncode": -15}
END
    : >"$results"
    expect "results: a failing log is shown" 0 'the reason' \
        python3 tests/lib/meson-results.py gcc "$log" "$results" 7
    expect "results: pass" 0 $'^pass\tgcc\tunit/good' cat "$results"
    expect "results: fail" 0 $'^fail\tgcc\tunit/bad' cat "$results"
    expect "results: a timeout is a failure" 0 $'^fail\tgcc\tsession/slow\t30.0\tTIMEOUT' cat "$results"
    expect "results: skip with its reason" 0 $'^skip\tgcc\tsession/none\t0.0\tno KVM$' cat "$results"
    expect "results: a case left out" 0 $'^skip\tgcc\tsession/part/tls\t\tno viewer$' cat "$results"
    expect "results: a TAP skip" 0 $'^skip\tgcc\tsession/part//a/b\t\ttoo old$' cat "$results"
    expect "results: a lost test is a failure" 0 $'^fail\t.*1 tests left no result' cat "$results"
    printf '# comment\nno KVM\n' >"$dir/allowed"
    expect "skips: allowed" 0 $'^skip\tgcc\tsession/none' \
        python3 tests/lib/judge-skips.py "$results" "$dir/allowed"
    expect "skips: not allowed" 0 $'^fail\tgcc\tsession/lazy\t0.0\tskipped where it must run: no viewer' \
        python3 tests/lib/judge-skips.py "$results" "$dir/allowed"
}

test_options
test_packages
test_counting
((failures == 0)) || printf '%d failed\n' "$failures"
exit $((failures > 0))
