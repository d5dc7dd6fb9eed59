import hashlib
import json
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from joro.archive.check import check
from joro.archive.index import CaptureIndex, Limits
from joro.clock import FakeClock
from joro.errors import TransferError
from joro.redistribute.collect import Collector
from joro.redistribute.download import download
from joro.redistribute.package import Limits as PackageLimits
from joro.redistribute.package import Manifest
from joro.redistribute.selection import Selection
from joro.store.collection import Collection
from tests.archive.examples import NOON
from tests.redistribute.stand import (
    DAY_S,
    CuttingLine,
    caller,
    captures_of,
    collection_at,
    fill,
    received_warcs,
    register,
    serving,
    source,
    spelled,
)


@pytest.fixture
def theirs(tmp_path: Path) -> Collection:
    return collection_at(tmp_path / "theirs")


@pytest.fixture
def ours(tmp_path: Path) -> Collection:
    return collection_at(tmp_path / "ours")


def collect(ours: Collection, url: str, token: str, **other: str) -> int:
    clock = FakeClock(NOON + 401 * DAY_S)
    return Collector(ours, source(url, **other), caller(url, token), clock).collect().captures


def test_a_collection_receives_every_capture_of_another(theirs: Collection, ours: Collection) -> None:
    fill(theirs, 40)
    token = register(theirs)
    with serving(theirs) as url:
        assert collect(ours, url, token) == 40
    assert captures_of(ours) == captures_of(theirs)
    (warc,) = received_warcs(ours)
    assert check(ours.archive, warc.name).problems == []


@pytest.mark.slow
def test_twenty_megabytes_over_a_line_that_is_cut_five_times_are_identical(
    theirs: Collection, ours: Collection, tmp_path: Path
) -> None:
    fill(theirs, 200, body_bytes=200_000, limit_bytes=5_000_000)
    token = register(theirs)
    with serving(theirs) as url, CuttingLine(url, 3_000_000, cuts=5) as line:
        manifest = caller(url, token).post("/packages", Selection(), Manifest)
        assert manifest.bytes > 20_000_000
        warc, _ = download(caller(line.url, token), manifest, tmp_path)
        assert line.left == 0
        assert line.passed < manifest.bytes * 1.2  # nothing was fetched twice
    assert hashlib.sha256(warc.read_bytes()).hexdigest() == manifest.sha256
    with warc.open("rb") as file:
        assert sum(record.rec_type == "response" for record in ArchiveIterator(file)) == 200


def test_nothing_partial_is_in_the_archive_after_a_line_has_broken_for_good(
    theirs: Collection, ours: Collection
) -> None:
    fill(theirs, 50, body_bytes=100_000)
    token = register(theirs)
    with serving(theirs) as url:
        with CuttingLine(url, 1_500_000, cuts=1, then_dead=True) as line, pytest.raises(TransferError):
            collect(ours, line.url, token)
        assert received_warcs(ours) == []
        (part,) = ours.path.rglob("*.part")
        begun = part.stat().st_size
        assert begun > 1_000_000
        with CuttingLine(url, 1 << 40, cuts=0) as line:
            assert collect(ours, line.url, token) == 50
            assert line.passed < 50 * 100_000 - begun + 200_000  # only the rest travelled
    assert captures_of(ours) == captures_of(theirs)
    assert list(ours.path.rglob("*.part")) == []


def test_a_host_regex_and_a_period_deliver_exactly_the_captures_the_index_knows(
    theirs: Collection, ours: Collection
) -> None:
    fill(theirs, 400)
    token = register(theirs)
    since, until = NOON + 100 * 3600, NOON + 300 * 3600
    expected = {
        spelled(each)
        for each in CaptureIndex(theirs.archive).all(Limits(since=since, until=until))
        if each.url.split("/")[2].partition(":")[0].endswith(".ac.jp")
    }
    assert len(expected) == 100
    with serving(theirs) as url:
        got = collect(
            ours,
            url,
            token,
            transfer="period",
            hosts=r"\.ac\.jp$",
            since="2023-11-19T02:13:20",
            until="2023-11-27T10:13:20",
        )
    assert got == 100
    assert captures_of(ours) == expected


def test_a_difference_brings_what_was_written_since_and_nothing_twice(
    theirs: Collection, ours: Collection
) -> None:
    fill(theirs, 10)
    token = register(theirs)
    with serving(theirs) as url:
        assert collect(ours, url, token) == 10
        assert collect(ours, url, token) == 0
        fill(theirs, 5, first=10)
        assert collect(ours, url, token) == 5
    assert captures_of(ours) == captures_of(theirs)


