from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from msgspec import structs

from joro.cli import joro
from joro.clock import FakeClock
from joro.config import from_tables
from joro.config.declare import YEAR_S
from joro.discover.arrivals import Arrivals
from joro.discover.watch import FRONT, INDEX, SITEMAP, Watched, watch
from joro.explainer.explainer import (
    Cycle,
    Decision,
    Explanation,
    Hidden,
    Keeping,
    Source,
    Standing,
    Step,
    duration,
    explain,
    moment,
)
from joro.indexer import index_new
from joro.model import DAY_S, FEED, Outcome, Visit
from joro.robot.sights import Sight, Sights
from joro.schedule import change
from joro.store.collection import Collection
from joro.store.frontier import Frontier
from joro.store.layout import set_share_count
from joro.store.orders import EMBARGO, EXCLUSION, LIFT, TAKEDOWN, Order, OrderBook
from joro.store.records import RobotsRecord, Upkeep
from joro.url import fingerprint
from tests.index.archived import archive, page

A = "http://a.example"
SEED, NEXT, LAST = f"{A}/", f"{A}/next", f"{A}/last"
NOW = 1_800_000_000.0
ROBOTS = b"User-agent: *\nDisallow: /private\nCrawl-delay: 30\n"


def collection(path: Path, **tables: dict[str, Any]) -> Collection:
    """The seed led to NEXT and that to LAST, which waits; robots.txt was read ten minutes ago."""
    made = Collection.create(path / "c", from_tables(tables))
    set_share_count(made.frontier, 1)
    frontier = Frontier(made.frontier / "0-of-1")
    for hops, (url, source) in enumerate([(SEED, ""), (NEXT, SEED), (LAST, NEXT)]):
        frontier.add([url], hops, found_on=source)
        frontier.settle(lambda _: 100)
        if url != LAST:
            page = frontier.take(A)
            assert page is not None
            frontier.done(Visit(page, NOW - 60, Outcome.OK if url == SEED else Outcome.TIMEOUT))
    frontier.server(A).ready_at = NOW + 12
    frontier.keep_robots(A, RobotsRecord(NOW - 600, 200, ROBOTS))
    frontier.commit(None)
    frontier.close()
    return made


@pytest.fixture
def known(tmp_path: Path) -> Collection:
    return collection(tmp_path)


def decision(found: Explanation, rule: str) -> tuple[bool | None, str]:
    return next((each.passes, each.reason) for each in found.decisions if each.rule == rule)


def test_the_chain_leads_from_the_seed_to_the_page(known: Collection) -> None:
    assert explain(known, LAST, NOW).chain == (Step(SEED, 0), Step(NEXT, 1), Step(LAST, 2))
    assert explain(known, SEED, NOW).chain == (Step(SEED, 0),)
    assert explain(known, f"{A}/unknown", NOW).chain == ()


@pytest.mark.parametrize("urgent", [True, False])
def test_a_page_that_waits_once_more_before_others_is_no_nearer_to_a_seed(
    known: Collection, urgent: bool
) -> None:
    frontier = Frontier(known.frontier / "0-of-1")
    frontier.wake()
    page = frontier.take(A)
    assert page is not None
    frontier.done(Visit(page, NOW - 60, Outcome.OK))
    frontier.commit(None)
    record = frontier.visited(fingerprint(LAST))
    assert record is not None
    assert frontier.wait_again(record, first=True, urgent=urgent)
    frontier.commit(None)
    frontier.close()
    found = explain(known, LAST, NOW)
    assert (found.state, found.chain[-1]) == ("waiting", Step(LAST, 2))
    assert "2 links from a seed" in decision(found, "scope")[1]


@pytest.mark.parametrize(
    ("url", "state"), [(SEED, "visited"), (NEXT, "visited"), (LAST, "waiting"), (f"{A}/x", "unknown")]
)
def test_a_page_is_unknown_or_waits_or_was_visited(known: Collection, url: str, state: str) -> None:
    assert explain(known, url, NOW).state == state


