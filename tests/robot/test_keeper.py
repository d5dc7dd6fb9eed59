from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.clock import FakeClock
from joro.config import Refresh
from joro.model import Outcome, Page, Response, Visit
from joro.robot.keeper import TRUSTED_AFTER, Keeper, is_changed
from joro.robot.lessons import STATE, looked_at
from joro.robot.planner import Planner
from joro.robot.policy import Policy
from joro.schedule import change
from joro.store.calendar import entries
from joro.store.frontier import Frontier
from joro.store.records import PageRecord, Upkeep
from joro.url import fingerprint

A = "http://a.example"
URL = f"{A}/page"
HOUR = 3_600.0
#: Every page wishes a visit an hour, whatever the policy says.
HOURLY = Refresh(
    enabled=True, first_interval_s=HOUR, least_interval_s=HOUR, most_interval_s=HOUR, gone_visits=2
)
TEN_HOURLY = Refresh(enabled=True, least_interval_s=10 * HOUR, most_interval_s=10 * HOUR)


class Stage:
    """A keeper and its frontier, in time that passes when told to."""

    def __init__(self, path: Path, settings: Refresh = HOURLY) -> None:
        self.path, self.settings = path, settings
        self.now = 1_000_000.0
        self.open()

    def open(self, settings: Refresh | None = None) -> None:
        clock = FakeClock(self.now)
        self.clock = clock
        self.frontier = Frontier(self.path)
        chosen = settings or self.settings
        planner = Planner(self.frontier, chosen, clock, sockets=10, minimum_s=lambda *_: 1.0)
        self.keeper = Keeper(self.frontier, chosen, planner, clock)
        self.keeper.adopt()

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.clock._now = self.now

    def find(self) -> None:
        self.frontier.add([URL], 3)
        self.frontier.settle(lambda _: 100)
        self.frontier.commit(None)

    def visit(self, outcome: Outcome = Outcome.OK, digest: str = "one", main: int = 1, **fields: str) -> None:
        page = self.frontier.take(A)
        assert page is not None
        before = self.keeper.before(page)
        response = Response(200, b"", b"", fields) if outcome in (Outcome.OK, Outcome.NOT_MODIFIED) else None
        visit = Visit(page, self.now, outcome, response=response, elapsed_s=1.0)
        care = self.keeper.learn(visit, before, digest, main)
        self.frontier.done(visit, before.hops if before else None, care)
        self.commit()

    def commit(self) -> list[str]:
        due = self.keeper.bring_due()
        self.frontier.commit(None)
        self.frontier.wake()
        return due

    @property
    def record(self) -> PageRecord:
        record = self.frontier.visited(fingerprint(URL))
        assert record is not None
        return record

    @property
    def care(self) -> Upkeep:
        assert self.record.upkeep is not None
        return self.record.upkeep

    @property
    def missed(self) -> int:
        return self.frontier.server(A).missed


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path / "frontier")
    made.find()
    made.visit()
    yield made
    made.frontier.close()


def changes(stage: Stage) -> tuple[int, int]:
    history = change.unpack([stage.care.history])[0]
    return int(history["visits"]), int(history["changes"])


def come_due(stage: Stage, late_s: float = 0.0) -> None:
    """Let the page's hour pass; looks before it find it not due."""
    for _ in range(4):
        stage.pass_time(HOUR / 4 + 1)
        stage.commit()
    stage.pass_time(late_s)


@pytest.mark.parametrize(("version", "counts"), [(0, False), (1, True), (2, False)])
def test_a_date_counts_only_when_the_record_names_its_version(
    stage: Stage, version: int, counts: bool
) -> None:
    mark, server = fingerprint(URL), fingerprint(A)
    stage.frontier.calendar.push(entries(stage.now, mark, version, server, b""))
    stage.frontier.commit(None)
    stage.pass_time(1)
    assert stage.commit() == [A] * counts


def test_a_page_that_is_not_kept_fresh_is_never_due(stage: Stage) -> None:
    stage.frontier.keep_page(PageRecord(URL, 3, 5.0, "ok", 200))
    stage.frontier.commit(None)
    stage.pass_time(2 * HOUR)
    assert stage.commit() == []


def test_a_page_waits_again_when_its_interval_is_over_and_not_before(stage: Stage) -> None:
    stage.pass_time(HOUR - 10)
    assert (stage.commit(), stage.frontier.take(A)) == ([], None)
    stage.pass_time(20)
    assert stage.commit() == [A]
    page = stage.frontier.take(A)
    assert page is not None
    assert page.url == URL