def test_all_that_came_before_is_not_found_twice_when_all_is_fetched_again(
    theirs: Collection, ours: Collection
) -> None:
    fill(theirs, 10)
    token = register(theirs)
    with serving(theirs) as url:
        collect(ours, url, token, transfer="all")
        fill(theirs, 5, first=10)
        assert collect(ours, url, token, transfer="all") == 15
    assert len(list(CaptureIndex(ours.archive).all())) == 15


def test_a_selection_larger_than_a_package_comes_in_several(theirs: Collection, ours: Collection) -> None:
    fill(theirs, 100, body_bytes=2_000, limit_bytes=30_000)
    token = register(theirs)
    with serving(theirs, limits=PackageLimits(bytes=20_000, captures=8)) as url:
        assert collect(ours, url, token) == 100
    assert captures_of(ours) == captures_of(theirs)
    assert len(received_warcs(ours)) > 12


def test_what_was_received_can_be_handed_on(theirs: Collection, ours: Collection, tmp_path: Path) -> None:
    fill(theirs, 12)
    third = collection_at(tmp_path / "third")
    token = register(theirs)
    with serving(theirs) as url:
        collect(ours, url, token)
    token = register(ours)
    with serving(ours) as url:
        assert collect(third, url, token) == 12
    assert captures_of(third) == captures_of(theirs)


def test_the_same_selection_of_the_same_captures_is_the_same_package(theirs: Collection) -> None:
    fill(theirs, 10)
    token = register(theirs)
    with serving(theirs) as url:
        ask = caller(url, token)
        first, second = (ask.post("/packages", Selection(hosts="ac"), Manifest) for _ in range(2))
        assert first == second
        assert first.package != ask.post("/packages", Selection(hosts="org"), Manifest).package


def test_both_sides_log_the_transfer_in_the_file_of_its_week(theirs: Collection, ours: Collection) -> None:
    fill(theirs, 10)
    token = register(theirs)
    with serving(theirs) as url:
        collect(ours, url, token)
    (sent,) = theirs.logs.glob("redistribution-2024-W51.jsonl")
    lines = [json.loads(line) for line in sent.read_text().splitlines()]
    assert [(line["act"], line["who"], line["file"]) for line in lines] == [
        ("sent", "tokyo", "index"),
        ("sent", "tokyo", "warc"),
    ]
    (received,) = ours.logs.glob("redistribution-*.jsonl")
    line = json.loads(received.read_text())
    assert line["captures"] == 10
    assert line["bytes"] == lines[1]["bytes"] > 0
    assert {"start", "end", "bytes_per_s"} <= line.keys()


def test_the_difference_of_a_day_is_what_came_that_day_collected_or_received(
    theirs: Collection, ours: Collection
) -> None:
    fill(theirs, 48)  # from 22:13 on, an hour apart: 2, 24 and 22 captures a day
    clock = FakeClock(NOON + 401 * DAY_S)
    asked = {
        "2023-11-14": 2,
        "2023-11-15": 24,
        "2023-11-16": 22,
        "2024-12-19": 0,
    }
    token = register(theirs)
    with serving(theirs) as url:
        ask = caller(url, token)
        assert {day: ask.post("/packages", Selection(day=day), Manifest).captures for day in asked} == asked
        collect(ours, url, token)
    token = register(ours)
    with serving(ours, clock) as url:  # visited a year ago, received today
        ask = caller(url, token)
        assert ask.post("/packages", Selection(day="2023-11-15"), Manifest).captures == 0
        assert ask.post("/packages", Selection(day="2024-12-19"), Manifest).captures == 48


def test_the_difference_of_a_day_that_is_over_is_made_once(theirs: Collection) -> None:
    fill(theirs, 48)
    token = register(theirs)
    with serving(theirs) as url:
        ask = caller(url, token)
        first = ask.post("/packages", Selection(day="2023-11-15"), Manifest)
        (made,) = (theirs.path / "redistribution" / "packages").iterdir()
        begun = (made / "spans.npy").stat().st_ino, made.stat().st_mtime_ns
        assert ask.post("/packages", Selection(day="2023-11-15"), Manifest) == first
        assert begun == ((made / "spans.npy").stat().st_ino, made.stat().st_mtime_ns)


def test_a_source_of_which_more_hosts_are_wanted_than_before_is_asked_anew_and_nothing_is_found_twice(
    theirs: Collection, ours: Collection
) -> None:
    fill(theirs, 40)
    token = register(theirs)
    with serving(theirs) as url:
        assert collect(ours, url, token, hosts="^b") == 10
        assert collect(ours, url, token, hosts="^[bc]") == 20
        fill(theirs, 4, first=40)
        assert collect(ours, url, token, hosts="^[bc]") == 2
    assert len(list(CaptureIndex(ours.archive).all())) == 22
