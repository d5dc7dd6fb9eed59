from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.config import Politeness
from joro.fetch.politeness import LONGEST_WAIT_S, Manners, interval_s, retry_after_s, wait_s
from joro.model import Outcome, Page, Response, Visit
from joro.store.records import ServerRecord

SETTINGS = Politeness(interval_s=20.0, retry_wait_s=60.0, crawl_delay_limit_s=300.0)


def visit(outcome: Outcome, retry_after: str | None = None) -> Visit:
    headers = {} if retry_after is None else {"retry-after": retry_after}
    return Visit(Page("http://a/"), 1000.0, outcome, response=Response(503, b"", b"", headers))


def test_a_crawl_delay_longer_than_ours_is_kept_up_to_a_limit() -> None:
    assert interval_s(SETTINGS, None) == 20
    assert interval_s(SETTINGS, 5) == 20
    assert interval_s(SETTINGS, 45) == 45
    assert interval_s(SETTINGS, 86_400) == 300


def test_retry_after_is_obeyed_in_seconds_and_as_a_date() -> None:
    assert wait_s(SETTINGS, visit(Outcome.THROTTLED, "120"), None, 1) == 120
    assert retry_after_s("Thu, 01 Jan 1970 00:20:00 GMT", now=1000.0) == 200
    assert retry_after_s("60, 90, 60", now=1000.0) == 90  # said in several lines


def test_retry_after_cannot_make_us_ruder_or_keep_us_away_for_ever() -> None:
    assert wait_s(SETTINGS, visit(Outcome.THROTTLED, "1"), None, 1) == 20
    assert wait_s(SETTINGS, visit(Outcome.THROTTLED, "99999999999"), None, 1) == LONGEST_WAIT_S


@pytest.mark.parametrize("junk", ["", "soon", "-5", "1.5", "١٢", "Thu, 99 Foo 2026"])
def test_a_retry_after_that_is_neither_is_ignored(junk: str) -> None:
    assert retry_after_s(junk, now=0.0) is None


def test_every_failure_in_a_row_doubles_the_wait() -> None:
    waits = [wait_s(SETTINGS, visit(Outcome.TIMEOUT), None, failures) for failures in (1, 2, 3)]
    assert waits == [60, 120, 240]


@given(st.sampled_from(Outcome), st.integers(0, 500), st.none() | st.floats(0, 1e6), st.text(max_size=12))
def test_never_sooner_than_the_interval_never_later_than_a_day(
    outcome: Outcome, failures: int, delay: float | None, retry_after: str
) -> None:
    wait = wait_s(SETTINGS, visit(outcome, retry_after), delay, failures)
    assert SETTINGS.interval_s <= wait <= LONGEST_WAIT_S


@given(
    st.lists(st.floats(1.0, 30.0), min_size=1, max_size=5),
    st.floats(0.0, 100.0),
    st.floats(0.0, 60.0),
    st.integers(1, 4),
)
def test_robots_that_share_a_server_ask_it_together_as_often_as_one(
    sizes: list[float], elapsed_s: float, delay_s: float, run_pages: int
) -> None:
    def cycle_s(stretch: float) -> float:
        """From the beginning of a run of visits to that of the next one."""
        manners = Manners(replace(SETTINGS, run_pages=run_pages, suspend_after_s=0.0, fast_servers_percent=0))
        manners.stretch = lambda server: stretch
        record, now = ServerRecord(), 0.0
        for _ in range(run_pages):
            answer = Response(200, b"", b"")
            one = Visit(
                Page("http://a/", 0, "http://a"),
                now,
                Outcome.OK,
                response=answer,
                elapsed_s=elapsed_s,
                kept_alive=True,
            )
            now = manners.finished(record, one, delay_s or None, now + elapsed_s)
            if not record.run:
                break
        return now

    total = sum(sizes)
    rates = [1.0 / cycle_s(total / size) for size in sizes]
    assert sum(rates) == pytest.approx(1.0 / cycle_s(1.0))
