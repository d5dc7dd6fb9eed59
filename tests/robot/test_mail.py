from __future__ import annotations

import asyncio
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.coordinate.beat import Changes, Late, Link, Links
from joro.robot.mail import sound
from joro.store.collection import Collection
from tests.robot.test_member import collection, link, ours, runner

__all__ = ["collection", "runner"]

A, B = "http://a.example", "http://b.example"
GOOD = [Link(f"{A}/1", 1, 0, f"{B}/"), Link(f"{A}/seed", 0), Link(f"{A}/feed", 255, 255, f"{B}/", "feed")]


@pytest.mark.parametrize(
    "odd",
    [
        Link(f"{A}/2", -1),
        Link(f"{A}/2", 256),
        Link(f"{A}/2", 1, 256),
        Link(f"{A}/2", 1, -1),
        Link(f"{A}/2", 1, 0, "nowhere"),
        Link(f"{A}/2", 1, 0, "", "feed"),
        Link(f"{A}/2", 1, urgent=True),
        Link(f"{A}/2", 1, 0, f"{B}/", "riddle"),
        Link("nowhere", 1),
        Link("", 1),
        Link(f"{A}/../2", 1),
    ],
)
def test_a_link_that_nobody_can_follow_is_left_out_with_a_word(
    odd: Link, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert sound([GOOD[0], odd, *GOOD[1:]]) == GOOD
    assert caplog.messages == [f"1 links left out that nobody can follow, like {odd!r}"]


@given(st.lists(st.builds(Link, st.text(), st.integers(), st.integers(), st.text(), st.text())))
def test_whatever_another_machine_sends_only_what_is_sound_gets_through(links: list[Link]) -> None:
    assert sound([*links, *GOOD])[-3:] == GOOD
    assert all(link.url.startswith("http") and 0 <= link.hops <= 255 for link in sound(links))


def test_a_robot_goes_on_whatever_another_tells_of_its_servers(
    collection: Collection, runner: asyncio.Runner
) -> None:
    async def scenario() -> None:
        junk = [(b"p" + bytes(8), b"junk"), (b"q" + A.encode(), b"junk"), (b"s" + A.encode(), b"junk")]
        desk = await ours(collection, f"{A}/1")
        await desk.told(Late(Changes(A, list(junk))), Links([link(f"{A}/2")]))
        assert desk.waiting() == [f"{A}/1", f"{A}/2"]
        await desk.close()

    runner.run(scenario())
