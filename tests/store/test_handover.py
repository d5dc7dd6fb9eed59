from __future__ import annotations

from itertools import count
from pathlib import Path

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from joro.model import Outcome, Page, Visit
from joro.store.calendar import Entries, entries
from joro.store.handover import Movable, readable
from joro.store.journal import Keys, fold
from joro.store.records import PageRecord, RobotsRecord, ServerRecord, Upkeep
from joro.url import fingerprint, server_of

A, B = "http://a.example", "http://b.example"
_folders = count()


def recount(record: ServerRecord, before: Upkeep | None, after: Upkeep | None, waited: bool) -> None:
    """What keeping fresh counts is the robot's business."""
    counted = record.wishes.get(0, (0, 0.0))[0] + (after is not None) - (before is not None)
    record.wishes[0] = (counted, 0.0)


def dates(records: list[PageRecord]) -> Entries:
    kept = [(record, record.upkeep) for record in records if record.upkeep is not None]
    return entries(
        [care.due for _, care in kept],
        [fingerprint(record.url) for record, _ in kept],
        [care.version for _, care in kept],
        [fingerprint(server_of(record.url)) for record, _ in kept],
        b"",
    )


class Desk:
    """A frontier, and what it told about each server."""

    def __init__(self, directory: Path) -> None:
        self.frontier = Movable(directory / str(next(_folders)))
        self.told: dict[str, list[tuple[bool, Keys]]] = {}
        self.frontier.tell = self._tell

    def _tell(self, changes: dict[str, Keys]) -> None:
        for server, keys in changes.items():
            self.told.setdefault(server, []).append((False, keys))

    def find(self, *urls: str) -> None:
        self.frontier.add(urls, 2)
        self.frontier.settle(lambda server: 1_000)

    def visit(self, server: str, time: float, outcome: Outcome = Outcome.OK) -> None:
        page = self.frontier.take(server)
        if page is not None:
            care = Upkeep(due=time + 100.0, interval_s=100.0)
            self.frontier.done(Visit(page, time, outcome), care=care)
            self.frontier.calendar.push(dates([PageRecord(page.url, 0, time, "ok", 200, upkeep=care)]))
            self.frontier.server(server).ready_at = time + 20.0

    def commit(self) -> None:
        self.frontier.commit(None)
        self.frontier.wake()

    def knows(self) -> dict[str, object]:
        """All that can be told apart from outside."""
        frontier = self.frontier
        kinds = (b"q", b"p", b"s", b"w", b"r", b"t", b"f", b"d", b"i")
        dues = frontier.calendar.pop(1e12, 10_000)
        records = frontier.records(dues["mark"])
        found = {
            (int(mark), float(due))
            for mark, due, record in zip(dues["mark"], dues["due"], records, strict=True)
            if record is not None and frontier.queued(record.url) is None
        }
        counts = {name: number for name, number in frontier.counts.outcomes.items() if number}
        numbers = frontier.counts.found, frontier.counts.visited, counts
        return {"keys": [list(frontier.scan(kind)) for kind in kinds], "dates": found, "counts": numbers}


def moved(server: str, one: Desk, other: Desk, told: list[tuple[bool, Keys]]) -> None:
    one.frontier.drop(server)
    one.commit()
    other.frontier.adopt(server, fold(told)[0], dates)
    other.commit()


Step = tuple[str, str, int]
Steps = st.lists(
    st.one_of(
        st.tuples(st.just("find"), st.sampled_from([A, B]), st.integers(0, 12)),
        st.tuples(st.just("visit"), st.sampled_from([A, B]), st.integers(1, 99)),
        st.tuples(st.just("again"), st.sampled_from([A, B]), st.integers(0, 12)),
        st.tuples(st.just("rules"), st.sampled_from([A, B]), st.integers(1, 99)),
        st.tuples(st.just("source"), st.sampled_from([A, B]), st.integers(0, 12)),
        st.tuples(st.just("commit"), st.just(A), st.just(0)),
    ),
    max_size=25,
)