def test_programs_get_all_of_it_as_json(known: Collection) -> None:
    archive(known, page(SEED, "Title", "text", time=NOW - 60))
    told = json.loads(CliRunner().invoke(joro, ["explain", "-C", str(known.path), "--json", SEED]).stdout)
    assert told["state"] == "visited"
    assert [each["status"] for each in told["captures"]] == [200]


def test_the_robots_txt_line_that_decides_is_named_with_its_age(known: Collection) -> None:
    found = explain(known, f"{A}/private/x", NOW)
    passes, reason = decision(found, "robots.txt")
    assert passes is False
    assert "line 2: Disallow: /private" in reason
    assert "10 minutes ago" in reason
    assert found.refusal is not None
    assert found.refusal.rule == "robots.txt"
    assert found.due == "not due, as things are: robots.txt says no"


def test_politeness_tells_the_pause_its_reason_and_when_it_ends(known: Collection) -> None:
    pause = explain(known, LAST, NOW).politeness
    assert (pause.interval_s, pause.crawl_delay_s, pause.ready_at) == (30, 30, NOW + 12)
    assert "robots.txt wishes a Crawl-delay of 30 s" in pause.reasons


def test_a_pause_that_older_settings_promised_for_ever_ends(known: Collection) -> None:
    frontier = Frontier(known.frontier / "0-of-1")
    record = frontier.server(A)
    record.ended_at, record.ready_at = NOW - 60, math.inf
    frontier.commit(None)
    frontier.close()
    assert explain(known, LAST, NOW).politeness.ready_at == NOW - 60 + YEAR_S


def test_a_crawl_delay_that_nobody_obeys_is_not_told(tmp_path: Path) -> None:
    pause = explain(collection(tmp_path, politeness={"robots_txt": False}), LAST, NOW).politeness
    assert (pause.interval_s, pause.crawl_delay_s, pause.reasons) == (20, None, ())


def test_requests_in_a_row_are_told_unless_a_crawl_delay_forbids_them(tmp_path: Path) -> None:
    runs = {"run_pages": 5, "run_pause_s": 45, "robots_txt": False}
    pause = explain(collection(tmp_path / "a", politeness=runs), LAST, NOW).politeness
    assert pause.reasons == (
        "while its connection lives, 5 pages are asked for in a row, and then none for 45 s",
    )
    pause = explain(collection(tmp_path / "b", politeness=runs | {"robots_txt": True}), LAST, NOW).politeness
    assert pause.reasons == ("robots.txt wishes a Crawl-delay of 30 s",)


def test_a_waiting_page_is_due_when_its_server_is_ready(known: Collection) -> None:
    found = explain(known, LAST, NOW)
    assert (found.due_at, found.due) == (NOW + 12, "the next page of its server")


def test_a_window_that_is_closed_says_when_it_opens(tmp_path: Path) -> None:
    made = collection(tmp_path, politeness={"window": "daily 00:00-01:00"})
    found = explain(made, LAST, NOW)
    assert found.politeness.window == "daily 00:00-01:00"
    assert found.politeness.ready_at % 86_400 == 0


@pytest.mark.parametrize(
    ("scope", "url", "rule", "reason"),
    [
        ({"hops": 1}, LAST, "scope", "2 links from a seed, scope.hops = 1"),
        ({"exclude": ["*/x*"]}, f"{A}/x", "scope", "scope.exclude has '*/x*'"),
        ({"domains": ["b.example"]}, LAST, "scope", "outside scope.domains"),
        ({"pages_per_server": 3}, f"{A}/x", "quota", "3 pages of its server known"),
    ],
)
def test_the_rule_that_says_no_is_named(
    tmp_path: Path, scope: dict[str, Any], url: str, rule: str, reason: str
) -> None:
    found = explain(collection(tmp_path, scope=scope), url, NOW)
    assert found.refusal is not None
    assert found.refusal.rule == rule
    assert reason in found.refusal.reason


