from __future__ import annotations

import pytest

from joro.schedule.trust import Trust, age_s

NOW = 1_700_000_000.0


def test_a_server_never_compared_is_half_believed() -> None:
    assert Trust().share == 0.5


def test_words_that_come_true_build_trust_and_others_cost_it() -> None:
    honest = Trust().after(True, True).after(False, False).after(True, True)
    assert honest.share == 0.8
    assert honest.after(True, False).share == pytest.approx(4 / 6)


def test_a_date_gives_the_age_of_the_last_change() -> None:
    assert age_s(NOW - 3600, NOW, NOW) == 3600


@pytest.mark.parametrize("modified_at", [NOW + 3600, 0.0, -5.0, NOW])
def test_a_date_that_cannot_be_says_nothing(modified_at: float) -> None:
    assert age_s(modified_at, NOW, NOW) is None


def test_a_clock_a_little_ahead_is_forgiven() -> None:
    assert age_s(NOW + 60, NOW - 10, NOW) == 0
