from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from joro.testweb.chance import Stream, draw, normal, source, uniform

NUMBERS = st.integers(min_value=-(2**63), max_value=2**63)


def test_a_number_is_the_same_today_and_tomorrow() -> None:
    assert draw(7, Stream.HOST, 1, 2) == 12115710097403024777


@given(NUMBERS, NUMBERS)
def test_uniform_numbers_lie_in_the_unit_interval(first: int, second: int) -> None:
    assert 0.0 <= uniform(7, Stream.PAGE, first, second) < 1.0


def test_streams_do_not_share_numbers() -> None:
    assert len({draw(7, stream, 5) for stream in Stream}) == len(Stream)


def test_normal_numbers_have_mean_0_and_deviation_1() -> None:
    numbers = [normal(7, Stream.RATE, page) for page in range(4_000)]
    assert abs(sum(numbers) / 4_000) < 0.05
    assert abs(math.sqrt(sum(number**2 for number in numbers) / 4_000) - 1) < 0.05


def test_two_sources_of_one_thing_agree() -> None:
    assert source(7, Stream.TEXT, 3).random() == source(7, Stream.TEXT, 3).random()
