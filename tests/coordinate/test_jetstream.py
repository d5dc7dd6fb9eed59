"""Links that go straight from robot to robot, through a real JetStream."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import nats
import pytest

from joro.coordinate import jetstream
from joro.coordinate.beat import Link
from joro.coordinate.jetstream import Straight, checked, subject
from joro.errors import ConfigError
from joro.store.frontier import Frontier
from tests.nats import Nats, nats_server

NEWS = Link("http://news.example/1", 2, found_on="http://blog.example/")
MORE = Link("http://news.example/2", 2, found_on="http://blog.example/")
HINTS = {"http://news.example": "two"}


@pytest.fixture
def server() -> Iterator[Nats]:
    with nats_server() as nats:
        yield nats


class Robot:
    """A frontier with letter boxes; what it took in."""

    def __init__(self, name: str, path: Path, url: str) -> None:
        self.frontier = Frontier(path / name)
        self.straight = Straight(url, name, self.frontier, lambda: None)
        self.links: list[Link] = []

    async def __aenter__(self) -> Robot:
        self.straight.start()
        await until(lambda: self.straight.is_connected)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.straight.close()
        self.frontier.close()

    def commit(self) -> None:
        self.links += self.straight.before_commit()
        self.frontier.commit(None)
        self.straight.after_commit()

    async def send(self, link: Link, hints: dict[str, str] = HINTS) -> None:
        """Offer a link to whoever is said to own its server, and see it leave."""
        self.straight.learn(hints, [])
        self.straight.offer(link)
        self.commit()
        await until(lambda: self.straight.is_empty)

    async def has(self, *links: Link) -> None:
        async with asyncio.timeout(30):
            while not set(self.links) >= set(links):
                await asyncio.sleep(0.01)
                self.commit()


async def until(what: Callable[[], object], patience_s: float = 30.0) -> None:
    async with asyncio.timeout(patience_s):
        while True:
            if what():
                return
            await asyncio.sleep(0.01)


async def publish(url: str, robot: str, *batches: bytes) -> None:
    """As somebody would who has gone mad."""
    client = await nats.connect(url)
    for batch in batches:
        await client.jetstream().publish(subject(robot), batch)
    await client.close()


@pytest.fixture
def url(server: Nats, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(jetstream, "PATIENCE_S", 0.5)
    monkeypatch.setattr(jetstream, "READ_S", 1.0)
    monkeypatch.setattr(jetstream, "LOOK_EVERY_S", 0.05)
    return server.url


def told(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(story())


def test_a_link_whose_owner_is_known_arrives_there(tmp_path: Path, url: str) -> None:
    async def story() -> None:
        async with Robot("one", tmp_path, url) as one, Robot("two", tmp_path, url) as two:
            one.straight.learn(HINTS, [])
            assert one.straight.offer(NEWS)
            assert not one.straight.is_empty
            one.commit()
            await two.has(NEWS)
            await until(lambda: one.straight.is_empty)

    told(story)


def test_a_link_goes_to_the_manager_where_nobody_knows_better(tmp_path: Path, url: str) -> None:
    async def story() -> None:
        async with Robot("one", tmp_path, url) as one:
            assert not one.straight.offer(NEWS)
            one.straight.learn(HINTS, ["two"])
            assert not one.straight.offer(NEWS)  # its robot is silent
            one.straight.learn({"http://news.example": "one"}, [])
            assert not one.straight.offer(NEWS)  # the manager thinks that it is ours

    told(story)


def test_hints_age(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with Robot("one", tmp_path, url) as one:
            monkeypatch.setattr(jetstream, "HINT_S", -1.0)
            one.straight.learn(HINTS, [])
            assert not one.straight.offer(NEWS)

    told(story)


def test_what_was_committed_and_not_sent_is_sent_in_the_next_life(tmp_path: Path, url: str) -> None:
    async def story() -> None:
        async with Robot("one", tmp_path, url) as one:
            one.straight.learn(HINTS, [])
            one.straight.offer(NEWS)
            one.commit()  # and killed before anything could be published
        async with Robot("one", tmp_path, url) as one, Robot("two", tmp_path, url) as two:
            await two.has(NEWS)
            await until(lambda: one.straight.is_empty)
            one.commit()
        async with Robot("one", tmp_path, url) as one:
            assert one.straight.is_empty

    told(story)


def test_a_batch_comes_again_whose_reader_died_before_its_commit(tmp_path: Path, url: str) -> None:
    async def story() -> None:
        async with Robot("one", tmp_path, url) as one, Robot("two", tmp_path, url) as two:
            one.straight.learn(HINTS, [])
            one.straight.offer(NEWS)
            one.commit()
            await until(lambda: not two.straight.is_empty)
        async with Robot("two", tmp_path, url) as two:
            await two.has(NEWS)

    told(story)


def test_a_batch_that_was_committed_comes_no_more(tmp_path: Path, url: str) -> None:
    async def story() -> None:
        async with Robot("one", tmp_path, url) as one, Robot("two", tmp_path, url) as two:
            one.straight.learn(HINTS, [])
            one.straight.offer(NEWS)
            one.commit()
            await two.has(NEWS)
            await asyncio.sleep(2 * jetstream.READ_S)  # until it would come again
            two.commit()
            assert two.links == [NEWS]

    told(story)


def test_what_nobody_can_read_ends_no_robot_and_comes_no_more(
    tmp_path: Path, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        async with Robot("one", tmp_path, url) as one, Robot("two", tmp_path, url) as two:
            await one.send(NEWS)
            await two.has(NEWS)
            await publish(url, "two", b"", b"not msgpack", b"\x91\x92\xa2\xff\xfe\x00", b"\x91" * 100_000)
            await one.send(MORE)
            await two.has(NEWS, MORE)
            await asyncio.sleep(2 * jetstream.READ_S)  # until they would come again
            two.commit()
            assert two.links == [NEWS, MORE]

    told(story)
    said = [record.getMessage() for record in caplog.records if "nobody can read" in record.getMessage()]
    assert sum(int(line.split()[0]) for line in said) == 4


def test_what_waits_for_a_silent_robot_is_read_by_another(tmp_path: Path, url: str) -> None:
    async def story() -> None:
        async with Robot("one", tmp_path, url) as one, Robot("three", tmp_path, url) as three:
            await one.send(NEWS, {"http://news.example": "gone"})
            three.straight.learn({}, ["gone"])
            await three.has(NEWS)

    told(story)


def test_without_jetstream_links_come_back_for_the_manager(tmp_path: Path, url: str) -> None:
    async def story() -> None:
        with nats_server() as mortal:
            async with Robot("one", tmp_path, mortal.url) as one:
                one.straight.learn(HINTS, [])
                one.straight.offer(NEWS)
                mortal.kill()
                await one.has(NEWS)
                assert not one.straight.is_connected
                assert not one.straight.offer(NEWS)

    told(story)


def test_a_killed_jetstream_keeps_what_it_took(tmp_path: Path, url: str) -> None:
    async def story() -> None:
        with nats_server() as mortal:
            async with Robot("one", tmp_path, mortal.url) as one:
                await one.send(NEWS)
                mortal.kill()
                mortal.start()
                async with Robot("two", tmp_path, mortal.url) as two:
                    await two.has(NEWS)

    told(story)


@pytest.mark.parametrize("robot", ["host.example", "*", "zwei drei", "日本"])
def test_any_name_makes_a_subject(robot: str) -> None:
    token = subject(robot).removeprefix("joro.links.")
    assert token
    assert set(token) <= set("0123456789abcdef")


def test_many_links_go_in_batches(tmp_path: Path, url: str) -> None:
    links = [Link(f"http://news.example/{number}", 1) for number in range(2_500)]

    async def story() -> None:
        async with Robot("one", tmp_path, url) as one, Robot("two", tmp_path, url) as two:
            one.straight.learn(HINTS, [])
            assert all([one.straight.offer(link) for link in links])
            one.commit()
            assert len(one.frontier.kept("straight ")) == 3
            await two.has(*links)

    told(story)


@pytest.mark.parametrize("wrong", ["nats.example:4222", "http://nats.example", "nats://", "nats://a:99999"])
def test_an_address_that_is_none_is_refused_before_anything_is_opened(wrong: str) -> None:
    with pytest.raises(ConfigError, match=r"cooperate\.exchange"):
        checked(wrong)


def test_a_jetstream_that_comes_later_is_found(tmp_path: Path, url: str) -> None:
    async def story() -> None:
        with nats_server() as mortal:
            mortal.kill()
            one = Robot("one", tmp_path, mortal.url)
            one.straight.start()
            await asyncio.sleep(0.2)
            assert not one.straight.is_connected
            mortal.start()
            await until(lambda: one.straight.is_connected)
            await one.__aexit__()

    told(story)