def live(desk: Desk, steps: list[tuple[str, str, int]]) -> None:
    for step, server, number in steps:
        url = f"{server}/{number}"
        if step == "find":
            desk.find(url)
        elif step == "visit":
            desk.visit(server, float(number), Outcome.OK if number % 3 else Outcome.GONE)
        elif step == "again" and (record := desk.frontier.visited(fingerprint(url))) is not None:
            desk.frontier.wait_again(record, first=True)
        elif step == "rules":
            desk.frontier.keep_robots(server, RobotsRecord(float(number), 200, b"x"))
        elif step == "source":
            desk.frontier.sources.keep_page(url, b"state")
            desk.frontier.sources.keep_server(server, b"lookout")
        else:
            desk.commit()
    desk.commit()
    desk.commit()  # a server that has nothing left loses its mark with the next one


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("handover")


def test_sources_of_a_server_that_comes_have_their_dates_apart(folder: Path) -> None:
    desk = Desk(folder)
    pages = [PageRecord(f"{A}/{n}", 0, 5.0, "ok", 200, upkeep=Upkeep(due=9.0, polled=n == 1)) for n in (1, 2)]
    keys = [b"p" + fingerprint(page.url).to_bytes(8, "big") for page in pages]
    desk.frontier.adopt(A, dict(zip(keys, map(msgspec.msgpack.encode, pages), strict=True)), dates)
    desk.commit()
    found = [shelf.pop(10.0, 9)["mark"] for shelf in (desk.frontier.calendar.sources, desk.frontier.calendar)]
    assert [marks.tolist() for marks in found] == [[fingerprint(page.url)] for page in pages]


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(Steps, Steps)
def test_a_server_that_went_and_came_back_is_as_if_it_had_stayed(
    folder: Path, before: list[tuple[str, str, int]], after: list[tuple[str, str, int]]
) -> None:
    stayed, went, host = Desk(folder), Desk(folder), Desk(folder)
    for desk in (stayed, went):
        desk.find(f"{A}/0")
        live(desk, before)
    told = list(went.told.get(A, []))
    moved(A, went, host, told)
    told += host.told.get(A, [])
    moved(A, host, went, told)
    for desk in (stayed, went):
        live(desk, after)
    assert went.knows() == stayed.knows()
    assert host.knows()["keys"] == [[] for _ in range(9)]
    for desk in (stayed, went, host):
        desk.frontier.abandon()


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(Steps)
def test_adopting_twice_is_adopting_once(folder: Path, steps: list[tuple[str, str, int]]) -> None:
    source, once, twice = Desk(folder), Desk(folder), Desk(folder)
    live(source, steps)
    state, late = fold(source.told.get(A, []))
    for desk in (once, twice, twice):
        desk.frontier.adopt(A, state, dates)
        desk.commit()
    assert twice.knows() == once.knows()
    assert late == []
    for desk in (source, once, twice):
        desk.frontier.abandon()


def waiting(desk: Desk) -> int:
    """Pages that really wait, or are being visited."""
    return len(list(desk.frontier.scan(b"q")))


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(Steps, Steps, Steps, st.integers(0, 9))
def test_as_many_pages_wait_as_are_counted_whoever_died_with_whatever_untold(
    folder: Path, before: list[Step], during: list[Step], after: list[Step], known: int
) -> None:
    one, two, three = Desk(folder), Desk(folder), Desk(folder)
    live(one, before)
    filed, late = one.told.get(A, [])[:known], [keys for _, keys in one.told.get(A, [])[known:]]
    two.frontier.adopt(A, fold(filed)[0], dates)
    two.commit()
    live(two, during)
    for keys in late:  # it comes back, and tells
        two.frontier.merge(A, keys, dates, recount)
        two.frontier.settle(lambda server: 1_000)
        two.commit()
        assert two.frontier.waiting == waiting(two)
    live(two, after)
    history = [*filed, *((True, keys) for keys in late), *two.told.get(A, [])]
    state, told_late = fold(history)
    three.frontier.adopt(A, state, dates)
    three.commit()
    for keys in told_late:
        three.frontier.merge(A, keys, dates, recount)
        three.frontier.settle(lambda server: 1_000)
        three.commit()
    two.frontier.drop(A)
    two.commit()
    for desk in (one, two, three):
        assert desk.frontier.waiting == waiting(desk)
        desk.frontier.abandon()


