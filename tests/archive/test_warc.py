import gzip
import random
import subprocess
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from warcio.archiveiterator import ArchiveIterator

from joro.archive.names import Position, warcs
from joro.archive.read import records, replay, response_of
from joro.archive.recover import rebuild
from joro.archive.warc import WarcWriter
from joro.clock import FakeClock
from joro.errors import ArchiveError
from joro.model import Truncated, Visit
from tests.archive.examples import CHUNKED_HEAD, NOON, URL, FastIterator, lookup, only, visit, writer

SCRIPTS = Path(sysconfig.get_path("scripts"))
ZIPPED = gzip.compress(b"<p>hello" * 100, mtime=0)

#: What servers send, nice and not so nice.
ANSWERS = {
    "plain": visit(),
    "empty": visit(body=b""),
    "no head fields": visit(head=b"HTTP/1.0 200 OK\r\n\r\n"),
    "chunked": visit(head=CHUNKED_HEAD, body=b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"),
    "chunked, cut off": visit(
        head=CHUNKED_HEAD, body=b"3\r\nabc\r\nff\r\nde", truncated=Truncated.DISCONNECT
    ),
    "chunked, a lie": visit(head=CHUNKED_HEAD, body=b"<p>no frames here"),
    "gzip": visit(head=b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", body=ZIPPED),
    "gzip in chunks": visit(
        head=CHUNKED_HEAD[:-2] + b"Content-Encoding: gzip\r\n\r\n",
        body=b"%x\r\n%b\r\n0\r\n\r\n" % (len(ZIPPED), ZIPPED),
    ),
    "longer than our limit": visit(body=b"x" * 5_000, truncated=Truncated.LENGTH),
    "http 2": visit(head=b"HTTP/2 200 \r\ncontent-type: text/html\r\n\r\n"),
    "http 1.1 that calls itself 2.0": visit(head=b"HTTP/2.0 200 OK\r\nContent-Type: text/html\r\n\r\n"),
    "bare line feeds": visit(head=b"HTTP/1.1 200 OK\nServer: old\n\n"),
    "a line of blanks": visit(head=b"HTTP/1.1 200 OK\r\nA: b\r\n \r\nC: d\r\n\r\n"),
    "no colon": visit(head=b"HTTP/1.1 200 OK\r\nnonsense\r\n\xff\xfe: \x00\r\n\r\n"),
    "latin-1 status": visit(head=b"HTTP/1.1 200 D\xe9j\xe0 vu\r\n\r\n"),
    "blank lines in the body": visit(body=b"\r\n\r\n\n\nWARC/1.1\r\n\r\n"),
    "no request": visit(request=b""),
    "in several pieces": visit(body=bytes(range(256)) * 10_000),
    "in several pieces, chunked": visit(
        head=CHUNKED_HEAD, body=b"%x\r\n%b\r\n" % (1_500_000, bytes(1_500_000)) * 2 + b"0\r\n\r\n"
    ),
}


def written(directory: Path, *visits: Visit) -> Path:
    archive = writer(directory)
    for each in visits:
        archive.append(each)
    archive.close()
    return only(directory)


@pytest.mark.parametrize("kind", ANSWERS)
def test_our_reader_gives_back_what_the_server_sent(kind: str, tmp_path: Path) -> None:
    sent = ANSWERS[kind].response
    assert sent is not None
    (record,) = (each for each in records(written(tmp_path, ANSWERS[kind])) if each.type == "response")
    response = response_of(record)
    assert response.body == sent.body
    assert response.head == sent.head.replace(b"HTTP/2 ", b"HTTP/1.1 ")
    assert response.truncated == sent.truncated
    assert (record.url, record.time, record.status) == (URL, NOON, 200)


def test_warcio_and_fastwarc_find_every_digest_right(tmp_path: Path) -> None:
    warc = written(tmp_path, *ANSWERS.values())
    count = 1 + 2 * len(ANSWERS) - 1
    told = run("warcio", "check", "-v", str(warc))
    assert (told.count("WARC-Record-ID"), told.count("digest pass")) == (count, count)
    told = run("fastwarc", "check", "--verify-payloads", "--quiet", "--output", "-", str(warc))
    assert (told.count("urn:uuid:"), told.count("OK"), told.count("FAIL")) == (count, told.count("OK"), 0)


def run(command: str, *arguments: str) -> str:
    ran = subprocess.run([SCRIPTS / command, *arguments], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.parametrize("kind", sorted(set(ANSWERS) - {"a line of blanks", "bare line feeds", "http 2"}))
def test_warcio_reads_the_same_bytes(kind: str, tmp_path: Path) -> None:
    sent = ANSWERS[kind].response
    assert sent is not None
    with written(tmp_path, ANSWERS[kind]).open("rb") as file:
        bodies = [each.raw_stream.read() for each in ArchiveIterator(file) if each.rec_type == "response"]
    assert bodies == [sent.body]


@pytest.mark.parametrize("kind", ANSWERS)
def test_fastwarc_reads_the_same_block(kind: str, tmp_path: Path) -> None:
    warc = written(tmp_path, ANSWERS[kind])
    with warc.open("rb") as file:
        found = FastIterator(file, parse_http=False)
        theirs = [(each.headers["WARC-Type"], each.reader.read()) for each in found]
    assert theirs == [(each.type, each.block) for each in records(warc)]


@pytest.mark.parametrize("kind", ["plain", "gzip", "longer than our limit"])
def test_a_plain_payload_has_its_digest_in_the_record(kind: str, tmp_path: Path) -> None:
    archive = writer(tmp_path)
    capture = archive.append(ANSWERS[kind])
    archive.close()
    assert response_fields(tmp_path)["warc-payload-digest"] == capture.digest


@pytest.mark.parametrize("kind", ["chunked", "bare line feeds", "a line of blanks"])
def test_a_payload_that_readers_disagree_about_has_none(kind: str, tmp_path: Path) -> None:
    written(tmp_path, ANSWERS[kind])
    assert "warc-payload-digest" not in response_fields(tmp_path)


def response_fields(directory: Path) -> dict[str, str]:
    (fields,) = (each.fields for each in records(only(directory)) if each.type == "response")
    return fields


def test_where_the_chunks_were_cut_does_not_change_the_digest(tmp_path: Path) -> None:
    archive = writer(tmp_path)
    one = archive.append(visit(head=CHUNKED_HEAD, body=b"5\r\nabcde\r\n0\r\n\r\n"))
    two = archive.append(visit(head=CHUNKED_HEAD, body=b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"))
    assert one.digest == two.digest == archive.append(visit(body=b"abcde")).digest


def test_the_request_names_its_response(tmp_path: Path) -> None:
    _, response, request = records(written(tmp_path, visit()))
    assert request.fields["warc-concurrent-to"] == response.fields["warc-record-id"]
    assert request.block == b"GET /a HTTP/1.1\r\nHost: www.example.jp\r\n\r\n"
    assert response.fields["warc-ip-address"] == "192.0.2.7"


def test_http_2_is_written_as_http_1_with_its_protocol_named(tmp_path: Path) -> None:
    written(tmp_path, ANSWERS["http 2"])
    assert response_fields(tmp_path)["warc-protocol"] == "h2"
    (record,) = (each for each in records(only(tmp_path)) if each.type == "response")
    assert record.head == b"HTTP/1.1 200 \r\ncontent-type: text/html\r\n\r\n"


def test_a_cut_body_says_why(tmp_path: Path) -> None:
    written(tmp_path, ANSWERS["longer than our limit"])
    assert response_fields(tmp_path)["warc-truncated"] == "length"


def test_every_file_begins_with_who_wrote_it(tmp_path: Path) -> None:
    archive = writer(tmp_path, limit_bytes=1)
    for _ in range(3):
        archive.append(visit())
        archive.flush()
    archive.close()
    names = warcs(tmp_path)
    assert [name[-13:] for name in names] == ["00001.warc.gz", "00002.warc.gz", "00003.warc.gz"]
    for name in names:
        first = next(records(tmp_path / name))
        assert (first.type, first.fields["warc-filename"]) == ("warcinfo", name)
        assert b"http-header-user-agent: joro/0 (+http://x.example/)\r\n" in first.block


def test_a_file_is_named_after_the_moment_it_was_begun(tmp_path: Path) -> None:
    assert written(tmp_path, visit()).name == "joro-20231114221320-00001.warc.gz"


def test_numbers_go_on_after_a_restart_even_if_the_clock_was_set_back(tmp_path: Path) -> None:
    written(tmp_path, visit(body=b"old"))
    archive = writer(tmp_path, clock=FakeClock(NOON - 86_400))
    archive.append(visit(body=b"new"))
    archive.close()
    assert warcs(tmp_path) == ["joro-20231114221320-00001.warc.gz", "joro-20231113221320-00002.warc.gz"]
    assert [record.body for record, _ in replay(tmp_path)] == [b"old", b"new"]


def test_nothing_reaches_the_disk_before_flush(tmp_path: Path) -> None:
    archive = writer(tmp_path)
    archive.append(visit())
    assert (list(tmp_path.iterdir()), archive.position) == ([], ("", 0))
    position = archive.flush()
    assert position == archive.position == (only(tmp_path).name, only(tmp_path).stat().st_size)


def test_a_robot_that_archives_nothing_leaves_no_file(tmp_path: Path) -> None:
    archive = writer(tmp_path)
    archive.flush()
    archive.close()
    assert list(tmp_path.iterdir()) == []


def test_a_new_writer_stands_where_the_last_one_stopped(tmp_path: Path) -> None:
    warc = written(tmp_path, visit())
    assert writer(tmp_path).flush() == (warc.name, warc.stat().st_size)


def test_two_processes_write_two_streams(tmp_path: Path) -> None:
    for process in (0, 1):
        archive = WarcWriter(tmp_path, limit_bytes=1_000, clock=FakeClock(NOON), robot="j", process=process)
        archive.append(visit(body=b"%d" % process))
        archive.close()
    assert [record.body for record, _ in replay(tmp_path, process=1)] == [b"1"]
    assert [record.body for record, _ in replay(tmp_path)] == [b"0"]


def test_two_writers_of_one_stream_are_told_apart(tmp_path: Path) -> None:
    first, second = writer(tmp_path), writer(tmp_path)
    for archive in (first, second):
        archive.append(visit())
    first.flush()
    with pytest.raises(ArchiveError, match="exists already; see whether another robot writes here"):
        second.flush()


def test_closing_twice_is_closing_once(tmp_path: Path) -> None:
    archive = writer(tmp_path)
    archive.append(visit())
    archive.close()
    before = sorted(tmp_path.iterdir())
    archive.close()
    assert sorted(tmp_path.iterdir()) == before


lines = st.binary(max_size=40).map(lambda line: line.replace(b"\r", b"").replace(b"\n", b""))
heads = st.lists(lines.filter(bool), max_size=5).map(
    lambda fields: b"HTTP/1.1 200 OK\r\n" + b"".join(line + b"\r\n" for line in fields) + b"\r\n"
)


@settings(max_examples=60, deadline=None)
@given(answers=st.lists(st.tuples(heads, st.binary(max_size=2_000)), min_size=1, max_size=5))
def test_any_bytes_come_back_and_satisfy_other_readers(
    answers: list[tuple[bytes, bytes]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    visits = [visit(head=head, body=body) for head, body in answers]
    warc = written(tmp_path_factory.mktemp("any"), *visits)
    read = [(each.head, each.body) for each in records(warc) if each.type == "response"]
    assert read == answers
    with warc.open("rb") as file:
        for theirs in ArchiveIterator(file, check_digests="raise"):
            theirs.raw_stream.read()
    with warc.open("rb") as file:
        for fast in FastIterator(file):
            assert fast.verify_payload_digest() or "WARC-Payload-Digest" not in fast.headers


def test_how_long_the_server_took_survives_a_new_index(tmp_path: Path) -> None:
    archive = writer(tmp_path)
    archive.append(replace(visit(), elapsed_s=1.2345))
    archive.close()
    assert [capture.elapsed_ms for capture in lookup(tmp_path, URL)] == [1234]
    rebuild(only(tmp_path))
    assert [capture.elapsed_ms for capture in lookup(tmp_path, URL)] == [1234]


def test_a_download_nobody_timed_did_not_take_a_millisecond(tmp_path: Path) -> None:
    """Captures of others do not tell: whoever simulates a crawl must not take them for very fast ones."""
    archive = writer(tmp_path)
    archive.append(replace(visit(), elapsed_s=0.0))
    archive.append(replace(visit(), elapsed_s=0.0002))
    archive.close()
    assert [capture.elapsed_ms for capture in lookup(tmp_path, URL)] == [0, 1]
    rebuild(only(tmp_path))
    assert [capture.elapsed_ms for capture in lookup(tmp_path, URL)] == [0, 1]


def test_much_that_waits_is_flushed_without_being_asked(tmp_path: Path) -> None:
    archive = writer(tmp_path)
    archive.append(visit(body=random.Random(7).randbytes(3_900_000)))
    assert archive.position == Position("", 0)
    archive.append(visit(body=random.Random(8).randbytes(200_000)))
    assert archive.position.offset == only(tmp_path).stat().st_size > 4_000_000
    archive.close()
