"""What must each robot be told, and in which order?

In:    letters, in the order they are written within a transaction.
Out:   the letters a robot has not read; links taken back out of them when a server moves.
Never: gives a number away before everything with a lower one is there: transactions come one at a time. Lets
       links overtake the server they belong to: within a transaction they are written last.

Links to servers that nobody can have yet lie in the box of `NOBODY` until there is somebody.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

import msgspec

from joro.coordinate.beat import Given, Late, Letter, Link, Links, Lost, Restart, Wanted
from joro.store.control import Transaction
from joro.url import server_of

Content = Links | Given | Wanted | Lost | Late | Restart

#: Whose box keeps what has no owner; no robot has this name.
NOBODY = ""
#: An answer carries about so many bytes of letters, the rest comes with the next one.
ANSWER_BYTES = 4_000_000
#: Links in one letter.
LINKS = 1_000
#: Letters looked at in one query; their bytes may end an answer sooner.
_LETTERS = 500

_read = msgspec.msgpack.Decoder(Content).decode
_write = msgspec.msgpack.Encoder().encode


class Outbox:
    """What a transaction has to tell robots; `send` writes it into their boxes."""

    def __init__(self) -> None:
        self._letters: defaultdict[str, list[tuple[Content, float | None]]] = defaultdict(list)
        self._links: defaultdict[str, list[Link]] = defaultdict(list)

    def put(self, robot: str, content: Content, free_at: float | None = None) -> None:
        self._letters[robot].append((content, free_at))

    def add_links(self, robot: str, links: Iterable[Link]) -> None:
        self._links[robot].extend(links)

    def send(self, transaction: Transaction) -> dict[str, int]:
        """Number the letters and write them; the last number of each robot that got any."""
        for robot, links in self._links.items():
            for start in range(0, len(links), LINKS):
                self.put(robot, Links(links[start : start + LINKS]))
        rows: list[tuple[str, int, bytes, float | None]] = []
        last = _last_numbers(transaction, list(self._letters))
        for robot, letters in self._letters.items():
            for number, (content, free_at) in enumerate(letters, last[robot] + 1):
                rows.append((robot, number, _write(content), free_at))
            last[robot] += len(letters)
        if rows:
            transaction.insert("letters", "robot, number, body, free_at", rows)
            transaction.run_many(
                "UPDATE robots SET letter_number = ? WHERE name = ?",
                [(number, robot) for robot, number in last.items() if robot != NOBODY],
            )
        self._letters.clear()
        self._links.clear()
        return last


def _last_numbers(transaction: Transaction, robots: list[str]) -> dict[str, int]:
    found = transaction.rows("SELECT name, letter_number FROM robots WHERE name = ANY(?)", robots)
    last = {name: int(number) for name, number in found}
    if NOBODY in robots:
        highest = transaction.rows("SELECT max(number) FROM letters WHERE robot = ?", NOBODY)[0][0]
        last[NOBODY] = int(highest or 0)
    return last


def acknowledge(transaction: Transaction, robot: str, read: int) -> None:
    """Throw away what the robot has committed."""
    transaction.run("DELETE FROM letters WHERE robot = ? AND number <= ?", robot, read)


def unread(transaction: Transaction, robot: str, read: int) -> tuple[list[Letter], bool]:
    """The next letters, and whether there are more than go into one answer."""
    letters: list[Letter] = []
    size = 0
    while found := transaction.rows(
        "SELECT number, body, free_at FROM letters WHERE robot = ? AND number > ? ORDER BY number LIMIT ?",
        robot,
        read,
        _LETTERS,
    ):
        for number, body, free_at in found:
            if letters and size + len(body) > ANSWER_BYTES:
                return letters, True
            letters.append(Letter(int(number), _timed(_read(body), free_at, transaction.now)))
            size += len(body)
        read = letters[-1].number
        if len(found) < _LETTERS:
            break
    return letters, False


def _timed(content: Content, free_at: float | None, now: float) -> Content:
    """A letter as it is right now: how long to wait depends on when it is read."""
    if isinstance(content, Given) and free_at is not None:
        return msgspec.structs.replace(content, wait_s=max(0.0, free_at - now))
    return content


def reclaim(transaction: Transaction, robot: str, servers: Collection[str]) -> list[Link]:
    """Take all that concerns these servers out of the letters a robot has not read; the links in them.

    It may have read one of them and not have said so: links can then reach two robots, and the one that does
    not own their server any more offers them again. None is lost, and none does harm twice.
    """
    links: list[Link] = []
    gone: list[tuple[str, int]] = []
    changed: list[tuple[bytes, str, int]] = []
    for number, body in transaction.rows("SELECT number, body FROM letters WHERE robot = ?", robot):
        content = _read(body)
        left = _without(content, servers, links)
        if left is None:
            gone.append((robot, number))
        elif left is not content:
            changed.append((_write(left), robot, number))
    if gone:
        transaction.run_many("DELETE FROM letters WHERE robot = ? AND number = ?", gone)
    if changed:
        transaction.run_many("UPDATE letters SET body = ? WHERE robot = ? AND number = ?", changed)
    return links


def emptied(transaction: Transaction, robot: str) -> list[Link]:
    """Throw a robot's letters away; the links in them."""
    found = transaction.rows("SELECT body FROM letters WHERE robot = ? ORDER BY number", robot)
    contents = [_read(body) for (body,) in found]
    if found:
        transaction.run("DELETE FROM letters WHERE robot = ?", robot)
    return [link for content in contents if isinstance(content, Links) for link in content.links]


def _without(content: Content, servers: Collection[str], links: list[Link]) -> Content | None:
    """The letter without those servers, None if nothing is left; its links to them are added to `links`."""
    match content:
        case Links():
            taken = [link for link in content.links if server_of(link.url) in servers]
            links.extend(taken)
            kept = [link for link in content.links if server_of(link.url) not in servers]
            return content if not taken else (Links(kept) if kept else None)
        case Given(server=server) if server in servers:
            return None
        case Late(changes=changes) if changes.server in servers:
            return None
        case Wanted():
            left = [server for server in content.servers if server not in servers]
            return content if len(left) == len(content.servers) else (Wanted(left) if left else None)
    return content
