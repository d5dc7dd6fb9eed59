from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from joro.schedule.lines import Lines
from joro.schedule.turns import Turns

HERE = "192.0.2.1"


def in_line(*servers: str) -> Turns:
    """Servers that were sent away from one address, which is free at 10."""
    turns = Turns()
    for server in servers:
        turns.enter(server, 0.0)
        assert turns.take(0.0) == server
        turns.give_back(server, 10.0, HERE)
    return turns


def test_only_the_first_in_line_has_a_turn() -> None:
    turns = in_line("a", "b", "c")
    assert (len(turns), turns.next_ready_at()) == (1, 10.0)
    assert [turns.take(99.0), turns.take(99.0)] == ["a", None]


def test_who_comes_later_may_not_pass_those_in_line() -> None:
    turns = in_line("a", "b")
    assert [turns.may_pass(server, HERE) for server in ("a", "b", "new")] == [True, False, False]
    assert turns.may_pass("new", "192.0.2.2")


def test_the_next_comes_when_the_first_was_let_in() -> None:
    turns = in_line("a", "b", "c")
    turns.take(10.0)
    turns.passed("a", HERE, 12.0)
    assert (turns.next_ready_at(), turns.take(12.0), turns.take(99.0)) == (12.0, "b", None)


def test_the_first_keeps_its_place_when_it_is_sent_away_once_more() -> None:
    turns = in_line("a", "b")
    turns.take(10.0)
    turns.give_back("a", 11.0, HERE)
    assert (turns.take(10.9), turns.take(11.0)) == (None, "a")


def test_the_first_comes_when_a_visit_has_ended_and_not_when_it_was_expected_to() -> None:
    turns = in_line("a", "b")
    turns.freed(HERE, 14.0)
    assert (turns.take(13.9), turns.take(14.0)) == (None, "a")
    turns.passed("a", HERE, 16.0)
    turns.freed(HERE, 15.0)
    assert turns.take(15.0) == "b"


def test_who_leaves_makes_room_for_the_next_whether_waiting_or_busy() -> None:
    turns = in_line("a", "b", "c", "d")
    turns.leave("b")
    turns.leave("a")
    assert turns.take(10.0) == "c"
    turns.give_back("c", None)  # it had no page any more
    assert turns.take(10.0) == "d"


def test_who_waits_for_something_else_is_no_longer_in_line() -> None:
    turns = in_line("a", "b")
    turns.take(10.0)
    turns.give_back("a", 500.0)  # its hours have ended
    assert turns.take(10.0) == "b"
    turns.passed("b", HERE, 12.0)
    assert HERE not in turns.crowded


def test_who_moved_to_another_address_stands_in_line_there() -> None:
    turns = in_line("a", "b")
    turns.take(10.0)
    turns.give_back("a", 11.0, "192.0.2.2")
    assert turns.may_pass("b", HERE)
    assert not turns.may_pass("b", "192.0.2.2")


def test_new_pages_do_not_let_a_server_out_of_its_line() -> None:
    turns = in_line("a", "b")
    turns.enter("b", 0.0)
    assert turns.take(9.0) is None


def test_nothing_is_kept_of_a_line_nobody_stands_in() -> None:
    lines = Lines()
    for server in ("a", "b"):
        lines.join(server, HERE, 1.0)
    assert (lines.leave("a"), lines.leave("b"), lines.leave("b")) == (("b", 1.0), None, None)
    assert (len(lines), lines.by_name, lines._free_at) == (0, {}, {})


def test_those_that_came_last_to_the_longest_line_are_far_from_their_turn() -> None:
    lines = Lines()
    for number in range(20):
        lines.join(f"long{number}", HERE, 1.0)
        lines.join(f"other{number // 4}", "192.0.2.2", 1.0)
    assert lines.last(3) == ["long19", "long18", "long17"]
    assert len(lines.last(99)) == 4
    assert Lines().last(3) == []


@given(st.lists(st.integers(1, 9), min_size=1, max_size=30), st.floats(0.0, 3.0))
def test_all_are_let_in_as_they_came_each_after_a_pause_and_for_two_turns_a_visit(
    arrivals: list[int], visit_s: float
) -> None:
    """One address, 2 s of rest between visits; servers come one after the other and are visited once."""
    turns, now, free_at, spent, order = Turns(), 0.0, 0.0, 0, list[str]()
    for number, wait in enumerate(arrivals):
        turns.enter(str(number), float(sum(arrivals[:number]) * wait % 7))
    while len(turns):
        now = max(now, turns.next_ready_at())
        server = turns.take(now)
        assert server is not None
        spent += 1
        if now < free_at or not turns.may_pass(server, HERE):
            turns.give_back(server, max(free_at, now), HERE)
            continue
        turns.passed(server, HERE, now + 2.0)
        now, free_at = now + visit_s, now + visit_s + 2.0
        turns.freed(HERE, free_at)
        turns.give_back(server, None)
        order.append(server)
    starts = [float(sum(arrivals[:number]) * wait % 7) for number, wait in enumerate(arrivals)]
    assert order == [str(number) for number in sorted(range(len(arrivals)), key=lambda one: starts[one])]
    assert spent <= 2 * len(arrivals)


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abcdef"),
            st.sampled_from(["sent away", "visited", "done", "left", "new"]),
            st.integers(0, 3),
        ),
        max_size=60,
    )
)
def test_nobody_overtakes_is_lost_or_waits_for_ever(steps: list[tuple[str, str, int]]) -> None:
    """Whatever happens to servers at one address, all that have not left are let in, in their order."""
    turns, now, line, inside = Turns(), 0.0, list[str](), set[str]()
    for server, event, passed_s in steps:
        now += passed_s
        if event == "new" and server not in inside:
            turns.enter(server, now)
            inside.add(server)
        elif event == "left" and server in inside:
            turns.leave(server)
            inside.remove(server)
            line = [one for one in line if one != server]
        elif (taken := turns.take(now)) is not None:
            assert line.count(taken) == 0 or line[0] == taken
            if event == "sent away" or not turns.may_pass(taken, HERE):
                line += [taken] if taken not in line else []
                turns.give_back(taken, now + 1.0, HERE)
                continue
            turns.passed(taken, HERE, now + 1.0)
            line = [one for one in line if one != taken]
            turns.give_back(taken, now + 1.0 if event == "visited" else None)
            inside -= {taken} if event != "visited" else set()
    let_in = set[str]()
    while (taken := turns.take(now + 9.0)) is not None:
        if turns.may_pass(taken, HERE):
            assert line[:1] in ([], [taken])
            line = line[1:]
            turns.passed(taken, HERE, now)
            turns.give_back(taken, None)
            let_in.add(taken)
        else:
            line.append(taken)
            turns.give_back(taken, now, HERE)
    assert (let_in, line) == (inside, [])
