#!/usr/bin/env bash
# Make .venv hold Joro (editable) and its tools. PYTHON=… chooses the interpreter; else the first new enough one.
set -euo pipefail
cd "$(dirname "$0")/.."

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

fail() { printf 'joro: %s\n' "$*" >&2; exit 1; }

# Can it make environments, and have what we compile?
whole() {
    "$1" -c '
import ensurepip, pathlib, sysconfig
assert pathlib.Path(sysconfig.get_path("include"), "Python.h").exists()' 2>/dev/null
}

# CPU time of a plain loop in microseconds, least of nine: builds of one and the same Python differ by a fifth.
cost() {
    "$1" -c '
from time import process_time

def loop():
    counts, start = {}, process_time()
    for number in range(100_000):
        counts[number % 100] = counts.get(number % 100, 0) + number
    return process_time() - start

print(round(1e6 * min(loop() for _ in range(9))))'
}

# The one named; else the first that is new enough, unless another takes a twentieth less time.
find_python() {
    local each first='' found='' least=0 now
    for each in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python /usr/bin/python3}; do
        new_enough "$each" || continue
        if [ -n "${PYTHON:-}" ]; then echo "$each"; return; fi
        if [ -z "$first" ]; then
            first=$each found=$each least=$(($(cost "$each") * 19 / 20))
        elif whole "$each" && now=$(cost "$each") && [ "$now" -lt "$least" ]; then
            found=$each least=$now
        fi
    done
    [ -n "$found" ] ||
        fail "no Python 3.11 or newer found as ${PYTHON:-python3}; install one, or name it: make PYTHON=/path/to/python3.12"
    if [ "$found" != "$first" ]; then
        echo "set-up      $found is faster than $first and is taken; make PYTHON=$first takes that" >&2
    fi
    echo "$found"
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
