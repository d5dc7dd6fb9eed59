"""Servers whose robots.txt redirects to another one, whose turn it is read in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import uvloop

from joro.clock import FakeClock, RealClock
from joro.config import Archive, Config, Fetch, Politeness, Scope
from joro.coordinate.share import Share
from joro.fetch.exclusion import Errand
from joro.model import Outcome, Page, Response, Visit
from joro.parse.rights import TDM_FILE
from joro.robot import Robot
from joro.robot.arrivals import Arrival
from joro.store.collection import Collection
from joro.store.frontier import Frontier
from joro.store.orders import EXCLUSION, Order
from tests.scenarios.village import Reply, Site, Village, linking, village

A, B = "a.example", "b.example"
SITES: dict[str, Site] = {
    A: {
        "/robots.txt": Reply(status=301, fields=(("Location", f"http://{B}/robots.txt"),)),
        "/": linking("/2"),
        "/2": linking(),
    },
    B: {"/robots.txt": Reply("", fields=(("Content-Type", "text/plain"),)), "/": linking()},
}


def crawl(place: Village, path: Path, *orders: Order, **more: Any) -> dict[str, str]:
    """What became of the pages of A."""
    fetch = Fetch(hosts={"*": "127.0.0.1"}, ports={"80": place.port}, allow_addresses=("127.0.0.0/8",))
    manners = Politeness(interval_s=0.0, address_interval_s=0.0, retry_wait_s=0.1)
    collection = Collection.create(path / "c", Config(fetch=fetch, politeness=manners, **more))

    async def scenario() -> None:
        robot = Robot(collection, RealClock())
        for order in orders:
            robot._orders.give(order)
        await robot.collect([f"http://{A}/"])

    uvloop.run(scenario())
    frontier = Frontier(path / "c" / "frontier" / "0-of-1", read_only=True)
    assert frontier.waiting == 0
    return {record.url: record.outcome for record in frontier.all_visited()}


def test_a_robots_txt_that_lies_where_an_order_forbids_to_ask_is_out_of_reach(tmp_path: Path) -> None:
    with village(SITES) as place:
        visited = crawl(place, tmp_path, Order(0, EXCLUSION, "host", B, 0.0))
    assert visited == {f"http://{A}/": Outcome.UNREACHABLE.value}
    assert [row["url"] for row in place.rows] == [f"http://{A}/robots.txt"]


def test_a_server_that_only_keeps_the_rules_of_another_is_asked_for_nothing_else(tmp_path: Path) -> None:
    scope = Scope(domains=(A,), exclude=(f"*://{B}/*",))
    with village(SITES) as place:
        visited = crawl(place, tmp_path, scope=scope, archive=Archive(tdmrep=True))
    assert visited.keys() == {f"http://{A}{path}" for path in ("/", "/2", TDM_FILE)}
    assert [row["path"] for row in place.log(B)] == ["/robots.txt"]


def test_a_server_whose_rules_another_brings_is_asked_for_its_own_once_it_has_pages(tmp_path: Path) -> None:
    sites = SITES | {A: {**SITES[A], "/2": linking(f"http://{B}/")}}
    with village(sites) as place:
        visited = crawl(place, tmp_path)
    assert visited[f"http://{B}/"] == Outcome.OK.value
    assert [row["path"] for row in place.log(B)] == ["/robots.txt", "/robots.txt", "/"]


def test_what_a_server_reserves_is_not_asked_for_where_the_operator_excludes_it(tmp_path: Path) -> None:
    with village(SITES) as place:
        scope = Scope(exclude=("*/.well-known/*",))
        visited = crawl(place, tmp_path, scope=scope, archive=Archive(tdmrep=True))
    assert visited.keys() == {f"http://{A}/", f"http://{A}/2"}


def test_a_server_has_the_pauses_it_asked_for_whichever_process_asks_it(tmp_path: Path) -> None:
    collection, clock = Collection.create(tmp_path / "c", Config()), FakeClock(1_000_000.0)
    ours = next(f"http://{n}.example" for n in range(99) if Share(0, 2).owner(f"http://{n}.example") == 0)
    asked = Response(503, b"HTTP/1.1 503 X\r\n\r\n", b"", {"retry-after": "3600"})

    async def scenario() -> float:
        host, guest = (Robot(collection, clock, share=Share(number, 2)) for number in range(2))
        at_host, at_guest = host._visitor.guests, guest._visitor.guests
        assert at_host is not None
        assert at_guest is not None
        host._gate.enter([ours])
        assert host._gate.take() == ours
        at_host.enter(ours, clock.now())
        at_host.leave(ours, clock.now())
        page = Page(f"{ours}/robots.txt", 0, ours)
        visit = Visit(page, clock.now(), Outcome.THROTTLED, response=asked)
        host._take_in([Arrival(visit, None, Errand(page.url, ours))])
        at_guest.enter(ours, clock.now())
        await clock.advance(1.0)
        free_at = at_guest.enter(ours, clock.now())
        for robot in (host, guest):
            robot.stop()
            await robot.collect([])
        return free_at

    assert uvloop.run(scenario()) == 1_003_600.0
