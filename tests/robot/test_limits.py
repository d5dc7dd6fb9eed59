"""Servers that would be asked for more than they bear, under `optimal`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from joro.clock import FakeClock
from joro.config import Refresh
from joro.model import DAY_S
from joro.robot.limits import Limits, Surcharge
from joro.robot.planner import Planner
from joro.schedule import change, prior
from joro.schedule.optimum import freshness
from joro.schedule.plan import Round, Timing, cells_of, wish
from joro.schedule.sockets import Pool
from joro.store.frontier import Frontier
from joro.store.records import PageRecord, Upkeep
from joro.url import fingerprint, server_of

BIG, SMALL = "http://big.example", [f"http://{number}.example" for number in range(40)]
PAGES, FEW, PAUSE_S = 3_000, 10, 300.0
#: Downloads take a second, so this is what a server bears.
LIMIT_PER_DAY = DAY_S / (PAUSE_S + 1.0)
SETTINGS = Refresh(enabled=True)


class World:
    """One large server and many small ones, whose pages have been watched for long."""

    def __init__(self, path: Path, settings: Refresh = SETTINGS) -> None:
        chance = np.random.default_rng(1)
        servers = [BIG] * PAGES + [server for server in SMALL for _ in range(FEW)]
        self.urls = [f"{server}/{number}" for number, server in enumerate(servers)]
        self.names = np.array([fingerprint(server) for server in servers], np.uint64)
        self.is_big = self.names == fingerprint(BIG)
        self.per_day = np.exp(chance.normal(np.log(0.1), 1.6, len(servers)))
        self.frontier = Frontier(path)
        self.clock = FakeClock(1e9)
        self.planner = Planner(self.frontier, settings, self.clock, sockets=200, minimum_s=lambda *_: PAUSE_S)
        self.histories = self._watched(chance)
        self._write(7 * DAY_S * np.ones(len(servers)))

    def _watched(self, chance: np.random.Generator) -> change.Histories:
        histories = change.blank(len(self.urls))
        for _ in range(15):
            away = np.clip(1.6 / self.per_day * chance.lognormal(0, 0.3, len(self.urls)), 1 / 24, 60)
            changed = chance.random(len(self.urls)) < -np.expm1(-self.per_day * away)
            histories = self.planner.policy.learned(histories, away * DAY_S, changed)
        return histories

    def _write(self, intervals_s: NDArray[np.float64]) -> None:
        said = prior.said(self.histories)
        packed, cells = change.pack(self.histories), cells_of(intervals_s, np.ones(len(self.urls)))
        for server in (BIG, *SMALL):
            record = self.frontier.server(server)
            record.wishes.clear()
            record.said, record.download_s, record.longest_download_s = (0.0, 0.0), 1.0, 1.0
        for number, url in enumerate(self.urls):
            care = Upkeep(interval_s=float(intervals_s[number]), body="it", history=packed[number])
            self.frontier.keep_page(PageRecord(url, 1, 0.0, "ok", 200, upkeep=care))
            record = self.frontier.server(server_of(url))
            wish(record.wishes, care.interval_s, 1.0, cells[number])
            record.said = tuple(np.add(record.said, said[number]).tolist())
        self.frontier.commit(None)

    def intervals_s(self) -> NDArray[np.float64]:
        """At which pages are visited."""
        return self.planner.page_intervals_s(self.names, self.wished_s(), np.ones(len(self.urls)))

    def wished_s(self) -> NDArray[np.float64]:
        said = prior.said(self.histories)
        others = np.maximum(self.planner.said_of(self.names) - said, [0.0, -np.inf])
        worth = self.planner.worth(self.names, np.ones(len(self.urls)))
        return self.planner.policy.intervals_s(self.histories, worth, others)

    def settle(self, rounds: int) -> None:
        """Plan round after round; meanwhile all pages are visited and wish anew."""
        for _ in range(rounds):
            self.clock._now += 30 * DAY_S
            self.planner.round()
            self._write(self.wished_s())


def test_a_server_with_more_pages_than_it_bears_is_kept_fresher_than_by_visiting_all_alike(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    world.settle(3)
    often = (DAY_S / world.intervals_s())[world.is_big]
    true = world.per_day[world.is_big]
    assert often.sum() == pytest.approx(LIMIT_PER_DAY, rel=0.1)
    as_many = often * min(1.0, LIMIT_PER_DAY / often.sum())
    alike = freshness(true, np.full(PAGES, LIMIT_PER_DAY / PAGES)).mean()
    assert freshness(true, as_many).mean() > alike + 0.015


def test_what_such_a_server_cannot_use_of_the_budget_is_given_to_others(tmp_path: Path) -> None:
    visits_per_day = 2 * LIMIT_PER_DAY  # of which the large one gets a half, though it has 88 % of the pages
    world = World(tmp_path, replace(SETTINGS, visits_per_day=int(visits_per_day)))
    world.settle(3)
    assert (DAY_S / world.intervals_s()).sum() == pytest.approx(visits_per_day, rel=0.07)


def test_a_price_of_its_own_is_told_as_what_was_wished_and_what_is_kept(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.settle(1)
    plan, report = world.planner.plan, world.planner.report
    assert plan is not None
    assert report is not None
    assert list(plan.priced) == [fingerprint(BIG)]
    assert plan.own == {}
    assert plan.priced[fingerprint(BIG)] > 5
    assert report.is_revised
    assert report.how.endswith("times less often, by price")
    assert world.planner.pool_of(BIG) is Pool.DISCOVERY  # nothing is due
    world.frontier.server(BIG).due = 1
    assert world.planner.pool_of(BIG) is Pool.INFEASIBLE


def test_pages_of_other_servers_are_worth_what_they_were(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.settle(1)
    worth = world.planner.worth(world.names, np.ones(len(world.names)))
    assert (worth[~world.is_big] == 1.0).all()
    assert (worth[world.is_big] < 1.0).all()


def test_more_pages_than_even_the_most_interval_allows_are_stretched_beyond_it(tmp_path: Path) -> None:
    world = World(tmp_path, replace(SETTINGS, most_interval_s=5 * DAY_S))  # 600 visits a day, it bears 287
    world.settle(2)
    often = (DAY_S / world.intervals_s())[world.is_big]
    assert often.sum() == pytest.approx(LIMIT_PER_DAY, rel=0.05)


def test_other_policies_have_no_price_and_stretch(tmp_path: Path) -> None:
    world = World(tmp_path, replace(SETTINGS, policy="uniform"))
    world.settle(1)
    assert world.planner.plan is not None
    assert world.planner.plan.priced == {}
    assert list(world.planner.plan.own) == [fingerprint(BIG)]


def test_a_server_that_is_to_be_left_alone_for_ever_has_no_price(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.planner._minimum_s = lambda server, _: np.inf if server == BIG else PAUSE_S
    world.settle(2)
    assert world.planner.plan is not None
    assert world.planner.plan.priced == {}
    assert np.isfinite(world.wished_s()).all()


def test_pages_that_came_to_wish_less_than_was_worked_out_are_offered_more(tmp_path: Path) -> None:
    planning = Round()
    planning.add(5, {320: (1_000, 1_000 / (5 * DAY_S))}, Timing(1.0, 1.0), PAUSE_S)
    load = float(planning.loads_per_s[0])
    before = Surcharge(np.array([5], np.uint64), np.array([3.0]), np.array([2 * load]), np.array([1.0]))
    corrections = []
    for elapsed_s in (0.0, 5 * DAY_S, 1e9):
        limits = Limits(planning, 3_600.0, np.zeros((1, 2)), np.ones(1))
        limits.learn(before, elapsed_s)
        corrections.append(float(limits._servers.correction[0]))
    assert corrections == pytest.approx([1.0, 0.5**0.5, 0.5**0.5])
