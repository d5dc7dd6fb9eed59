from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from joro.schedule.turns import Turns


def test_the_server_ready_first_comes_first() -> None:
    turns = Turns()
    turns.enter("b", 20.0)
    turns.enter("a", 10.0)
    assert [turns.take(30.0), turns.take(30.0), turns.take(30.0)] == ["a", "b", None]


def test_nobody_is_taken_before_its_time() -> None:
    turns = Turns()
    turns.enter("a", 10.0)
    assert turns.take(9.99) is None
    assert turns.next_ready_at() == 10.0


def test_a_busy_server_cannot_enter_again() -> None:
    turns = Turns()
    turns.enter("a", 0.0)
    turns.take(0.0)
    turns.enter("a", 0.0)
    assert turns.take(1.0) is None
    assert turns.is_busy("a")


def test_a_server_given_back_without_a_time_leaves() -> None:
    turns = Turns()
    turns.enter("a", 0.0)
    turns.take(0.0)
    turns.give_back("a", None)
    assert (len(turns), turns.next_ready_at(), turns.is_busy("a")) == (0, math.inf, False)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 100), st.booleans())))
def test_no_server_is_ever_out_twice(steps: list[tuple[str, float, bool]]) -> None:
    turns, out, now = Turns(), set[str](), 0.0
    for server, moment, give in steps:
        turns.enter(server, moment)
        now = max(now, moment)
        taken = turns.take(now)
        assert taken is None or taken not in out
        out |= {taken} if taken else set()
        if give and server in out:
            out.remove(server)
            turns.give_back(server, moment)
