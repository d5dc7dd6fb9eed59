import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from warcio.archiveiterator import ArchiveIterator
from warcio.recordloader import ArcWarcRecord

from joro.archive import merge, storing
from joro.archive.cdx import REVISIT
from joro.archive.check import check
from joro.archive.far import Note
from joro.archive.index import CaptureIndex
from joro.archive.names import stored_note, warcs
from joro.archive.read import read_at, response_at
from joro.archive.takedown import Done, carry_out
from joro.clock import FakeClock
from joro.model import Known, Visit
from joro.store.orders import TAKEDOWN, Order, Orders
from tests.archive.examples import NOON, FastIterator, lookup, visit, writer

SECRET = b"PersonalSecretXYZZY"


def order(target: str, value: str, since: float | None = None, until: float | None = None) -> Orders:
    return Orders([Order(1, TAKEDOWN, target, value, NOON, since=since, until=until)])


def taken_down(directory: Path, orders: Orders) -> Done:
    return carry_out(directory, orders, clock=FakeClock(NOON + 1e6), robot="joro")


def written(directory: Path, *visits: Visit, limit_bytes: int = 1_000_000) -> None:
    archive = writer(directory, limit_bytes=limit_bytes)
    for each in visits:
        archive.append(each)
        archive.flush()
    archive.close()


def everything(directory: Path) -> bytes:
    """Every byte of every record and index, decompressed."""
    content = b""
    for warc in directory.glob("*.warc.gz"):
        with warc.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                content += b"%r" % (record.rec_headers.headers,) + head_of(record) + record.raw_stream.read()
    return content + b"".join(path.read_bytes() for path in sorted(directory.rglob("*.cdxj*")))


def head_of(record: ArcWarcRecord) -> bytes:
    return b"%r" % (record.http_headers.headers,) if record.http_headers else b""


def assert_sound(directory: Path) -> None:
    for name in warcs(directory):
        assert check(directory, name).problems == []
        with (directory / name).open("rb") as file:
            assert [
                each.verify_block_digest()
                for each in FastIterator(file, parse_http=False)
                if "WARC-Block-Digest" in each.headers
            ].count(False) == 0


def test_a_host_leaves_no_byte_behind_and_the_others_stay(tmp_path: Path) -> None:
    visits = [
        visit(f"http://{host}.example/{n}", SECRET + b" %d" % n if host == "gone" else b"kept %d" % n)
        for n in range(10)
        for host in ("gone", "stays")
    ]
    written(tmp_path, *visits, limit_bytes=2_000)
    merge.merge(tmp_path)
    before = {capture.url: capture for capture in CaptureIndex(tmp_path).all()}
    done = taken_down(tmp_path, order("host", "gone.example"))
    assert done.captures == 10
    after = {capture.url: capture for capture in CaptureIndex(tmp_path).all()}
    assert after == {url: capture for url, capture in before.items() if "stays" in url}
    left = everything(tmp_path)
    assert SECRET not in left
    assert b"gone.example" not in left
    assert left.count(b"kept") == 10
    assert_sound(tmp_path)


def test_a_merged_index_forgets_and_may_merge_again(tmp_path: Path) -> None:
    written(tmp_path, visit("http://gone.example/", SECRET), visit("http://stays.example/"))
    merge.merge(tmp_path)
    taken_down(tmp_path, order("host", "gone.example"))
    merge.merge(tmp_path)
    index = CaptureIndex(tmp_path)
    assert [capture.url for capture in index.all()] == ["http://stays.example/"]
    assert response_at(tmp_path, next(index.all())).body == b"<p>hello"


def test_a_second_run_finds_nothing_to_do(tmp_path: Path) -> None:
    written(tmp_path, visit("http://gone.example/"), visit("http://stays.example/"))
    assert taken_down(tmp_path, order("host", "gone.example")).captures == 1
    assert taken_down(tmp_path, order("host", "gone.example")) == Done()


@pytest.mark.parametrize(
    ("target", "value", "left"),
    [
        ("url", "https://a.example/p", ["http://a.example/p/q", "http://b.example/"]),
        ("prefix", "http://a.example/p", ["http://b.example/"]),
        ("host", "b.example", ["http://a.example/p", "http://a.example/p/q"]),
        ("all", "", []),
    ],
)
def test_each_target_takes_just_what_it_means(
    target: str, value: str, left: list[str], tmp_path: Path
) -> None:
    written(
        tmp_path, *(visit(url) for url in ("http://a.example/p", "http://a.example/p/q", "http://b.example/"))
    )
    taken_down(tmp_path, order(target, value))
    assert [capture.url for capture in CaptureIndex(tmp_path).all()] == left
    assert_sound(tmp_path)


def test_a_payload_goes_wherever_it_is_and_its_requests_too(tmp_path: Path) -> None:
    written(tmp_path, visit("http://a.example/", SECRET), visit("http://b.example/", SECRET), visit())
    digest = lookup(tmp_path, "http://a.example/")[0].digest
    assert taken_down(tmp_path, order("digest", digest)).captures == 2
    left = everything(tmp_path)
    assert SECRET not in left
    assert b"a.example/" not in left.replace(b"www.example.jp", b"")
    assert len(list(CaptureIndex(tmp_path).all())) == 1


def revisited(directory: Path) -> None:
    """A page seen whole at noon, and as before 60, 120 and 180 seconds later."""
    archive = writer(directory)
    first = archive.append(visit(body=SECRET))
    for number in (1, 2, 3):
        known = Known(first.time, first.digest)
        archive.append(replace(visit(body=SECRET), time=NOON + 60 * number, known=known))
    archive.close()


