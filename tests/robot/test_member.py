from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from joro.clock import FakeClock
from joro.config import Config, Refresh, Scope
from joro.config.cooperate import Cooperate
from joro.coordinate.beat import (
    Answer,
    Beat,
    Changes,
    Given,
    JournalPage,
    Late,
    Letter,
    Link,
    Links,
    Lost,
    Post,
    Restart,
    Wanted,
    encode,
)
from joro.coordinate.messages import SUBMIT_LOG, read_log, visits
from joro.errors import CollectionError, TransferError
from joro.model import Outcome, Page, Response, Visit
from joro.robot import Robot, pulse
from joro.robot.member import Member
from joro.robot.pulse import Pulse
from joro.robot.transfers import Transfers
from joro.store.collection import Collection
from joro.store.journal import Keys
from joro.store.records import PageRecord, ServerRecord, Upkeep
from joro.url import fingerprint

A, B = "http://a.example", "http://b.example"
START = 1_000_000.0


class Line:
    """A manager at the other end of the line, that keeps everything."""

    def __init__(self) -> None:
        self.beats: list[Beat] = []
        self.posts: dict[int, Post] = {}
        self.letters: list[Letter] = []
        self.journals: dict[str, list[tuple[int, bool, Changes]]] = {}
        self.logs: list[tuple[str, list[str]]] = []  # whose, and the pages in it
        self.lease_s = 60.0
        self.refusal: TransferError | None = None

    def tell(self, *contents: Any) -> None:
        for content in contents:
            self.letters.append(Letter(len(self.letters) + 1, content))

    def post(self, path: str, content: bytes, **_: object) -> bytes:
        if self.refusal is not None:
            raise self.refusal
        if path == SUBMIT_LOG:
            name, inside = read_log(content)
            self.logs.append((name.robot, [visit.url for visit in visits(inside)]))
            return b"1 visits taken"
        told = msgspec.msgpack.decode(content, type=Beat)
        self.beats.append(told)
        self.posts |= {post.number: post for post in told.posts}
        letters = [letter for letter in self.letters if letter.number > told.read]
        return encode(Answer(max(self.posts, default=0), self.lease_s, 0.01, letters))

    def get(self, path: str, **_: object) -> bytes:
        query = parse_qs(urlsplit(path).query)
        after = int(query["after"][0])
        rows = [row for row in self.journals.get(query["server"][0], []) if row[0] > after]
        return encode(JournalPage(rows[:1], len(rows) > 1))

    def changes(self, server: str) -> Keys:
        """All that was told about a server."""
        posts = [self.posts[number] for number in sorted(self.posts)]
        return [key for post in posts for each in post.changes if each.server == server for key in each.keys]

    def hang_up(self) -> None:
        pass

    close = hang_up

    @property
    def released(self) -> list[str]:
        return [server for post in self.posts.values() for server in post.released]


class Desk:
    """A robot, a step at a time, and its manager."""

    def __init__(self, collection: Collection, line: Line | None = None) -> None:
        self.line = line or Line()
        self.clock = FakeClock(START)
        self.collection = collection
        self.robot = Robot(collection, self.clock, joined=self._joined)
        self.member = self.robot.neighbours
        self.member.start()

    def _joined(self, premises: Any) -> Member:
        transfers = Transfers(self.collection.logs, "one", Cooperate(), self.clock)
        beats = Pulse(lambda: self.line, transfers, self.clock)  # type: ignore[arg-type, return-value]
        return Member(premises, beats, transfers, self.clock, name="one", identity="i", sockets=7)

    async def until(self, what: Callable[[], object]) -> None:
        """Commit whenever that is wished, until it is so."""
        async with asyncio.timeout(20):
            while not what():
                await asyncio.sleep(0.005)
                if self.member.wants_commit:
                    self.robot._commit()

    async def told(self, *contents: Any) -> None:
        """Let the robot read letters, and tell so."""
        self.line.tell(*contents)
        await self.until(lambda: self.line.beats and self.line.beats[-1].read >= len(self.line.letters))

    def visit(self, server: str) -> str:
        """Visit the server's next page as the robot does; its URL."""
        assert self.robot._turns.take(1e12) == server
        page = self.robot.frontier.take(server)
        assert page is not None
        answer = Response(200, b"HTTP/1.1 200 OK\r\n\r\n", b"12345")
        visit = Visit(page, self.clock.now(), Outcome.OK, b"GET /", answer, elapsed_s=0.5)
        self.robot.frontier.done(visit)
        self.robot._turns.give_back(server, self.clock.now())
        self.member.note(visit, is_page=True)
        return page.url

    def waiting(self) -> list[str]:
        return sorted(value[9:].decode() for _, value in self.robot.frontier.scan(b"q"))

    async def close(self) -> None:
        self.robot.stop()
        await self.robot.collect([])


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as made:
        yield made


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    return Collection.create(tmp_path / "c", Config())


