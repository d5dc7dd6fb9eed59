"""`joro takedown`, from the order to the last byte."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet  # type: ignore[import-untyped]
import pytest
from warcio.archiveiterator import ArchiveIterator

from joro.archive import merge
from joro.archive.check import check
from joro.archive.names import warcs
from joro.index.query import search
from joro.index.segment import Reader, Writer, place
from joro.indexer import index_new
from joro.model import Outcome, Visit
from joro.schedule import change
from joro.schedule.late import came
from joro.schedule.plan import wish
from joro.schedule.prior import BROAD, said
from joro.store.collection import Collection
from joro.store.frontier import Frontier
from joro.store.layout import set_share_count, shares
from joro.store.records import ServerRecord, Upkeep
from joro.tables import making
from joro.takedown import release
from tests.index.archived import START, archive, collection_in, page

#: Letters that no compression shortens, so that they stand in files as they are.
SECRET = "q8Zk3Vx7Tn2Lp5Wb9Rd4"
HOST = "k3jx9q7wv.example"
GONE, STAYS = f"http://{HOST}", "http://stays.example"


def joro(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "joro", *map(str, words)], capture_output=True, text=True, check=False
    )


def filled(directory: Path) -> Collection:
    """A collection of two hosts, with everything that is made of an archive."""
    made = collection_in(directory)
    visits = [
        page(f"{server}/{n}", f"Title {n}", f"some words {SECRET if server == GONE else 'public'} {n}")
        for n in range(5)
        for server in (GONE, STAYS)
    ]
    archive(made, *visits[:4])
    archive(made, *visits[4:])
    merge.merge(made.archive)
    index_new(made)
    making.make(made)
    set_share_count(made.frontier, 1)
    frontier = Frontier(shares(made.frontier, 1)[0])
    frontier.add([visit.page.url for visit in visits], 0)
    frontier.settle(lambda _: 100)
    for server in (GONE, STAYS):
        while (waiting := frontier.take(server)) is not None:
            frontier.done(Visit(waiting, START, Outcome.OK))
    frontier.commit(None)
    frontier.close()
    return made


def found(collection: Collection, needle: str) -> list[str]:
    """The files that hold these letters, packed or not; what was ordered is allowed to say so."""
    files = [path for path in collection.path.rglob("*") if path.is_file() and path.parent.name != "orders"]
    return [str(path.relative_to(collection.path)) for path in files if needle.encode() in unpacked(path)]


def unpacked(path: Path) -> bytes:
    content = path.read_bytes()
    if path.name.endswith(".gz"):
        content += gzip.decompress(content)
    elif path.suffix == ".parquet":
        content += str(pyarrow.parquet.read_table(path).to_pydict()).encode()
    return content


def assert_gone_for_good(collection: Collection) -> None:
    assert found(collection, SECRET) == []
    assert found(collection, "k3jx9q7wv") == []
    writer = Writer(place(collection.index))
    assert {each.url[:20] for segment in writer.segments() for each in segment} == {STAYS}
    writer.close()
    for name in warcs(collection.archive):
        assert check(collection.archive, name).problems == []
        with (collection.archive / name).open("rb") as file:
            assert all(
                record.raw_stream.read() is not None
                for record in ArchiveIterator(file, check_digests="raise")
            )
    assert joro("archive", "check", "-C", collection.path).returncode == 0
    assert search(Reader(place(collection.index)), "public").total == 5
    making.make(collection)
    assert (
        "stays.example"
        in joro("sql", "-C", collection.path, "--csv", "select distinct host from captures").stdout
    )


@pytest.mark.slow
def test_a_host_is_hidden_at_once_and_gone_after_collecting(tmp_path: Path) -> None:
    collection = filled(tmp_path)
    before = found(collection, SECRET)
    assert {name.split("/")[0] for name in before} == {"archive", "index"}
    assert {name.split("/")[0] for name in found(collection, "k3jx9q7wv")} == {
        "archive",
        "index",
        "tables",
        "frontier",
    }
    given = joro("takedown", "add", "-C", collection.path, "--host", HOST, "--reason", "asked by mail")
    assert given.stdout.startswith(f"order 1 (takedown of host {HOST}); captures that are meant: 5\n")
    hits = json.loads(joro("search", "-C", collection.path, "--json", "words").stdout)
    assert (hits["total"], {hit["url"][:20] for hit in hits["results"]}) == (5, {STAYS})
    assert "is not shown: order 1" in joro("archive", "list", "-C", collection.path, f"{GONE}/1").stderr
    hosts = joro("sql", "-C", collection.path, "--csv", "select distinct host from captures").stdout
    assert hosts == "host\nstays.example\n"
    done = joro("takedown", "collect", "-C", collection.path)
    assert done.stderr.strip() == ""
    assert done.stdout.startswith("captures erased: 5 (")
    assert "pages forgotten: 5, pages taken out of the index: 5\n" in done.stdout
    assert_gone_for_good(collection)
    again = joro("takedown", "collect", "-C", collection.path).stdout
    assert again.startswith("captures erased: 0 (0 bytes, WARC files: 0), pages forgotten: 0")


@pytest.mark.slow
def test_the_audit_tells_what_was_done_and_names_no_page(tmp_path: Path) -> None:
    collection = filled(tmp_path)
    joro("takedown", "add", "-C", collection.path, "--url", f"{GONE}/1", "--requester", "its owner")
    joro("takedown", "collect", "-C", collection.path)
    audit = (collection.orders / "audit.jsonl").read_text()
    began, ended = map(json.loads, audit.splitlines())
    assert (began["event"], began["orders"]) == ("began", [1])
    assert (ended["event"], ended["captures"], ended["pages"]) == ("ended", 1, 1)
    assert (ended["copies"]["index"], ended["copies"]["tables"]) == (1, 1)
    assert HOST not in audit
    listed = joro("takedown", "list", "-C", collection.path).stdout
    assert f"takedown of url {GONE}/1; its owner\n" in listed


@pytest.mark.slow
def test_an_embargo_and_an_exclusion_erase_nothing(tmp_path: Path) -> None:
    collection = filled(tmp_path)
    joro("takedown", "embargo", "-C", collection.path, "--host", HOST, "--opens", "2100-01-01")
    joro("takedown", "exclude", "-C", collection.path, "--host", "stays.example")
    hits = json.loads(joro("search", "-C", collection.path, "--json", "words").stdout)
    assert hits["total"] == 5
    assert joro("takedown", "collect", "-C", collection.path).stdout.startswith("captures erased: 0 ")
    assert joro("takedown", "lift", "-C", collection.path, "1").stdout == "order 1 is lifted\n"
    assert json.loads(joro("search", "-C", collection.path, "--json", "words").stdout)["total"] == 10


@pytest.mark.slow
def test_while_others_work_the_rest_waits_and_is_done_later(tmp_path: Path) -> None:
    collection = filled(tmp_path)
    joro("takedown", "add", "-C", collection.path, "--host", HOST)
    with collection.lock("robot"), collection.lock("indexer"):
        told = joro("takedown", "collect", "-C", collection.path).stdout
    assert "others work in the frontier: run it again when they have ended\n" in told
    assert "others work in the index: the indexer does it now\n" in told
    assert {name.split("/")[0] for name in found(collection, "k3jx9q7wv")} == {"frontier", "index"}
    index_new(collection)
    assert {name.split("/")[0] for name in found(collection, "k3jx9q7wv")} == {"frontier"}
    joro("takedown", "collect", "-C", collection.path)
    assert_gone_for_good(collection)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["add"], "an order is about one thing"),
        (["add", "--url", "http://a.jp/", "--host", "a.jp"], "an order is about one thing"),
        (["add", "--all"], "--all without dates means everything"),
        (["add", "--digest", "sha1:x"], "is no digest"),
        (["add", "--host", "http://a.jp/"], "is no host"),
        (["add", "--host", "a.jp:80"], "is no host"),
        (["add", "--host", "*"], "is no host"),
        (["embargo", "--host", "a.jp", "--days", "nan"], "has no end"),
        (["embargo", "--host", "a.jp", "--days", "1e308"], "has no end"),
        (["add", "--url", "ftp://a.jp/"], "ftp"),
        (["add", "--url", "a.jp", "--since", "soon"], "--since 'soon' is no time"),
        (["add", "--url", "a.jp", "--since", "2026", "--until", "2025"], "is not before"),
        (["embargo", "--host", "a.jp"], "an embargo ends somewhere"),
        (["lift", "7"], "no order 7 is in force"),
    ],
)
def test_mistakes_are_one_line_and_no_order(words: list[str], complaint: str, tmp_path: Path) -> None:
    collection = collection_in(tmp_path)
    answered = joro("takedown", words[0], "-C", collection.path, *words[1:])
    assert answered.returncode == 2
    assert complaint in answered.stderr
    assert len(answered.stderr.splitlines()) == 1
    assert not list(collection.orders.iterdir())


#: Collects, and dies at the N-th step at which it changes a file.
DYING = """
import os, sys
left = int(sys.argv.pop(1))
def dying(event, arguments):
    global left
    if event in ("os.rename", "os.remove", "os.truncate") or (event == "open" and arguments[2] & 3):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), 9)
