import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from joro.archive.check import check
from joro.archive.index import CaptureIndex
from joro.archive.members import Member
from joro.archive.metadata import Facts, metadata_block, metadata_record
from joro.archive.read import Record, record_in, records
from joro.archive.times import warc_date
from tests.archive.examples import NOON, URL, FastIterator, only, visit, writer
from tests.archive.facts import facts_in
from tests.archive.test_warc import SCRIPTS

FACTS = Facts(
    links=(("http://www.example.jp/b", "a"), ("http://c.example/", "redirect")),
    charset="shift_jis",
    language="ja",
    via="http://www.example.jp/",
    hops=3,
    elapsed_ms=125,
)


@pytest.fixture
def warc(tmp_path: Path) -> Path:
    """A response with its request, and the facts about it behind them."""
    archive = writer(tmp_path)
    archive.append(visit(), FACTS)
    archive.close()
    return only(tmp_path)


def test_facts_come_back_as_they_were_written(warc: Path) -> None:
    *_, record = records(warc)
    assert (record.type, record.url, record.time) == ("metadata", URL, NOON)
    assert facts_in(record) == FACTS


def test_a_block_reads_as_heritrix_writes_it() -> None:
    assert metadata_block(FACTS) == (
        b"via: http://www.example.jp/\r\nhopsFromSeed: 3\r\nfetchTimeMs: 125\r\n"
        b"charsetForLinkExtraction: shift_jis\r\nlanguage: ja\r\n"
        b"outlink: http://www.example.jp/b L a/@href\r\noutlink: http://c.example/ R Location:\r\n"
    )
    assert metadata_block(Facts()) == b""


def test_other_readers_and_our_check_accept_it(warc: Path) -> None:
    with warc.open("rb") as file:
        types = [record.rec_type for record in ArchiveIterator(file)]
    assert types == ["warcinfo", "response", "request", "metadata"]
    with warc.open("rb") as file:
        assert [record.headers["WARC-Type"] for record in FastIterator(file)][-1] == "metadata"
    for command in (["warcio", "check"], ["fastwarc", "check", "--quiet"]):
        ran = subprocess.run([SCRIPTS / command[0], *command[1:], warc], capture_output=True, text=True)
        assert (ran.returncode, "FAIL" in ran.stdout) == (0, False)
    assert check(warc.parent, warc.name).problems == []


def test_it_is_no_capture(warc: Path) -> None:
    assert len(list(CaptureIndex(warc.parent).all())) == 1


texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=20)
kinds = st.sampled_from(["a", "area", "frame", "link", "refresh", "redirect", "canonical"])


@given(
    st.lists(st.tuples(st.just("http://a.example/%E3%81%82?x=1"), kinds), max_size=4).map(tuple),
    texts,
    texts,
    st.none() | st.integers(0, 255),
    st.integers(0, 10**6),
)
def test_no_fact_can_end_its_line(
    links: tuple[tuple[str, str], ...], charset: str, language: str, hops: int | None, elapsed: int
) -> None:
    facts = Facts(links, charset, language, "", hops, elapsed)
    content = metadata_record("http://a.example/", warc_date(NOON), "<urn:x:1>", "<urn:x:2>", facts)
    found = facts_in(read(content))
    assert (found.links, found.hops, found.elapsed_ms) == (links, hops, elapsed)
    assert (found.charset, found.language) == (" ".join(charset.split()), " ".join(language.split()))


def read(content: bytes) -> Record:
    import gzip

    return record_in(Member(0, len(content), gzip.decompress(content)), "w.warc.gz")
