from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from joro.clock import FakeClock
from joro.config import Refresh
from joro.model import DAY_S
from joro.robot.planned import combined, last_report
from joro.robot.planner import Planner
from joro.schedule.cycle import dues_at
from joro.schedule.plan import wish
from joro.schedule.sockets import Pool
from joro.schedule.turns import Turns
from joro.store.frontier import Frontier
from joro.store.queue import URGENT
from joro.store.records import PageRecord, Upkeep
from joro.url import fingerprint

SERVERS = [f"http://{number}.example" for number in range(20)]
SETTINGS = Refresh(enabled=True, plan_every_s=600.0)


@pytest.fixture
def frontier(tmp_path: Path) -> Iterator[Frontier]:
    """Twenty servers whose pages wish a visit every ten seconds in all; each takes four."""
    made = Frontier(tmp_path)
    for server in SERVERS:
        record = made.server(server)
        record.download_s = record.longest_download_s = 4.0
    yield made
    made.close()


def planner(frontier: Frontier, sockets: int, clock: FakeClock | None = None) -> Planner:
    made = Planner(frontier, SETTINGS, clock or FakeClock(5.0), sockets=sockets, minimum_s=lambda *_: 1.0)
    for server in SERVERS:
        wish(frontier.server(server).wishes, 10.0, 1.0)
    frontier.commit(None)
    return made


def test_enough_sockets_keep_everything_as_wished(frontier: Frontier) -> None:
    report = planner(frontier, sockets=50).round()
    assert (report.bound, report.is_revised) == (8, False)
    assert report.need == pytest.approx(8.0)
    assert report.visits_per_day == pytest.approx(20 * 8_640)


def test_too_few_are_told_with_figures_before_and_after(frontier: Frontier) -> None:
    planning = planner(frontier, sockets=6)
    report = planning.round()
    assert report.is_revised
    assert report.bound == 8 > 6 >= report.bound_after
    assert report.visits_per_day_after < report.visits_per_day
    assert "cut to" in str(report)


def test_revised_intervals_are_longer_by_the_strength_told(frontier: Frontier) -> None:
    planning = planner(frontier, sockets=6)
    report = planning.round()
    assert planning.page_intervals_s(np.array([1], np.uint64), [10.0], [1.0])[0] == pytest.approx(
        10.0 * report.strength
    )


def test_what_is_told_of_thinned_pages_is_what_they_get_whatever_they_weigh(frontier: Frontier) -> None:
    """Ten pages of a server wish a visit in ten seconds, each; it bears one in five."""
    chosen = replace(SETTINGS, policy="uniform", when_infeasible="thin", important=("*",), importance=2)
    planning = Planner(frontier, chosen, FakeClock(5.0), sockets=50, minimum_s=lambda *_: 1.0)
    for _ in range(10):
        wish(frontier.server(SERVERS[0]).wishes, 10.0, 2.0)
    frontier.commit(None)
    report, name = planning.round(), np.array([fingerprint(SERVERS[0])], np.uint64)
    assert report.visits_per_day_after == pytest.approx(86_400 / 5)
    assert planning.page_intervals_s(name, [10.0], [2.0])[0] == pytest.approx(50.0)


def test_visits_that_pages_do_not_take_while_they_fail_are_left_to_the_others(frontier: Frontier) -> None:
    """Of a hundred pages sixty fail, and are asked for once in sixty days: one visit a day of eleven."""
    for number in range(100):
        failures, days = (3, 60) if number < 60 else (0, 9)
        care, server = Upkeep(interval_s=days * DAY_S, failures=failures), SERVERS[number % 20]
        frontier.keep_page(PageRecord(f"{server}/{number}", 1, 1.0, "ok", 200, upkeep=care))
        wish(frontier.server(server).wishes, care.interval_s, 1.0)
    frontier.commit(None)
    settings = replace(SETTINGS, policy="uniform", visits_per_day=11)
    planning = Planner(frontier, settings, FakeClock(5.0), sockets=50, minimum_s=lambda *_: 1.0)
    planning.round()
    assert planning.policy.price == pytest.approx(4 * DAY_S)  # what each of forty waits


def test_visits_missed_are_told_once(frontier: Frontier) -> None:
    planning = planner(frontier, sockets=50)
    frontier.server(SERVERS[0]).missed = 3
    frontier.commit(None)
    first = planning.round()
    frontier.commit(None)
    assert (first.missed, planning.round().missed) == (3, 0)


def test_what_a_server_missed_is_remembered_until_the_next_round(frontier: Frontier) -> None:
    planning = planner(frontier, sockets=50)
    frontier.server(SERVERS[0]).missed = 3
    lately = []
    for _ in range(3):
        frontier.commit(None)
        planning.round()
        lately.append(frontier.server(SERVERS[0]).missed_lately)
    assert lately == [3, 0, 0]