def ordered(made: Collection, act: str, target: str, value: str, **others: float) -> OrderBook:
    book = OrderBook(made.orders, FakeClock(NOW).now)
    book.give(Order(0, act, target, value, 0.0, **others))  # type: ignore[arg-type]
    return book


def left_out(made: Collection) -> None:
    """The turn of LAST came, and it was not asked for."""
    frontier = Frontier(made.frontier / "0-of-1")
    frontier.wake()
    page = frontier.take(A)
    assert page is not None
    frontier.done(Visit(page, NOW - 30, Outcome.UNWANTED))
    frontier.commit(None)
    frontier.close()


def test_an_order_about_robots_txt_is_named_by_every_page_of_the_server(known: Collection) -> None:
    book = ordered(known, EXCLUSION, "prefix", f"{A}/r")
    left_out(known)
    found = explain(known, LAST, NOW)
    assert found.refusal is not None
    assert found.refusal.reason.endswith(f"must not be: order 1 (exclusion of prefix {A}/r)")
    assert found.due == "not due, as things are: orders says no"
    book.give(Order(0, LIFT, "order", "1", 0.0))
    assert explain(known, LAST, NOW).refusal is None


def test_a_page_left_out_unread_is_not_said_to_have_unwanted_words(known: Collection) -> None:
    left_out(known)
    passes, reason = decision(explain(known, LAST, NOW), "wanted")
    assert (passes, reason) == (None, "left out unread, as an order or the scope said at that time")
    out = CliRunner().invoke(joro, ["explain", "-C", str(known.path), LAST]).output
    assert "Left out without a visit: unwanted." in out


def test_a_page_that_waits_under_an_order_is_not_due(known: Collection) -> None:
    ordered(known, TAKEDOWN, "url", LAST)
    found = explain(known, LAST, NOW)
    assert (found.due_at, found.due) == (None, "not due, as things are: orders says no")


@pytest.mark.parametrize("url", [SEED, NEXT, LAST])
def test_a_page_that_belongs_to_the_collection_no_more_is_not_due(tmp_path: Path, url: str) -> None:
    made = collection(tmp_path, scope={"exclude": [f"{A}/*"]})
    frontier = Frontier(made.frontier / "0-of-1")
    (record,) = [each for each in frontier.all_visited() if each.url == SEED]
    frontier.keep_page(structs.replace(record, upkeep=Upkeep(due=NOW + DAY_S, interval_s=DAY_S)))
    frontier.commit(None)
    frontier.close()
    found = explain(made, url, NOW)
    assert found.due_at is None
    assert found.due.endswith("scope says no")


def test_a_page_taken_down_is_hidden_and_on_disk_until_collected(known: Collection) -> None:
    archive(known, page(SEED, "A title", "words", time=NOW - 60), page(SEED, "Two", "more", time=NOW - 50))
    index_new(known)
    told = ["explain", "-C", str(known.path), SEED]
    assert f"Searchable as of {moment(NOW - 50)}." in CliRunner().invoke(joro, told).output
    ordered(known, TAKEDOWN, "url", SEED)
    order = f"order 1 (takedown of url {SEED})"
    found = explain(known, SEED, NOW)
    assert (found.captures, found.hidden) == ((), (Hidden(order, 2, True),))
    assert found.search == Standing(None, hidden_by=order)
    out = CliRunner().invoke(joro, told).output
    assert "0 versions are archived and shown." in out
    assert f"2 versions are hidden by {order}, and on disk until joro takedown collect." in out
    assert f"\nSearch\n  Hidden by {order}.\n" in out


def test_an_embargo_hides_some_versions_and_erases_none(known: Collection) -> None:
    archive(known, page(SEED, "A title", "words", time=NOW - 60), page(SEED, "Two", "more", time=NOW - 50))
    ordered(known, EMBARGO, "url", SEED, since=NOW - 55)
    found = explain(known, SEED, NOW)
    assert len(found.captures) == 1
    assert found.hidden == (Hidden(f"order 1 (embargo of url {SEED})", 1, False),)


