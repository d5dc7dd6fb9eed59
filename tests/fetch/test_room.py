from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from joro.fetch.room import Room


@dataclass(eq=False)
class Body:
    """A body of 100 bytes that comes in pieces of 10."""

    room: Room
    size: int = 0
    resumed: int = 0
    ended: bool = False

    def resume(self) -> None:
        self.resumed += 1

    def take(self) -> bool:
        taken = self.room.admits(self, 10)
        self.size += 10 if taken else 0
        return taken

    def end(self) -> None:
        self.ended = True
        self.room.leave(self)
        self.size = 0


@dataclass
class Later:
    calls: list[Callable[[], None]] = field(default_factory=list)

    def __call__(self, call: Callable[[], None]) -> None:
        self.calls.append(call)

    def run(self) -> None:
        calls, self.calls = self.calls, []
        for call in calls:
            call()


def rooms(limit_bytes: int, transfers: int) -> tuple[Room, Later]:
    later = Later()
    return Room(limit_bytes, transfers, later), later


def fill(*bodies: Body) -> None:
    """Let everyone take a piece in turn, ten times."""
    for _ in range(10):
        for each in bodies:
            each.take()


def test_everyone_has_a_share_for_sure() -> None:
    room, _ = rooms(200, 5)  # 20 bytes each, and 100 to compete for
    fill(Body(room), Body(room), Body(room))
    small = Body(room)
    assert (small.take(), small.take(), small.take()) == (True, True, False)


def test_one_big_body_goes_on_and_the_next_after_it() -> None:
    room, later = rooms(200, 5)
    first, second, third = bodies = [Body(room) for _ in range(3)]
    fill(*bodies)
    assert (first.size, second.size, third.size) == (60, 100, 50)  # `second` asked when all was taken
    second.end()
    later.run()
    assert (first.resumed, third.resumed) == (1, 1)
    fill(first)
    assert first.size > 100


def test_a_body_that_ends_while_it_waits_is_not_waited_for() -> None:
    room, later = rooms(200, 5)
    first, second, third = bodies = [Body(room) for _ in range(3)]
    fill(*bodies)
    second.end()
    first.end()
    later.run()
    assert (second.resumed, third.resumed > 0) == (0, True)


@given(st.lists(st.integers(0, 9), max_size=400))
def test_never_more_than_the_limit_and_one_body_is_held_and_everyone_ends(turns: list[int]) -> None:
    room, later = rooms(200, 10)
    bodies = [Body(room) for _ in range(10)]
    for turn in turns:
        if not bodies[turn].ended and bodies[turn].take() and bodies[turn].size == 100:
            bodies[turn].end()
        assert sum(each.size for each in bodies) <= 200 + 100
    for _ in range(200):
        for each in bodies:
            if not each.ended and each.take() and each.size == 100:
                each.end()
        later.run()
    assert all(each.ended for each in bodies)