def link(url: str) -> Link:
    return Link(url, 1, 0, f"{B}/")


async def ours(collection: Collection, *urls: str) -> Desk:
    """A robot that has server A with these pages."""
    desk = Desk(collection)
    await desk.told(Given(A), Links([link(url) for url in urls]))
    return desk


def test_links_to_a_given_server_wait_and_all_of_it_is_told(
    collection: Collection, runner: asyncio.Runner
) -> None:
    async def scenario() -> None:
        desk = await ours(collection, f"{A}/1", f"{A}/2")
        assert desk.waiting() == [f"{A}/1", f"{A}/2"]
        assert desk.robot._turns.take(START) == A
        told = {key[:1] for key, _ in desk.line.changes(A)}
        assert told == {b"q", b"s"}

    runner.run(scenario())


def test_links_to_servers_of_others_go_to_the_manager_once(
    collection: Collection, runner: asyncio.Runner
) -> None:
    async def scenario() -> None:
        desk = await ours(collection, f"{A}/1")
        source = Page(f"{A}/1", 0, A)
        desk.robot._register([f"{A}/2", f"{B}/1"], source)
        desk.robot._register([f"{B}/1"], source)
        desk.robot._commit()
        assert desk.waiting() == [f"{A}/1", f"{A}/2"]
        await desk.until(lambda: any(post.links for post in desk.line.posts.values()))
        links = [found for post in desk.line.posts.values() for found in post.links]
        assert links == [Link(f"{B}/1", 1, 0, f"{A}/1")]

    runner.run(scenario())


def test_links_that_others_sent_are_taken_by_our_own_rules(tmp_path: Path, runner: asyncio.Runner) -> None:
    scope = Scope(exclude=("*/secret/*",), hops=3, cgi_hops=2, url_limit_chars=100)
    collection = Collection.create(tmp_path / "c", Config(scope=scope))

    async def scenario() -> None:
        desk = Desk(collection)
        urls = [f"{A}/1", f"{A}/secret/1", f"{A}/{'x' * 100}"]
        far = [Link(f"{A}/far", 4, 0, f"{B}/"), Link(f"{A}/?far", 1, 3, f"{B}/")]
        await desk.told(Given(A), Links([*map(link, urls), *far, Link("nowhere", 1), Link(f"{A}/2", 256)]))
        assert desk.waiting() == [f"{A}/1"]
        await desk.close()

    runner.run(scenario())


