#!/usr/bin/env bash
# Install the Debian packages listed in system-packages.txt that are missing. Where that is not possible,
# say what to install and go on: tests that need one skip, giving the reason.
set -euo pipefail
cd "$(dirname "$0")"

wanted() { sed 's/#.*//' system-packages.txt; }
installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

missing=()
for package in $(wanted); do
    installed "$package" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo -n)
echo "system packages: ${missing[*]}"
if ! command -v apt-get >/dev/null || ! "${as_root[@]}" true 2>/dev/null; then
    echo "  cannot install them here; tests that need them will skip. To have them: apt-get install ${missing[*]}"
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
if ! { "${as_root[@]}" apt-get -qq update && "${as_root[@]}" apt-get -qq install -y --no-install-recommends \
    "${missing[@]}"; } >/dev/null; then
    echo "  apt-get failed; tests that need them will skip"
fi
