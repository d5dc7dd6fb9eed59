from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joro.errors import UsageError
from joro.parse.copies import BINS, is_near_copy, text_mark, text_sketch
from joro.store.collection import Collection
from joro.store.orders import TAKEDOWN, Order, Orders
from joro.tables.copies import VIEW
from joro.tables.making import make
from joro.tables.query import ask
from tests.index.archived import START, answer, archive, collection_in, page

TEXT = "</p><p>".join(f"Sentence {word} of the text stands here." for word in "abcdefghijklmnopqrstuvwxyz")
FIRST, COPY, THIRD = "http://a.example/", "http://a.example/?sid=17", "http://b.example/"


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    made = collection_in(tmp_path)
    archive(
        made,
        page(FIRST, "One title", TEXT),
        page(COPY, "One title", f"{TEXT}</p><p>And an advertisement for shoes.", time=START + 1),
        page("http://c.example/", "Page not found", "Sorry, there is no such page."),
        answer("http://c.example/old", status=302, fields="Location: /\r\n"),
        answer("http://c.example/new", status=302, fields="Location: /newest\r\n"),
    )
    # Of another WARC: rows know nothing of each other.
    archive(made, page(THIRD, "One title", f"{TEXT}</p><p>Hats, hats, hats!", time=START + 2), process=1)
    make(made)
    return made


def test_near_copies_are_found_over_all_warcs(collection: Collection) -> None:
    rows = ask(collection.part("tables"), "select url, copy_of from near_copies order by url").rows()
    assert list(rows) == [(COPY, FIRST), (THIRD, FIRST)]


def test_a_page_withheld_is_nobodys_original(collection: Collection) -> None:
    orders = Orders([Order(1, TAKEDOWN, "url", FIRST, START)])
    rows = ask(collection.part("tables"), "select url, copy_of from near_copies", orders, START + 9).rows()
    assert list(rows) == [(THIRD, COPY)]


def test_soft_404s_are_marked(collection: Collection) -> None:
    rows = ask(collection.part("tables"), "select url from captures where soft_404 order by url").rows()
    assert list(rows) == [("http://c.example/",), ("http://c.example/old",)]


def test_tables_of_an_older_version_say_what_to_do(collection: Collection) -> None:
    tables = collection.part("tables")
    for file in (tables / "captures").rglob("*.parquet"):
        duckdb.sql(
            f"copy (select * exclude (soft_404, day, part) from '{file}') to '{file}.new' (format parquet)"
        )
        Path(f"{file}.new").replace(file)
    with pytest.raises(UsageError, match="older version"):
        ask(tables, "select 1")


LINES = st.lists(
    st.sampled_from([f"Sentence number {number} says this" for number in range(40)]), max_size=40
)
TEXTS = st.lists(st.tuples(st.sampled_from("AB"), LINES), min_size=2, max_size=2)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(TEXTS)
def test_sql_says_what_the_marks_say_of_texts_that_meet(texts: list[tuple[str, list[str]]]) -> None:
    pages = [(title, "".join(f"{line}. " for line in lines)) for title, lines in texts]
    one, other = (text_mark(title, text) for title, text in pages)
    sketches = [text_sketch(text) for _, text in pages]
    bands = [{(band, sketch[band:BINS:16]) for band in range(16)} for sketch in sketches]
    is_found = bool(one and other and bands[0] & bands[1]) and is_near_copy(one, other)
    connection = duckdb.connect()
    connection.execute(
        "create table captures (url text, time int, status int, revisit bool, title text, text_chars int,"
        " text_sketch text, soft_404 bool)"
    )
    for number, (title, text) in enumerate(pages):
        row = [str(number), number, 200, False, title, len(text), text_sketch(text).hex(), False]
        connection.execute("insert into captures values (?, ?, ?, ?, ?, ?, ?, ?)", row)
    connection.execute(VIEW)
    found = connection.execute("select url, copy_of from near_copies").fetchall()
    assert found == ([("1", "0")] if is_found else [])
