#!/usr/bin/env bash
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Plants the faults listed in tests/mutations/*.txt one by one in a copy of the tree and sees
# whether the test named there turns red.
#
#   tests/mutate.sh [WORD]    only the lines that contain WORD
#
# Prints a line for each and "N passed, N failed"; fails if any did. A fault that no longer fits
# its file, does not compile or whose test is skipped has failed, too. MESON_ARGS: for meson setup.
set -u

top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
word=${1-}
passed=0
failed=0
started=

for tool in meson ninja python3; do
    if ! command -v "$tool" >/dev/null; then
        echo "mutate.sh: $tool is missing" >&2
        exit 77
    fi
done

copy=$(mktemp -d "${TMPDIR:-/tmp}/spice-accel-mutate.XXXXXX") || exit 1
trap 'rm -rf "$copy"' EXIT
trap 'exit 1' INT TERM
tree=$copy/tree
build=$copy/build
log=$copy/log

# The program a meson test runs, and what else it is built from, as ninja targets.
targets_of() {
    meson introspect --tests "$build" | python3 -c '
import json, os, subprocess, sys

name, build = sys.argv[1:]
tests = [t for t in json.load(sys.stdin) if t["name"] == name]
if not tests:
    sys.exit("no such test: " + name)
targets = json.loads(subprocess.check_output(["meson", "introspect", "--targets", build]))
files = {t["id"]: t["filename"] for t in targets}
wanted = set(tests[0]["cmd"][:1])
for depends in tests[0]["depends"]:
    wanted.update(files.get(depends, []))
real = os.path.realpath(build)
for path in sorted(wanted):
    relative = os.path.relpath(os.path.realpath(path), real)
    if not relative.startswith(".."):
        print(relative)
' "$1" "$build"
}

declare -A known_targets
# Builds what the test needs and runs it: 0 green, 1 red, 2 not built, 3 skipped.
run_test() {
    local -a targets
    known_targets[$1]=${known_targets[$1]-$(targets_of "$1" 2>"$log")}
    mapfile -t targets <<<"${known_targets[$1]}"
    if [[ -z ${known_targets[$1]} ]]; then
        return 2
    fi
    ninja -C "$build" "${targets[@]}" >"$log" 2>&1 || return 2
    meson test -C "$build" --no-rebuild --print-errorlogs "$1" >"$log" 2>&1 || return 1
    if grep -Eq '^Skipped: +[1-9]' "$log"; then
        return 3
    fi
    return 0
}

verdict() {
    if [[ $1 == ok ]]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
    printf '%s: %s: %s%s\n' "$1" "$2" "$3" "${4:+ ($4)}"
}

start() {
    mkdir "$tree" || exit 1
    (cd "$top" && tar -cf - --exclude=./.git --exclude='./build*' .) |
        tar -xf - -C "$tree" || exit 1
    # shellcheck disable=SC2086 # a list of words
    if ! meson setup "$build" "$tree" ${MESON_ARGS-} >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        exit 1
    fi
    started=yes
}

declare -A green
check_green() {
    if [[ -z ${green[$1]-} ]]; then
        run_test "$1"
        green[$1]=$?
    fi
    return "${green[$1]}"
}

mutate() {
    local file=$1 expression=$2 test=$3 invariant=$4 rc

    [[ -n $started ]] || start
    if ! check_green "$test"; then
        verdict FAIL "$test" "$invariant" "not green, or not there, without the fault"
        return
    fi
    if [[ ! -f $tree/$file ]]; then
        verdict FAIL "$file" "$invariant" "no such file"
        return
    fi
    cp "$tree/$file" "$copy/saved"
    sed -i -e "$expression" "$tree/$file" 2>"$log"
    if cmp -s "$tree/$file" "$copy/saved"; then
        verdict FAIL "$file" "$invariant" "the fault fits nowhere: $expression"
        return
    fi
    run_test "$test"
    rc=$?
    case $rc in
    0) verdict FAIL "$test" "$invariant" "stayed green with: $expression" ;;
    1) verdict ok "$test" "$invariant" ;;
    2) verdict FAIL "$file" "$invariant" "does not compile with: $expression" ;;
    *) verdict FAIL "$test" "$invariant" "skipped" ;;
    esac
    cat "$copy/saved" >"$tree/$file"
}

shopt -s nullglob
for list in "$top"/tests/mutations/*.txt; do
    while IFS= read -r line; do
        if [[ -z $line || $line == \#* || $line != *"$word"* ]]; then
            continue
        fi
        file=${line%% | *}
        rest=${line#* | }
        expression=${rest%% | *}
        rest=${rest#* | }
        test=${rest%% | *}
        invariant=${rest#* | }
        if [[ $line != *" | "*" | "*" | "* ]]; then
            verdict FAIL "${list##*/}" "$line" "not four columns"
            continue
        fi
        mutate "$file" "$expression" "$test" "$invariant" </dev/null
    done <"$list"
done

echo "$passed passed, $failed failed"
((failed == 0 && passed > 0))
