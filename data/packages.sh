#!/bin/bash
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Reads data/packages.txt. Usage: data/packages.sh list|missing|install PURPOSE...
#   list     the packages for these purposes, one a line
#   missing  those of them that are not installed
#   install  installs the missing ones, as root or with sudo; where neither can be had, prints the
#            one line to run and exits with 4
set -euo pipefail

readonly packages_list="${BASH_SOURCE[0]%/*}/packages.txt"
readonly no_rights=4
as_root=()

die()
{
    printf 'packages.sh: %s\n' "$1" >&2
    exit "${2:-2}"
}

list()
{
    local purpose
    for purpose in "$@"; do
        grep -q "^$purpose " "$packages_list" ||
            die "unknown purpose '$purpose' (known: $(known_purposes))"
    done
    for purpose in "$@"; do
        sed -n "s/^$purpose //p" "$packages_list"
    done | sort -u
}

known_purposes()
{
    sed -n 's/^\([a-z][a-z]*\) .*/\1/p' "$packages_list" | sort -u | paste -s -d ' '
}

missing()
{
    local wanted package state
    wanted=$(list "$@")
    command -v dpkg-query >/dev/null ||
        die "this machine has no dpkg: install the counterparts of these by hand:
$(paste -s -d ' ' <<<"$wanted")" 3
    for package in $wanted; do
        # shellcheck disable=SC2016 # dpkg-query's own format, not a shell variable
        state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
        [[ $state == installed ]] || printf '%s\n' "$package"
    done
}

# apt COMMAND...: three tries, since mirrors fail now and then, with a pause that grows. The hundreds
# of lines that apt-get prints go to a file; a line now and then tells that it goes on.
apt()
{
    local log try pid started=$SECONDS told=$SECONDS
    log=$(mktemp)
    for try in 1 2 3; do
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q "$@" >"$log" 2>&1 </dev/null &
        pid=$!
        while kill -0 "$pid" 2>/dev/null; do
            sleep 0.2
            ((SECONDS - told < 10)) || {
                told=$SECONDS
                printf '  %3d s: %s\n' $((SECONDS - started)) "$(tail -n 1 "$log")"
            }
        done
        if wait "$pid"; then
            rm -f "$log"
            return 0
        fi
        ((try == 3)) || sleep $((try * 5))
    done
    tail -n 20 "$log" >&2
    rm -f "$log"
    return 1
}

install_missing()
{
    local names
    local -a needed
    names=$(missing "$@")
    [[ -n $names ]] || return 0
    mapfile -t needed <<<"$names"
    if (($(id -u) != 0)); then
        if ! command -v sudo >/dev/null || ! sudo_allowed; then
            {
                printf 'These packages are missing, and this user may not install them. Run as root:\n'
                printf 'apt-get update && apt-get install --no-install-recommends -y %s\n' "${needed[*]}"
            } >&2
            exit "$no_rights"
        fi
        as_root=(sudo)
    fi
    printf 'Installing %d packages: %s\n' "${#needed[@]}" "${needed[*]}"
    apt update || die "apt-get update failed three times" 1
    apt install --no-install-recommends -y "${needed[@]}" ||
        die "apt-get could not install: ${needed[*]}" 1
}

# sudo may ask for a password only where somebody can type one.
sudo_allowed()
{
    if [[ -t 0 && -t 2 ]]; then
        sudo -v
    else
        sudo -n true 2>/dev/null
    fi
}

main()
{
    local action="${1:-}"
    (($# >= 2)) || die "usage: packages.sh list|missing|install PURPOSE... ($(known_purposes))"
    shift
    case "$action" in
        list) list "$@" ;;
        missing) missing "$@" ;;
        install) install_missing "$@" ;;
        *) die "unknown action '$action' (list, missing or install)" ;;
    esac
}

main "$@"
