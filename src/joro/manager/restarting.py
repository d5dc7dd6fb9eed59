"""How does a robot of ours begin anew, with the servers it has?

In:    the operator's wish; later, that the robot has read it and has told all it did before.
Out:   a letter that lets it forget; then its servers given to it as if nobody had collected them.
Never: gives it a server before everything it did with it is told: it may have given it back before. Lets
       another robot have one meanwhile.
Paper: S1 5.1.2, M4: drop the list and the pages, fetch a new list.

Until it has read the letter it gets no lease, as if it had lost its servers, so that it reads it soon.
"""

from __future__ import annotations

from joro.coordinate.beat import Given, Link, Piece, Restart
from joro.coordinate.units import server_in
from joro.manager.mail import Outbox, reclaim
from joro.manager.units import pieces
from joro.store.control import Transaction

#: A note for each robot that was told to restart: whether it has.
NOTE = "restart of "
_WANTED, _DONE = "wanted", "done"


def order_restart(transaction: Transaction, robot: str) -> None:
    """Tell a robot to forget its servers."""
    outbox = Outbox()
    outbox.put(robot, Restart())
    number = outbox.send(transaction)[robot]
    transaction.run("UPDATE robots SET lost_letter = ?, settled = 0 WHERE name = ?", number, robot)
    transaction.run("DELETE FROM notes WHERE name = ?", NOTE + robot)
    transaction.run("INSERT INTO notes (name, value) VALUES (?, ?)", NOTE + robot, _WANTED)


def begin_anew(transaction: Transaction, outbox: Outbox, robot: str) -> None:
    """It may be given servers again: after a restart those it still has, from their top pages on."""
    if not transaction.run(
        "UPDATE notes SET value = ? WHERE name = ? AND value = ?", _DONE, NOTE + robot, _WANTED
    ):
        return
    outbox.send(transaction)  # so that whatever it has been given by now is taken back, too
    rows = transaction.rows("SELECT name, journal_number FROM servers WHERE owner = ? ORDER BY name", robot)
    servers = [name for name, _ in rows]
    # Of what it was given and had not read before, somebody else may still be asking the servers until then.
    free_at = transaction.rows("SELECT MAX(free_at) FROM letters WHERE robot = ?", robot)[0][0]
    links = reclaim(transaction, robot, {*servers, *map(server_in, servers)})
    transaction.run("DELETE FROM journal WHERE server = ANY(?)", servers)
    transaction.run(
        "UPDATE servers SET heir = NULL, most_pages = NULL, given_number = journal_number, read_at = NULL "
        "WHERE owner = ?",
        robot,
    )
    piece_of = pieces(transaction, servers)
    for server, number in rows:
        # Never 0: to the robot that would be a server that nobody has asked, and it has, a moment ago.
        outbox.put(robot, Given(server, max(1, number), piece=piece_of.get(server)), free_at=free_at)
    tops = [url for server in servers for url in _tops(server, piece_of.get(server))]
    outbox.add_links(robot, [Link(url, hops=0) for url in tops] + links)


def _tops(unit: str, piece: Piece | None) -> list[str]:
    """Where to begin: at the top of a server, or of each directory of a part."""
    return [server_in(unit) + directory for directory in (piece.directories if piece else ["/"])]


def restarts(transaction: Transaction) -> dict[str, str]:
    """Robots that were told to restart, and whether they did: wanted, or done."""
    found = transaction.rows(
        "SELECT robots.name, value FROM robots JOIN notes ON notes.name = ? || robots.name", NOTE
    )
    return {name: value for name, value in found}