def test_a_budget_beyond_what_can_be_paid_for_is_told_with_both_figures(frontier: Frontier) -> None:
    asked = replace(SETTINGS, visits_per_day=10_000_000)
    planning = Planner(frontier, asked, FakeClock(5.0), sockets=50, minimum_s=lambda *_: 20.0)
    for server in SERVERS[:2]:
        wish(frontier.server(server).wishes, 86_400.0, 1.0)
    frontier.commit(None)
    report = planning.round()
    assert report.asked_per_day == 1e7
    assert report.affordable_per_day == pytest.approx(48.0)  # two pages, every hour
    assert report.is_overdrawn
    assert "kept as wished" not in str(report)
    assert "10,000,000 are asked for, 48 can be made" in str(report)


def test_a_budget_that_can_be_paid_for_is_kept_without_a_word(frontier: Frontier) -> None:
    report = planner(frontier, sockets=50).round()
    assert not report.is_overdrawn
    assert "asked for" not in str(report)


@pytest.mark.parametrize(("asked", "told"), [(0, False), (1_000, True), (170_000, False)])
def test_visits_beyond_what_is_asked_for_are_told_with_both_figures(
    frontier: Frontier, asked: int, told: bool
) -> None:
    """Sources of twenty servers are read 172,800 times a day, whatever the budget of pages."""
    made = planner(frontier, sockets=50)
    made._settings = replace(SETTINGS, visits_per_day=asked, least_interval_s=1.0)
    text = str(made.round())
    assert "172,800 visits a day to 20 servers, kept as wished" in text
    assert (f"({asked:,} are asked for; second visits, watched sources" in text) is told


def test_the_server_hardest_hit_is_told(frontier: Frontier) -> None:
    planning = planner(frontier, sockets=50)
    wish(frontier.server(SERVERS[0]).wishes, 1.0, 1.0)  # 1.1 visits a second; it bears one in five
    frontier.commit(None)
    report = planning.round()
    assert (report.servers_revised, report.strength) == (1, 1.0)
    assert report.most_revised == pytest.approx(5.5, rel=1e-4)
    assert "(stretch, all intervals by one factor: 1 server 5.5 times less often)" in str(report)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("stretch", "(stretch, all intervals by one factor: 1 server "),
        ("floor", "(floor, the shortest intervals: 1 server "),
        ("thin", "(thin, the least important pages: 1 server "),
    ],
)
def test_the_rule_is_named_where_one_server_gives_way(frontier: Frontier, rule: str, said: str) -> None:
    planning = planner(frontier, sockets=50)
    planning._settings = replace(SETTINGS, when_infeasible=rule)
    wish(frontier.server(SERVERS[0]).wishes, 1.0, 1.0)
    frontier.commit(None)
    assert said in str(planning.round())


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("stretch", r"\(stretch \d\.\d+, all intervals by one factor\)"),
        ("floor", r"\(floor \d+ s, the shortest intervals\)"),
        ("thin", r"\(thin \d\.\d+, the least important pages\)"),
    ],
)
def test_the_rule_is_named_with_its_strength_where_all_give_way(
    frontier: Frontier, rule: str, said: str
) -> None:
    planning = planner(frontier, sockets=6)
    planning._settings = replace(SETTINGS, when_infeasible=rule)
    assert re.search(said, str(planning.round()))


def test_visits_that_became_dearer_are_not_called_a_rule(frontier: Frontier) -> None:
    planning = planner(frontier, sockets=50)
    wish(frontier.server(SERVERS[0]).wishes, 1.0, 1.0)
    frontier.commit(None)
    report = structs.replace(planning.round(), servers_priced=1)
    assert report.how == "1 server 5.5 times less often, by price"
    some = structs.replace(report, servers_revised=3)
    assert some.how.endswith(": 3 servers up to 5.5 times less often, 1 of them by price")


def test_a_round_is_due_when_its_time_has_come(frontier: Frontier) -> None:
    clock = FakeClock(5.0)
    planning = planner(frontier, sockets=50, clock=clock)
    assert not planning.is_due
    clock._now = 605.0
    assert planning.is_due


def test_dates_stand_when_prices_were_steady_for_a_day_and_are_looked_at_again_when_not(
    frontier: Frontier,
) -> None:
    clock = FakeClock(5.0)
    planning = planner(frontier, sockets=50, clock=clock)
    shares = []
    for hour in range(40):
        clock._now = 3_600.0 * hour
        planning.sockets = 6 if 30 <= hour < 32 else 50  # for two hours everything is stretched
        planning.round()
        shares.append(planning.looked_at_share)
    assert shares[:24] == [0.6] * 24
    assert shares[24:30] == [1.0] * 6
    assert min(shares[30:]) < 1.0