def test_a_link_to_a_server_that_has_left_goes_back(collection: Collection, runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        desk = Desk(collection)
        await desk.told(Links([link(f"{B}/1")]))
        await desk.until(lambda: desk.line.posts)
        assert [found.url for post in desk.line.posts.values() for found in post.links] == [f"{B}/1"]

    runner.run(scenario())


def test_a_wanted_server_is_given_back_after_its_last_changes(
    collection: Collection, runner: asyncio.Runner
) -> None:
    async def scenario() -> None:
        desk = await ours(collection, f"{A}/1", f"{A}/2")
        url = desk.visit(A)
        desk.line.tell(Wanted([A]))
        await desk.until(lambda: desk.line.released)
        assert desk.line.released == [A]
        assert (b"p" + fingerprint(url).to_bytes(8, "big")) in dict(desk.line.changes(A))
        assert desk.robot.frontier.counts.found == 0
        assert not desk.member.is_ours(f"{A}/")
        assert len(desk.robot._turns) == 0

    runner.run(scenario())


def test_a_wanted_server_stays_while_somebody_visits_it_and_gets_no_further_turn(
    collection: Collection, runner: asyncio.Runner
) -> None:
    async def scenario() -> None:
        desk = await ours(collection, f"{A}/1", f"{A}/2")
        assert desk.robot._turns.take(START) == A
        await desk.told(Wanted([A]))
        assert desk.member.is_ours(f"{A}/")
        assert not desk.member.may_enter(A)
        assert desk.line.released == []
        desk.robot._turns.give_back(A, START)
        assert desk.robot._gate.take() is None
        await desk.until(lambda: desk.line.released)
        assert not desk.member.is_ours(f"{A}/")

    runner.run(scenario())


def test_what_was_lost_is_not_given_back(collection: Collection, runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        desk = await ours(collection, f"{A}/1")
        await desk.told(Lost([A]))
        await desk.until(lambda: not desk.member.is_ours(f"{A}/") and not desk.member.wants_commit)
        assert desk.line.released == []
        assert desk.waiting() == []

    runner.run(scenario())


def test_a_server_comes_with_its_journal_and_waits_until_the_other_is_surely_gone(
    tmp_path: Path, collection: Collection, runner: asyncio.Runner
) -> None:
    async def scenario() -> None:
        one = await ours(collection, f"{A}/1", f"{A}/2")
        url = one.visit(A)
        one.robot._commit()
        await one.until(lambda: not one.member.has_posts)  # type: ignore[attr-defined]
        other = Desk(Collection.create(tmp_path / "d", Config()))
        keys = one.line.changes(A)
        other.line.journals[A] = [(1, False, Changes(A, keys[:2])), (2, False, Changes(A, keys[2:]))]
        await other.told(Given(A, 2, wait_s=13.0))
        record = other.robot.frontier.visited(fingerprint(url))
        assert record is not None
        assert len(other.waiting()) == 1
        assert other.robot._turns.next_ready_at() == pytest.approx(START + 13.0 + other.robot.usual_s(A))
        assert other.line.changes(A)  # the pause is news

    runner.run(scenario())


def test_what_was_told_late_enters_the_frontier_once(collection: Collection, runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        desk = await ours(collection, f"{A}/1")
        value = b"\0" * 8 + b"\0" + f"{A}/9".encode()
        key = b"q" + A.encode() + b"\0\2" + fingerprint(f"{A}/9").to_bytes(8, "big")
        await desk.told(Late(Changes(A, [(key, value)])), Late(Changes(A, [(key, value)])))
        await desk.until(lambda: desk.waiting() == [f"{A}/1", f"{A}/9"])
        assert desk.robot.frontier.server(A).found == 2
        assert desk.robot.frontier.kept("late ") == {} or desk.member.wants_commit

    runner.run(scenario())


def test_a_page_that_waits_in_a_journal_and_was_told_late_to_be_visited_waits_no_more(
    tmp_path: Path, collection: Collection, runner: asyncio.Runner
) -> None:
    async def scenario() -> None:
        one = await ours(collection, f"{A}/1")
        waits = one.line.changes(A)
        one.visit(A)
        one.robot._commit()
        await one.until(lambda: not one.member.has_posts)  # type: ignore[attr-defined]
        visited = one.line.changes(A)[len(waits) :]
        other = Desk(Collection.create(tmp_path / "d", Config()))
        other.line.journals[A] = [(1, True, Changes(A, visited)), (2, False, Changes(A, waits))]
        await other.told(Given(A, 2))
        page = next(key for key, _ in waits if key[:1] == b"q")
        await other.until(lambda: (page, None) in other.line.changes(A))  # so the next owner knows it, too
        assert not other.waiting()

    runner.run(scenario())


def test_pages_that_come_with_a_server_are_due_when_they_were_to_be(
    tmp_path: Path, runner: asyncio.Runner
) -> None:
    page = PageRecord(f"{A}/1", 1, START - 50.0, "ok", 200, upkeep=Upkeep(due=START + 70.0, interval_s=120.0))
    record = ServerRecord(found=1, visited=1, collected=1)
    key = b"p" + fingerprint(page.url).to_bytes(8, "big")
    keys: Keys = [(key, msgspec.msgpack.encode(page)), (b"s" + A.encode(), msgspec.msgpack.encode(record))]

    async def scenario() -> None:
        desk = Desk(Collection.create(tmp_path / "c", Config(refresh=Refresh(enabled=True))))
        desk.line.journals[A] = [(1, False, Changes(A, keys))]
        await desk.told(Given(A, 1))
        [entry] = desk.robot.frontier.calendar.pop(1e12, 10)
        assert (int(entry["mark"]), float(entry["due"])) == (fingerprint(page.url), START + 70.0)
        assert desk.robot.frontier.counts.visited == 1

    runner.run(scenario())


def test_after_a_restart_all_pages_are_new(collection: Collection, runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        desk = await ours(collection, f"{A}/", f"{A}/2")
        desk.visit(A)
        await desk.told(Restart(), Given(A), Links([link(f"{A}/")]))
        assert desk.waiting() == [f"{A}/"]
        assert desk.robot.frontier.counts.visited == 0

    runner.run(scenario())


def test_a_probed_server_goes_back_after_its_last_page(
    collection: Collection, runner: asyncio.Runner
) -> None:
    async def scenario() -> None:
        desk = Desk(collection)
        await desk.told(Given(A, most_pages=2), Links([link(f"{A}/{n}") for n in range(5)]))
        desk.visit(A)
        desk.robot._commit()
        assert desk.member.may_enter(A)
        desk.visit(A)
        await desk.until(lambda: desk.line.released == [A])

    runner.run(scenario())


def test_posts_are_kept_over_a_crash_until_they_are_acknowledged(
    collection: Collection, runner: asyncio.Runner
) -> None:
    async def scenario() -> None:
        desk = await ours(collection, f"{A}/1")
        desk.line.refusal = TransferError("away", remedy="wait", status=503)
        desk.visit(A)
        desk.robot._commit()
        last = max(desk.line.posts)
        await desk.member.leave()
        desk.robot.frontier.abandon()
        again = Desk(collection)
        await again.until(lambda: again.line.posts)
        assert min(again.line.posts) == last + 1
        assert again.line.beats[-1].read == 2
        assert again.member.is_ours(f"{A}/")

    runner.run(scenario())


def test_what_servers_cost_is_told_with_the_commit(collection: Collection, runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        desk = await ours(collection, f"{A}/1")
        desk.visit(A)
        desk.robot._commit()
        await desk.until(lambda: any(post.efforts for post in desk.line.posts.values()))
        [effort] = [each for post in desk.line.posts.values() for each in post.efforts]
        assert (effort.server, effort.pages, effort.received_bytes, effort.elapsed_ms) == (A, 1, 24, 500)

    runner.run(scenario())


def test_nobody_leaves_without_a_lease(collection: Collection, runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        desk = await ours(collection, f"{A}/1")
        assert desk.member.open_until == pytest.approx(START + 59.0)
        desk.line.lease_s = 0.0
        beats = len(desk.line.beats)
        await desk.until(lambda: len(desk.line.beats) > beats + 1)
        assert desk.robot._next_server() is None
        assert desk.member.word == "waiting for a lease"
        desk.line.lease_s = 3.0
        await desk.until(lambda: desk.member.open_until)
        assert desk.member.open_until == pytest.approx(START + 2.7)
        assert desk.robot._next_server() == A

    runner.run(scenario())


def test_a_refusal_ends_the_work_with_its_reason(collection: Collection, runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        desk = Desk(collection)
        desk.line.refusal = TransferError("refuses the token", remedy="give another", status=403)
        await desk.robot.collect([])

    with pytest.raises(TransferError, match="refuses the token; give another"):
        runner.run(scenario())


def test_an_old_copy_of_a_collection_does_not_go_on(collection: Collection, runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        desk = Desk(collection)
        desk.line.posts[9] = Post(9)
        await desk.robot.collect([])

    with pytest.raises(CollectionError, match=r"9 posts of one, and .* this collection is an old copy"):
        runner.run(scenario())


def test_managers_that_are_away_are_waited_for(collection: Collection, runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        desk = Desk(collection)
        desk.line.refusal = TransferError("m does not answer", remedy="wait")
        await desk.until(lambda: desk.member.word.startswith("no manager"))
        assert desk.member.word == "no manager for 0 s (m does not answer)"
        assert desk.member.failure is None

    runner.run(scenario())


def test_the_last_beat_gives_the_lease_back(collection: Collection, runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        desk = await ours(collection, f"{A}/1")
        desk.visit(A)
        desk.robot.stop()
        await desk.robot.collect([])
        assert desk.line.beats[-1].leaves
        assert not desk.line.beats[-2].leaves
        assert any(post.efforts for post in desk.line.posts.values())

    runner.run(scenario())


def test_the_log_of_a_day_goes_to_the_manager_once(
    collection: Collection, runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulse, "LOGS_EVERY_S", 0.01)

    async def scenario() -> None:
        desk = await ours(collection, f"{A}/1")
        url = desk.visit(A)
        desk.robot._commit()
        desk.clock._now += 86_400.0
        await desk.until(lambda: desk.line.logs)
        beats = len(desk.line.beats)
        await desk.until(lambda: len(desk.line.beats) > beats + 5)
        assert desk.line.logs == [("one", [url])]
        assert [path.suffix for path in collection.logs.iterdir()] == [".gz"]

    runner.run(scenario())


def test_a_beat_that_nobody_answers_is_followed_by_a_smaller_one(
    collection: Collection, runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulse, "KNOCK_S", 0.01)
    monkeypatch.setattr(pulse, "LEAST_BYTES", 100)

    async def scenario() -> None:
        desk = await ours(collection, *(f"{A}/{n}" for n in range(9)))
        desk.line.refusal = TransferError("away", remedy="wait")
        for _ in range(9):
            desk.visit(A)
            desk.robot._commit()
        await desk.until(lambda: desk.member.word.startswith("no manager"))
        await asyncio.sleep(0.3)
        beats, desk.line.refusal = len(desk.line.beats), None
        await desk.until(lambda: not desk.member.has_posts)  # type: ignore[attr-defined]
        told = desk.line.beats[beats:]
        assert (len(told[0].posts), told[0].more) == (1, True)
        assert sum(len(beat.posts) for beat in told) == 9

    runner.run(scenario())
