"""Robots written from `joro.coordinate.beat` alone: a disk, a lease, and nothing else of ours.

Their frontier has two keys for a page: `w` URL while it waits, `v` URL with the time of its visit.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import msgspec

from joro.clock import FakeClock
from joro.config.cooperate import Manager
from joro.coordinate.beat import (
    Answer,
    Beat,
    Changes,
    Effort,
    Given,
    Late,
    Letter,
    Link,
    Links,
    Lost,
    Post,
    Restart,
    Wanted,
)
from joro.manager import journals
from joro.manager.beats import beat
from joro.store.control import Control, Row, Transaction
from joro.url import server_of

#: Of a server that is not here, or not yet, no journal was read.
UNREAD = (0, 0)


class Killed(Exception):
    """The manager was, in the middle of a transaction."""


@dataclass
class Mortal:
    """A manager's way to the store; it dies after so many more statements."""

    control: Control
    statements: int = 10**9

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with self.control.transaction() as transaction:
            yield _Mortal(self, transaction)
            self.live()

    def reading(self) -> AbstractContextManager[Transaction]:
        return self.control.reading()

    def size_bytes(self) -> int:
        return self.control.size_bytes()

    def close(self) -> None:
        self.control.close()

    def live(self) -> None:
        self.statements -= 1
        if self.statements < 0:
            raise Killed


class _Mortal:
    def __init__(self, manager: Mortal, transaction: Transaction) -> None:
        self._manager = manager
        self._transaction = transaction
        self.now = transaction.now

    def rows(self, sql: str, *values: object) -> list[Row]:
        self._manager.live()
        return self._transaction.rows(sql, *values)

    def run(self, sql: str, *values: object) -> int:
        self._manager.live()
        return self._transaction.run(sql, *values)

    def run_many(self, sql: str, rows: Any) -> None:
        self._manager.live()
        self._transaction.run_many(sql, rows)

    def insert(self, table: str, columns: str, rows: Any) -> None:
        self._manager.live()
        self._transaction.insert(table, columns, rows)


@dataclass
class Disk:
    """What survives a robot's death."""

    identity: str
    read: int = 0
    post_number: int = 0
    posts: list[Post] = field(default_factory=list)
    #: server → how far its journal must be read, and how far it was; None: to the end.
    servers: dict[str, tuple[int, int] | None] = field(default_factory=dict)
    wanted: set[str] = field(default_factory=set)
    most_pages: dict[str, int] = field(default_factory=dict)
    frontier: defaultdict[str, dict[bytes, bytes]] = field(default_factory=lambda: defaultdict(dict))


class Robot:
    """One robot. Whatever it commits, it commits whole."""

    def __init__(self, name: str, clock: FakeClock, settings: Manager) -> None:
        self.name = name
        self.clock = clock
        self.settings = settings
        self.disk = Disk(f"{name}-1")
        self.lease_until = 0.0
        self.visits: list[tuple[str, float]] = []
        self.last_beat: Beat | None = None
        self.safe: list[Post] = []

    @property
    def has_lease(self) -> bool:
        return self.clock.now() < self.lease_until

    def kill(self) -> None:
        """Start again with what is on disk."""
        self.lease_until = 0.0

    def wipe(self) -> None:
        """Start again with an empty disk, as another collection of the same name."""
        self.disk = Disk(f"{self.name}-{int(self.disk.identity.split('-')[1]) + 1}")
        self.lease_until = 0.0

    @contextmanager
    def commit(self) -> Iterator["Commit"]:
        before = deepcopy(self.disk)
        commit = Commit(self.disk)
        try:
            yield commit
            commit.close()
        except BaseException:
            self.disk = before
            raise

    def told(self) -> Beat:
        disk = self.disk
        waiting = sum(key[:1] == b"w" for keys in disk.frontier.values() for key in keys)
        is_idle = not waiting and not disk.posts and not any(disk.servers.values()) and not disk.wanted
        return Beat(
            self.name,
            disk.identity,
            self.clock.now(),
            disk.read,
            list(disk.posts),
            sockets=2,
            waiting=waiting,
            idle=is_idle,
        )

    def call(self, control: Control) -> Callable[[int], None]:
        """Send a beat; what came back is taken in when the result is called, up to so many letters."""
        told = self.last_beat = self.told()
        sent_at, identity = self.clock.now(), self.disk.identity
        answer = exchanged(control, told, self.settings)

        self.safe = [post for post in told.posts if post.number <= answer.received]

        def take(letters: int) -> None:
            if self.disk.identity == identity:
                self.take(answer, sent_at, letters)

        return take

    def take(self, answer: Answer, sent_at: float, letters: int = 10**9) -> None:
        """Have the lease, and then read letters; perhaps not all, and none while a journal is to be read."""
        self.lease_until = max(self.lease_until, sent_at + answer.lease_s) if answer.lease_s else 0.0
        with self.commit():
            self.disk.posts = [post for post in self.disk.posts if post.number > answer.received]
        for letter in answer.letters[:letters]:
            if letter.number > self.disk.read and not any(self.disk.servers.values()):
                with self.commit() as commit:
                    self.open(letter, commit)

    def open(self, letter: Letter, commit: "Commit") -> None:
        disk = self.disk
        disk.read = letter.number
        match letter.content:
            case Given(server=server, journal=journal, most_pages=most_pages):
                disk.servers[server] = (journal, 0) if journal else None
                disk.most_pages |= {server: most_pages} if most_pages else {}
            case Links(links=links):
                commit.add_all(links)
            case Wanted(servers=servers):
                disk.wanted |= set(servers) & set(disk.servers)
            case Lost(servers=servers):
                commit.drop_all(servers)
            case Late(changes=changes) if changes.server in disk.servers:
                commit.merge(changes)
            case Restart():
                commit.drop_all(list(disk.servers))

    def read_journal(self, control: Control, server: str) -> None:
        """Read the next page of a server's journal; after the last one, go on with what it says."""
        until, after = self.disk.servers[server] or (0, 0)
        page = journals.page(control, self.name, server, after)
        entries = [entry for entry in page.changes if entry[0] <= until]
        with self.commit() as commit:
            keys = self.disk.frontier[server]
            for number, late, changes in entries:
                apply(keys, changes, late=late)
                after = number
            is_whole = after == until or not page.more
            self.disk.servers[server] = None if is_whole else (until, after)
            for key in [key for key in keys if is_whole and is_twice(key, keys)]:
                commit.change(server, key, None)  # a robot before had not read that it was visited

    def visit(self, server: str, found: list[str]) -> None:
        """Visit a page that waits; the links on it are `found`."""
        assert self.has_lease
        keys = self.disk.frontier[server]
        page = next(key[1:] for key in keys if key[:1] == b"w")
        with self.commit() as commit:
            commit.change(server, b"v" + page, repr(self.clock.now()).encode())
            commit.change(server, b"w" + page, None)
            commit.efforts.append(Effort(server, 1, 1_000, 10))
            for url in found:
                commit.add(Link(url, 1, found_on=page.decode()))
        self.visits.append((page.decode(), self.clock.now()))

    def may_visit(self, server: str) -> bool:
        disk = self.disk
        return (
            self.has_lease
            and server in disk.servers
            and disk.servers[server] is None
            and server not in disk.wanted
            and any(key[:1] == b"w" for key in disk.frontier[server])
        )

    def release(self, server: str) -> None:
        with self.commit() as commit:
            commit.drop(server)
            commit.released.append(server)


