"""`joro takedown`: what may be ordered, and what is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from joro.clock import FakeClock
from joro.store.orders import TAKEDOWN, Order, OrderBook
from joro.tables.making import make
from tests.index.archived import START, archive, collection_in, page
from tests.test_takedown import joro

SITE = "http://a.example"


def test_a_prefix_that_ends_with_a_question_mark_means_queries_and_no_other_page(tmp_path: Path) -> None:
    collection = collection_in(tmp_path)
    ends = ("", "?a=1", "?a=2", ".bak")
    archive(collection, *(page(f"{SITE}/article.cgi{end}", "A title", f"words {end}") for end in ends))
    given = joro("takedown", "add", "-C", collection.path, "--prefix", f"{SITE}/article.cgi?").stdout
    assert given.startswith(f"order 1 (takedown of prefix {SITE}/article.cgi?); captures that are meant: 2\n")
    listed = "archive", "list", "-C", collection.path, "--by", "prefix", SITE
    left = [f"{SITE}/article.cgi", f"{SITE}/article.cgi.bak"]
    assert [line.split()[-1] for line in joro(*listed).stdout.splitlines()[1:]] == left
    done = joro("takedown", "collect", "-C", collection.path)
    assert done.stdout.startswith("captures erased: 2 ("), done.stderr
    assert [line.split()[-1] for line in joro(*listed).stdout.splitlines()[1:]] == left


@pytest.mark.parametrize(
    "dots", ["http://a.jp/...", "http://a.jp/.x/", "http://a.jp/a?x=/../", "http://a.jp/.x"]
)
def test_dots_that_are_names_or_stand_in_a_query_are_no_mistake(dots: str, tmp_path: Path) -> None:
    given = joro("takedown", "add", "-C", collection_in(tmp_path).path, "--prefix", dots)
    assert f"takedown of prefix {dots})" in given.stdout


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--prefix", "http://a.jp/a/.."], "is it http://a.jp/?"),
        (["--prefix", "a.jp/a/%2e./b?c"], "is it http://a.jp/b?c?"),
        (["--host", "a.jp", "--reason", "caf\udce9"], "bytes that are no UTF-8"),
    ],
)
def test_what_may_mean_more_than_meant_or_cannot_be_kept_is_refused(
    words: list[str], complaint: str, tmp_path: Path
) -> None:
    collection = collection_in(tmp_path)
    answered = joro("takedown", "add", "-C", collection.path, *words)
    assert answered.returncode == 2
    assert complaint in answered.stderr
    assert len(answered.stderr.splitlines()) == 1
    assert not list(collection.orders.iterdir())


def test_an_order_with_a_date_out_of_range_is_listed_all_the_same(tmp_path: Path) -> None:
    collection = collection_in(tmp_path)
    OrderBook(collection.orders, FakeClock(START).now).give(
        Order(0, TAKEDOWN, "host", "a.jp", 0.0, since=-1e12)
    )
    listed = joro("takedown", "list", "-C", collection.path)
    assert "takedown of host a.jp since 0001-01-01 00:00\n" in listed.stdout, listed.stderr


def test_an_embargo_is_listed_with_its_end(tmp_path: Path) -> None:
    collection = collection_in(tmp_path)
    joro("takedown", "embargo", "-C", collection.path, "--host", "a.jp", "--days", "1.5")
    joro("takedown", "embargo", "-C", collection.path, "--host", "b.jp", "--opens", "2099-01-01")
    first, second = joro("takedown", "list", "-C", collection.path).stdout.splitlines()
    assert first.endswith("embargo of host a.jp for 1.5 days after each capture")
    assert second.endswith("embargo of host b.jp opens 2099-01-01 00:00")


@pytest.mark.slow
def test_collecting_tells_that_tables_have_to_be_made_anew(tmp_path: Path) -> None:
    collection = collection_in(tmp_path)
    archive(collection, page(f"{SITE}/a", "A", "words"), page(f"{SITE}/b", "B", "words"))
    remedy = (
        f"joro sql shows no rows of the WARC files concerned (1) before: joro tables -C {collection.path}\n"
    )
    make(collection)
    joro("takedown", "add", "-C", collection.path, "--url", f"{SITE}/a")
    assert remedy in joro("takedown", "collect", "-C", collection.path).stdout
    assert "joro tables" not in joro("takedown", "collect", "-C", collection.path).stdout
    make(collection)
    listed = joro("sql", "-C", collection.path, "--csv", "select title from captures").stdout
    assert listed == "title\nB\n"


def test_without_tables_collecting_says_nothing_of_them(tmp_path: Path) -> None:
    collection = collection_in(tmp_path)
    archive(collection, page(f"{SITE}/a", "A", "words"))
    joro("takedown", "add", "-C", collection.path, "--url", f"{SITE}/a")
    assert "joro tables" not in joro("takedown", "collect", "-C", collection.path).stdout
