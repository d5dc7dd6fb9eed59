from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.model import DAY_S
from joro.testweb.change import Changes, Process
from joro.testweb.plan import Plan, make
from joro.testweb.settings import EPOCH, Settings

PLAN = make(Settings(hosts=200, pages=3_000))
CHANGES = Changes(PLAN)
MOMENTS = st.floats(min_value=EPOCH, max_value=EPOCH + 400 * DAY_S)
PAGES = st.integers(0, PLAN.pages - 1)


def gaps(process: Process, days: float) -> list[float]:
    moments = process.between(EPOCH, EPOCH + days * DAY_S)
    return [later - earlier for earlier, later in itertools.pairwise(moments)]


def test_rates_have_the_planned_median_and_mean() -> None:
    rates = [rate for page in range(PLAN.pages) if (rate := CHANGES.rate_per_day(page)) > 0]
    assert 0.045 < statistics.median(rates) < 0.062
    assert 0.25 < statistics.mean(rates) < 0.45


def test_the_four_kinds_have_their_shares() -> None:
    kinds = Counter(CHANGES.kind(page) for page in range(PLAN.pages))
    assert kinds["steady"] / PLAN.pages == pytest.approx(0.20, abs=0.03)
    assert kinds["poisson"] / PLAN.pages == pytest.approx(0.55, abs=0.03)
    assert kinds["burst"] / PLAN.pages == pytest.approx(0.10, abs=0.03)
    assert kinds["cosmetic"] / PLAN.pages == pytest.approx(0.15, abs=0.03)


def test_a_poisson_process_keeps_its_rate_and_has_exponential_gaps() -> None:
    found = gaps(Process(7, 1, 2.0 / DAY_S, 1.0), days=5_000)
    mean = statistics.mean(found)
    assert mean == pytest.approx(DAY_S / 2, rel=0.03)
    assert statistics.pstdev(found) / mean == pytest.approx(1.0, abs=0.04)
    assert sum(gap > mean for gap in found) / len(found) == pytest.approx(math.exp(-1), abs=0.015)


def test_counts_of_a_poisson_process_have_the_variance_of_their_mean() -> None:
    process = Process(7, 2, 3.0 / DAY_S, 1.0)
    moments = process.between(EPOCH, EPOCH + 2_000 * DAY_S)
    per_day = Counter(int((moment - EPOCH) // DAY_S) for moment in moments)
    counts = [per_day[day] for day in range(2_000)]
    assert statistics.pvariance(counts) / statistics.mean(counts) == pytest.approx(1.0, abs=0.1)


def test_a_bursty_process_keeps_its_rate_but_not_its_calm() -> None:
    found = gaps(Process(7, 3, 2.0 / DAY_S, 5.0), days=5_000)
    assert statistics.mean(found) == pytest.approx(DAY_S / 2, rel=0.08)
    assert statistics.pstdev(found) / statistics.mean(found) > 1.5


@given(PAGES, MOMENTS)
def test_a_state_holds_from_its_change_to_the_next(page: int, now: float) -> None:
    state = CHANGES.state(page, now)
    assert state.since <= now < state.until
    assert CHANGES.state(page, (state.since + now) / 2) == state


@given(PAGES, MOMENTS, st.floats(0, 100 * DAY_S))
def test_a_version_differs_exactly_when_a_change_lies_between(page: int, now: float, later_s: float) -> None:
    changed = CHANGES.changes(page, now, now + later_s)
    first, second = CHANGES.state(page, now), CHANGES.state(page, now + later_s)
    assert (first != second) == bool(changed)


@given(PAGES, MOMENTS)
def test_only_the_decoration_of_a_cosmetic_page_changes(page: int, now: float) -> None:
    state = CHANGES.state(page, now)
    kind = CHANGES.kind(page)
    assert state.version == 0 or kind in ("poisson", "burst")
    assert state.advertisement == 0 or kind == "cosmetic"


def test_a_page_with_a_known_rate_changes_about_that_often() -> None:
    busy = [page for page in range(PLAN.pages) if 0.5 < CHANGES.rate_per_day(page) < 5]
    expected = sum(CHANGES.rate_per_day(page) for page in busy) * 100
    seen = sum(len(CHANGES.changes(page, EPOCH, EPOCH + 100 * DAY_S)) for page in busy)
    assert seen == pytest.approx(expected, rel=0.05)


def test_a_few_pages_vanish_but_none_on_the_first_day(plan: Plan) -> None:
    ends = [CHANGES.gone(page) for page in range(PLAN.pages)]
    assert 0.01 < sum(end < math.inf for end in ends) / PLAN.pages < 0.04
    assert min(ends) > EPOCH + DAY_S


def test_a_copy_changes_with_its_original(plan: Plan) -> None:
    copy = next(host for host in PLAN.hosts if host.copy_of >= 0)
    page = copy.first + copy.pages - 1
    assert CHANGES.rate_per_day(page) == CHANGES.rate_per_day(CHANGES.original(page))
    assert CHANGES.state(page, EPOCH) == CHANGES.state(CHANGES.original(page), EPOCH)
