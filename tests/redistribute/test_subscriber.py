import struct
import zipfile
from pathlib import Path

import pytest

from joro.archive.index import CaptureIndex
from joro.clock import FakeClock
from joro.errors import TransferError
from joro.exporter.directories import folder_of, name_of
from joro.model import Known
from joro.redistribute.package import Limits
from joro.redistribute.selection import Selection
from joro.redistribute.subscriber import Keep, Subscriber, keep_warc
from joro.redistribute.tree import keep_tree
from joro.store.collection import Collection
from tests.archive.examples import HEAD, NOON, visit, writer
from tests.redistribute.stand import (
    CuttingLine,
    caller,
    captures_of,
    collection_at,
    fill,
    register,
    serving,
    spelled,
)


@pytest.fixture
def hub(tmp_path: Path) -> Collection:
    return collection_at(tmp_path / "hub")


def tree(directory: Path) -> Keep:
    return keep_tree(directory, lambda url: folder_of(name_of(url)))


def fetch(
    url: str, token: str, to: Path, keep: Keep, *, difference: bool = False, **selection: object
) -> int:
    to.mkdir(exist_ok=True)
    subscriber = Subscriber(caller(url, token), to, keep, FakeClock(NOON))
    return subscriber.fetch(Selection(**selection), difference=difference).captures  # type: ignore[arg-type]


