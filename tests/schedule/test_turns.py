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


def ranked(**keys: float) -> Turns:
    turns = Turns(lambda server, _: keys[server])
    for server in keys:
        turns.enter(server, 0.0)
    return turns


def test_of_servers_that_are_ready_the_smallest_rank_comes_first() -> None:
    turns = ranked(a=3.0, b=1.0, c=2.0)
    assert [turns.take(5.0) for _ in range(4)] == ["b", "c", "a", None]


def test_no_rank_makes_a_server_ready_before_its_time() -> None:
    turns = Turns(lambda server, _: 0.0 if server == "late" else 1.0)
    turns.enter("late", 10.0)
    turns.enter("soon", 1.0)
    assert [turns.take(5.0), turns.take(5.0), turns.next_ready_at()] == ["soon", None, 10.0]


def test_servers_without_refreshing_come_last() -> None:
    assert ranked(discovery=math.inf, refresh=1e12).take(0.0) == "refresh"


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 100), st.booleans())))
def test_no_server_is_ever_out_twice_with_ranks_either(steps: list[tuple[str, float, bool]]) -> None:
    turns, out, now = Turns(lambda server, ready_at: -ready_at), set[str](), 0.0
    for server, moment, give in steps:
        turns.enter(server, moment)
        now = max(now, moment)
        taken = turns.take(now)
        assert taken is None or taken not in out
        out |= {taken} if taken else set()
        if give and server in out:
            out.remove(server)
            turns.give_back(server, moment)
