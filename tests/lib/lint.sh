#!/bin/bash
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What tests/run.sh reads rather than runs. Sourced by it.
# shellcheck disable=SC2154 # root, build_root and logs come from the other files

# The project's own files, whether it is a git checkout or an unpacked archive.
project_files()
{
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files --cached --others --exclude-standard
    else
        find . -type d \( -name .git -o -name 'build*' \) -prune -o -type f -printf '%P\n'
    fi | while IFS= read -r file; do
        [[ ! -f $file ]] || printf '%s\n' "$file"
    done | sort -u
}

# files_of EXTENSION...
files_of()
{
    local pattern
    pattern=$(printf '%s|' "$@")
    project_files | grep -E "\.(${pattern%|})\$"
}

# Programs without an extension are known by their first line.
scripts_of()
{
    local file first
    project_files | while IFS= read -r file; do
        IFS= read -r first <"$file" || continue
        [[ ! $first =~ ^#!.*$1 ]] || printf '%s\n' "$file"
    done
}

lint_format()
{
    files_of c h | xargs -r -d '\n' clang-format --dry-run -Werror
}

lint_shell()
{
    { files_of sh; scripts_of '(ba|da|/)sh'; } | sort -u | xargs -r -d '\n' shellcheck -x
}

lint_python()
{
    { files_of py; scripts_of python; } | sort -u |
        PYTHONPYCACHEPREFIX="$build_root/pycache" xargs -r -d '\n' python3 -m py_compile
}

lint_licence()
{
    local file missing=0
    while IFS= read -r file; do
        if ! head -n 4 "$file" | grep -q 'SPDX-FileCopyrightText: The spice-accel authors' ||
            ! head -n 4 "$file" | grep -q 'SPDX-License-Identifier: LGPL-2.1-or-later'; then
            printf '%s: no SPDX lines at the top\n' "$file"
            missing=1
        fi
    done < <({ files_of c h sh py build map sym supp; scripts_of .; } | sort -u)
    return "$missing"
}

# Nothing may point at the machine it was written on.
lint_paths()
{
    ! project_files | xargs -r -d '\n' grep -nIE \
        '(^|[^A-Za-z0-9_.])/((work|root)/|home/[a-z]|tmp/(src|build))|[a-z]+\.debian\.org/debian'
}

lint_packages()
{
    local bad
    bad=$(grep -vE '^(#.*|(build|run|demo|test) [a-z0-9][a-z0-9.+-]+)?$' data/packages.txt)
    [[ -z $bad ]] || { printf 'not "PURPOSE PACKAGE": %s\n' "$bad"; return 1; }
    bad=$(grep -v '^#' data/packages.txt | awk 'NF { print $2 }' | sort | uniq -d)
    [[ -z $bad ]] || { printf 'listed twice: %s\n' "$bad"; return 1; }
}

exports()
{
    nm -D --defined-only --format=posix "$1" | awk '$2 != "A" { sub(/@.*/, "", $1); print $1 }' | sort
}

# What the library of a build exports is what its version script lists, and the module exports what
# GTK calls and nothing else.
check_exports()
{
    diff <(sed -n '/global:/,/local:/s/^ *\([a-z_]*\);.*/\1/p' src/client/spice-accel.map | sort) \
        <(exports "$1/src/client/libspice-accel-client.so.0") &&
        diff <(printf 'gtk_module_init\n') <(exports "$1/plugin/libspice-accel.so")
}

step_lint()
{
    check lint "C format" lint_format
    check lint "shell scripts" lint_shell
    check lint "Python compiles" lint_python
    check lint "licence headers" lint_licence
    check lint "no machine paths" lint_paths
    check lint "package list" lint_packages
    check lint "the scripts themselves" tests/shell/test-scripts.sh
}
