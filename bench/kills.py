"""What do a hundred kills cost? Nothing may be lost, archived twice, or visited too soon.

The scenario of tests/scenarios/test_kill.py at full size: two robots collect 20,000 pages; a hundred times
one of them, or the whole set, is killed at a random moment. The test web's own log is the judge.
"""

from __future__ import annotations

import os
import random
import tempfile
from pathlib import Path

from tests.scenarios.archived import responses
from tests.scenarios.stage import joro, serve_web
from tests.scenarios.test_kill import crawl_with_kills

KILLS = int(os.environ.get("JORO_KILLS", "100"))
PAGES = int(os.environ.get("JORO_KILL_PAGES", "20000"))
#: Seconds between two visits to a server, small so that the run ends within minutes.
INTERVAL_S = 0.1


def figures() -> dict[str, tuple[float, str]]:
    """Pages lost, captures doubled, visits inside the interval, WARCs that are not whole."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        options = ("--hosts", PAGES // 20, "--pages", PAGES, "--roles", "normal", "--latency", 5)
        with serve_web(directory, *options) as web:
            path = web.collection(
                directory / "collection",
                politeness={"interval_s": INTERVAL_S, "fast_interval_percent": 100},
                archive={"commit_every_s": 0.5, "warc_limit_bytes": 20_000_000},
            )
            crawl_with_kills(web, path, processes=2, kills=KILLS, chance=random.Random(7))
            found = responses(path)
            reachable = {url for url, hops in web.oracle.get("/reachable").items() if hops <= 15}
            verdict = web.oracle.get("/politeness", interval_s=INTERVAL_S)
            checked = joro("archive", "check", "-C", path, timeout=600)
    return {
        "kills.kills": (KILLS, "kills"),
        "kills.pages": (len(found), "pages"),
        "kills.lost": (len(reachable - set(found)), "pages"),
        "kills.doubled": (sum(count > 1 for count in found.values()), "pages"),
        "kills.too_early": (verdict["too_early"] + verdict["concurrent"], "visits"),
        "kills.bad_archives": (checked.returncode, ""),
    }
