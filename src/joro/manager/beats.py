"""What happens when a robot calls?

In:    its beat: what it did since its last word, and how far it has read its letters.
Out:   a lease, and letters; all that the beat led to is in the control store, or nothing of it.
Never: takes a post twice or out of order; gives a lease to a robot that has not read what it lost.
Paper: S1 5.1.2, M1 to M4 in one exchange (`coordinate.beat`); docs/decisions/0008 says why.

Whoever changes a server it does not own was cut off while others took over: what it tells comes *late*, is
filed as such, and is passed on to the owner.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from joro.config.cooperate import Manager
from joro.coordinate.beat import Answer, Beat, Changes, Effort, Late, Letter, Post
from joro.coordinate.distance import KB
from joro.manager import journals
from joro.manager.checking import flaw
from joro.manager.failover import replaced
from joro.manager.mail import NOBODY, Outbox, acknowledge, unread
from joro.manager.refusal import Refused
from joro.manager.restarting import begin_anew
from joro.manager.routing import Server, hand_over, hints, known, offer, place, register, welcome
from joro.manager.units import readdressed
from joro.store.control import Control, Transaction


@dataclass
class Robot:
    """What a row of `robots` says of whoever calls."""

    name: str
    identity: str
    state: str
    lease_until: float
    post_number: int
    letter_number: int
    letter_read: int
    lost_letter: int
    settled: bool
    sockets: int
    clock: float  # its own, in the latest of its beats

    def may_have(self, read: int) -> bool:
        """May it be given servers?"""
        return self.state == "up" and read >= self.lost_letter and self.settled

    def is_gone(self, told: Beat) -> bool:
        """Is this its goodbye? Not if later beats came before: its manager hung, and the robot is back."""
        return told.leaves and told.clock >= self.clock


def beat(control: Control, told: Beat, settings: Manager) -> Answer:
    """Take in what a robot tells, and answer it; one transaction."""
    if wrong := flaw(told):
        raise Refused(400, f"this is no beat: {wrong}")
    with control.transaction() as transaction:
        robot = _admitted(transaction, told, settings)
        if told.read > robot.letter_read and not told.more:  # else what a letter led to may not be told yet
            acknowledge(transaction, robot.name, told.read)
        is_new = _arrived(transaction, robot, told)
        outbox = Outbox()
        posts = _unknown(robot, told.posts)
        if posts:
            _take(transaction, outbox, robot.name, posts, settings)
        if is_new:
            begin_anew(transaction, outbox, robot.name)
            welcome(transaction, outbox, settings)
        robot.letter_number = outbox.send(transaction).get(robot.name, robot.letter_number)
        return _answer(transaction, robot, told, settings)


def _answer(transaction: Transaction, robot: Robot, told: Beat, settings: Manager) -> Answer:
    """Renew the lease; one that leaves has none any more, and nobody needs to wait for it.

    An old goodbye renews nothing and ends nothing: the lease that the robot got after it stands.
    """
    has_read = robot.letter_read >= robot.lost_letter
    lease_s = settings.lease_s if has_read and not told.leaves else 0.0
    lease_until = robot.lease_until if told.leaves else transaction.now + lease_s
    if robot.is_gone(told):
        lease_until = 0.0
    _note(transaction, robot, told, lease_until)
    letters: list[Letter] = []
    more = False
    if robot.letter_number > robot.letter_read and not told.leaves:
        letters, more = unread(transaction, robot.name, robot.letter_read)
    owners, silent = hints(transaction, told.posts) if told.exchange else ({}, [])
    return Answer(robot.post_number, lease_s, settings.beat_s, letters, more, owners, silent)


def _admitted(transaction: Transaction, told: Beat, settings: Manager) -> Robot:
    """The robot, unless it must be turned away: then nothing has changed."""
    skew_s = told.clock - transaction.now
    if not abs(skew_s) <= settings.skew_s:  # also of a clock that says "not a number"
        raise Refused(
            409,
            f"the clock of {told.robot} says {told.clock:.0f}, the manager's {transaction.now:.0f}: "
            f"{abs(skew_s):.0f} s apart, and manager.skew_s is {settings.skew_s:g}; set it right",
        )
    robot = _row(transaction, told.robot)
    if robot.identity != told.identity:
        _take_over(transaction, robot, told, settings)
    if told.read > robot.letter_number:
        raise Refused(
            409,
            f"{robot.name} has read letter {told.read}, and only {robot.letter_number} were written: "
            "the control store is older than the robot; register it under another name",
        )
    return robot


def _row(transaction: Transaction, name: str) -> Robot:
    found = transaction.rows(
        "SELECT name, identity, state, lease_until, post_number, letter_number, "
        "letter_read, lost_letter, settled, sockets, clock "
        "FROM robots WHERE name = ?",
        name,
    )
    if not found:
        raise Refused(403, f"{name} is no robot of this manager")
    return Robot(*found[0])


def _take_over(transaction: Transaction, robot: Robot, told: Beat, settings: Manager) -> None:
    """Let another collection have the name, if the one before is gone for certain."""
    left_s = robot.lease_until + settings.grace_s - transaction.now
    if robot.identity and left_s > 0.0:
        raise Refused(
            409,
            f"another collection works as {robot.name}, for another {left_s:.0f} s at least; "
            "stop it, or register this one under a name of its own",
        )
    if robot.identity:
        replaced(transaction, robot.name, settings)
        robot.post_number = robot.letter_number = robot.letter_read = robot.lost_letter = 0
        robot.settled, robot.state, robot.clock = True, "new", 0.0


def _arrived(transaction: Transaction, robot: Robot, told: Beat) -> bool:
    """Let it be up; whether it can be given servers from now on, and could not before."""
    before = (robot.state, robot.may_have(robot.letter_read), robot.identity, robot.sockets)
    if robot.is_gone(told) or not told.leaves:
        robot.state = "down" if told.leaves else "up"
    robot.identity, robot.sockets = told.identity, told.sockets
    robot.letter_read = max(robot.letter_read, told.read)  # an old beat may have been long on its way
    robot.settled = robot.settled or (told.read >= robot.lost_letter and not told.more)
    can = robot.may_have(robot.letter_read)
    if before != (robot.state, can, robot.identity, robot.sockets):
        transaction.run(
            "UPDATE robots SET state = ?, kind = 'joro', identity = ?, letter_read = ?, settled = ?, "
            "sockets = ?, up_since = CASE WHEN state = 'up' THEN up_since ELSE ? END WHERE name = ?",
            robot.state,
            robot.identity,
            robot.letter_read,
            int(robot.settled),
            robot.sockets,
            transaction.now,
            robot.name,
        )
    return can and not before[1]


def _unknown(robot: Robot, posts: Sequence[Post]) -> list[Post]:
    """The posts that were not taken yet, in order and without a gap."""
    fresh = sorted((post for post in posts if post.number > robot.post_number), key=lambda post: post.number)
    for expected, post in enumerate(fresh, robot.post_number + 1):
        if post.number != expected:
            raise Refused(
                409,
                f"post {expected} of {robot.name} is missing before {post.number}: its collection worked for "
                "another manager, or was restored; register it under another name",
            )
    if fresh:
        robot.post_number = fresh[-1].number
    return fresh


def _take(
    transaction: Transaction, outbox: Outbox, robot: str, posts: Sequence[Post], settings: Manager
) -> None:
    """What was changed, given back and found, in this order: links go to whoever owns their server then."""
    changes = journals.by_server(post.changes for post in posts)
    efforts = [effort for post in posts for effort in post.efforts]
    servers = known(transaction, changes)
    unknown = [name for name in changes if name not in servers]
    strays = readdressed(transaction, {name: changes.pop(name) for name in unknown}) if unknown else {}
    servers |= known(transaction, strays) if strays else {}
    new = register(transaction, [name for name in strays if name not in servers])
    servers |= {server.name: server for server in new}
    _file(transaction, outbox, NOBODY, strays, servers)
    _file(transaction, outbox, robot, changes, servers)
    _count(transaction, robot, servers, efforts)
    place(transaction, outbox, new, settings)
    hand_over(transaction, outbox, robot, [name for post in posts for name in post.released], settings)
    offer(transaction, outbox, (link for post in posts for link in post.links), settings)


def _file(
    transaction: Transaction,
    outbox: Outbox,
    robot: str,
    changes: Mapping[str, list[journals.Key]],
    servers: dict[str, Server],
) -> None:
    entries: list[tuple[str, int, bool, Sequence[journals.Key]]] = []
    for name, keys in changes.items():
        server = servers[name]
        is_late = server.owner != robot and not server.is_new
        server.journal_number += 1
        entries.append((name, server.journal_number, is_late, keys))
        if is_late and server.owner is not None:
            outbox.put(server.owner, Late(Changes(name, keys)))
    journals.file(transaction, entries)


def _count(
    transaction: Transaction, robot: str, servers: dict[str, Server], efforts: Sequence[Effort]
) -> None:
    """Note how long the journals are, and what servers cost."""
    spent: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for effort in efforts:
        for place_, more in enumerate((effort.pages, effort.received_bytes, effort.elapsed_ms)):
            spent[effort.server][place_] += more
    transaction.run_many(
        "UPDATE servers SET journal_number = ?, kb = kb + ? WHERE name = ?",
        [
            (server.journal_number, spent[name][1] / KB if name in spent else 0.0, name)
            for name, server in servers.items()
        ],
    )
    transaction.run_many(
        "UPDATE servers SET kb = kb + ? WHERE name = ?",
        [(received / KB, name) for name, (_, received, _) in spent.items() if name not in servers],
    )
    transaction.run_many(
        "INSERT INTO efforts (robot, server, pages, bytes, ms) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (robot, server) DO UPDATE SET pages = efforts.pages + excluded.pages, "
        "bytes = efforts.bytes + excluded.bytes, ms = efforts.ms + excluded.ms",
        [(robot, name, *numbers) for name, numbers in spent.items()],
    )


def _note(transaction: Transaction, robot: Robot, told: Beat, lease_until: float) -> None:
    transaction.run(
        "UPDATE robots SET lease_until = ?, beat_at = ?, clock = ?, letter_read = ?, settled = ?, "
        "post_number = ?, waiting = ?, visited = ?, idle = ?, version = ? WHERE name = ?",
        lease_until,
        transaction.now,
        max(robot.clock, told.clock),
        robot.letter_read,
        int(robot.settled),
        robot.post_number,
        told.waiting,
        told.visited,
        int(told.idle),
        told.version,
        robot.name,
    )
