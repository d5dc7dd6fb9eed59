import threading
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joro.archive.cdx import REVISIT
from joro.archive.index import CaptureIndex, Limits
from joro.archive.merge import changing, merge
from joro.archive.names import open_index, sorted_index, warcs
from joro.errors import BadUrl
from joro.model import Capture, Known
from joro.url import canonical, host_of
from tests.archive.examples import HEAD, NOON, URL, only, visit, writer

DAY = 86_400.0

urls = st.builds(
    "{}://{}/{}".format,
    st.sampled_from(["http", "https"]),
    st.sampled_from(["a.jp", "www.a.jp", "b.a.jp", "a.jp:8080", "ab.jp", "[::1]"]),
    st.sampled_from(
        ["", "a", "A", "a/b", "a//b", "a/b/c?d=1", "%E3%81%82/x", "a%2Fb", "(S(1))/x.aspx", "ab"]
    ),
).map(canonical)
visits = st.lists(st.tuples(urls, st.integers(0, 5_000_000), st.integers(0, 3)), max_size=30)


def archived(directory: Path, made: list[tuple[str, int, int]], merge_every: int = 0) -> list[Capture]:
    """Captures in several WARCs, the last still open; merged now and then."""
    archive = writer(directory, limit_bytes=3_000)
    captures = []
    for number, (url, micros, text) in enumerate(made, start=1):
        captures.append(archive.append(visit(url, b"%d" % text, time=NOON + micros / 1e6)))
        archive.flush()
        if merge_every and number % merge_every == 0:
            merge(directory)
    return captures


