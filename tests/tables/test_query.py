from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from joro.cli import joro
from joro.errors import UsageError
from joro.store.collection import Collection
from joro.store.orders import Order, Orders
from joro.tables.columns import COLUMNS
from joro.tables.copies import VIEW_COLUMNS
from joro.tables.making import make
from joro.tables.query import ask
from tests.index.archived import START, archive, collection_in, page

DAY = 86_400.0


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    made = collection_in(tmp_path_factory.mktemp("sql"))
    archive(
        made,
        page("http://a.example/", "A", 'text <a href="http://b.example/">b</a>'),
        page("http://a.example/dir/x", "X", "text", time=START + DAY),
        page("https://a.example/dir/y", "Y, [bold]", "other text", time=START + 2 * DAY),
        page("http://www.a.example:81/", "W", 'text <a href="http://a.example/">a</a>', time=START + 3 * DAY),
        page("http://b.example/", "B", "text"),
    )
    make(made)
    return made


def run(collection: Collection, *arguments: str) -> Result:
    return CliRunner().invoke(joro, ["sql", "-C", str(collection.path), *arguments])


def test_a_question_is_answered_as_a_table(collection: Collection) -> None:
    shown = run(collection, "select host, count(*) as captures from captures group by all order by 1")
    assert [line.split() for line in shown.stdout.splitlines()] == [
        ["host", "captures"],
        ["a.example", "3"],
        ["b.example", "1"],
        ["www.a.example", "1"],
    ]


def test_programs_get_csv_and_json(collection: Collection) -> None:
    question = "select title, status from captures where url like '%/y'"
    assert run(collection, "--csv", question).stdout == 'title,status\n"Y, [bold]",200\n'
    assert run(collection, "--json", question).stdout == '{"title": "Y, [bold]", "status": 200}\n'
    assert "[bold]" in run(collection, question).stdout
    times = run(collection, "--json", "select time, day from captures where host = 'b.example'").stdout
    assert times == '{"time": "2026-11-16 05:55:00", "day": "2026-11-16"}\n'


def test_links_are_a_table_too(collection: Collection) -> None:
    question = "select source_host, target from links order by 1"
    assert run(collection, "--csv", question).stdout.splitlines()[1:] == [
        "a.example,http://b.example/",
        "www.a.example,http://a.example/",
    ]


def test_the_columns_in_the_help_are_those_of_the_tables(collection: Collection) -> None:
    text = CliRunner().invoke(joro, ["sql", "--help"]).stdout.split()
    assert set(ask(collection.part("tables"), "from near_copies").names) <= set(text)
    for table in ("captures", "links"):
        names = ask(collection.part("tables"), f"select * from {table}").names
        assert set(names) <= set(text)
        assert names[-2:] == ["day", "part"]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("selec 1", 'syntax error at or near "selec"'),
        ("select nope from captures", 'column "nope" not found'),
        ("select * from pages", "Table with name pages does not exist"),
        ("select 1; select 2", "2 questions at once"),
        ("", "0 questions at once"),
        ("select 'x'::int", "Could not convert"),
        ("create table t (a int)", "CREATE is no question"),
        ("drop view captures", "DROP is no question"),
        ("set lock_configuration = false", "SET is no question"),
        ("copy (select 1) to 'x.csv'", "COPY is no question"),
        ("attach 'x.db'", "ATTACH is no question"),
        ("install httpfs", "is no question"),
        ("select * from read_text('/etc/hostname')", "read_text() is not for joro sql"),
        (
            "select * from read_parquet('{tables}/captures/*/*/*.parquet')",
            "read_parquet() is not for joro sql",
        ),
        ("from '{tables}/captures/day=2026-11-16/part=0/x.parquet'", "is no table"),
        ("select (select count(*) from glob('/*'))", "glob() is not for joro sql"),
        ("select * from query('select * from withheld')", "query() is not for joro sql"),
        ("select * from withheld", "'withheld' is no table"),
        ("select * from WithHeld", "'withheld' is no table"),
        ("select * from orders.withheld", "'orders.withheld' is no table"),
        ("describe orders.withheld", "'orders.withheld' is no table"),
        ("from information_schema.tables", "'information_schema.tables' is no table"),
        ("from (with pg_views as (select 1) from pg_views)", "'pg_views' is no table"),
        ("show all tables", "not everything is shown"),
        ("show tables from orders", "not everything is shown"),
        ("from (show schemas)", "not everything is shown"),
        ("from 'http://127.0.0.1/x.csv'", "is no table"),
    ],
)
def test_a_mistake_is_one_line_and_files_stay_closed(
    collection: Collection, question: str, said: str
) -> None:
    question = question.replace("{tables}", str(collection.part("tables")))
    error = run(collection, question).exception
    assert isinstance(error, UsageError)
    assert said.lower() in str(error).lower()
    assert "\n" not in str(error)