def test_a_page_keeps_its_distance_from_the_seed(stage: Stage) -> None:
    come_due(stage)
    stage.visit()
    assert stage.record.hops == 3


def test_a_visit_on_time_misses_nothing(stage: Stage) -> None:
    come_due(stage, late_s=HOUR / 2)
    stage.visit()
    assert stage.missed == 0


def test_a_visit_two_intervals_late_missed_two(stage: Stage) -> None:
    come_due(stage, late_s=2.5 * HOUR)
    stage.visit()
    assert stage.missed == 2


def test_a_date_that_passed_while_no_robot_worked_is_missed_too(stage: Stage) -> None:
    stage.frontier.close()
    stage.pass_time(4.5 * HOUR)
    stage.open()
    stage.commit()
    stage.visit()
    assert stage.missed == 3


def test_a_plan_that_became_less_strict_makes_nobody_late(stage: Stage) -> None:
    """Put off by a plan of ten hours a page is in time, though an hour is the rule again by then."""
    come_due(stage)
    stage.visit()
    reopened(stage, TEN_HOURLY)
    stage.pass_time(HOUR + 1)
    assert stage.commit() == []
    reopened(stage, HOURLY)
    stage.pass_time(0.6 * 9 * HOUR)
    assert stage.commit() == [A]
    stage.visit()
    assert stage.missed == 0


def test_a_page_put_off_is_late_all_the_same_when_its_new_date_passes(stage: Stage) -> None:
    come_due(stage)
    stage.visit()
    reopened(stage, TEN_HOURLY)
    stage.pass_time(HOUR + 1)
    stage.commit()
    reopened(stage, HOURLY)
    stage.pass_time(0.6 * 9 * HOUR + 3.5 * HOUR)
    stage.commit()
    stage.visit()
    assert stage.missed == 3


def reopened(stage: Stage, settings: Refresh) -> None:
    stage.frontier.close()
    stage.open(settings)


def test_only_the_main_text_counts_as_a_change(stage: Stage) -> None:
    for digest, main in (("two", 1), ("three", 2), ("three", 2)):
        come_due(stage)
        stage.visit(digest=digest, main=main)
    assert changes(stage) == (3, 1)