def test_a_known_page_is_within_its_quota(tmp_path: Path) -> None:
    found = explain(collection(tmp_path, scope={"pages_per_server": 3}), LAST, NOW)
    assert decision(found, "quota")[0] is True


def test_a_private_address_is_refused_before_anyone_asks(known: Collection) -> None:
    assert decision(explain(known, "http://10.0.0.1/", NOW), "address")[0] is False
    assert decision(explain(known, "http://[::1]/", NOW), "address")[0] is False
    assert decision(explain(known, LAST, NOW), "address")[0] is None


def rules_kept(made: Collection, status: int) -> None:
    """The request for robots.txt ended so, ten minutes ago."""
    frontier = Frontier(made.frontier / "0-of-1")
    frontier.keep_robots(A, RobotsRecord(NOW - 600, status, b""))
    frontier.commit(None)
    frontier.close()


def test_a_name_that_led_to_a_private_address_is_refused_for_that(known: Collection) -> None:
    rules_kept(known, -1)
    found = explain(known, LAST, NOW)
    assert found.refusal == Decision("address", False, "its name led to a private or special address")
    assert decision(found, "robots.txt") == (None, "not asked for either, because of its address")
    assert found.due == "not visited when its turn comes: address says no"


@pytest.mark.parametrize(("status", "said"), [(0, "unreachable"), (-2, "no address"), (-3, "timeout")])
def test_why_robots_txt_could_not_be_had_is_told(known: Collection, status: int, said: str) -> None:
    rules_kept(known, status)
    passes, reason = decision(explain(known, LAST, NOW), "robots.txt")
    assert passes is False
    assert reason.endswith(f"(no answer: {said}, asked 10 minutes ago)")


def test_a_collection_that_never_crawled_can_be_asked(tmp_path: Path) -> None:
    made = Collection.create(tmp_path / "new", from_tables({}))
    found = explain(made, SEED, NOW)
    assert found.state == "unknown"
    assert found.refusal is None
    assert decision(found, "robots.txt") == (None, "not read yet; it will be before the first visit")


def test_asking_works_while_a_robot_has_the_frontier_open(known: Collection) -> None:
    robot = Frontier(known.frontier / "0-of-1")
    assert explain(known, LAST, NOW).state == "waiting"
    robot.close()


def test_a_page_kept_fresh_tells_how_often_it_changes_and_when_it_is_due(tmp_path: Path) -> None:
    made = collection(tmp_path)
    frontier = Frontier(made.frontier / "0-of-1")
    (record,) = [each for each in frontier.all_visited() if each.url == SEED]
    history = change.blank()
    for changed in (True, False, True, False):
        prior = np.ones((1, change.BINS), np.float32)
        likelihood = change.seen([DAY_S], [changed])
        history = change.observe(history, likelihood, prior, [DAY_S], [changed])
    care = Upkeep(due=NOW + DAY_S, interval_s=2 * DAY_S, history=change.pack(history)[0], failures=3)
    frontier.keep_page(structs.replace(record, upkeep=care))
    frontier.commit(None)
    frontier.close()
    found = explain(made, SEED, NOW)
    assert found.upkeep == Keeping(4, 2, 2 * DAY_S, NOW + DAY_S, 0, 3)
    assert found.due_at == NOW + DAY_S
    assert found.change_interval_s is not None
    assert 0.5 * DAY_S < found.change_interval_s < 5 * DAY_S


@pytest.mark.parametrize(
    ("care", "said"),
    [
        (Upkeep(failures=1), "Its last visit failed:"),
        (Upkeep(failures=3), "Its last 3 visits failed:"),
        (Upkeep(absences=1), "It was gone at its last visit."),
        (Upkeep(absences=2), "It was gone at its last 2 visits."),
    ],
)
def test_one_visit_that_found_nothing_is_one_visit(known: Collection, care: Upkeep, said: str) -> None:
    frontier = Frontier(known.frontier / "0-of-1")
    (record,) = [each for each in frontier.all_visited() if each.url == SEED]
    frontier.keep_page(structs.replace(record, upkeep=care))
    frontier.commit(None)
    frontier.close()
    assert said in CliRunner().invoke(joro, ["explain", "-C", str(known.path), SEED]).stdout


