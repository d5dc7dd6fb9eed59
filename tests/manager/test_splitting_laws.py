"""Robots and a big server, with deaths, lost answers and rounds in any order."""

import asyncio
import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import settings as how
from hypothesis import strategies as st

from joro.clock import FakeClock
from joro.config.cooperate import Manager
from joro.coordinate.beat import (
    Answer,
    Beat,
    Changes,
    Effort,
    Given,
    Late,
    Link,
    Links,
    Lost,
    Piece,
    Post,
    Wanted,
)
from joro.coordinate.units import homes, lies_in, server_in
from joro.manager.beats import beat
from joro.manager.failover import failover_round
from joro.manager.journals import page
from joro.manager.planning import planning_round
from joro.manager.splitting import splitting_round
from joro.store.control import Control
from joro.store.control_sqlite import SqliteControl
from joro.store.cutting import urls_of
from joro.store.journal import Keys, fold
from joro.store.records import PageRecord
from tests.manager.robots import register
from tests.manager.test_splitting import S, visited, waiting

OTHER = "http://other.example"
URLS = [f"{S}/", *(f"{S}/{place % 4}/{place}" for place in range(1, 40)), f"{OTHER}/", f"{OTHER}/1"]
NAMES = ("r1", "r2", "r3")
RULES = Manager(
    lease_s=3.0,
    beat_s=0.3,
    grace_s=1.0,
    skew_s=1e9,
    plan_every_s=1.0,
    most_moves_percent=60.0,
    split_above_mb=0.01,
)
#: Where files are not waited for.
MEMORY = Path("/dev/shm")


def links_on(url: str) -> list[str]:
    """Every page leads to two others, the last ones to none."""
    place = URLS.index(url)
    return URLS[2 * place + 1 : 2 * place + 3]


class Robot:
    """A disk and a lease; everything it does is a commit."""

    def __init__(self, name: str, control: Control, clock: FakeClock) -> None:
        self.name, self.control, self.clock = name, control, clock
        self.read = self.number = 0
        self.posts: list[Post] = []
        self.units: dict[str, Piece | None] = {}
        self.wanted: set[str] = set()
        self.pages: dict[str, float | None] = {}  # when each was visited
        self.lease_until = 0.0
        self.archive: list[str] = []

    def has(self, url: str) -> bool:
        pieces = [piece for unit, piece in self.units.items() if server_in(unit) == url[: url.index("/", 8)]]
        return bool(pieces) and (pieces[0] is None or lies_in(homes(pieces[0]), url))

    def unit_of(self, url: str) -> str:
        return next(unit for unit in self.units if server_in(unit) == url[: url.index("/", 8)])

    def tell(self, keys: dict[str, Keys] | None = None, **more: object) -> None:
        self.number += 1
        changes = [Changes(unit, some) for unit, some in (keys or {}).items()]
        self.posts.append(Post(self.number, changes, **more))  # type: ignore[arg-type]

    def find(self, urls: list[str]) -> None:
        keys: dict[str, Keys] = {}
        for url in urls:
            if self.has(url) and url not in self.pages:
                self.pages[url] = None
                keys.setdefault(self.unit_of(url), []).append(_waiting(url))
        foreign = [Link(url, 1) for url in urls if not self.has(url)]
        if keys or foreign:
            self.tell(keys, links=foreign)

    def visit(self) -> None:
        ready = [url for url, time in self.pages.items() if time is None and self.has(url)]
        ready = [url for url in ready if self.unit_of(url) not in self.wanted]
        if ready and self.clock.now() < self.lease_until:
            url, now = ready[0], self.clock.now()
            self.pages[url] = now
            self.archive.append(url)
            key, value = visited(url, now)
            keys: Keys = [(key, value), (_waiting(url)[0], None)]
            self.tell({self.unit_of(url): keys}, efforts=[Effort(self.unit_of(url), 1, 5_000, 10)])
            self.find(links_on(url))

    def drop(self, unit: str) -> None:
        if unit in self.units:
            self.pages = {url: time for url, time in self.pages.items() if self.unit_of(url) != unit}
            del self.units[unit]
        self.wanted.discard(unit)

    def release(self) -> None:
        for unit in sorted(self.wanted):
            self.drop(unit)
            self.tell(released=[unit])

    def call(self, *, is_heard: bool = True) -> None:
        told = Beat(self.name, self.name, self.clock.now(), self.read, list(self.posts), sockets=2)
        answer = beat(self.control, told, RULES)
        if is_heard:
            self.take(answer)

    def take(self, answer: Answer) -> None:
        self.lease_until = self.clock.now() + answer.lease_s if answer.lease_s else 0.0
        self.posts = [post for post in self.posts if post.number > answer.received]
        for letter in answer.letters:
            if letter.number > self.read:
                self.read = letter.number
                self.open(letter.content)

    def open(self, content: object) -> None:
        match content:
            case Given(server=unit, piece=piece):
                self.adopt(unit, piece)
            case Links(links=links):
                self.find([link.url for link in links])
            case Wanted(servers=units):
                self.wanted |= {unit for unit in units if unit in self.units}
                self.tell(released=[unit for unit in units if unit not in self.units])
            case Lost(servers=units):
                for unit in units:
                    self.drop(unit)
            case Late(changes=changes) if changes.server in self.units:
                before = dict(self.pages)
                self.merge(changes.keys)
                new = {url: time for url, time in self.pages.items() if before.get(url, -1.0) != time}
                keys = [visited(url, time) if time else _waiting(url) for url, time in new.items()]
                gone: Keys = [(_waiting(url)[0], None) for url, time in new.items() if time]
                if new:
                    self.tell({changes.server: [*keys, *gone]})

    def adopt(self, unit: str, piece: Piece | None) -> None:
        self.release()  # what leaves has left before anything comes
        assert server_in(unit) not in map(server_in, self.units), "two parts of one server"
        self.units[unit] = piece
        history = page(self.control, self.name, unit, 0).changes
        state, late = fold((is_late, changes.keys) for _, is_late, changes in history)
        self.merge(list(state.items()))
        for keys in late:
            self.merge(keys)

    def merge(self, keys: Keys) -> None:
        for url in urls_of(keys).values():
            assert self.has(url), "a page of another part"
            self.pages.setdefault(url, None)
        for key, value in keys:
            if key[:1] == b"p" and value is not None:
                record = msgspec.msgpack.decode(value, type=PageRecord)
                self.pages[record.url] = max(record.time, self.pages[record.url] or 0.0)


