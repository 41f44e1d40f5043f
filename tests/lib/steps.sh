#!/bin/bash
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The steps of tests/run.sh that install, build and run. Sourced by it.
# shellcheck disable=SC2154 # root, build_root, logs, long and results come from the other files

# Seconds per libFuzzer target: the short tier's and the long tier's.
readonly fuzz_seconds_short=20
readonly fuzz_seconds_long=3600

# Session tests that also run with sanitizers, the runtime preloaded into the viewers where the test
# has viewers.
readonly asan_session_tests=(session-cli session-relay session-demo-server session-stock-bytes
    session-counts session-hostile)
# Those whose leak reports need whole stacks to tell a library's leak from ours; that is slow.
readonly asan_whole_stack_tests=(session-keydraw-client)

step_packages()
{
    data/packages.sh install build run demo test || return
    check packages "every package is there" test -z "$(data/packages.sh missing build run demo test)"
    # One locale with a decimal comma, in the build tree: the machine's own may have none.
    mkdir -p "$build_root/locale"
    [[ -d $build_root/locale/de_DE.UTF-8 ]] ||
        check packages "a locale with a decimal comma" \
            localedef -i de_DE -f UTF-8 "$build_root/locale/de_DE.UTF-8"
}

# configure NAME COMPILER MESON-OPTION...: for $build_root/NAME
configure()
{
    local name=$1 compiler=$2 dir="$build_root/$1"
    local -a again=()
    shift 2
    [[ ! -f $dir/meson-private/coredata.dat ]] || again=(--reconfigure)
    check "$name" "meson setup" env CC="$compiler" meson setup "${again[@]}" "$dir" "$root" \
        -Dwerror=true "$@"
}

# compile NAME [TARGET...]
compile()
{
    local name=$1
    shift
    if watched "$logs/$name-compile.log" '^\[[0-9]*0/|^\[.*FAILED|(error|warning):' \
        meson compile -C "$build_root/$name" "$@"; then
        record pass "$name" compile
    else
        record fail "$name" compile
        show_tail "$logs/$name-compile.log"
        return 1
    fi
}

build()
{
    configure "$@" && compile "$1"
}

# run_tests NAME MESON-TEST-OPTION...: runs the tests of $build_root/NAME and records each.
run_tests()
{
    local name=$1 dir="$build_root/$1" json expected
    shift
    json="$dir/meson-logs/testlog.json"
    rm -f "$json"
    expected=$(cd "$dir" && meson test --no-rebuild --list "$@" 2>/dev/null | grep -c .)
    watched "$logs/$name-test.log" '^ *[0-9]+/[0-9]+ ' \
        env LOCPATH="$build_root/locale" meson test -C "$dir" --no-rebuild "$@"
    if [[ -s $json ]]; then
        python3 tests/lib/meson-results.py "$name" "$json" "$results" "$expected"
    elif ((expected)); then
        record fail "$name" "meson test"
        show_tail "$logs/$name-test.log"
    else
        record fail "$name" "meson test: no such test ($*)"
    fi
}

# The tiers: a test of the suite "long" runs with --long only.
tier_options()
{
    $long || printf '%s\n' --no-suite long
}

step_gcc()
{
    local -a tier
    mapfile -t tier < <(tier_options)
    build gcc gcc -Dtests=enabled || return 0
    check gcc "exported symbols" check_exports "$build_root/gcc"
    run_tests gcc "${tier[@]}"
}

step_clang()
{
    build clang clang -Dtests=enabled || return 0
    run_tests clang --suite unit
}

step_asan()
{
    build asan gcc -Dtests=enabled -Db_sanitize=address,undefined || return 0
    # Leaks inside other people's libraries are theirs; ours are reported by their own frames.
    local -x ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:allocator_may_return_null=1
    local -x LSAN_OPTIONS=suppressions="$root/tests/lib/lsan.supp":print_suppressions=0
    local -x UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
    run_tests asan --timeout-multiplier 3 --suite unit --suite fuzz-replay
    run_tests asan --timeout-multiplier 3 "${asan_session_tests[@]}"
    ASAN_OPTIONS+=:fast_unwind_on_malloc=0
    run_tests asan --timeout-multiplier 3 "${asan_whole_stack_tests[@]}"
}

# Every libFuzzer program of the build, as meson knows it.
fuzz_targets()
{
    meson introspect "$build_root/fuzz" --targets |
        python3 -c 'import json, sys
for target in json.load(sys.stdin):
    if target["type"] == "executable" and "fuzz" in target["name"]:
        print(target["filename"][0])'
}

step_fuzz()
{
    local seconds=$fuzz_seconds_short target name corpus found
    local -a targets
    $long && seconds=$fuzz_seconds_long
    configure fuzz clang -Dtests=enabled -Dfuzz=enabled -Db_lundef=false || return 0
    mapfile -t targets < <(fuzz_targets)
    compile fuzz "${targets[@]##*/}" || return 0
    for target in "${targets[@]}"; do
        name=${target##*/}
        found="$build_root/corpus/$name"
        corpus="tests/fuzz/corpus/${name#fuzz[-_]}"
        mkdir -p "$found"
        # New inputs go to the first directory; the committed ones are only read.
        check fuzz "$name for $seconds s" "$target" -max_total_time="$seconds" -timeout=10 \
            -rss_limit_mb=1024 -artifact_prefix="$logs/$name-" "$found" "$corpus"
    done
}

# Plants faults that a test must notice; tests/mutate.sh tells of each.
step_mutate()
{
    if watched "$logs/mutate.log" '.' tests/mutate.sh; then
        record pass mutate "every planted fault is noticed"
    else
        record fail mutate "every planted fault is noticed"
    fi
}

# Measures the add-on against stock over all links; the records are the ones the figures are made of.
step_matrix()
{
    if watched "$logs/matrix.log" '.' tests/rig/run-matrix --build "$build_root/gcc" --set pairs \
        "data/results/pairs.jsonl"; then
        record pass matrix "every cell ran"
    else
        record fail matrix "every cell ran"
        show_tail "$logs/matrix.log"
    fi
}
