"""What does sending links to other robots cost, and what does leaving out known ones save (F39)?

Five robots find the links of a test web of 20,000 pages, 30 on each, servers shared by hash; a link to
another robot's server is sent unless this robot met it lately. Then links go from one robot to another by a
real JetStream, in commits of 10,000, each acknowledged after the reader's commit.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

from bench import CannotRun
from joro.coordinate.assign import by_rendezvous
from joro.coordinate.beat import Link
from joro.coordinate.jetstream import Straight
from joro.store.frontier import Frontier
from joro.testweb.graph import Graph
from joro.testweb.paths import url
from joro.testweb.plan import make
from joro.testweb.settings import Settings
from tests.nats import nats_binary, nats_server

ROBOTS = ["one", "two", "three", "four", "five"]
WEB = Settings(hosts=1_000, pages=20_000, profile="bench")
COMMITS, LINKS = 20, 10_000


def figures() -> dict[str, tuple[float, str]]:
    """Links found and sent, and how fast they go by JetStream."""
    if not nats_binary():
        raise CannotRun("nats-server is missing; scripts/system-packages.sh installs it")
    found, sent = _filtered()
    with tempfile.TemporaryDirectory() as name, nats_server() as server:
        links_per_s = asyncio.run(_links_per_s(Path(name), server.url))
    return {
        "exchange.foreign_links": (found, "links"),
        "exchange.sent": (sent, "links"),
        "exchange.sent_share": (sent / found, "of links"),
        "exchange.links_per_s": (links_per_s, "links/s"),
    }


def _filtered() -> tuple[int, int]:
    plan = make(WEB)
    owners = by_rendezvous([host.url.rstrip("/") for host in plan.hosts], ROBOTS)
    graph = Graph(plan)
    found = sent = 0
    with tempfile.TemporaryDirectory() as name:
        frontiers = [Frontier(Path(name) / robot) for robot in ROBOTS]
        for page in range(plan.pages):
            ours = owners[plan.host_of(page).number]
            foreign = [each for each in graph.links(page) if owners[plan.host_of(each).number] != ours]
            found += len(foreign)
            strangers = frontiers[ours].unfamiliar({url(plan, each) for each in foreign})
            for stranger in strangers:
                frontiers[ours].meet(stranger)
            sent += len(strangers)
        for frontier in frontiers:
            frontier.close()
    return found, sent


async def _links_per_s(directory: Path, address: str) -> float:
    frontiers = [Frontier(directory / robot) for robot in ("one", "two")]
    one, two = (
        Straight(address, robot, frontier, lambda: None)
        for robot, frontier in zip(("one", "two"), frontiers, strict=True)
    )
    one.start()
    two.start()
    async with asyncio.timeout(30):
        while True:
            await asyncio.sleep(0.01)
            if one.is_connected and two.is_connected:
                break
    one.learn({"http://news.example": "two"}, [])
    begun, arrived = time.monotonic(), 0
    for commit in range(COMMITS):
        for number in range(LINKS):
            one.offer(Link(f"http://news.example/{commit}/{number}.html", 3, 0, "http://blog.example/"))
        for straight, frontier in ((one, frontiers[0]), (two, frontiers[1])):
            arrived += len(straight.before_commit())
            frontier.commit(None)
            straight.after_commit()
        await asyncio.sleep(0)
    while arrived < COMMITS * LINKS or not one.is_empty:
        await asyncio.sleep(0.002)
        arrived += len(two.before_commit())
        frontiers[1].commit(None)
        two.after_commit()
    elapsed_s = time.monotonic() - begun
    for straight, frontier in ((one, frontiers[0]), (two, frontiers[1])):
        await straight.close()
        frontier.close()
    return arrived / elapsed_s


if __name__ == "__main__":
    for name, (value, unit) in figures().items():
        print(f"{name:<28} {value:>12,.2f} {unit}")
