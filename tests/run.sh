#!/bin/bash
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Builds spice-accel every way it is supported and runs all tests. `tests/run.sh --help` tells the
# rest. The work is in tests/lib: report.sh counts, steps.sh builds and tests, lint.sh reads sources.
set -uo pipefail

root=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd) || exit 1
readonly root
readonly all_steps=(packages lint gcc clang asan fuzz)
readonly long_steps=(mutate matrix)

build_root="$root/build"
long=false
only=()

usage()
{
    cat <<END
Usage: tests/run.sh [--long] [--only STEP]... [--build-dir DIR]

Builds spice-accel and runs the tests of the short tier. Steps, in order:
  packages  installs what data/packages.txt lists, as root or with sudo
  lint      format, shell, Python, licence headers, exported symbols, stray paths
  gcc       gcc, warnings are errors: every test
  clang     clang, warnings are errors: unit tests
  asan      AddressSanitizer and UndefinedBehaviorSanitizer: unit, fuzz and session tests
  fuzz      libFuzzer: every target for a while, starting from its corpus
  mutate    faults planted in the sources that a test must notice (with --long)
  matrix    the add-on against stock over all links, into data/results (with --long)

  --long           the long tier as well: soaks, all planted faults, the full matrix, an hour of
                   fuzzing a target; the outcome is kept in data/results/long.txt
  --only STEP      this step only; may be given several times
  --build-dir DIR  where to build (default: build)
  --help           this text

The last line is 'N passed, N failed, N skipped'. With CI=true a skip counts as a failure unless its
reason is listed in tests/lib/allowed-skips.txt.
END
}

bad_usage()
{
    printf 'run.sh: %s (see tests/run.sh --help)\n' "$1" >&2
    exit 2
}

parse_options()
{
    while (($#)); do
        case "$1" in
            --help | -h)
                usage
                exit 0
                ;;
            --long) long=true ;;
            --only)
                (($# >= 2)) || bad_usage "--only needs the name of a step"
                [[ " ${all_steps[*]} ${long_steps[*]} " == *" $2 "* ]] ||
                    bad_usage "unknown step '$2' (${all_steps[*]} ${long_steps[*]})"
                only+=("$2")
                shift
                ;;
            --build-dir)
                [[ -n ${2:-} ]] || bad_usage "--build-dir needs a directory"
                build_root=$(realpath -m -- "$2")
                shift
                ;;
            *) bad_usage "unknown option '$1'" ;;
        esac
        shift
    done
}

# Runs "step_NAME", tells how long it took, and turns a step that stopped half way into a failure.
run_step()
{
    local name=$1 started=$SECONDS
    printf '\n== %s\n' "$name"
    if ! "step_$name"; then
        record fail "$name" "the step itself"
    fi
    left_behind "$name"
    printf '== %s: %s (%d s, %d s in all)\n' "$name" "$(step_summary "$name")" \
        $((SECONDS - started)) "$SECONDS"
}

# Tests run as root here and there: the machine must be as it was.
left_behind()
{
    local pid exe left=
    [[ -c /dev/null ]] || record fail "$1" "/dev/null is no device any more"
    for pid in /proc/[0-9]*; do
        exe=$(readlink "$pid/exe") && [[ $exe == "$build_root"/* ]] && left+=" ${pid#/proc/}:$exe"
    done
    [[ -z $left ]] || record fail "$1" "processes left running:$left"
}

main()
{
    local name
    parse_options "$@"
    cd "$root" || exit 1
    mkdir -p "$build_root" || exit 1
    # shellcheck source=tests/lib/report.sh
    . tests/lib/report.sh
    # shellcheck source=tests/lib/steps.sh
    . tests/lib/steps.sh
    # shellcheck source=tests/lib/lint.sh
    . tests/lib/lint.sh
    start_report
    if ((${#only[@]} == 0)); then
        only=("${all_steps[@]}")
        $long && only+=("${long_steps[@]}")
    fi
    for name in "${only[@]}"; do
        run_step "$name"
    done
    $long && keep_results data/results/long.txt
    final_report
}

main "$@"
