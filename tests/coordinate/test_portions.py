from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from joro.coordinate import portions
from joro.coordinate.beat import Effort, Link
from joro.coordinate.portions import posts

KEYS = st.lists(st.tuples(st.binary(min_size=1, max_size=9), st.none() | st.binary(max_size=30)), min_size=1)


@given(
    st.dictionaries(st.sampled_from("abc"), KEYS),
    st.integers(0, 20).map(lambda count: [Link(f"http://x.example/{n}", 1) for n in range(count)]),
    st.lists(st.sampled_from("ab"), unique=True),
)
def test_nothing_is_lost_or_reordered_and_servers_go_last(
    changes: dict[str, portions.Keys], links: list[Link], released: list[str]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(portions, "PORTION_BYTES", 60)
        patch.setattr(portions, "PORTION_LINKS", 7)
        made = posts(5, changes, links, released, [])
    assert [post.number for post in made] == list(range(5, 5 + len(made)))
    told: dict[str, portions.Keys] = {}
    for post in made:
        for each in post.changes:
            told.setdefault(each.server, []).extend(each.keys)
    assert told == changes
    assert [link for post in made for link in post.links] == links
    assert [server for post in made[:-1] for server in post.released] == []
    assert (made[-1].released if made else []) == released


def test_a_little_of_everything_is_one_post_and_nothing_is_none() -> None:
    effort = Effort("a", 1, 2, 3)
    made = posts(1, {"a": [(b"sa", b"x")]}, [Link("http://b.example/", 1)], ["a"], [effort])
    assert len(made) == 1
    assert (len(made[0].changes), len(made[0].links), made[0].released) == (1, 1, ["a"])
    assert made[0].efforts == [effort]
    assert posts(1, {}, [], [], []) == []