@settings(max_examples=60, deadline=None)
@given(made=visits, merge_every=st.integers(0, 10))
def test_all_questions_are_answered_as_by_looking_at_everything(
    made: list[tuple[str, int, int]], merge_every: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory = tmp_path_factory.mktemp("archive")
    captures = archived(directory, made, merge_every)
    index = CaptureIndex(directory)
    assert sorted(map(repr, index.all())) == sorted(map(repr, captures))
    for url in {each.url for each in captures}:
        versions = list(index.versions(url))
        assert set(versions) == {each for each in captures if each.url == url}
        assert all(a.time <= b.time for a, b in pairwise(versions))
        host = host_of(url)
        assert set(index.of_host(host)) == {each for each in captures if host_of(each.url) == host}
        prefix = url[: url.rindex("/") + 1]
        assert set(index.under(prefix)) == {each for each in captures if each.url.startswith(prefix)}
    for digest in {each.digest for each in captures}:
        found = list(index.of_digest(digest))
        assert sorted(map(repr, found)) == sorted(repr(each) for each in captures if each.digest == digest)


@settings(max_examples=40, deadline=None)
@given(
    hours=st.lists(st.integers(0, 100_000), min_size=1, max_size=12),
    asked=st.integers(-1_000, 110_000),
    merge_every=st.integers(0, 5),
)
def test_the_nearest_version_is_found_however_far_it_is(
    hours: list[int], asked: int, merge_every: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory = tmp_path_factory.mktemp("archive")
    captures = archived(directory, [(URL, hour * 3_600_000_000, 0) for hour in hours], merge_every)
    time = NOON + asked * 3_600.0
    found = CaptureIndex(directory).nearest(URL, time)
    assert found is not None
    assert abs(found.time - time) == min(abs(each.time - time) for each in captures)


@pytest.fixture
def index(tmp_path: Path) -> CaptureIndex:
    """Versions of one page on five days, two merged, two in closed WARCs, one in an open one."""
    for day in range(5):
        archive = writer(tmp_path)
        head = HEAD.replace(b"200", b"404") if day == 3 else HEAD
        archive.append(visit(body=b"day %d" % (day // 2), head=head, time=NOON + day * DAY))
        archive.append(visit(URL + "b", time=NOON + day * DAY))
        archive.flush() if day == 4 else archive.close()
        if day == 1:
            merge(tmp_path)
    return CaptureIndex(tmp_path)


def days(captures: Iterable[Capture]) -> list[int]:
    return [round((each.time - NOON) / DAY) for each in captures]


def test_versions_can_be_limited(index: CaptureIndex) -> None:
    assert days(index.versions(URL)) == [0, 1, 2, 3, 4]
    assert days(index.versions(URL, Limits(since=NOON + DAY))) == [1, 2, 3, 4]
    assert days(index.versions(URL, Limits(until=NOON + DAY))) == [0]
    assert days(index.versions(URL, Limits(since=NOON + 0.5, until=NOON + 3 * DAY + 0.5))) == [1, 2, 3]
    assert days(index.versions(URL, Limits(mime="text/html"))) == [0, 1, 2, 3, 4]
    assert days(index.versions(URL, Limits(mime="image/png"))) == []
    assert days(index.versions(URL, Limits(since=float("-inf"), until=float("inf")))) == [0, 1, 2, 3, 4]
    digest = next(index.versions(URL, Limits(since=NOON + 3 * DAY))).digest
    assert days(index.versions(URL, Limits(digest=digest))) == [2, 3]
    assert days(index.of_digest(digest, Limits(until=NOON + 3 * DAY))) == [2]


def test_the_nearest_version_within_limits_is_found(index: CaptureIndex) -> None:
    def day_of(time: float, since: float = 0.0) -> list[int]:
        found = index.nearest(URL, time, Limits(since=since))
        return days([found] if found else [])

    assert day_of(NOON + 1.4 * DAY) == [1]
    assert day_of(NOON + 1.5 * DAY) == [1]
    assert day_of(NOON + 1.6 * DAY) == [2]
    assert day_of(0.0) == [0]
    assert day_of(NOON, since=NOON + 2 * DAY) == [2]
    assert day_of(NOON, since=NOON + 9 * DAY) == []
    assert index.nearest("http://nowhere.example/", NOON) is None


def test_what_is_withheld_is_nowhere(index: CaptureIndex) -> None:
    careful = CaptureIndex(index.directory, withheld=lambda capture: capture.url == URL)
    assert list(careful.versions(URL)) == []
    assert careful.nearest(URL, NOON) is None
    assert {each.url for each in careful.all()} == {URL + "b"}
    assert len(list(careful.of_host("www.example.jp"))) == 5


def test_hosts_below_a_host_are_found_on_request(tmp_path: Path) -> None:
    archive = writer(tmp_path)
    for host in ("a.jp", "www.a.jp", "b.a.jp", "c.b.a.jp:81", "ba.jp"):
        archive.append(visit(f"http://{host}/"))
    archive.close()
    index = CaptureIndex(tmp_path)
    assert [each.url for each in index.of_host("b.a.jp")] == ["http://b.a.jp/"]
    assert len(list(index.of_host("A.jp", subdomains=True))) == 4


def test_a_prefix_without_a_host_is_a_mistake(index: CaptureIndex) -> None:
    with pytest.raises(BadUrl):
        index.under("www.example.jp/a")


def test_a_revisit_leads_to_its_original(tmp_path: Path) -> None:
    archive = writer(tmp_path)
    whole = archive.append(visit(time=NOON))
    again = visit(time=NOON + DAY)
    again.known = Known(NOON, whole.digest)
    revisit = archive.append(again)
    archive.close()
    merge(tmp_path)
    index = CaptureIndex(tmp_path)
    assert revisit.mime == REVISIT
    assert index.original(revisit) == whole
    assert list(index.of_digest(whole.digest)) == [whole, revisit]


def test_an_index_once_made_sees_what_comes_later(tmp_path: Path) -> None:
    index = CaptureIndex(tmp_path)
    assert list(index.versions(URL)) == []
    archive = writer(tmp_path)
    for number in range(1, 30):
        archive.append(visit(time=NOON + number))
        assert len(list(index.versions(URL))) == number - 1
        archive.flush()
        if number % 10 == 0:
            archive.rotate()
        if number % 12 == 0:
            merge(tmp_path)
        assert len(list(index.versions(URL))) == number


def test_whoever_reads_while_runs_are_replaced_reads_to_the_end(tmp_path: Path) -> None:
    captures = archived(tmp_path, [(f"http://h{n}.example/", n, 0) for n in range(40)], merge_every=20)
    reading = CaptureIndex(tmp_path).all()
    first = [next(reading) for _ in range(5)]
    writer(tmp_path).close()
    merge(tmp_path)
    with changing(tmp_path, warcs(tmp_path)):
        pass
    assert {*first, *reading} == set(captures)


def test_a_torn_last_line_is_not_seen(tmp_path: Path) -> None:
    archive = writer(tmp_path)
    archive.append(visit())
    archive.flush()
    with open_index(only(tmp_path)).open("ab") as file:
        file.write(b'jp,example)/a 20231114221320 {"url":"http')
    index = CaptureIndex(tmp_path)
    assert [len(list(index.versions(URL))) for _ in range(3)] == [1, 1, 1]


def test_a_changed_warc_is_seen_as_it_is_now(tmp_path: Path) -> None:
    for number in range(3):
        archive = writer(tmp_path)
        archive.append(visit(time=NOON + number))
        archive.append(visit(URL + "b", time=NOON + number))
        archive.close()
    merge(tmp_path)
    index = CaptureIndex(tmp_path)
    assert len(list(index.versions(URL))) == 3
    changed = sorted_index(tmp_path / warcs(tmp_path)[1])
    with changing(tmp_path, [warcs(tmp_path)[1]]):
        assert len(list(index.versions(URL))) == 3
        kept = [line for line in changed.read_bytes().splitlines(keepends=True) if b")/ab" in line]
        draft = changed.with_suffix(".new")
        draft.write_bytes(b"".join(kept))
        draft.rename(changed)
    assert [each.time - NOON for each in index.versions(URL)] == [0.0, 2.0]
    merge(tmp_path)
    assert [each.time - NOON for each in index.versions(URL)] == [0.0, 2.0]


@pytest.mark.slow
def test_every_flushed_version_is_seen_while_robots_write_and_others_merge(tmp_path: Path) -> None:
    flushed, index = [0], CaptureIndex(tmp_path)

    def write() -> None:
        archive = writer(tmp_path, limit_bytes=3_000)
        for number in range(150):
            archive.append(visit(time=NOON + number))
            archive.flush()
            flushed[0] = number + 1
            if number % 7 == 0:
                merge(tmp_path)
        archive.close()

    writing = threading.Thread(target=write)
    writing.start()
    while writing.is_alive():
        known = flushed[0]
        found = [each.time for each in index.versions(URL)]
        assert len(found) >= known
        assert found == sorted(set(found))
    assert len(list(index.versions(URL))) == 150
