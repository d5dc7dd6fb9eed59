import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.coordinate.split import Part, home, split
from joro.errors import UsageError

NAMES = st.lists(st.sampled_from(["a", "b", "c"]), max_size=4)
DIRECTORIES = NAMES.map(lambda names: "/" + "".join(f"{name}/" for name in names))
SERVERS = st.dictionaries(DIRECTORIES, st.floats(0.1, 1e6), min_size=1, max_size=8)


def part_of(path: str, parts: list[Part]) -> int:
    """The number of the part that a page belongs to."""
    owners = {directory: number for number, part in enumerate(parts) for directory in part.directories}
    return owners[home(path, owners)]


def test_two_robots_ask_half_as_often_each() -> None:
    parts = split({"/a/": 50.0, "/b/": 50.0}, 2, interval_s=20)
    assert sorted(part.kb for part in parts) == [50.0, 50.0]
    assert [part.interval_s for part in parts] == [40.0, 40.0]


def test_a_directory_that_is_too_big_is_opened() -> None:
    parts = split({"/": 1.0, "/a/": 1.0, "/a/x/": 49.0, "/a/y/": 49.0}, 2, interval_s=20)
    assert [part.kb for part in parts] == [50.0, 50.0]
    assert part_of("/a/x/1.html", parts) != part_of("/a/y/1.html", parts)


def test_what_is_new_belongs_to_the_part_that_has_the_directory_around_it() -> None:
    parts = split({"/": 1.0, "/a/": 50.0, "/b/": 50.0}, 2, interval_s=20)
    assert part_of("/new/page.html", parts) == part_of("/", parts)
    assert part_of("/a/new/page.html", parts) == part_of("/a/", parts)


@given(SERVERS, st.integers(1, 6), st.floats(0.1, 100))
def test_the_total_rate_is_kept(sizes_kb: dict[str, float], parts: int, interval_s: float) -> None:
    rates = [1 / part.interval_s for part in split(sizes_kb, parts, interval_s)]
    assert math.isclose(sum(rates), 1 / interval_s)


@given(SERVERS, st.integers(1, 6))
def test_every_directory_has_one_part_and_no_byte_is_lost(sizes_kb: dict[str, float], parts: int) -> None:
    made = split(sizes_kb, parts, interval_s=20)
    assert 1 <= len(made) <= parts
    named = [directory for part in made for directory in part.directories]
    assert len(named) == len(set(named))
    weights = [0.0] * len(made)
    for directory, kb in sizes_kb.items():
        weights[part_of(directory + "page.html", made)] += kb
    assert all(math.isclose(weight, part.kb) for weight, part in zip(weights, made, strict=True))


@given(SERVERS, st.integers(1, 6), DIRECTORIES)
def test_every_page_belongs_somewhere(sizes_kb: dict[str, float], parts: int, directory: str) -> None:
    made = split(sizes_kb, parts, interval_s=20)
    assert 0 <= part_of(directory, made) < len(made)


@pytest.mark.parametrize(
    ("sizes_kb", "parts"), [({}, 2), ({"/": 0.0}, 2), ({"a": 1.0}, 2), ({"/": 1.0}, 0), ({"/": -1.0}, 2)]
)
def test_what_cannot_be_split_is_said(sizes_kb: dict[str, float], parts: int) -> None:
    with pytest.raises(UsageError):
        split(sizes_kb, parts, interval_s=20)
