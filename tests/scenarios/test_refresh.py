"""Known pages are visited again: what counts as a change, what is archived, given up, and can be kept up."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pytest

from joro.archive.names import warcs
from joro.archive.read import CAPTURES, Record, capture_in, readable
from joro.robot import Robot
from joro.robot.planned import PlanReport
from joro.schedule import change
from joro.schedule.revisit import Revisiting
from joro.simulator.freshness import Course, crawl
from joro.simulator.learner import Learner
from joro.simulator.learner import Settings as Learning
from joro.simulator.world import RecordedWorld
from joro.store.frontier import Frontier
from joro.store.records import PageRecord
from joro.testweb.running import Running, separate
from joro.testweb.settings import Settings
from joro.url import fingerprint
from tests.scenarios.living import DAY_S, Life
from tests.scenarios.stage import done

pytestmark = pytest.mark.slow

#: One page of a server after another, without the pauses of real politeness: time is short here.
BRISK: dict[str, Any] = {"interval_s": 1.0, "per_address": 64, "address_interval_s": 0.0}
GONE_VISITS = 2

Row = dict[str, Any]
#: Type and status of a capture with a page's bytes.
WHOLE = ("response", 200)


@dataclass(frozen=True)
class Month:
    """Five weeks and more of a small web, and what was made of it."""

    web: Running
    life: Life
    records: dict[str, PageRecord]
    visits: dict[str, list[Row]]  # answers the servers gave, oldest first
    facts: dict[str, dict[str, Any]]
    news: set[str]  # front pages on which articles appear
    frozen: set[str]  # hosts whose validators never change


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Month]:
    settings = Settings(seed=12, hosts=30, pages=400, sizes="even", roles=("news",), speed=0.0)
    refresh = {
        "visits_per_day": 40,
        "first_interval_s": 2 * DAY_S,
        "least_interval_s": DAY_S / 2,
        "most_interval_s": 6 * DAY_S,
        "plan_every_s": DAY_S,
        "gone_visits": GONE_VISITS,
        "watch": False,
    }
    with separate(settings) as web:
        life = Life(web, tmp_path_factory.mktemp("month") / "c")
        life.live(life.days(35), refresh=refresh, politeness=BRISK)
        facts = {page["url"]: page for page in web.oracle.get("/pages")}
        news = {host["url"] for host in web.oracle.get("/hosts", role="news")}
        frozen = {host["name"] for host in web.oracle.get("/hosts") if host["validators"] == "frozen"}
        yield Month(web, life, records_in(life), visits_to(web, set(facts)), facts, news, frozen)


def records_in(life: Life) -> dict[str, PageRecord]:
    frontier = Frontier(life.path / "frontier" / "0-of-1", read_only=True)
    records = {record.url: record for record in frontier.all_visited()}
    frontier.abandon()
    return records


def visits_to(web: Running, urls: set[str]) -> dict[str, list[Row]]:
    visits: dict[str, list[Row]] = {}
    for row in web.oracle.get("/log"):
        if row["url"] in urls:
            visits.setdefault(row["url"], []).append(row)
    return visits


def main_text_changes(month: Month, url: str, visits: int) -> int:
    """How many of the first `visits` found another main text than the one before, as the servers see it."""
    is_news_front = url in month.news
    if month.facts[url]["kind"] not in ("poisson", "burst") and not is_news_front:
        return 0
    times = month.web.oracle.get("/changes", url=url)[url]
    seen = [row["virtual"] for row in month.visits[url] if row["status"] in (200, 304)][:visits]
    return sum(any(before < time <= now for time in times) for before, now in pairwise(seen))


def test_changes_of_the_main_text_count_and_others_do_not(month: Month) -> None:
    counted, true = {}, {}
    for url, record in month.records.items():
        if url not in month.facts or month.facts[url]["host"] in month.frozen:
            continue
        if record.upkeep is not None and record.upkeep.text:  # some say nothing at all
            history = change.unpack([record.upkeep.history])[0]
            counted[url] = int(history["changes"])
            true[url] = main_text_changes(month, url, int(history["visits"]) + 1)
    assert counted == true
    assert sum(true.values()) > 50
    redecorated = [url for url in true if month.facts[url]["kind"] == "cosmetic"]
    assert sum(len(month.web.oracle.get("/changes", url=url)[url]) for url in redecorated) > 50


def test_a_validator_that_never_changes_hides_a_page_for_one_visit_at_most(month: Month) -> None:
    rows = [month.visits[url] for url in month.visits if month.facts[url]["host"] in month.frozen]
    pairs = [pair for each in rows for pair in pairwise(row["status"] for row in each)]
    assert (304, 200) in pairs
    assert (304, 304) not in pairs


def test_what_did_not_change_is_archived_as_a_revisit_and_all_of_it_is_sound(month: Month) -> None:
    archive = month.life.path / "archive"
    captures: dict[str, list[Record]] = {}
    for name in warcs(archive):
        for record in readable(archive / name):
            if record.type in CAPTURES and record.url in month.facts:
                captures.setdefault(record.url, []).append(record)
    answers = {url: [row["status"] for row in rows] for url, rows in month.visits.items()}
    assert {url: [each.status for each in records] for url, records in captures.items()} == answers
    whole = {
        url: [
            capture_in(each).digest
            for each in captures[url]
            if each.type == "response" and each.status == 200
        ]
        for url in captures
    }
    assert all(one != other for each in whole.values() for one, other in pairwise(each))
    kinds = Counter((each.type, each.status) for records in captures.values() for each in records)
    assert min(kinds["revisit", 304], kinds["revisit", 200], kinds["response", 200]) > 20
    done("archive", "check", "-C", month.life.path)


def test_links_of_changed_pages_are_followed(month: Month) -> None:
    """Articles that appeared on front pages after these had been collected."""
    first = {url: month.visits[url][0]["virtual"] for url in month.news if url in month.visits}
    late = [
        article["url"]
        for front, seen in first.items()
        for article in month.web.oracle.get("/articles", host=month.facts[front]["host"], since=seen)
    ]
    assert sum(url in month.records and month.records[url].outcome == "ok" for url in late) > 10


def test_a_page_that_is_gone_is_looked_for_again_and_then_given_up(month: Month) -> None:
    given_up = 0
    for url, rows in month.visits.items():
        statuses = [row["status"] for row in rows]
        absences = statuses.count(410)
        if statuses[0] == 410 or not absences:
            continue
        record = month.records[url]
        assert record.outcome == "gone"
        assert statuses[-absences:] == [410] * absences
        assert (record.upkeep is None) == (absences == GONE_VISITS)
        assert record.upkeep is None or record.upkeep.absences == absences
        given_up += record.upkeep is None
    assert given_up > 0


def test_robots_that_are_killed_lose_no_date_and_come_back_no_sooner(tmp_path: Path) -> None:
    """All pages wish the same interval. A visit that the archive holds is never repeated inside it.

    Visits since the archive was last flushed are forgotten: nobody can know of them.
    """
    wished_s = 4 * DAY_S
    refresh: dict[str, Any] = {"plan_every_s": DAY_S, "watch": False}
    refresh |= dict.fromkeys(("first_interval_s", "least_interval_s", "most_interval_s"), wished_s)
    settings = Settings(seed=3, hosts=20, pages=160, sizes="even", roles=("normal",), speed=150_000.0)
    kills = []
    with separate(settings) as web:
        life = Life(web, tmp_path / "c")
        for number in (1, 2):
            life.live_and_be_killed(visited_by(web, 230 * number), refresh=refresh, politeness=BRISK)
            kills.append(life.now())
        life.live(lambda robot: robot.revisits >= settings.pages)
        visits = visits_to(web, {page["url"] for page in web.oracle.get("/pages")})
    assert undated(life) == []
    known = captured(life, set(visits))
    blur_s = 0.2 * settings.speed  # how far the clocks of two robots may be apart
    assert all(
        now - before > wished_s - blur_s for times in known.values() for before, now in pairwise(times)
    )
    forgotten = {url: len(rows) - len(known.get(url, ())) for url, rows in visits.items()}
    assert min(forgotten.values()) >= 0
    assert sum(forgotten.values()) <= len(kills) * settings.hosts * 2  # each server's, since the last commit
    assert sum(len(times) > 1 for times in known.values()) > settings.pages / 2


def captured(life: Life, urls: set[str]) -> dict[str, list[float]]:
    """When the archive says that pages were visited, in order."""
    archive, times = life.path / "archive", dict[str, list[float]]()
    for name in warcs(archive):
        for record in readable(archive / name):
            if record.type in CAPTURES and record.url in urls:
                times.setdefault(record.url, []).append(record.time)
    return {url: sorted(each) for url, each in times.items()}


def visited_by(web: Running, requests: int) -> Callable[[], bool]:
    return lambda: bool(web.oracle.get("/summary")["requests"] >= requests)


def undated(life: Life) -> list[str]:
    """Pages that ought to be visited again, and neither wait nor have a date."""
    frontier = Frontier(life.path / "frontier" / "0-of-1", read_only=True)
    dates = {(int(date["mark"]), int(date["version"])) for date in frontier.calendar.pop(math.inf, 10**6)}
    lost = [
        record.url
        for record in frontier.all_visited()
        if record.outcome in ("ok", "not modified")
        and (record.upkeep is None or (fingerprint(record.url), record.upkeep.version) not in dates)
        and frontier.queued(record.url) is None
    ]
    frontier.abandon()
    return lost


def test_too_few_sockets_are_told_at_once_and_with_longer_intervals_nothing_is_missed(tmp_path: Path) -> None:
    """120 pages wish a visit a minute. Answers take 4.5 s of virtual time: 9 sockets are the least."""
    wished_s, enough, short = 60.0, list[PlanReport](), list[PlanReport]()
    refresh: dict[str, Any] = {"plan_every_s": 30.0, "watch": False}
    refresh |= dict.fromkeys(("first_interval_s", "least_interval_s", "most_interval_s"), wished_s)
    settings = Settings(
        seed=3, hosts=60, pages=120, sizes="even", roles=("normal",), speed=30.0, latency_s=0.15, warm=True
    )
    with separate(settings) as web:
        life = Life(web, tmp_path / "c")
        life.live(noted(enough, revisits=120), fetch={"sockets": 60}, refresh=refresh, politeness=BRISK)
        cut_at = life.now()
        life.live(noted(short, revisits=180), fetch={"sockets": 6})
        visits = visits_to(web, {page["url"] for page in web.oracle.get("/pages")})
    first = short[0]
    assert enough[-1].bound > 6
    assert (first.is_revised, first.rule, first.sockets) == (True, "stretch", 6)
    assert first.bound > 6 >= first.bound_after
    assert [plan.missed for plan in short[1:]] == [0] * (len(short) - 1)
    least_s = 0.8 * wished_s * min(plan.strength for plan in short)
    later = [[row["virtual"] for row in rows if row["virtual"] > cut_at] for rows in visits.values()]
    assert all(now - before > least_s for times in later for before, now in pairwise(times))
    assert all(later)


def noted(rounds: list[PlanReport], revisits: int) -> Callable[[Robot], bool]:
    """Until so many pages were visited again; every planning round meanwhile is noted."""

    def is_over(robot: Robot) -> bool:
        report = robot.plan
        if report is not None and (not rounds or rounds[-1] is not report):
            rounds.append(report)
        return len(rounds) >= 3 and robot.revisits >= revisits

    return is_over


def test_pages_are_as_fresh_as_the_simulator_forecasts(tmp_path: Path) -> None:
    """Two weeks, 60 visits a day to 400 pages. The simulator has the same changes, and learns likewise."""
    refresh: dict[str, Any] = {
        "visits_per_day": 60,
        "first_interval_s": 3 * DAY_S,
        "least_interval_s": DAY_S / 2,
        "most_interval_s": 30 * DAY_S,
        "plan_every_s": DAY_S,
        "watch": False,
    }
    settings = Settings(seed=5, hosts=100, pages=400, sizes="even", roles=("normal",), speed=0.0, warm=True)
    with separate(settings) as web:
        life = Life(web, tmp_path / "c")
        life.live(life.days(14), refresh=refresh, politeness=BRISK)
        end = life.now()
        moments = [end - number * DAY_S / 3 for number in range(21)]
        live = mean(web.oracle.get("/freshness", at=moment)["share"] for moment in moments)
        world, days = population(web, end)
    assert abs(live - forecast(world, days, visits_per_day=60)) <= 0.03
    assert live > forecast(world, days, visits_per_day=1e-6) + 0.05  # pages seen once and left alone


def population(web: Running, end: float) -> tuple[RecordedWorld, float]:
    """All pages that stay, each from its first visit on, with their true changes; and the days since."""
    facts = {page["url"]: page for page in web.oracle.get("/pages") if page["gone"] is None}
    changes = web.oracle.get("/changes", until=end)
    starts = {url: rows[0]["virtual"] for url, rows in visits_to(web, set(facts)).items()}
    hosts = sorted({page["host"] for page in facts.values()})
    first = min(starts.values())
    moments = [
        [time - first for time in changes.get(url, []) if time > first]
        if facts[url]["kind"] in ("poisson", "burst")
        else []
        for url in starts
    ]
    counts = np.array([len(each) for each in moments])
    world = RecordedWorld(
        importance=np.ones(len(starts)),
        server=np.array([hosts.index(facts[url]["host"]) for url in starts]),
        born_s=np.array(list(starts.values())) - first,
        change_per_s=counts / (end - first),
        moments_s=np.concatenate(moments),
        first=np.concatenate([[0], np.cumsum(counts)]).astype(np.intp),
    )
    return world, (end - first) / DAY_S


def forecast(world: RecordedWorld, days: float, visits_per_day: float) -> float:
    """How fresh the simulator would keep pages in the last week, with the robot's settings above."""
    rule = Revisiting("optimal", shortest_s=DAY_S / 2, longest_s=30 * DAY_S)
    per_s = visits_per_day / DAY_S
    chooser = Learner(world.importance, world.server, per_s, Learning(rule=rule))
    return crawl(world, chooser, per_s, Course(days=days, measured_from=1 - 7 / days)).fresh