def test_two_tables_and_a_view_are_all_that_is_shown(collection: Collection) -> None:
    assert run(collection, "--csv", "show tables").stdout == "name\ncaptures\nlinks\nnear_copies\n"
    assert run(collection, "--csv", "select count(*) from main.captures").stdout.split()[1] == "5"


def test_a_mistake_found_while_reading_is_one_line_too(collection: Collection) -> None:
    error = run(collection, "--csv", "select url::int from captures").exception
    assert isinstance(error, UsageError)


def test_without_tables_the_remedy_is_told(tmp_path: Path) -> None:
    error = run(collection_in(tmp_path), "select 1").exception
    assert "has no tables yet; make them: joro tables -C" in str(error)


def test_a_table_without_rows_can_be_asked(tmp_path: Path) -> None:
    made = collection_in(tmp_path)
    archive(made, page("http://a.example/", "A", "text"))
    make(made)
    assert run(made, "--csv", "select count(*) as n from links").stdout == "n\n0\n"


def order(target: str, value: str, **others: float) -> Order:
    act = "embargo" if {"opens", "after_s"} & others.keys() else "takedown"
    return Order(1, act, target, value, START, **others)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "hidden"),
    [
        (order("url", "https://a.example/dir/x"), {"X"}),
        (order("prefix", "http://a.example/dir/"), {"X", "Y, [bold]"}),
        (order("host", "a.example"), {"A", "X", "Y, [bold]"}),
        (order("host", "*.a.example"), {"A", "X", "Y, [bold]", "W"}),
        (order("host", "*.example"), {"A", "X", "Y, [bold]", "W", "B"}),
        (order("host", "example"), set()),
        (order("all", ""), {"A", "X", "Y, [bold]", "W", "B"}),
        (order("all", "", since=START + DAY, until=START + 2 * DAY), {"X"}),
        (order("host", "a.example", opens=START + 10 * DAY), {"A", "X", "Y, [bold]"}),
        (order("host", "a.example", opens=START + 3 * DAY), set()),
        (order("all", "", after_s=1.5 * DAY), {"W", "Y, [bold]"}),
        (order("host", "b.example", after_s=1e6 * DAY), {"B"}),
        (order("host", "b.example", after_s=1e300), {"B"}),
        (order("host", "b.example", since=-1e12, until=1e300), {"B"}),
        (Order(1, "exclusion", "all", "", START), set()),
    ],
)
def test_what_an_order_withholds_is_in_no_view(
    collection: Collection, given: Order, hidden: set[str]
) -> None:
    now, orders = START + 3 * DAY, Orders([given])
    tables = collection.part("tables")
    everything = {row for row in ask(tables, "select title, url, epoch(time), digest from captures").rows()}
    shown = {row[0] for row in ask(tables, "select title from captures", orders, now).rows()}
    assert {row[0] for row in everything} - shown == hidden
    expected = {title for title, *rest in everything if orders.withholds(rest[0], rest[1], rest[2], now)}
    assert hidden == expected
    every_link = list(ask(tables, "select source, target, epoch(time), digest from links").rows())
    links = {row for row in ask(tables, "select source, target from links", orders, now).rows()}
    assert links == {
        (source, target)
        for source, target, time, digest in every_link
        if not orders.withholds(source, time, digest, now) and not orders.withholds(target, time, "", now)
    }


def test_a_payload_taken_down_is_in_no_view(collection: Collection) -> None:
    tables = collection.part("tables")
    ((digest,),) = ask(tables, "select digest from captures where title = 'B'").rows()
    rows = ask(tables, "select title from captures", Orders([order("digest", digest)]), START).rows()
    assert {row[0] for row in rows} == {"A", "X", "Y, [bold]", "W"}


def test_every_column_is_explained_in_the_guide(root: Path) -> None:
    guide = (root / "docs/guides/sql.md").read_text(encoding="utf-8")
    for columns in COLUMNS.values():
        for name, (_, meaning) in columns.items():
            assert f"| `{name}` | {meaning} |" in guide
    for name, meaning in VIEW_COLUMNS.items():
        assert f"| `{name}` | {meaning} |" in guide
