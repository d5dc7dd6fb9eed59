"""What do a hundred kills cost robots that work together? No page, and no server's peace.

Five robots and two managers with a PostgreSQL, each on a machine of its own (`joro.scaling.network`), collect
50,000 pages; a hundred times a robot or a manager is killed, the database's connections are ended, or a robot
is cut off, mostly for longer than its lease. The test web's own log judges. `repeated` pages are archived
twice, docs/decisions/0008 says why.

It takes some ten minutes of two quiet processors. JORO_COOPERATION_PAGES and JORO_COOPERATION_KILLS make it
smaller, JORO_COOPERATION_LIMIT_S says how long to wait after the last kill.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from bench import CannotRun
from joro.config import Manager
from joro.scaling.network import Network, why_not
from tests.scenarios.cooperation import Plot, play, scene

PAGES = int(os.environ.get("JORO_COOPERATION_PAGES", "50000"))
KILLS = int(os.environ.get("JORO_COOPERATION_KILLS", "100"))
PAGES_PER_HOST = 100
#: Long enough for a hundred kills, one in five seconds, before the last page.
INTERVAL_S = 3.0
#: Short, but long enough for seven programs and a database on two processors to hear of each other in time.
PROMISES = Manager(lease_s=6.0, beat_s=0.5, grace_s=2.0, plan_every_s=15.0)
PLOT = Plot(
    robots=5,
    managers=2,
    hosts=max(1, PAGES // PAGES_PER_HOST),
    pages=PAGES,
    kills=KILLS,
    interval_s=INTERVAL_S,
    kill_every_s=4.0,
    spread=True,
    promises=PROMISES,
    limit_s=float(os.environ.get("JORO_COOPERATION_LIMIT_S", "1200")),
)


def figures() -> dict[str, tuple[float, str]]:
    """Pages lost and repeated, servers asked by two at once, visits inside the interval."""
    if reason := why_not():
        raise CannotRun(reason)
    with (
        tempfile.TemporaryDirectory() as name,
        Network() as network,
        scene(Path(name), PLOT, network) as stage,
    ):
        verdict = play(stage)
    print(verdict)
    for line in (*verdict.lost, *verdict.at_once, *verdict.inside_interval, *stage.ended)[:20]:
        print(f"  {line}")
    return {
        "cooperation.kills": (sum(stage.killed.values()), "kills"),
        "cooperation.pages": (verdict.pages, "pages"),
        "cooperation.shared_servers": (verdict.shared_servers, f"of {verdict.servers} servers"),
        "cooperation.lost": (len(verdict.lost), "pages"),
        "cooperation.at_once": (len(verdict.at_once), "requests"),
        "cooperation.inside_interval": (len(verdict.inside_interval), "requests"),
        "cooperation.repeated": (len(verdict.repeated), "pages"),
        "cooperation.asked_again": (len(verdict.asked_again), "pages"),
        "cooperation.ended": (sum(stage.ended.values()), "robots"),
    }


if __name__ == "__main__":
    for name, (value, unit) in figures().items():
        print(f"{name:<36} {value:>10,.0f} {unit}")
