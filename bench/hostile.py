"""How much memory can hostile servers take from a crawl, and does it go on?

Measured: the most memory `joro crawl` ever had resident (VmHWM), on a web of 1,400 servers of which 56 are
hostile, four of each kind: endless bodies, bombs, lies about lengths, headers without measure, parser bombs,
byte after byte. Against it the same crawl with those servers excluded. All servers are seeds, so that the
hostile ones are met at once. `honest_share` counts, by the oracle, the honest pages in the archive.
Left out: patience. Timeouts are shorter than the defaults, so that the run takes minutes; they do not
change what is held at the same time. Limits of size and memory are the defaults.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.scenarios.appetite import measure
from tests.scenarios.stage import serve_web

HOSTS, PAGES = 1_400, 5_600


def figures() -> dict[str, tuple[float, str]]:
    """Memory above the same crawl without hostile servers, and the share of honest pages collected."""
    with tempfile.TemporaryDirectory() as name:
        options = ("--hosts", HOSTS, "--pages", PAGES, "--roles", "hostile", "--addresses", "own")
        with serve_web(Path(name), *options) as web:
            found = measure(web, Path(name))
    return {
        "hostile.memory_mb_above_baseline": (found.grown_mb, "MB"),
        "hostile.baseline_mb": (found.alone_mb, "MB"),
        "hostile.honest_share": (found.collected / found.honest, "share"),
        "hostile.honest_pages": (found.honest, "pages"),
    }


if __name__ == "__main__":
    for name, (value, unit) in figures().items():
        print(f"{name:34} {value:10.3f} {unit}")