def unzipped(to: Path, server: str) -> dict[str, bytes]:
    with zipfile.ZipFile(to / f"{folder_of(server)}.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_tree_has_a_zip_for_each_server_under_the_papers_hash(hub: Collection, tmp_path: Path) -> None:
    fill(hub, 8)
    token, to = register(hub), tmp_path / "out"
    with serving(hub) as url:
        assert fetch(url, token, to, tree(to)) == 8
    # The paper's loop over the name ends in 0xf5e44a30; neither half is shifted.
    assert (to / "html/4a00/30/www.a.ac.jp:80.zip").exists()
    assert sorted(path.name for path in to.rglob("*.zip")) == [
        "b.ac.jp:80.zip",
        "c.example.org:80.zip",
        "d.example.org:8080.zip",
        "www.a.ac.jp:80.zip",
    ]
    files = unzipped(to, "www.a.ac.jp:80")
    assert files["transferredurl.list"] == b"/0\n/4\n"
    assert files["pages/1"].startswith(b"<p>0 ")
    when, changed, size = struct.unpack(">qqq", files["transferredurldate.list"][24:])
    assert (when, changed, size) == (round((NOON + 4 * 3600) * 1000), 0, len(files["pages/2"]))


def test_the_lists_tell_of_links_to_other_servers_and_of_changes(hub: Collection, tmp_path: Path) -> None:
    robot = writer(hub.archive)
    head = HEAD[:-2] + b"Last-Modified: Thu, 01 Jan 1970 00:00:05 GMT\r\n\r\n"
    robot.append(visit("http://a.jp/", b'<a href="http://b.jp/x">b</a> <a href="/c">c</a>', head=head))
    robot.close()
    token, to = register(hub), tmp_path / "out"
    with serving(hub) as url:
        fetch(url, token, to, tree(to))
    files = unzipped(to, "a.jp:80")
    assert files["extserver.list"] == b"http://b.jp/x\thttp://a.jp/\n"
    assert struct.unpack(">qqq", files["transferredurldate.list"])[1] == 5_000


def test_a_later_delivery_renews_pages_and_keeps_the_others(hub: Collection, tmp_path: Path) -> None:
    robot = writer(hub.archive)
    robot.append(visit("http://a.jp/1", b"<p>one"))
    known = robot.append(visit("http://a.jp/2", b"<p>two"))
    robot.append(visit("http://a.jp/3", b"<p>three"))
    robot.flush()
    token, to = register(hub), tmp_path / "out"
    with serving(hub) as url:
        assert fetch(url, token, to, tree(to), difference=True) == 3
        robot.append(visit("http://a.jp/1", b"<p>ONE", time=NOON + 60))
        again = visit("http://a.jp/2", b"<p>two", time=NOON + 60)
        again.known = Known(known.time, known.digest)
        robot.append(again)
        robot.close()
        assert fetch(url, token, to, tree(to), difference=True) == 2
    files = unzipped(to, "a.jp:80")
    pages = dict(
        zip(files["transferredurl.list"].split(), (files[f"pages/{n}"] for n in (1, 2, 3)), strict=True)
    )
    assert pages == {b"/1": b"<p>ONE", b"/2": b"<p>two", b"/3": b"<p>three"}
    dates = {
        path: date[0]
        for path, date in zip(
            files["transferredurl.list"].split(),
            struct.iter_unpack(">qqq", files["transferredurldate.list"]),
            strict=True,
        )
    }
    assert dates[b"/2"] - dates[b"/3"] == 60_000  # seen again, unchanged


def test_warcs_come_with_an_index_that_finds_every_capture(hub: Collection, tmp_path: Path) -> None:
    fill(hub, 40, body_bytes=2_000)
    token, to = register(hub), tmp_path / "out"
    with serving(hub, limits=Limits(captures=15)) as url:
        assert fetch(url, token, to, keep_warc(to, FakeClock(NOON))) == 40
    assert {spelled(each) for each in CaptureIndex(to).all()} == captures_of(hub)
    assert len(list(to.glob("delivery-*.warc.gz"))) == 3


def test_a_broken_fetch_shows_nothing_and_the_next_one_ends_it(hub: Collection, tmp_path: Path) -> None:
    fill(hub, 60, body_bytes=60_000)
    token, to = register(hub), tmp_path / "out"
    with serving(hub) as url:
        with CuttingLine(url, 1_000_000, cuts=1, then_dead=True) as line, pytest.raises(TransferError):
            fetch(line.url, token, to, tree(to))
        assert [path.name for path in to.iterdir()] == [".joro"]
        assert fetch(url, token, to, tree(to)) >= 60
    assert unzipped(to, "b.ac.jp:80")["transferredurl.list"].count(b"\n") == 15


def test_hosts_of_a_third_party_are_what_it_asks_for(hub: Collection, tmp_path: Path) -> None:
    fill(hub, 40)
    token, to = register(hub), tmp_path / "out"
    with serving(hub) as url:
        assert fetch(url, token, to, tree(to), hosts=r"^[cd]\.") == 20
    assert sorted(path.name for path in to.rglob("*.zip")) == [
        "c.example.org:80.zip",
        "d.example.org:8080.zip",
    ]


def test_what_a_capture_speaks_of_comes_along_if_that_is_wanted(hub: Collection, tmp_path: Path) -> None:
    robot = writer(hub.archive)
    known = robot.append(visit("http://a.jp/1", b"<p>the same as ever"))
    again = visit("http://a.jp/1", b"<p>the same as ever", time=NOON + 86_400)
    again.known = Known(known.time, known.digest)
    robot.append(again)
    robot.close()
    token, bare, whole = register(hub), tmp_path / "bare", tmp_path / "whole"
    with serving(hub) as url:
        assert fetch(url, token, bare, tree(bare), day="2023-11-15") == 1
        assert fetch(url, token, whole, tree(whole), day="2023-11-15", whole=True) == 2
    assert list(bare.rglob("*.zip")) == []
    assert unzipped(whole, "a.jp:80")["pages/1"] == b"<p>the same as ever"


def test_each_difference_goes_on_by_itself(hub: Collection, tmp_path: Path) -> None:
    fill(hub, 40)
    token, to = register(hub), tmp_path / "out"
    with serving(hub) as url:
        counts = [
            fetch(url, token, to, tree(to), difference=True, hosts=hosts)
            for hosts in ("^b", "^c", "^b", "^c")
        ]
    assert counts == [10, 10, 0, 0]
