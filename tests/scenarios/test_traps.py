"""Calendars, session ids, endless paths: each costs a few visits, and the honest pages come home."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from joro.url import server_of
from tests.scenarios.archived import responses
from tests.scenarios.stage import done, serve_web
from tests.scenarios.village import Site, linking, village

pytestmark = pytest.mark.slow


def test_each_trap_costs_less_than_two_hundred_visits(tmp_path: Path) -> None:
    with serve_web(tmp_path, "--hosts", 60, "--pages", 900, "--roles", "trap") as web:
        path = web.collection(tmp_path / "c", politeness={"interval_s": 0.0})
        done("crawl", "-C", path, *web.seeds, timeout=300)
        archived = set(responses(path))
        hosts = {host["url"].rstrip("/"): host for host in web.oracle.get("/hosts")}
        honest = {page["url"] for page in web.oracle.get("/pages")}
        extra = Counter(server_of(url) for url in archived - honest)
        traps = {url: extra[url] for url, host in hosts.items() if host["role"] == "trap"}
        assert len(traps) >= 5
        assert max(traps.values()) < 200, traps
        reachable = set(web.oracle.get("/reachable"))
        assert len(reachable - archived) <= len(reachable) // 50


class Wildcard(dict[str, Site]):
    """Every name under `trap.example` is a host with one page, which leads to five others."""

    def __missing__(self, host: str) -> Site:
        chance = random.Random(host)
        names = [f"http://{chance.getrandbits(40):010x}.trap.example/" for _ in range(5)]
        return {"/": linking(*names, head=f"<meta name=description content='{chance.random()}'>")}


@pytest.mark.parametrize("processes", [1, 2])
def test_a_domain_that_has_every_name_costs_little_and_keeps_nobody_else_waiting(
    tmp_path: Path, processes: int
) -> None:
    good = {"/": linking(*(f"/{number}" for number in range(40)))}
    good |= {f"/{number}": linking() for number in range(40)}
    with village(Wildcard({"good.example": good})) as place:
        collection = place.collection(tmp_path / "c", politeness={"interval_s": 0.05})
        seeds = ("http://www.trap.example/", "http://good.example/")
        done("crawl", "-q", "-C", collection, "-p", processes, *seeds)
    assert len(place.paths("good.example")) == 41
    trapped = [row for row in place.rows if row["host"].endswith("trap.example")]
    assert 30 < len(trapped) < 200 * processes
    said = done("explain", "-C", collection, "http://more.trap.example/")
    assert "first pages of servers of trap.example" in " ".join(said.split())