def test_languages_chosen_later_are_found_on_pages_that_do_not_change(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joro.robot.keeper._language_of", lambda _: "ja")
    stage.frontier.server(A).validated = TRUSTED_AFTER
    come_due(stage)
    stage.visit(etag="x")
    assert stage.keeper.validators(stage.record)["etag"] == "x"
    reopened(stage, replace(HOURLY, languages=("ja",)))
    assert stage.keeper.validators(stage.record) == {}
    come_due(stage)
    stage.visit(etag="x")
    assert stage.frontier.server(A).languages == {"ja": 1}
    assert stage.keeper.validators(stage.record)["etag"] == "x"


def test_a_failure_teaches_nothing(stage: Stage) -> None:
    come_due(stage)
    stage.visit(Outcome.TIMEOUT, digest="", main=0)
    assert (stage.care.history, stage.record.outcome) == (b"", "timeout")


def redirected(stage: Stage, digest: str) -> None:
    come_due(stage)
    page = stage.frontier.take(A)
    assert page is not None
    before = stage.keeper.before(page)
    response = Response(302, b"", b"", {"location": "/login"})
    visit = Visit(page, stage.now, Outcome.REDIRECT, response=response, elapsed_s=1.0)
    stage.frontier.done(visit, 3, stage.keeper.learn(visit, before, digest, 0))
    stage.commit()


def test_a_redirect_says_nothing_about_change(stage: Stage) -> None:
    redirected(stage, "moved")
    redirected(stage, "moved elsewhere")
    assert (stage.care.history, stage.record.outcome) == (b"", "redirect")


def test_the_page_after_a_redirect_and_a_failure_is_compared_with_nothing(stage: Stage) -> None:
    redirected(stage, "moved")
    for outcome, digest in ((Outcome.TIMEOUT, ""), (Outcome.OK, "one"), (Outcome.OK, "one")):
        come_due(stage)
        stage.visit(outcome, digest=digest)
    assert changes(stage) == (1, 0)


def test_the_page_after_a_redirect_is_compared_with_nothing(stage: Stage) -> None:
    redirected(stage, "moved")
    come_due(stage)
    stage.visit()
    assert stage.care.history == b""
    come_due(stage)
    stage.visit(digest="two", main=2)
    assert changes(stage) == (1, 1)


def test_a_page_gone_is_looked_for_again_and_then_given_up(stage: Stage) -> None:
    come_due(stage)
    stage.visit(Outcome.GONE, digest="", main=0)
    assert stage.care.absences == 1
    come_due(stage)
    stage.visit(Outcome.GONE, digest="", main=0)
    assert (stage.record.upkeep, stage.record.outcome) == (None, "gone")
    assert stage.frontier.server(A).wishes == {}


def test_a_page_that_robots_txt_shuts_keeps_its_date(stage: Stage) -> None:
    come_due(stage)
    stage.visit(Outcome.DISALLOWED, digest="", main=0)
    assert stage.care.due == stage.now + HOUR


def test_a_crawl_that_keeps_nothing_fresh_forgets_no_history(stage: Stage) -> None:
    come_due(stage)
    stage.frontier.close()
    stage.open(Refresh(enabled=False))
    assert stage.keeper.learns
    stage.frontier.wake()
    stage.visit(digest="two", main=2)
    assert (changes(stage), stage.record.hops) == ((1, 1), 3)


def test_pages_collected_before_get_dates_spread_over_the_first_interval(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path)
    frontier.add([f"{A}/{number}" for number in range(50)], 0)
    frontier.settle(lambda _: 100)
    while (page := frontier.take(A)) is not None:
        frontier.done(Visit(page, 5.0, Outcome.OK))
    frontier.commit(None)
    frontier.close()
    stage = Stage(tmp_path)
    dates = [record.upkeep.due - stage.now for record in stage.frontier.all_visited() if record.upkeep]
    stage.frontier.close()
    assert len(dates) == 50
    assert min(dates) < HOUR / 5 < 4 * HOUR / 5 < max(dates) <= HOUR


@pytest.mark.parametrize("is_adopted", [True, False])
def test_no_page_waits_longer_for_its_second_visit_than_any_page_may(
    tmp_path: Path, is_adopted: bool
) -> None:
    daily = Refresh(enabled=True, most_interval_s=24 * HOUR)
    assert daily.first_interval_s > daily.most_interval_s
    stage = Stage(tmp_path / "frontier", Refresh() if is_adopted else daily)
    stage.find()
    if is_adopted:
        page = stage.frontier.take(A)
        assert page is not None
        stage.frontier.done(Visit(page, stage.now, Outcome.OK, response=Response(200, b"", b"", {})))
        stage.frontier.commit(None)
    else:
        stage.visit()
    reopened(stage, daily)
    assert stage.now < stage.care.due <= stage.now + 24 * HOUR
    stage.frontier.close()


def test_the_first_visit_to_an_adopted_page_is_no_change(tmp_path: Path) -> None:
    care = Upkeep(seen_at=5.0)
    page = Page(URL, server=A)
    visit = Visit(page, 9.0, Outcome.OK, response=Response(200, b"", b"", {}))
    assert is_changed(visit, care, "one", 1)  # so nobody may ask before there is a digest to compare with
    stage = Stage(tmp_path)
    stage.find()
    stage.visit()
    stage.frontier.keep_page(PageRecord(URL, 3, 5.0, "ok", 200, upkeep=Upkeep(seen_at=5.0)))
    stage.frontier.commit(None)
    assert stage.keeper.urge(URL)
    stage.commit()
    stage.visit(digest="two", main=2)
    history = stage.care.history
    stage.frontier.close()
    assert history == b""


@given(st.floats(0, 1e9), st.floats(1, 1e8), st.floats(0, 1))
def test_a_page_is_looked_at_again_before_its_visit_never_after(
    seen: float, interval: float, gone: float
) -> None:
    now, due = seen + 0.999 * gone * interval, seen + interval
    (look,) = looked_at(now, seen, np.array([due])).tolist()
    assert now <= look <= due


@pytest.mark.parametrize(("share", "due"), [(0.6, 1), (1.0, 2)])
def test_a_date_that_hardly_moved_stands_while_prices_are_steady(
    stage: Stage, share: float, due: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an hour none, three minutes less ten seconds, and six less twenty are left."""
    monkeypatch.setattr(Planner, "looked_at_share", share)
    state = np.zeros(3, STATE)
    state["weight"], state["visited_at"] = 1.0, stage.now - HOUR + np.array([0.0, 170.0, 340.0])
    popped = entries([stage.now] * 3, [1, 2, 3], 1, 7, state.view(f"V{STATE.itemsize}"))
    assert len(stage.keeper.sift(popped)) == due


def test_a_page_whose_first_visit_failed_is_tried_again_and_then_given_up(tmp_path: Path) -> None:
    made = Stage(tmp_path / "frontier", replace(HOURLY, gone_visits=3))
    made.find()
    made.visit(Outcome.TIMEOUT, digest="", main=0)
    assert (made.care.interval_s, made.care.absences) == (HOUR, 1)
    come_due(made)
    made.visit(Outcome.SERVER_ERROR, digest="", main=0)
    assert made.care.absences == 2
    come_due(made)
    made.visit(Outcome.TIMEOUT, digest="", main=0)
    assert made.record.upkeep is None
    made.frontier.close()


def test_a_page_whose_first_visit_failed_is_a_new_page_when_it_is_there(tmp_path: Path) -> None:
    made = Stage(tmp_path / "frontier")
    made.find()
    made.visit(Outcome.TIMEOUT, digest="", main=0)
    come_due(made)
    made.visit()
    assert (made.care.absences, made.care.history, made.care.body) == (0, b"", "one")
    assert sum(pages for pages, _ in made.frontier.server(A).wishes.values()) == 1
    made.frontier.close()


@pytest.mark.parametrize("outcome", [Outcome.GONE, Outcome.TIMEOUT, Outcome.DISALLOWED])
def test_a_page_taken_over_without_an_interval_gets_one_though_it_is_not_there(
    tmp_path: Path, outcome: Outcome
) -> None:
    made = Stage(tmp_path / "frontier")
    made.find()
    page = made.frontier.take(A)
    assert page is not None
    history = change.blank().tobytes()
    taken_over = Upkeep(seen_at=made.now - 5 * HOUR, due=made.now, history=history)
    made.frontier.done(Visit(page, made.now - 5 * HOUR, Outcome.OK), care=taken_over)
    made.frontier.commit(None)
    assert made.keeper.urge(URL)
    made.commit()
    made.visit(outcome)
    assert (made.care.interval_s, made.missed) == (HOUR, 0)
    assert made.care.due == pytest.approx(made.now + HOUR)
    assert sum(pages for pages, _ in made.frontier.server(A).wishes.values()) == 1
    made.frontier.close()


@pytest.mark.parametrize(("important", "weight"), [((), 1.0), (("*.example",), 4.0), (("b.example",), 1.0)])
def test_pages_of_important_servers_weigh_more(
    tmp_path: Path, important: tuple[str, ...], weight: float
) -> None:
    stage = Stage(tmp_path, replace(HOURLY, important=important))
    stage.find()
    stage.visit()
    assert stage.record.upkeep is not None
    assert stage.record.upkeep.weight == weight


def test_an_important_page_is_visited_more_often_than_another_that_changes_alike() -> None:
    policy = Policy(Refresh(visits_per_day=100, least_interval_s=HOUR))
    histories = change.blank(200)
    for _ in range(5):
        days = np.full(200, 3 * 24 * HOUR)
        histories = policy.learned(histories, days, np.random.default_rng(1).random(200) < 0.5)
    weights = np.repeat([1.0, 4.0], 100)
    policy.study(histories, weights, np.zeros((200, 2)), 50 / 86_400)
    wished = policy.intervals_s(histories, weights, np.zeros((200, 2)))
    assert np.median(wished[100:]) < 0.8 * np.median(wished[:100])


def dated_visits(path: Path, age_h: float, *, true: bool) -> Stage:
    """Hourly visits, each to a page changed so many hours before; a date may also stay as it is."""
    stage = Stage(path)
    stage.pass_time(1.7e9)  # dates of 1970 are nobody's
    stage.find()
    for number in range(7):
        if number:
            come_due(stage)
        modified_at = stage.now - age_h * HOUR if true else 1_000.0
        said = {"last-modified": formatdate(modified_at, usegmt=True)}
        stage.visit(Outcome.OK, str(number), number + 1, **said)
    return stage


def estimate_h(stage: Stage) -> float:
    assert stage.record.upkeep is not None
    history = change.unpack([stage.record.upkeep.history])
    even = np.full((1, change.BINS), 1 / change.BINS, np.float32)
    return float(1 / change.rate_per_s(change.posterior(history, even))[0] / HOUR)


def test_dates_that_come_true_tell_how_long_a_page_has_stood(tmp_path: Path) -> None:
    long_ago = dated_visits(tmp_path / "a", 0.95, true=True)
    just_now = dated_visits(tmp_path / "b", 0.05, true=True)
    assert long_ago.frontier.server(A).dated == (6, 0)
    assert estimate_h(long_ago) > 1.5 * estimate_h(just_now)


def test_dates_that_stay_while_pages_change_are_wrong_and_say_nothing(tmp_path: Path) -> None:
    lying = dated_visits(tmp_path / "a", 0.95, true=False)
    silent = dated_visits(tmp_path / "b", 0.05, true=False)
    assert lying.frontier.server(A).dated == (0, 6)
    assert estimate_h(lying) == estimate_h(silent)