@pytest.mark.parametrize(("kind", "is_left_aside"), [(FEED, True), (FRONT, False)])
def test_what_joro_refresh_does_not_read_is_not_promised_of_it(
    tmp_path: Path, kind: str, is_left_aside: bool
) -> None:
    made = collection(tmp_path)
    frontier = Frontier(made.frontier / "0-of-1")
    (record,) = [each for each in frontier.all_visited() if each.url == SEED]
    frontier.keep_page(structs.replace(record, upkeep=Upkeep(due=NOW + DAY_S, interval_s=DAY_S, polled=True)))
    Sights(frontier.sources).keep(SEED, Sight(watch(kind, SEED, NOW)))
    frontier.commit(None)
    frontier.close()
    found = explain(made, SEED, NOW)
    assert found.due_at == NOW + DAY_S
    assert ("joro refresh" not in found.due) is is_left_aside


def watched_as(kind: str, readings: int) -> Watched:
    """New pages appeared at every hour's reading."""
    arrivals = Arrivals(float(readings), readings * 3_600.0)
    return structs.replace(watch(kind, SEED, NOW), readings=readings, arrivals=arrivals)


@pytest.mark.parametrize(
    ("kind", "readings", "said"),
    [
        (FEED, 3, "It is a feed."),
        (SITEMAP, 0, "It is to be read as a sitemap."),
        (INDEX, 1, "It is an index of sitemaps."),
        (FRONT, 30, "It is a front page, where new pages keep appearing."),
    ],
)
def test_what_kind_of_source_a_page_is_is_told(
    known: Collection, kind: str, readings: int, said: str
) -> None:
    frontier = Frontier(known.frontier / "0-of-1")
    Sights(frontier.sources).keep(SEED, Sight(watched_as(kind, readings)))
    frontier.commit(None)
    frontier.close()
    assert explain(known, SEED, NOW).source == Source(kind, readings)
    assert said in CliRunner().invoke(joro, ["explain", "-C", str(known.path), SEED]).stdout
    assert explain(known, LAST, NOW).source is None


def test_a_front_page_on_trial_is_no_source(known: Collection) -> None:
    frontier = Frontier(known.frontier / "0-of-1")
    Sights(frontier.sources).keep(SEED, Sight(watched_as(FRONT, 1)))
    frontier.commit(None)
    frontier.close()
    assert explain(known, SEED, NOW).source is None


@pytest.mark.parametrize(
    ("chosen", "languages"), [(["ja"], ("ja",)), (["de", "en"], ("en",)), (["de", "fr"], ()), ([], ())]
)
def test_the_cycle_of_a_page_s_server_is_told(
    tmp_path: Path, chosen: list[str], languages: tuple[str, ...]
) -> None:
    made = collection(tmp_path, refresh={"languages": chosen, "cycle_days": 20})
    frontier = Frontier(made.frontier / "0-of-1")
    frontier.server(A).languages = {"ja": 1, "en-GB": 2, "fr": 0}
    frontier.commit(None)
    frontier.close()
    assert explain(made, SEED, NOW).cycle == (Cycle(languages, 20) if languages else None)
    said = f"It has pages in {', '.join(languages)} (refresh.languages): all its pages are wished at least"
    out = CliRunner().invoke(joro, ["explain", "-C", str(made.path), SEED]).stdout
    assert (f"{said} once in 20 days." in out) is bool(languages)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (119, "119 s"), (120, "2 minutes"), (7_200, "2 hours"), (2e5, "2 days")]
)
def test_durations_are_told_in_the_largest_fitting_unit(seconds: float, text: str) -> None:
    assert duration(seconds) == text
