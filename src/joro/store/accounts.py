"""In which account of the coverage does a page stand, and in which a server?

In:    what is counted: visits by outcome, the records of servers.
Out:   six accounts; every page found, and every server, stands in exactly one of them.
Never: looks at pages: the counts are kept as visits end, so the accounts of a billion pages cost nothing.
Paper: S2, coverage: found, collected, unreachable, refused by robots.txt, not yet visited.

A server stands in the first account below in which it has a page: one page collected, and it is collected.
A page that is kept fresh was collected, and stays so while it waits for its next visit: servers count these.
Pages that `joro retry` lets wait are counted nowhere, and stand among those waiting.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from joro.model import Outcome
from joro.store.records import Counts, ServerRecord

#: Accounts of visited pages, and the outcomes that lead there; the names are fields of ServerRecord.
OUTCOMES: Mapping[str, tuple[Outcome, ...]] = {
    "collected": (Outcome.OK, Outcome.NOT_MODIFIED, Outcome.REDIRECT),
    "missing": (Outcome.GONE, Outcome.CLIENT_ERROR),
    "unreachable": (
        Outcome.SERVER_ERROR,
        Outcome.THROTTLED,
        Outcome.MALFORMED,
        Outcome.TIMEOUT,
        Outcome.UNREACHABLE,
        Outcome.NO_ADDRESS,
    ),
    "disallowed": (Outcome.DISALLOWED,),
    "refused": (Outcome.FORBIDDEN_ADDRESS, Outcome.UNWANTED, Outcome.TRAP),
}
WAITING = "waiting"
ACCOUNTS = (*OUTCOMES, WAITING)

ACCOUNT_OF = {outcome: account for account, outcomes in OUTCOMES.items() for outcome in outcomes}
#: Pages that `joro retry --failed` means: the server gave no proper answer.
FAILED = frozenset(outcome.value for outcome in OUTCOMES["unreachable"])
#: Why a page that was found never waited: its server has pages enough, or pages like it had nothing to say.
OVER_QUOTA, TRAP = "over quota", Outcome.TRAP.value
#: Why a page stands among those collected though its last visit is no longer counted.
DUE_AGAIN = "due again"


def count(record: ServerRecord, outcome: Outcome, number: int = 1) -> None:
    """Note a visit of that outcome in its server's record, or take it back with -1."""
    account = ACCOUNT_OF[outcome]
    setattr(record, account, getattr(record, account) + number)
    record.visited += number


def account_of(record: ServerRecord) -> str:
    """Where a server stands."""
    if record.due > 0:
        return "collected"
    return next((account for account in OUTCOMES if getattr(record, account) > 0), WAITING)


@dataclass(frozen=True)
class Coverage:
    """The accounts of pages and of servers, and what each account of pages is made of."""

    pages: dict[str, int]
    servers: dict[str, int]
    reasons: dict[str, dict[str, int]] = field(default_factory=dict)


def coverage(counts: Counts, servers: Iterable[ServerRecord]) -> Coverage:
    """Everything found, each in its account."""
    reasons: dict[str, dict[str, int]] = {account: {} for account in OUTCOMES}
    for name, number in sorted(counts.outcomes.items(), key=lambda entry: -entry[1]):
        if number:
            reasons[ACCOUNT_OF[Outcome(name)]][name] = number
    refused = reasons["refused"]
    for reason, number in ((OVER_QUOTA, counts.over_quota), (TRAP, counts.trapped)):
        if number:
            refused[reason] = refused.get(reason, 0) + number
    standing, due = dict.fromkeys(ACCOUNTS, 0), 0
    for record in servers:
        standing[account_of(record)] += 1
        due += record.due
    waiting = counts.found - counts.visited
    if (again := min(due, waiting)) > 0:
        reasons["collected"][DUE_AGAIN] = again
        waiting -= again
    pages = {account: sum(reasons[account].values()) for account in OUTCOMES} | {WAITING: waiting}
    return Coverage(pages, standing, reasons)
