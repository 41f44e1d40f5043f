#!/bin/bash
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# From a checkout to a running viewer with the add-on: installs what is missing, builds, runs.
# `data/quickstart.sh --help` tells the rest. What happens once all is built is in data/watch.sh.
set -euo pipefail

root=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd)
readonly root
readonly build_dir="$root/build/quickstart"
readonly rtt_ms=80 rate_mbit=10

uri=
seconds=20

usage()
{
    cat <<END
Usage: data/quickstart.sh [--seconds N] [URI]

Builds spice-accel under build/quickstart and opens remote-viewer with it. URI is that of a SPICE
server (spice://HOST:PORT, spice+unix://PATH, spice+tls://HOST:PORT) or a .vv file; without one a
built-in demo server is shown over a link of $rtt_ms ms and $rate_mbit Mbit/s made on this machine. Close the
viewer to end; then the statistics of the session are printed.

Without a display the viewer runs in a virtual one for a while, and a screenshot is kept.

  --seconds N  how long it runs in a virtual display (default: $seconds)
  --help       this text

Missing packages are installed as root or with sudo; where neither can be had, the line to run is
printed.
END
}

die()
{
    printf 'quickstart.sh: %s\n' "$1" >&2
    exit "${2:-1}"
}

say()
{
    printf '[%3d s] %s\n' "$SECONDS" "$1"
}

parse_options()
{
    while (($#)); do
        case "$1" in
            --help | -h)
                usage
                exit 0
                ;;
            --seconds)
                [[ ${2:-} =~ ^[1-9][0-9]{0,4}$ ]] ||
                    die "--seconds needs a number of seconds from 1 to 99999" 2
                seconds=$2
                shift
                ;;
            -*) die "unknown option '$1' (see data/quickstart.sh --help)" 2 ;;
            *)
                [[ -z $uri ]] || die "more than one URI: '$uri' and '$1'" 2
                uri=$1
                ;;
        esac
        shift
    done
    [[ -z $uri || $uri =~ ^spice(\+unix|\+tls)?:// || -f $uri ]] ||
        die "'$uri' is neither a SPICE URI (spice://, spice+tls://, spice+unix://) nor a file" 2
}

# Runs a command with its output in a log, and shows the last lines of that when it fails.
quietly()
{
    local log=$1
    shift
    "$@" >"$log" 2>&1 </dev/null && return 0
    tail -n 30 "$log" >&2
    die "'$*' failed; all of its output is in $log"
}

build()
{
    local -a again=()
    mkdir -p "$build_dir" || die "cannot write to $build_dir: run it from a checkout of your own"
    [[ ! -f $build_dir/meson-private/coredata.dat ]] || again=(--reconfigure)
    say "Building in $build_dir"
    quietly "$build_dir/setup.log" meson setup "${again[@]}" "$build_dir" "$root" "$@"
    quietly "$build_dir/compile.log" meson compile -C "$build_dir"
    say "Built"
}

# Opens the viewer; without a URI behind a slow link of our own, where this machine lets us make one
# (it takes network namespaces and a TUN device).
run()
{
    local link="$build_dir/tests/rig/link" problem
    [[ -z $uri ]] || exec "$root/data/watch.sh" "$build_dir" "$seconds" "$uri"
    if problem=$("$link" --rtt 1 --rate 100 -- true 2>&1); then
        say "The demo server is behind a link of $rtt_ms ms and $rate_mbit Mbit/s"
        exec "$link" --rtt "$rtt_ms" --rate "$rate_mbit" --stats "$build_dir/link.json" -- \
            "$root/data/watch.sh" "$build_dir" "$seconds"
    fi
    say "No slow link can be made here (${problem%%$'\n'*}): the demo server is reached directly"
    exec "$root/data/watch.sh" "$build_dir" "$seconds"
}

main()
{
    parse_options "$@"
    local -a purposes=(build run demo)
    "$root/data/packages.sh" install "${purposes[@]}" || exit
    if [[ -n $uri ]]; then
        build -Dtests=auto
    else
        build -Dtests=enabled
    fi
    run
}

main "$@"
