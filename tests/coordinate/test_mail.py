from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.coordinate.beat import Link
from joro.coordinate.mail import sound

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