def test_a_server_that_left_takes_its_counts_along_and_others_stay(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.find(f"{A}/1", f"{A}/2", f"{B}/1")
    desk.visit(A, 5.0)
    desk.visit(B, 6.0, Outcome.GONE)
    desk.commit()
    desk.frontier.drop(A)
    desk.commit()
    counts = desk.frontier.counts
    assert (counts.found, counts.visited, counts.outcomes) == (1, 1, {"ok": 0, "gone": 1})
    assert [server for server, _ in desk.frontier.all_servers()] == [B]


def test_links_to_pages_of_a_server_that_came_back_are_nothing_new(tmp_path: Path) -> None:
    one, other = Desk(tmp_path), Desk(tmp_path)
    one.find(f"{A}/1")
    one.commit()
    moved(A, one, other, one.told[A])
    other.find(f"{A}/1", f"{A}/2")
    other.commit()
    assert other.frontier.server(A).found == 2


def test_an_adopted_server_can_be_visited_after_the_commit_and_keeps_its_pause(tmp_path: Path) -> None:
    one, other = Desk(tmp_path), Desk(tmp_path)
    one.find(f"{A}/1", f"{A}/2")
    one.visit(A, 5.0)
    one.commit()
    other.frontier.adopt(A, fold(one.told[A])[0], dates)
    assert other.frontier.take(A) is None
    other.commit()
    page = other.frontier.take(A)
    assert page is not None
    assert other.frontier.server(A).ready_at == 25.0


def test_pages_visited_elsewhere_are_visited_and_pages_found_there_are_found(tmp_path: Path) -> None:
    one, other = Desk(tmp_path), Desk(tmp_path)
    one.find(f"{A}/1", f"{A}/2")
    one.commit()
    other.frontier.adopt(A, fold(one.told[A])[0], dates)
    other.commit()
    one.visit(A, 50.0)
    one.find(f"{A}/3")
    one.commit()
    other.frontier.merge(A, one.told[A][-1][1], dates, recount)
    other.frontier.settle(lambda server: 1_000)
    other.commit()
    record = other.frontier.server(A)
    assert (record.found, record.visited, record.ready_at) == (3, 1, 70.0)
    assert len(list(other.frontier.scan(b"q"))) == 2


@pytest.mark.parametrize("is_awake", [True, False])
def test_a_page_that_was_visited_elsewhere_is_not_taken_before_the_commit_either(
    tmp_path: Path, is_awake: bool
) -> None:
    one, other = Desk(tmp_path), Desk(tmp_path)
    for desk in (one, other):
        desk.find(f"{A}/1", f"{A}/2")
        desk.commit()
    one.visit(A, 50.0)
    one.commit()
    if is_awake:
        other.frontier._queues[A].heap.clear()
        other.frontier._queues[A].more = True
    else:
        del other.frontier._queues[A]
    other.frontier.merge(A, one.told[A][-1][1], dates, recount)
    other.frontier.settle(lambda server: 1_000)
    other.frontier.wake()
    for _ in range(3):
        other.visit(A, 60.0)
    other.commit()
    assert (other.frontier.server(A).found, other.frontier.server(A).visited) == (2, 2)


def test_what_was_told_late_counts_once(tmp_path: Path) -> None:
    one, other, third = Desk(tmp_path), Desk(tmp_path), Desk(tmp_path)
    one.find(f"{A}/1", f"{A}/2")
    one.visit(A, 50.0)
    one.commit()
    late = one.told[A][0][1]
    for _ in range(2):
        other.frontier.merge(A, late, dates, recount)
        other.frontier.settle(lambda server: 1_000)
        other.commit()
    assert (other.frontier.counts.found, other.frontier.counts.visited) == (2, 1)
    third.frontier.adopt(A, fold(other.told[A])[0], dates)
    third.commit()
    third.frontier.merge(A, late, dates, recount)
    third.frontier.settle(lambda server: 1_000)
    assert (third.frontier.counts.found, third.frontier.counts.visited) == (2, 1)


def test_a_later_visit_here_outweighs_one_that_is_told_late(tmp_path: Path) -> None:
    one, other = Desk(tmp_path), Desk(tmp_path)
    for desk, time in ((one, 50.0), (other, 60.0)):
        desk.find(f"{A}/1")
        desk.visit(A, time)
        desk.commit()
    other.frontier.merge(A, one.told[A][0][1], dates, recount)
    other.commit()
    record = other.frontier.visited(fingerprint(f"{A}/1"))
    assert record is not None
    assert record.time == 60.0


def test_a_page_that_is_being_visited_is_left_to_its_visitor(tmp_path: Path) -> None:
    one, other = Desk(tmp_path), Desk(tmp_path)
    for desk in (one, other):
        desk.find(f"{A}/1")
    one.visit(A, 50.0)
    one.commit()
    other.commit()
    page = other.frontier.take(A)
    other.frontier.merge(A, one.told[A][0][1], dates, recount)
    other.frontier.settle(lambda server: 1_000)
    assert page == Page(f"{A}/1", 2, A)
    other.frontier.done(Visit(page, 60.0, Outcome.OK))
    other.commit()
    assert other.frontier.counts.visited == 1


def test_nothing_is_told_of_a_server_that_leaves_or_comes(tmp_path: Path) -> None:
    one, other = Desk(tmp_path), Desk(tmp_path)
    one.find(f"{A}/1")
    one.commit()
    moved(A, one, other, list(one.told[A]))
    assert len(one.told[A]) == 1
    assert [key[:1] for _, keys in other.told[A] for key, _ in keys] == [b"s"]


def test_what_another_robot_told_and_nobody_can_read_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk(tmp_path)
    desk.find(f"{A}/1", f"{A}/2")
    desk.visit(A, 10.0)
    desk.commit()
    told = [pair for _, keys in desk.told[A] for pair in keys]
    junk: Keys = [(key, b"junk") for key, value in told if value is not None and key[:1] in b"pqs"]
    junk += [(b"r" + A.encode(), b"junk"), (b"p" + bytes(8), b"\x90"), (b"q", b""), (b"", b"")]
    assert readable(A, told) == told
    assert readable(A, [*junk, *told]) == told
    assert f"{A}: {len(junk)} things" in caplog.text
    desk.frontier.merge(A, junk, dates, recount)
    desk.commit()
    assert desk.frontier.counts.visited == 1
    desk.frontier.close()


NAN = float("nan")


@pytest.mark.parametrize(
    "page",
    [
        PageRecord(f"{A}/1", 0, 5.0, "ok", 200, upkeep=Upkeep(due=NAN)),
        PageRecord(f"{A}/1", 0, 5.0, "ok", 200, upkeep=Upkeep(due=9.0, interval_s=NAN)),
        PageRecord(f"{A}/1", 0, NAN, "ok", 200),
    ],
)
def test_a_page_whose_date_is_no_number_cannot_be_read_and_the_others_come(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, page: PageRecord
) -> None:
    desk = Desk(tmp_path)
    other = PageRecord(f"{A}/2", 0, 5.0, "ok", 200, upkeep=Upkeep(due=9.0))
    told: Keys = [
        (b"p" + fingerprint(each.url).to_bytes(8, "big"), msgspec.msgpack.encode(each))
        for each in (page, other)
    ]
    desk.frontier.merge(A, told, dates, recount)
    desk.commit()
    assert desk.frontier.calendar.pop(10.0, 9)["mark"].tolist() == [fingerprint(other.url)]
    assert readable(A, told) == told[1:]
    assert f"{A}: 1 things" in caplog.text
    desk.frontier.close()


def test_a_server_whose_pause_ends_at_no_time_cannot_be_read() -> None:
    key = b"s" + A.encode()
    records = [ServerRecord(ready_at=NAN), ServerRecord(wishes={0: (1, NAN)}), ServerRecord(ready_at=9.0)]
    told: list[Keys] = [[(key, msgspec.msgpack.encode(record))] for record in records]
    assert [readable(A, keys) for keys in told] == [[], [], told[2]]