def _waiting(url: str) -> tuple[bytes, bytes]:
    key, value = waiting(url)
    return (key.replace(S.encode(), OTHER.encode()), value) if url.startswith(OTHER) else (key, value)


class World:
    """Three robots and a manager."""

    def __init__(self, control: Control, clock: FakeClock) -> None:
        self.control, self.clock = control, clock
        register(control, *NAMES)
        self.robots = {name: Robot(name, control, clock) for name in NAMES}
        self.robots["r1"].find([f"{S}/", f"{OTHER}/"])
        self.most_parts = 0

    def step(self, what: str, name: str) -> None:
        robot = self.robots[name]
        match what:
            case "call":
                robot.call()
            case "call in vain":
                robot.call(is_heard=False)
            case "visit":
                robot.visit()
            case "release":
                robot.release()
            case "die":
                robot.lease_until = 0.0
            case "wait":
                asyncio.run(self.clock.advance(0.7))
            case "long":
                asyncio.run(self.clock.advance(2.1))
            case "rounds":
                failover_round(self.control, RULES)
                planning_round(self.control, RULES)
                splitting_round(self.control, RULES)
        self.look()

    def look(self) -> None:
        """No page may be visited by two robots."""
        now = self.clock.now()
        there = [robot for robot in self.robots.values() if now < robot.lease_until]
        for url in (f"{S}/", f"{S}/1/1", f"{S}/2/2", f"{S}/3/3", f"{S}/0/4", f"{OTHER}/"):
            assert sum(robot.has(url) for robot in there) <= 1, url
        with self.control.reading() as transaction:
            units = [name for (name,) in transaction.rows("SELECT name FROM servers")]
        assert not {server_in(unit) for unit in units if "#" in unit} & set(units)
        self.most_parts = max(self.most_parts, sum("#" in unit for unit in units))

    @property
    def is_done(self) -> bool:
        return {url for robot in self.robots.values() for url in robot.archive} == set(URLS)

    def finish(self) -> None:
        rounds = 0
        while rounds < 120 and not (self.is_done and self.most_parts > 1):
            rounds += 1
            for name in NAMES:
                for what in ("call", "release", "visit", "call"):
                    self.step(what, name)
            self.step("rounds", "r1")
            asyncio.run(self.clock.advance(0.4))


steps = st.tuples(
    st.sampled_from(
        [
            "call",
            "call",
            "visit",
            "visit",
            "release",
            "call in vain",
            "die",
            "wait",
            "long",
            "rounds",
            "rounds",
        ]
    ),
    st.sampled_from(NAMES),
)


@how(max_examples=10, deadline=None)
@given(st.lists(steps, min_size=20, max_size=120))
@pytest.mark.slow
def test_nothing_is_lost_and_nothing_shared_while_a_server_is_cut_and_glued(
    story: list[tuple[str, str]],
) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.exists() else None) as folder:
        clock = FakeClock(1_000_000.0)
        control = SqliteControl(Path(folder) / "control.db", clock)
        try:
            world = World(control, clock)
            for _ in range(2):
                for name in NAMES:
                    world.step("call", name)
                    world.step("visit", name)
            for what, name in story:
                world.step(what, name)
            world.finish()
        finally:
            control.close()
    assert world.is_done
    assert world.most_parts > 1
