#!/usr/bin/env bash
# Other people's readers of archives, in an environment of their own under .peers/readers: none of them is a
# dependency of Joro (pywb is GPL, wacz stands on AGPL code). Where they cannot be had, their tests skip.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=.peers/readers
[ ! -e $tools/.ready ] || exit 0

echo "archive readers: pywb, wacz, npm warcio (once; a minute)"
mkdir -p $tools
.venv/bin/python -m venv $tools/python &&
    $tools/python/bin/python -m pip install -qq --disable-pip-version-check pywb wacz 2>/dev/null ||
    echo "  pywb and wacz cannot be installed here; their tests will skip"
if command -v npm >/dev/null; then
    npm install --silent --no-fund --no-audit --prefix $tools warcio >/dev/null 2>&1 ||
        echo "  npm's warcio cannot be installed here; its test will skip"
fi
touch $tools/.ready
