#!/bin/bash
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The second half of data/quickstart.sh: data/watch.sh BUILD-DIR SECONDS [URI]
# Opens remote-viewer with the add-on of BUILD-DIR and statistics on, on URI or on a demo server that
# it starts, in the display there is or in a virtual one for SECONDS; then prints the statistics.
# Started by tests/rig/link it puts the server and the viewer at the two ends of that link.
set -euo pipefail

readonly build_dir=$1 seconds=$2
uri=${3:-}
readonly run_dir="$build_dir/run"
readonly log="$run_dir/statistics.csv" screenshot="$run_dir/screenshot.png"
readonly accel="$build_dir/src/cli/spice-accel"

server='' viewer='' xvfb=''
server_address=127.0.0.1
server_side=() viewer_side=()
if [[ -n ${SA_LINK_CONTROL:-} ]]; then
    server_side=("$build_dir/tests/rig/link" --exec server --)
    server_address=10.77.0.1
    viewer_side=("$build_dir/tests/rig/link" --exec client --)
fi

die()
{
    printf 'quickstart.sh: %s\n' "$1" >&2
    exit 1
}

end_all()
{
    local pid
    for pid in $viewer $server $xvfb; do
        kill "$pid" 2>/dev/null || true
    done
    for pid in $viewer $server $xvfb; do
        wait "$pid" 2>/dev/null || true
    done
}

start_display()
{
    local number='' from_xvfb
    command -v Xvfb >/dev/null || die "no display here, and no Xvfb for a virtual one"
    # -displayfd: Xvfb takes a free number and tells it once it is ready
    exec {from_xvfb}< <(exec Xvfb -displayfd 1 -screen 0 1366x900x24 -nolisten tcp \
        2>"$run_dir/xvfb.log")
    xvfb=$!
    read -r -t 20 -u "$from_xvfb" number ||
        die "Xvfb did not start: $(tail -n 1 "$run_dir/xvfb.log")"
    export DISPLAY=":$number" GDK_BACKEND=x11
    unset WAYLAND_DISPLAY XAUTHORITY
    printf 'No display here: the viewer runs in a virtual one (%s) for %d s\n' "$DISPLAY" "$seconds"
}

start_server()
{
    local line='' port='' events
    # It ends with its standard input, should this script be killed.
    coproc SERVER {
        exec "${server_side[@]}" "$build_dir/tests/rig/keydraw-server" --addr "$server_address" \
            --port 0 --activity busy --quit-on-eof 2>"$run_dir/server.log"
    }
    server=$SERVER_PID
    while [[ -z $port ]] && read -r -t 20 -u "${SERVER[0]}" line; do
        [[ ! $line =~ \"event\":\ *\"listening\".*\"port\":\ *([0-9]+) ]] || port=${BASH_REMATCH[1]}
    done
    [[ -n $port ]] || die "the demo server did not start: $(tail -n 1 "$run_dir/server.log")"
    # What it tells later on is kept, so that it does not fill the pipe.
    exec {events}<&"${SERVER[0]}"
    cat <&"$events" >"$run_dir/server.json" &
    uri="spice://$server_address:$port"
}

# In a value of SPICE_ACCEL a comma or backslash has a backslash before it.
escaped()
{
    local value=${1//\\/\\\\}
    printf '%s' "${value//,/\\,}"
}

start_viewer()
{
    rm -f "$log" "$screenshot"
    printf 'Opening remote-viewer on %s\n' "$uri"
    # What the user has set applies too; SPICE_ACCEL=0 shows the stock viewer, without a log.
    local options=${SPICE_ACCEL-}
    [[ $options == 0 ]] || options=log=$(escaped "$log")${options:+,$options}
    env SPICE_ACCEL="$options" "${viewer_side[@]}" "$accel" run -- remote-viewer "$uri" \
        >"$run_dir/viewer.log" 2>&1 </dev/null &
    viewer=$!
}

viewer_runs()
{
    kill -0 "$viewer" 2>/dev/null
}

watch_virtual_display()
{
    local end=$((SECONDS + seconds)) rows
    while ((SECONDS < end)) && viewer_runs; do
        sleep 1
        (((end - SECONDS) % 5)) && continue
        rows=$(grep -c '^[0-9]' "$log" 2>/dev/null || true)
        printf '  %d s to go, %d rows in the log\n' $((end - SECONDS)) "${rows:-0}"
    done
    viewer_runs || return 0
    import -window root "$screenshot" 2>>"$run_dir/viewer.log" ||
        printf 'quickstart.sh: no screenshot could be taken\n' >&2
    kill "$viewer"
}

main()
{
    local status=0
    mkdir -p "$run_dir"
    trap end_all EXIT
    trap 'exit 130' INT TERM HUP
    [[ -n $uri ]] || start_server
    if [[ -n ${DISPLAY:-}${WAYLAND_DISPLAY:-} ]]; then
        start_viewer
        printf 'Close the viewer to end and to see the statistics\n'
    else
        start_display
        start_viewer
        watch_virtual_display
    fi
    wait "$viewer" || status=$?
    viewer=
    if [[ ! -s $log ]]; then
        tail -n 20 "$run_dir/viewer.log" >&2
        die "the viewer ended (status $status) without any statistics; its output is in $run_dir/viewer.log"
    fi
    printf '\nStatistics of the session (%s report %s):\n' "$accel" "$log"
    "$accel" report "$log"
    printf '\nLog:        %s\n' "$log"
    [[ ! -s $screenshot ]] || printf 'Screenshot: %s\n' "$screenshot"
}

main
