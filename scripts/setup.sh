#!/usr/bin/env bash
# Make .venv hold Joro (editable) and its tools. PYTHON=… chooses the interpreter; else find_python does.
set -euo pipefail
cd "$(dirname "$0")/.."

# Other implementations can neither compile our core nor use the wheels we need.
new_enough() {
    "$1" -c 'import sys; sys.exit(sys.implementation.name != "cpython" or sys.version_info < (3, 11))' 2>/dev/null
}

fail() { printf 'joro: %s\n' "$*" >&2; exit 1; }

# Can it make environments, and have what we compile?
whole() {
    "$1" -c '
import ensurepip, pathlib, sysconfig
assert pathlib.Path(sysconfig.get_path("include"), "Python.h").exists()' 2>/dev/null
}

# CPU time of a little of what a crawl does, in microseconds, least of five: builds of one and the same Python
# differ by a half.
cost() {
    "$1" -c '
from time import process_time

class Page:
    __slots__ = ("url", "hops")

    def __init__(self, url, hops):
        self.url, self.hops = url, hops

    def key(self):
        return self.url.partition("?")[0].lower()

def loop():
    counts, start = {}, process_time()
    for number in range(20_000):
        page = Page(f"http://h{number % 50}.example/a/{number}?q", number)
        key = page.key()
        counts[key] = counts.get(key, 0) + len(key.split("/")) + page.hops
    return process_time() - start

print(round(1e6 * min(loop() for _ in range(5))))'
}

# Which build is it? Two names may be one and the same.
build() { "$1" -c 'import sys; print(sys.base_prefix)'; }

# The one named; else the first that is whole, unless another takes a twentieth less time. Where none is whole,
# the first that is new enough: making .venv with it says what is missing.
find_python() {
    local names='python3 python3.14 python3.13 python3.12 python3.11 python'
    local each place turn now partial='' here=() builds=() least=() found=0
    local remedy='install one, or name it: make PYTHON=/path/to/python3.12'
    if [ -n "${PYTHON:-}" ]; then
        new_enough "$PYTHON" || fail "$PYTHON is no CPython 3.11 or newer; $remedy"
        echo "$PYTHON"
        return
    fi
    if [ "$(uname)" = Linux ]; then names="$names /usr/bin/python3"; fi # on a Mac it may only open a dialog
    for each in $names; do
        new_enough "$each" || continue
        partial=${partial:-$each}
        if ! whole "$each"; then continue; fi
        place=$(build "$each")
        case " ${builds[*]-} " in *" $place "*) continue ;; esac
        here+=("$each") builds+=("$place") least+=(1000000000)
    done
    if [ "${#here[@]}" -gt 1 ]; then
        for turn in 1 2 3; do # by turns: a machine is busy for a moment, not for long
            for each in "${!here[@]}"; do
                now=$(cost "${here[each]}") || continue
                if [ "$now" -lt "${least[each]}" ]; then least[each]=$now; fi
            done
        done
        for each in "${!here[@]}"; do
            if [ "${least[each]}" -lt $((least[found] * 19 / 20)) ]; then found=$each; fi
        done
        if [ "$found" != 0 ]; then
            echo "set-up      ${here[found]} is faster than ${here[0]} and is taken; make PYTHON=${here[0]} takes that" >&2
        fi
    fi
    found=${here[found]-$partial}
    [ -n "$found" ] || fail "no CPython 3.11 or newer found; $remedy"
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
