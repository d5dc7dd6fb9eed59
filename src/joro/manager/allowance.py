"""How many servers may still move for a better share?

In:    who is there, and how much moved since somebody came.
Out:   a part of all servers, spent as servers are asked for.
Never: lets a robot that comes move more than one and a half of the share it is due, in all and not at each
       look; or a crew that stays as it is more than half a share a day.

A plan is made of measurements, and those are never quite the same at two looks. Whatever they say, servers
come to rest: each move costs a journal and a pause, and what is to be gained by the second is little.
"""

from __future__ import annotations

import msgspec

from joro.manager.routing import AVAILABLE
from joro.store.control import Transaction

#: The note that says what is left.
NOTE = "allowance"
#: Of the share that each of n robots is due, 1/n of all servers: so much for a robot that comes, until it has
#: enough; less than two shares together with what comes back in a day.
FOR_A_NEWCOMER = 1.5
#: And so much for a crew that stays; what is spent comes back in a day.
FOR_A_CREW = 0.5
DAY_S = 86_400.0


class Allowance(msgspec.Struct, frozen=True):
    """What may still move, as a part of all servers; whom it was reckoned for, and when."""

    left: float = 0.0
    at: float = 0.0
    crew: dict[str, float] = {}  # since when each of them is there

    def servers(self, count: int) -> int:
        """How many that is of so many; one, where it is nearly that."""
        return max(int(self.left * count), int(self.left * count >= 0.5))


def renewed(before: Allowance, crew: dict[str, float], now: float) -> Allowance:
    """What is left now: something comes back with time, and much with robots that were not there before."""
    some = max(1, len(crew))
    rests = FOR_A_CREW / some
    left = before.left
    if left < rests:
        left = min(rests, left + rests * max(0.0, now - before.at) / DAY_S)
    came = sum(before.crew.get(name) != since for name, since in crew.items())
    if came:
        left = max(left, min(1.0, FOR_A_NEWCOMER * came / some))
    return Allowance(left, now, crew)


def spent(before: Allowance, part: float, *, is_settled: bool) -> Allowance:
    """What is left after such a part was asked for; no more than usual, when everyone has enough to do."""
    left = max(0.0, before.left - part)
    if is_settled:
        left = min(left, FOR_A_CREW / max(1, len(before.crew)))
    return msgspec.structs.replace(before, left=left)


def renew(transaction: Transaction) -> Allowance:
    """Reckon what is left, and note it."""
    rows = transaction.rows(f"SELECT name, up_since FROM robots WHERE {AVAILABLE} ORDER BY name")
    crew = {name: float(since) for name, since in rows}
    now = renewed(_noted(transaction), crew, transaction.now)
    _note(transaction, now)
    return now


def spend(transaction: Transaction, part: float, *, is_settled: bool) -> None:
    """Note that so much was asked for."""
    _note(transaction, spent(_noted(transaction), part, is_settled=is_settled))


def _noted(transaction: Transaction) -> Allowance:
    rows = transaction.rows("SELECT value FROM notes WHERE name = ?", NOTE)
    return msgspec.json.decode(rows[0][0], type=Allowance) if rows else Allowance()


def _note(transaction: Transaction, allowance: Allowance) -> None:
    transaction.run(
        "INSERT INTO notes (name, value) VALUES (?, ?) "
        "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        NOTE,
        msgspec.json.encode(allowance).decode(),
    )