class Commit:
    """What one commit changes, and has to tell."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.changes: defaultdict[str, list[tuple[bytes, bytes | None]]] = defaultdict(list)
        self.links: list[Link] = []
        self.released: list[str] = []
        self.efforts: list[Effort] = []

    def change(self, server: str, key: bytes, value: bytes | None) -> None:
        apply(self.disk.frontier[server], Changes(server, [(key, value)]), late=False)
        self.changes[server].append((key, value))

    def add(self, link: Link) -> None:
        """Let it wait here, or offer it to whoever has its server.

        Before its journal is read, nobody here knows whether the page was visited: the link is offered, too,
        and comes back by letter. Else it would be told to wait, and that it is visited comes from the journal
        and is not told.
        """
        server, page = server_of(link.url), link.url.encode()
        if self.disk.servers.get(server, UNREAD) is not None:
            self.links.append(link)
        elif not {b"w" + page, b"v" + page} & set(self.disk.frontier[server]):
            self.change(server, b"w" + page, b"1")

    def add_all(self, links: Iterable[Link]) -> None:
        for link in links:
            self.add(link)

    def drop_all(self, servers: Iterable[str]) -> None:
        for server in servers:
            self.drop(server)

    def merge(self, changes: Changes) -> None:
        before = dict(self.disk.frontier[changes.server])
        after = self.disk.frontier[changes.server]
        apply(after, changes, late=True)
        gone = [(key, None) for key in before if key not in after]
        new = [(key, value) for key, value in after.items() if before.get(key) != value]
        self.changes[changes.server].extend([*new, *gone])

    def drop(self, server: str) -> None:
        self.disk.servers.pop(server, None)
        self.disk.frontier.pop(server, None)
        self.disk.most_pages.pop(server, None)
        self.disk.wanted.discard(server)

    def close(self) -> None:
        if self.changes or self.links or self.released or self.efforts:
            self.disk.post_number += 1
            changes = [Changes(server, keys) for server, keys in self.changes.items()]
            self.disk.posts.append(
                Post(self.disk.post_number, changes, self.links, self.released, self.efforts)
            )


def apply(keys: dict[bytes, bytes], changes: Changes, *, late: bool) -> None:
    """Bring keys up to date. What comes late marks pages visited and adds pages, and takes none away."""
    for key, value in changes.keys:
        page = key[1:]
        if not late:
            keys.pop(key, None)
            if value is not None:
                keys[key] = value
        elif value is None:
            continue
        elif key[:1] == b"v":
            keys[key] = max(value, keys.get(key, b"0"), key=float)
            keys.pop(b"w" + page, None)
        elif b"v" + page not in keys:
            keys[key] = value


def is_twice(key: bytes, keys: dict[bytes, bytes]) -> bool:
    """Does a page wait that was visited? A link to it came before the journal that knows."""
    return key[:1] == b"w" and b"v" + key[1:] in keys


def exchanged(control: Control, told: Beat, settings: Manager) -> Answer:
    """A beat and its answer, as they travel."""
    heard = msgspec.msgpack.decode(msgspec.msgpack.encode(told), type=Beat)
    answer = beat(control, heard, settings)
    return msgspec.msgpack.decode(msgspec.msgpack.encode(answer), type=Answer)


def register(control: Control, *names: str) -> None:
    with control.transaction() as transaction:
        for name in names:
            transaction.run("INSERT INTO robots (name, token_hash) VALUES (?, 'x')", name)
