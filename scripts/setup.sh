#!/usr/bin/env bash
# Make .venv hold Joro (editable) and its tools. PYTHON=… chooses the interpreter; else the first new enough one.
set -euo pipefail
cd "$(dirname "$0")/.."

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

fail() { printf 'joro: %s\n' "$*" >&2; exit 1; }

find_python() {
    local each
    for each in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python}; do
        if new_enough "$each"; then echo "$each"; return; fi
    done
    fail "no Python 3.11 or newer found as ${PYTHON:-python3}; install one, or name it: make PYTHON=/path/to/python3.12"
}

# A .venv whose interpreter has gone (upgraded, moved) is made anew; a working one is only brought up to date.
if ! new_enough .venv/bin/python; then
    python=$(find_python)
    echo "set-up 1/2  .venv ($("$python" -V))"
    rm -rf .venv
    "$python" -m venv .venv ||
        fail "$python cannot make a virtual environment; on Debian and Ubuntu: apt-get install python3-venv"
fi
echo "set-up 2/2  dependencies (once; a minute or two)"
.venv/bin/python -m pip install -qq --disable-pip-version-check -e '.[dev]'