def test_the_last_report_is_remembered_over_a_restart(frontier: Frontier) -> None:
    report = planner(frontier, sockets=6).round()
    assert last_report(frontier) is None
    frontier.commit(None)
    assert last_report(frontier) == report


def test_the_plans_of_several_robots_add_up(frontier: Frontier) -> None:
    report = planner(frontier, sockets=6).round()
    sum_of = combined([report, structs.replace(report, strength=report.strength + 1)])
    assert (sum_of.bound, sum_of.sockets, sum_of.servers) == (16, 12, 40)
    assert sum_of.strength == report.strength + 1


def test_servers_whose_pages_wish_nothing_rank_last(frontier: Frontier) -> None:
    planning = planner(frontier, sockets=50)
    planning.round()
    assert planning.rank("http://new.example", 0.0) == math.inf
    assert planning.rank(SERVERS[0], 0.0) < math.inf


def test_servers_with_urgent_pages_come_first_and_of_these_who_has_waited_longest(frontier: Frontier) -> None:
    planning = planner(frontier, sockets=50)
    for server in SERVERS:
        frontier.server(server).due = 1
    news = ["http://news.example", "http://flash.example"]  # one without wishes, one that wishes seldom
    wish(frontier.server(news[1]).wishes, 1e6, 1.0)
    frontier.add([f"{server}/article" for server in news], URGENT)
    frontier.settle(lambda _: 100)
    frontier.commit(None)
    planning.round()
    turns = Turns(planning)
    for number, server in enumerate([*SERVERS, *news]):
        turns.enter(server, 1e9 - number)  # news came last, but the last of all has waited longest
    assert [turns.take(2e9), turns.take(2e9)] == [news[1], news[0]]
    assert turns.take(2e9) in SERVERS


def test_a_round_goes_on_a_slice_at_each_call(frontier: Frontier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joro.robot.planner.SLICE", 8)
    clock = FakeClock(5.0)
    planning = planner(frontier, sockets=50, clock=clock)
    clock._now = 605.0
    planning.advance()
    planning.advance()
    assert planning.report is None
    planning.advance()
    assert planning.report is not None
    assert planning.report.servers == 20
    planning.advance()
    assert not planning.is_due


def test_slices_come_to_the_same_as_a_round_at_once(
    frontier: Frontier, monkeypatch: pytest.MonkeyPatch
) -> None:
    planning = planner(frontier, sockets=6)
    whole = planning.round()
    monkeypatch.setattr("joro.robot.planner.SLICE", 3)
    assert structs.replace(planning.round(), price=whole.price) == whole


def test_discovery_has_its_least_share_and_the_plan_does_without_it(frontier: Frontier) -> None:
    report = planner(frontier, sockets=6).round()
    assert (report.sockets, report.for_discovery) == (6, 1)
    alone = Planner(
        frontier, SETTINGS, FakeClock(5.0), sockets=6, minimum_s=lambda *_: 1.0, discovers=False
    ).round()
    assert alone.for_discovery == 0
    assert alone.strength < report.strength


def test_a_server_is_visited_for_what_waits_there(frontier: Frontier) -> None:
    planning = planner(frontier, sockets=50)
    planning.round()
    assert planning.pool_of(SERVERS[0]) is Pool.DISCOVERY
    frontier.server(SERVERS[0]).due = 1
    assert planning.pool_of(SERVERS[0]) is Pool.REFRESH


def test_a_server_that_the_plan_had_to_slow_is_among_its_like(frontier: Frontier) -> None:
    frontier.server(SERVERS[0]).longest_download_s = 30.0
    planning = planner(frontier, sockets=50)
    report = planning.round()
    frontier.server(SERVERS[0]).due = frontier.server(SERVERS[1]).due = 1
    assert report.infeasible_servers == 1
    assert [planning.pool_of(server) for server in SERVERS[:2]] == [Pool.INFEASIBLE, Pool.REFRESH]


def test_servers_with_a_page_in_a_chosen_language_have_a_cycle(frontier: Frontier) -> None:
    frontier.server(SERVERS[0]).languages = {"ja": 1, "en": 7}
    frontier.server(SERVERS[1]).languages = {"en": 7}
    frontier.commit(None)
    settings = Refresh(enabled=True, languages=("ja",), cycle_days=3)
    planning = Planner(frontier, settings, FakeClock(5.0), sockets=9, minimum_s=lambda *_: 1.0)
    planning.round()
    names = np.array([fingerprint(server) for server in SERVERS[:2]], np.uint64)
    first, second = planning.cycle_dues(names, [1e6, 1e6]).tolist()
    assert first == dues_at(names[:1], 1e6, 3 * 86_400)[0]
    assert second == math.inf