from joro.cli import main
sys.addaudithook(dying)
main()
"""


@pytest.mark.slow
def test_killed_anywhere_it_is_finished_by_the_next_run(tmp_path: Path) -> None:
    for step in (1, 3, 5, 7, 9, 12, 15, 19, 24, 30, 40, 60, 90, 150):
        collection = filled(tmp_path / str(step))
        joro("takedown", "add", "-C", collection.path, "--host", HOST)
        words = ["takedown", "collect", "-q", "-C", str(collection.path)]
        killed = subprocess.run([sys.executable, "-c", DYING, str(step), *words], check=False).returncode
        hits = json.loads(joro("search", "-C", collection.path, "--json", "words").stdout)
        assert {hit["url"][:20] for hit in hits["results"]} == {STAYS}
        for name in warcs(collection.archive):
            assert not check(collection.archive, name).damage
        assert joro("takedown", "collect", "-C", collection.path).returncode == 0
        assert_gone_for_good(collection)
        if killed == 0:
            return
        assert killed == -9
    pytest.fail("it never came to an end")


def test_a_page_taken_down_wishes_nothing_and_is_no_witness_any_more() -> None:
    history = change.observe(
        change.blank(), change.seen([1e6], [True]), BROAD.expected(np.zeros((1, 2))), [1e6], [True]
    )
    care = Upkeep(interval_s=3_600.0, weight=4.0, language="ja", history=change.pack(history)[0])
    server = ServerRecord(languages={"ja": 1, "en": 2})
    server.said = (float(said(history)[0, 0]), float(said(history)[0, 1]))
    wish(server.wishes, care.interval_s, care.weight)
    came(server.waiting, care.interval_s, care.due)
    release(server, care, waits=True)
    assert (server.wishes, server.languages, server.waiting) == ({}, {"ja": 0, "en": 2}, {})
    assert server.said == pytest.approx((0.0, 0.0))
