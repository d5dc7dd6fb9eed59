"""How much may move, in all?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.manager.allowance import DAY_S, Allowance, renew, renewed, spend, spent
from joro.store.control import Control
from tests.manager.robots import register

FIVE = {name: 1.0 for name in "abcde"}
SIX = FIVE | {"f": 1.0}


def test_a_sixth_robot_may_move_a_quarter_of_the_servers() -> None:
    left = renewed(Allowance(0.0, 10.0, FIVE), SIX, 10.0)
    assert left.left == 0.25
    assert left.servers(600) == 150


def test_one_that_was_away_is_new_again() -> None:
    assert renewed(Allowance(0.0, 10.0, SIX), SIX | {"f": 2.0}, 10.0).left == 0.25
    assert renewed(Allowance(0.0, 10.0, SIX), FIVE, 10.0).left == 0.0


def test_when_everyone_has_enough_little_is_left() -> None:
    assert spent(Allowance(0.25, 10.0, SIX), 0.1, is_settled=False).left == pytest.approx(0.15)
    assert spent(Allowance(0.25, 10.0, SIX), 0.1, is_settled=True).left == pytest.approx(0.5 / 6)


def test_what_was_spent_comes_back_in_a_day() -> None:
    empty = Allowance(0.0, 0.0, FIVE)
    assert renewed(empty, FIVE, DAY_S / 2).left == pytest.approx(0.05)
    assert renewed(empty, FIVE, 9 * DAY_S).left == pytest.approx(0.1)


def test_of_few_servers_one_may_move_where_it_is_nearly_that() -> None:
    assert [Allowance(0.25).servers(count) for count in (1, 2, 6, 8)] == [0, 1, 1, 2]


@given(st.lists(st.floats(0.0, 0.3), max_size=144), st.integers(2, 20))
def test_no_robot_moves_two_shares_on_the_day_it_comes(wishes: list[float], robots: int) -> None:
    crew = {str(number): 0.0 for number in range(robots)}
    left = Allowance(0.0, 0.0, {str(number): 0.0 for number in range(robots - 1)})
    moved = 0.0
    for look, wish in enumerate(wishes):
        left = renewed(left, crew, look * 600.0)
        moved += min(wish, left.left)
        left = spent(left, min(wish, left.left), is_settled=False)
    assert moved < 2 / robots or robots == 2


def test_what_is_left_is_noted(control: Control) -> None:
    register(control, "a", "b")
    with control.transaction() as transaction:
        transaction.run("UPDATE robots SET state = 'up', up_since = 5")
        assert renew(transaction).left == 1.0
        spend(transaction, 0.3, is_settled=False)
    with control.transaction() as transaction:
        assert renew(transaction).left == pytest.approx(0.7)