def test_a_later_capture_gets_the_bytes_it_spoke_of(tmp_path: Path) -> None:
    revisited(tmp_path)
    url = visit().page.url
    done = taken_down(tmp_path, order("url", url, until=NOON + 100))
    assert (done.captures, done.kept) == (2, 1)
    left = lookup(tmp_path, url)
    assert [(each.time - NOON, each.mime) for each in left] == [
        (120, REVISIT),
        (120, "text/html"),
        (180, REVISIT),
    ]
    assert {response_at(tmp_path, each).body for each in left} == {SECRET}
    assert_sound(tmp_path)


def test_a_revisit_that_stays_names_the_capture_that_took_over(tmp_path: Path) -> None:
    revisited(tmp_path)
    taken_down(tmp_path, order("url", visit().page.url, until=NOON + 30))
    last = lookup(tmp_path, visit().page.url)[-1]
    record = read_at(tmp_path / last.warc, last.offset, last.length)
    assert record.fields["warc-refers-to-date"] == "2023-11-14T22:14:20.000000Z"


def test_an_order_for_all_dates_takes_revisits_too(tmp_path: Path) -> None:
    revisited(tmp_path)
    assert taken_down(tmp_path, order("url", visit().page.url)).kept == 0
    assert SECRET not in everything(tmp_path)
    assert list(CaptureIndex(tmp_path).all()) == []


def test_a_file_that_a_robot_writes_waits_until_it_is_closed(tmp_path: Path) -> None:
    archive = writer(tmp_path)
    capture = archive.append(visit("http://gone.example/", SECRET))
    archive.flush()
    done = taken_down(tmp_path, order("host", "gone.example"))
    assert (done.captures, done.waiting) == (0, [capture.warc])
    archive.close()
    assert taken_down(tmp_path, order("host", "gone.example")).captures == 1
    assert SECRET not in everything(tmp_path)


@pytest.mark.parametrize("is_freed", [True, False])
def test_copies_elsewhere_forget_too(is_freed: bool, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    written(here, visit("http://gone.example/", SECRET), visit("http://stays.example/"), limit_bytes=500)
    written(here, visit("http://last.example/"))
    merge.merge(here)
    storing.upload(here, str(there))
    if is_freed:
        assert len(storing.free(here)) == 2
    assert SECRET in everything(there)
    assert taken_down(here, order("host", "gone.example")).captures == 1
    for directory in (here, there):
        left = everything(directory)
        assert SECRET not in left
        assert b"gone.example" not in left
    assert len(lookup(here, "http://stays.example/")) == 1


def test_a_copy_elsewhere_forgets_after_a_run_that_was_cut_off(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    written(here, visit("http://gone.example/", SECRET))
    storing.upload(here, str(there))
    kept = {path.name: path.read_bytes() for path in there.iterdir()}
    taken_down(here, order("host", "gone.example"))
    for name, content in kept.items():  # as if it had not come to that
        (there / name).write_bytes(content)
    stored_note(here / warcs(here)[0]).write_bytes(msgspec.json.encode(Note(str(there), 1, 1, 1, 1)))
    taken_down(here, order("host", "gone.example"))
    assert SECRET not in everything(there)


def test_a_damaged_capture_goes_by_what_the_index_knows(tmp_path: Path) -> None:
    archive = writer(tmp_path)
    captures = [archive.append(visit(f"http://{n}.example/", SECRET * 50)) for n in range(3)]
    archive.close()
    warc = tmp_path / captures[0].warc
    content = bytearray(warc.read_bytes())
    content[captures[1].offset + 20] ^= 0xFF
    warc.write_bytes(content)
    assert taken_down(tmp_path, order("host", "1.example")).captures == 1
    assert read_at(warc, captures[1].offset).type == "metadata"
    assert read_at(warc, captures[2].offset, captures[2].length).url == "http://2.example/"


#: Takes down gone.example, and dies at the N-th step at which it changes a file.
DYING = """
import os, sys
from pathlib import Path
from joro.archive.takedown import carry_out
from joro.clock import FakeClock
from tests.archive.test_takedown import order
left = int(sys.argv[2])
def dying(event, arguments):
    global left
    if event in ("os.rename", "os.remove", "os.truncate") or (event == "open" and arguments[2] & os.O_WRONLY):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), 9)
sys.addaudithook(dying)
orders = order("url", "http://www.example.jp/a", until=1_700_000_100.0)
carry_out(Path(sys.argv[1]), orders, clock=FakeClock(2e9), robot="joro")
"""


@pytest.mark.slow
def test_killed_at_every_step_it_leaves_old_or_new_and_the_next_run_finishes(
    tmp_path: Path, root: Path
) -> None:
    for step in range(1, 100):
        directory = tmp_path / str(step)
        directory.mkdir()
        written(directory, visit("http://stays.example/"), limit_bytes=500)
        revisited(directory)
        merge.merge(directory)
        run = [sys.executable, "-c", DYING, str(directory), str(step)]
        killed = subprocess.run(run, cwd=root, check=False).returncode
        url = "http://www.example.jp/a"
        late = [capture for capture in lookup(directory, url) if capture.time > NOON + 100]
        assert {response_at(directory, capture).body for capture in late} == {SECRET}
        taken_down(directory, order("url", url, until=NOON + 100))
        assert [capture.time for capture in lookup(directory, url)] == [NOON + 120] * 2 + [NOON + 180]
        assert {response_at(directory, each).body for each in lookup(directory, url)} == {SECRET}
        assert len(lookup(directory, "http://stays.example/")) == 1
        assert_sound(directory)
        if killed == 0:
            assert step > 8
            return
    pytest.fail("it never came to an end")
