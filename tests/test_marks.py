"""Pages that say nearly the same, and pages that say they are none, from the archive to the results."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from joro.cli import joro
from joro.clock import FakeClock
from joro.explainer.explainer import Standing, explain
from joro.index.folding import Marks, marks
from joro.index.query import Results, search
from joro.index.segment import Reader, place
from joro.indexer import Decision, forget, index_new
from joro.store.collection import Collection
from joro.store.orders import TAKEDOWN, Order, OrderBook
from joro.takedown import sweep
from tests.index.archived import START, answer, archive, collection_in, page

TEXT = "</p><p>".join(f"Sentence {word} of the text stands here." for word in "abcdefghijklmnopqrstuvwxyz")
FIRST, COPY, THIRD = "http://a.example/", "http://a.example/?sid=17", "http://b.example/"


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    made = collection_in(tmp_path)
    archive(
        made,
        page(FIRST, "One title", TEXT),
        page(COPY, "One title", f"{TEXT}</p><p>And an advertisement for shoes", time=START + 1),
        page(THIRD, "One title", f"{TEXT}</p><p>And an advertisement for hats", time=START + 2),
    )
    index_new(made)
    return made


def found(collection: Collection, query: str, *, every: bool = False) -> Results:
    orders = OrderBook(collection.orders, FakeClock(START + 9).now)
    return search(Reader(place(collection.index)), query, hidden=orders.hides(), every=every)


def urls(results: Results) -> list[str]:
    return sorted(hit.url for hit in results.hits)


def take_down(collection: Collection, url: str) -> None:
    orders = OrderBook(collection.orders, FakeClock(START + 9).now)
    orders.give(Order(0, TAKEDOWN, "url", url, START + 9))


def test_near_copies_are_one_result_the_page_known_first(collection: Collection) -> None:
    results = found(collection, "sentence")
    assert urls(results) == [FIRST]
    (hit,) = results.hits
    assert (results.total, hit.similar, sorted(hit.copies)) == (1, 2, [COPY, THIRD])


def test_whoever_asks_for_all_gets_all(collection: Collection) -> None:
    results = found(collection, "sentence", every=True)
    assert urls(results) == [FIRST, COPY, THIRD]
    assert results.total == 3


def test_what_only_a_copy_says_finds_the_copy(collection: Collection) -> None:
    assert urls(found(collection, "shoes")) == [COPY]


def test_a_copy_that_answers_much_better_stands_for_the_others(collection: Collection) -> None:
    shoes = "</p><p>".join(["Shoes and shoes and shoes, shoes."] * 3)
    archive(collection, page("http://c.example/", "One title", f"{TEXT}</p><p>{shoes}", time=START + 3))
    index_new(collection)
    (hit,) = found(collection, "shoes").hits
    assert (hit.url, hit.copies) == ("http://c.example/", (COPY,))


def test_near_copies_are_counted_beyond_the_first(collection: Collection) -> None:
    archive(collection, page("http://c.example/x", "Page not found", "Sorry.", time=START + 3))
    index_new(collection)
    assert marks(Reader(place(collection.index))) == Marks(searchable=4, near_copies=2, soft_404=1)


def test_a_near_copy_is_explained_by_the_page_known_first(collection: Collection) -> None:
    assert explain(collection, COPY, START + 9).search == Standing(START + 1, copy_of=FIRST, similar=2)
    assert explain(collection, FIRST, START + 9).search == Standing(START, similar=2)
    assert explain(collection, "http://d.example/", START + 9).search == Standing(None)


def test_nobody_is_called_a_copy_of_a_hidden_page(collection: Collection) -> None:
    take_down(collection, FIRST)
    assert explain(collection, THIRD, START + 9).search == Standing(START + 2, copy_of=COPY, similar=1)
    take_down(collection, COPY)
    assert explain(collection, THIRD, START + 9).search == Standing(START + 2)


def test_copies_indexed_later_join_those_before(collection: Collection) -> None:
    archive(collection, page("http://c.example/", "One title", TEXT, time=START + 3))
    index_new(collection)
    assert found(collection, "sentence").hits[0].similar == 3


def test_rebuilding_folds_the_same_pages(collection: Collection) -> None:
    index_new(collection, rebuild=True)
    assert [(hit.url, hit.similar) for hit in found(collection, "sentence").hits] == [(FIRST, 2)]


def test_a_page_that_is_refreshed_is_no_copy_of_itself(collection: Collection) -> None:
    archive(collection, page(THIRD, "One title", "Something else entirely. " * 20, time=START + 3))
    archive(collection, page(FIRST, "One title", f"{TEXT}</p><p>New", time=START + 4))
    index_new(collection)
    assert [(hit.url, hit.similar) for hit in found(collection, "sentence").hits] == [(FIRST, 1)]


def test_a_hidden_original_is_neither_shown_nor_counted(collection: Collection) -> None:
    take_down(collection, FIRST)
    assert [(hit.url, hit.similar) for hit in found(collection, "sentence").hits] == [(COPY, 1)]


def test_an_erased_original_leaves_its_copies_together(collection: Collection) -> None:
    take_down(collection, FIRST)
    sweep(collection, FakeClock(START + 10), {"index": forget})
    reader = Reader(place(collection.index))
    assert [(hit.url, hit.similar) for hit in search(reader, "sentence").hits] == [(COPY, 1)]
    archive(collection, page("http://c.example/", "One title", TEXT, time=START + 11), process=1)
    index_new(collection)
    assert search(reader, "sentence").hits[0].similar == 2


def test_a_soft_404_is_found_only_among_all(tmp_path: Path) -> None:
    collection = collection_in(tmp_path)
    archive(collection, page("http://a.example/x", "Page not found", "Sorry, look at the sitemap."))
    assert index_new(collection).decisions == {Decision.SOFT_404: 1}
    assert (found(collection, "sitemap").hits, found(collection, "sitemap").left_out) == ((), 1)
    assert found(collection, "elsewhere").left_out == 0
    (hit,) = found(collection, "sitemap", every=True).hits
    assert hit.soft_404
    assert explain(collection, hit.url, START + 9).search == Standing(START, soft_404=True)
    take_down(collection, hit.url)
    assert found(collection, "sitemap").left_out == 0


def test_a_page_that_sends_home_stays_as_it_was(tmp_path: Path) -> None:
    collection = collection_in(tmp_path)
    archive(
        collection,
        page("http://a.example/x", "", "words"),
        answer("http://a.example/x", status=302, fields="Location: /\r\n", time=START + 1),
        answer("http://a.example/y", status=302, fields="Location: /new\r\n"),
    )
    decisions = index_new(collection).decisions
    assert decisions == {Decision.INDEXED: 1, Decision.SENT_HOME: 1, Decision.NO_PAGE: 1}
    assert urls(found(collection, "words")) == ["http://a.example/x"]
    assert explain(collection, "http://a.example/x", START + 9).search == Standing(START, soft_404=True)
    assert explain(collection, "http://a.example/y", START + 9).search == Standing(None)


def typed(*words: str) -> list[str]:
    result = CliRunner().invoke(joro, list(words))
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


def test_commands_say_what_is_marked(collection: Collection) -> None:
    where = ("-C", str(collection.path))
    archive(collection, page("http://c.example/x", "Page not found", "No sentence here.", time=START + 3))
    assert typed("index", *where)[-1] == "1 capture: 1 soft 404; 4 pages searchable, of which 2 near copies"
    lines = typed("search", *where, "sentence")
    assert lines[lines.index("2 similar pages, shown with --all:") + 1 :][:2] == [f"  {COPY}", f"  {THIRD}"]
    assert lines[-1] == "1 page says that there is no such page (soft 404), shown with --all"
    assert "says that there is no such page (soft 404)" in typed("search", *where, "--all", "sentence")


def test_an_explanation_says_what_search_makes_of_a_page(collection: Collection) -> None:
    archive(collection, page("http://c.example/x", "Page not found", "No sentence here.", time=START + 3))
    index_new(collection)
    where = ("-C", str(collection.path))
    assert f"  It is a near copy of {FIRST}; the two are one result." in typed("explain", *where, COPY)
    first = typed("explain", *where, FIRST)
    assert "  2 pages say nearly the same, of which this one was known first." in first
    missing = typed("explain", *where, "http://c.example/x")
    assert any(line.startswith("  It looks like a missing page (soft 404)") for line in missing)
    assert "  Not searchable." in typed("explain", *where, "http://d.example/")
