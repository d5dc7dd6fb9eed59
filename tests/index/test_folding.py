"""Laws of folding, whatever pages there are and whatever is sought."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joro.index import folding
from joro.index.folding import Marks, marks
from joro.index.query import Results, search
from joro.index.segment import Entry, Reader, Writer

WORDS = ("red", "green", "blue", "white")
#: Pages say up to six things, and belong to one of three groups of near copies, or to none.
PAGES = st.lists(
    st.tuples(st.lists(st.sampled_from(WORDS), max_size=6), st.sampled_from(range(4))), max_size=12
)


def marked(group: int) -> bytes:
    return bytes([group]) * 76 if group else b""


def indexed(folder: str, pages: list[tuple[list[str], int]]) -> Reader:
    writer = Writer(Path(folder))
    for number, (words, group) in enumerate(pages):
        writer.put(Entry(f"http://a/{number}", "", " ".join(words), 100.0 - number, mark=marked(group)))
    writer.commit()
    writer.close()
    return Reader(Path(folder))


def named(results: Results) -> list[str]:
    return [url for hit in results.hits for url in (hit.url, *hit.copies)]


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(PAGES, st.sampled_from(WORDS))
def test_every_page_that_answers_is_a_result_or_folded_into_one(
    pages: list[tuple[list[str], int]], word: str
) -> None:
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        reader = indexed(folder, pages)
        every, folded = search(reader, word, limit=50, every=True), search(reader, word, limit=50)
    assert {f"http://a/{number}" for number, (words, _) in enumerate(pages) if word in words} == {
        hit.url for hit in every.hits
    }
    assert sum(1 + hit.similar for hit in folded.hits) == every.total
    assert len(named(folded)) == len(set(named(folded)))
    assert set(named(folded)) <= {hit.url for hit in every.hits}
    groups = [pages[int(hit.url[9:])][1] for hit in folded.hits]
    assert sum(map(bool, groups)) == len(set(filter(None, groups)))


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(PAGES, st.sampled_from(WORDS), st.integers(1, 5))
def test_pages_of_results_hold_each_result_once(
    pages: list[tuple[list[str], int]], word: str, limit: int
) -> None:
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        reader = indexed(folder, pages)
        whole = [hit.url for hit in search(reader, word, limit=50).hits]
        parts = [search(reader, word, offset=start, limit=limit) for start in range(0, 20, limit)]
    assert [hit.url for part in parts for hit in part.hits] == whole


@settings(deadline=None, max_examples=25)
@given(PAGES, st.sets(st.integers(0, 11)), st.sampled_from(WORDS))
def test_what_is_hidden_is_neither_shown_nor_named_nor_counted(
    pages: list[tuple[list[str], int]], hidden: set[int], word: str
) -> None:
    def is_hidden(url: str, _time: float, _digest: str) -> bool:
        return int(url[9:]) in hidden

    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        results = search(indexed(folder, pages), word, limit=50, hidden=is_hidden)
    assert not {int(url[9:]) for url in named(results)} & hidden
    answering = sum(word in words and number not in hidden for number, (words, _) in enumerate(pages))
    assert sum(1 + hit.similar for hit in results.hits) == answering


def test_a_result_of_many_copies_names_some(
    filled_with: Callable[[list[tuple[list[str], int]]], Reader],
) -> None:
    (hit,) = search(filled_with([(["red"], 1)] * 80), "red").hits
    assert (hit.similar, len(hit.copies)) == (79, 5)


def test_results_behind_many_copies_are_found(
    filled_with: Callable[[list[tuple[list[str], int]]], Reader],
) -> None:
    reader = filled_with([*[(["red", "red"], 1)] * 200, (["red", "and", "much", "else"], 0)])
    results = search(reader, "red", limit=2)
    assert (results.total, [hit.similar for hit in results.hits]) == (2, [199, 0])


@pytest.mark.parametrize("at_once", [100_000, 3])
def test_copies_are_counted_in_portions(
    filled_with: Callable[[list[tuple[list[str], int]]], Reader],
    monkeypatch: pytest.MonkeyPatch,
    at_once: int,
) -> None:
    monkeypatch.setattr(folding, "COUNTED_AT_ONCE", at_once)
    pages = [(["red"], group) for group in (0, 0, 1, 1, 1, 2, 3, 3)]
    assert marks(filled_with(pages)) == Marks(searchable=8, near_copies=3)


def test_without_an_index_nothing_is_marked(tmp_path: Path) -> None:
    assert marks(Reader(tmp_path)) == Marks()


@pytest.fixture
def filled_with(tmp_path: Path) -> Callable[[list[tuple[list[str], int]]], Reader]:
    return lambda pages: indexed(str(tmp_path), pages)
