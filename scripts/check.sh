#!/usr/bin/env bash
# Run every part of `make check`, one line each; show the output of those that fail, and fail at the end.
set -uo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"
failed=()

part() {
    local name=$1 start=$SECONDS output
    shift
    if output=$("$@" 2>&1); then
        printf '%-8s ok      %3d s\n' "$name" $((SECONDS - start))
    else
        printf '%-8s FAILED  %3d s   %s\n%s\n' "$name" $((SECONDS - start)) "$*" "$output"
        failed+=("$name")
    fi
}

part format ruff format --check .
part lint ruff check .
part types mypy
part floors lint-imports
part tests pytest -n "${CORES:-2}" --dist worksteal -m "not slow" --hypothesis-profile check

if [ ${#failed[@]} -gt 0 ]; then
    echo "check: ${failed[*]} failed in $SECONDS s"
    exit 1
fi
echo "check: all well in $SECONDS s"
