#!/bin/bash
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What tests/run.sh has seen so far. Sourced by it; uses $build_root.
# $results holds one line per test: status, step, name, seconds, reason, separated by tabs.
# shellcheck disable=SC2154 # build_root comes from tests/run.sh

readonly shown_lines=60

start_report()
{
    logs="$build_root/logs"
    results="$logs/results.tsv"
    mkdir -p "$logs"
    : >"$results"
    child=
    # Commands run as process groups of their own, so that all of one can be ended.
    set -m
    trap 'end_child; exit 130' INT
    trap 'end_child; exit 143' TERM HUP
    trap end_child EXIT
}

end_child()
{
    [[ -n ${child:-} ]] || return 0
    kill -TERM -- "-$child" 2>/dev/null && wait "$child" 2>/dev/null
    child=
}

# record pass|fail|skip STEP NAME [REASON] [SECONDS]
record()
{
    printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "${5:-}" "${4:-}" >>"$results"
    case "$1" in
        fail) printf '  FAIL  %s%s\n' "$3" "${4:+: $4}" ;;
        skip) printf '  skip  %s%s\n' "$3" "${4:+: $4}" ;;
    esac
}

# logged LOG COMMAND...: runs the command with its output in LOG. Its status is the command's.
logged()
{
    local log=$1 status
    shift
    "$@" >"$log" 2>&1 </dev/null &
    child=$!
    wait "$child"
    status=$?
    child=
    return "$status"
}

# watched LOG PATTERN COMMAND...: as logged, and shows the lines that match PATTERN as they come.
watched()
{
    local log=$1 pattern=$2 status watcher
    shift 2
    : >"$log"
    (
        tail -n +1 -s 0.5 -F --pid=$$ "$log" 2>/dev/null |
            grep -E --line-buffered "$pattern" | sed -u 's/^ */  /'
    ) &
    watcher=$!
    logged "$log" "$@"
    status=$?
    sleep 1
    kill -TERM -- "-$watcher" 2>/dev/null
    wait "$watcher" 2>/dev/null
    return "$status"
}

show_tail()
{
    printf -- '---- the last %d lines of %s\n' "$shown_lines" "$1"
    tail -n "$shown_lines" "$1"
    printf -- '----\n'
}

# check STEP NAME COMMAND...: one test that is one command; its output is shown when it fails.
check()
{
    local step_name=$1 name=$2 log
    shift 2
    log="$logs/$step_name-${name//[^a-zA-Z0-9]/-}.log"
    if logged "$log" "$@"; then
        record pass "$step_name" "$name"
        printf '  ok    %s\n' "$name"
    else
        record fail "$step_name" "$name"
        show_tail "$log"
        return 1
    fi
}

count()
{
    awk -F '\t' -v status="$1" -v step="${2:-}" \
        '$1 == status && (step == "" || $2 == step) { n++ } END { print n + 0 }' "$results"
}

step_summary()
{
    printf '%d passed, %d failed, %d skipped' \
        "$(count pass "$1")" "$(count fail "$1")" "$(count skip "$1")"
}

# Where CI runs, everything the machine can do must be done: a skip counts as a failure unless its
# reason is a fact about the machine.
judge_skips()
{
    [[ -n ${CI:-} ]] || return 0
    local judged="$results.judged"
    python3 tests/lib/judge-skips.py "$results" tests/lib/allowed-skips.txt >"$judged" &&
        mv "$judged" "$results"
}

final_report()
{
    local failed
    printf '\n== summary after %d min %d s\n' $((SECONDS / 60)) $((SECONDS % 60))
    judge_skips || record fail report "the skips could not be judged"
    awk -F '\t' '$1 == "fail" { printf "failed: %s: %s%s\n", $2, $3, $5 == "" ? "" : ": " $5 }' \
        "$results"
    awk -F '\t' '$1 == "skip" { print $5 }' "$results" | sort | uniq -c | sort -rn |
        sed 's/^ *\([0-9]*\) /skipped \1: /'
    failed=$(count fail)
    if (($(count pass) == 0)); then
        printf 'no test ran\n'
        failed=$((failed ? failed : 1))
    fi
    printf '%d passed, %d failed, %d skipped\n' "$(count pass)" "$failed" "$(count skip)"
    ((failed == 0))
    exit
}

# keep_results FILE: the outcome of a long run in a form fit to be committed.
keep_results()
{
    mkdir -p "${1%/*}"
    {
        printf '# tests/run.sh --long, %s, %d cores, kernel %s\n' \
            "$(date -u +%Y-%m-%d)" "$(nproc)" "$(uname -r)"
        printf '# status, step, test, seconds, reason of a skip\n'
        cat "$results"
    } >"$1"
    printf '\nThe outcome is kept in %s\n' "$1"
}
