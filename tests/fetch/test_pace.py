from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.fetch.pace import Pace, noted, standing
from joro.model import Outcome, Page, Response, Truncated, Visit


def visit(
    outcome: Outcome = Outcome.OK, size: int = 0, elapsed_s: float = 1.0, cut: Truncated | None = None
) -> Visit:
    response = Response(200, b"", b"x" * size, truncated=cut)
    return Visit(Page("http://a/"), 0.0, outcome, response=response, elapsed_s=elapsed_s)


def test_speed_is_the_mean_of_the_last_ten_that_got_through() -> None:
    recent = b""
    for size in (999_999, *[1_000] * 5, *[3_000] * 5):
        recent = noted(recent, visit(size=size))
    assert standing(recent) == (2_000.0, 0)
    assert len(recent) == 40


@pytest.mark.parametrize("outcome", [Outcome.TIMEOUT, Outcome.UNREACHABLE, Outcome.MALFORMED])
def test_an_error_counts_among_the_last_ten_but_not_in_the_speed(outcome: Outcome) -> None:
    recent = noted(noted(b"", visit(size=500)), visit(outcome))
    assert standing(recent) == (500.0, 1)


@pytest.mark.parametrize("cut", [Truncated.TIME, Truncated.DISCONNECT])
def test_an_answer_cut_off_is_an_error_too(cut: Truncated) -> None:
    assert standing(noted(b"", visit(size=500, cut=cut))) == (0.0, 1)


def test_an_answer_we_cut_ourselves_is_none() -> None:
    assert standing(noted(b"", visit(size=500, cut=Truncated.LENGTH))) == (500.0, 0)


@pytest.mark.parametrize("outcome", [Outcome.NO_ADDRESS, Outcome.FORBIDDEN_ADDRESS, Outcome.DISALLOWED])
def test_without_a_request_nothing_is_noted(outcome: Outcome) -> None:
    assert noted(b"", visit(outcome)) == b""


def test_before_the_first_request_there_is_no_speed() -> None:
    assert standing(b"") == (None, 0)


def test_nobody_is_fast_before_there_is_anyone_to_compare_with() -> None:
    pace = Pace(20)
    for _ in range(49):
        pace.note(1_000.0)
    assert not pace.is_fast(1e9)
    pace.note(1_000.0)
    assert pace.is_fast(1e9)


def test_a_fifth_of_the_servers_is_fast() -> None:
    pace = Pace(20)
    speeds = [1_000.0 * 1.1**place for place in range(100)]
    for speed in random.Random(1).sample(speeds, 100):
        pace.note(speed)
    assert [pace.is_fast(speed) for speed in speeds] == [False] * 80 + [True] * 20


def test_servers_that_are_all_alike_are_not_all_fast() -> None:
    pace = Pace(20)
    for _ in range(1_000):
        pace.note(5_000.0)
    assert not pace.is_fast(5_000.0)


def test_what_was_fast_once_is_forgotten() -> None:
    pace = Pace(20)
    for speed in [1e6] * 20_000 + [1e3, 1e4] * 40_000:
        pace.note(speed)
    assert not pace.is_fast(1e4)
    for speed in [1e3, 1e3, 1e3, 1e3, 1e3, 1e4] * 20_000:
        pace.note(speed)
    assert pace.is_fast(1e4)


@given(st.integers(0, 100), st.lists(st.floats(0, 1e12), min_size=50, max_size=200))
def test_never_more_than_the_wanted_share_is_fast(percent: int, speeds: list[float]) -> None:
    pace = Pace(percent)
    for speed in speeds:
        pace.note(speed)
    assert sum(map(pace.is_fast, speeds)) <= len(speeds) * percent / 100
