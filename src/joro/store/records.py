"""What is written down about pages and servers?

Out:   small structs, packed as MessagePack arrays: a new field goes to the end and has a default, so
       that records of older collections still read. Those of pages lead nowhere but to values, so the
       garbage collector need not look at them.
Never: does anything.
"""

from __future__ import annotations

import msgspec

from joro.model import Outcome


class Upkeep(msgspec.Struct, array_like=True, gc=False):
    """What it takes to keep a page fresh; only pages that are visited again have it."""

    version: int = 1  # of the one entry in the calendar that counts
    due: float = 0.0  # as planned at the last visit, prices may move it; while it waits: since when
    interval_s: float = 0.0  # wished between visits (I_ij); 0: not counted in its server's load
    seen_at: float = 0.0  # when the page was last there
    captured_at: float = 0.0  # when its bytes were last archived whole; 0: never, `body` is of a part
    body: str = ""  # digest of the payload then
    text: int = 0  # digest of the main text then; 0: none
    etag: str = ""  # validators as the server sent them, to be sent back to it
    modified: str = ""
    weight: float = 1.0  # importance
    history: bytes = b""  # of changes, see `schedule.change`
    absences: int = 0  # visits in a row that found the page gone
    polled: bool = False  # a watched source: its dates are its own, no policy's
    language: str = ""  # of its text then, "und" where that does not tell; only where languages are chosen
    # What sources have said of it since it was last there; see `robot.hearing`.
    signals: int = 0  # that it has changed
    told_at: float = 0.0  # the latest date they gave for that, at any time
    told_every_s: float = 0.0  # time between two readings of the source
    moved: bool = False  # what last answered was a redirect: `body` is not the page's
    torn: bool = False  # of what last answered only a part arrived: the newest capture is not whole
    failures: int = 0  # visits in a row that failed, or broke off; each has made `interval_s` longer


class PageRecord(msgspec.Struct, array_like=True, gc=False):
    """A visited page."""

    url: str
    hops: int
    time: float
    outcome: str
    status: int
    found_on: int = 0  # fingerprint of the page that linked here; 0: a seed
    cgi_hops: int = 0
    upkeep: Upkeep | None = None


class ServerRecord(msgspec.Struct, array_like=True):
    """What we know of a server."""

    found: int = 0  # pages registered
    visited: int = 0
    ready_at: float = 0.0  # politeness outlives a restart
    failures: int = 0  # in a row
    # What politeness has to remember; `fetch.politeness.Manners` keeps it.
    recent: bytes = b""  # speeds and errors of the last ten requests, see `fetch.pace`
    throttles: int = 0  # how often the interval is doubled because the server asked for mercy
    run: int = 0  # requests made on the present connection without a pause
    busy_since: float = 0.0  # when the present stretch without a long break began; 0: it has not
    ended_at: float = 0.0  # when the last visit ended
    # Pages visited, by account of the coverage (`store.accounts`).
    collected: int = 0
    missing: int = 0
    unreachable: int = 0
    disallowed: int = 0
    refused: int = 0
    # What keeping its pages fresh takes; `robot.keeper` keeps it.
    wishes: dict[int, tuple[int, float]] = msgspec.field(default_factory=dict)  # see `schedule.plan.Cells`
    download_s: float = 0.0  # mean of a download, or of waiting for one in vain
    longest_download_s: float = 0.0
    missed: int = 0  # visits that were due and came a whole interval late, since the last planning round
    validated: int = 0  # changes of pages that changed their validators, see `robot.keeper.validated`
    said: tuple[float, float] = (0.0, 0.0)  # by its pages about how often they change, see `schedule.prior`
    languages: dict[str, int] = msgspec.field(
        default_factory=dict
    )  # its pages by language, where it was looked for
    due: int = 0  # pages visited before that wait to be visited again
    rules_unused: bool = False  # robots.txt was read, and no page asked for since; see `fetch.exclusion`
    dated: tuple[float, float] = (0.0, 0.0)  # its dates of change, right and wrong; see `schedule.trust`
    rules_wasted: bool = (
        False  # before that it was read in vain, for the pause was longer than it is good for
    )
    foretold: tuple[float, ...] = ()  # how well its signals told of changes; (): nobody has tried them
    signals: int = 0  # how good they are, by that: a place in `schedule.signals.QUALITIES`
    # Known pages that wait, by how late they are (`schedule.late`); visits that these have missed and that
    # were told already; all that the last planning round told as missed.
    waiting: dict[int, tuple[int, float, float]] = msgspec.field(default_factory=dict)
    missed_waiting: int = 0
    missed_lately: int = 0
    rest_s: float = 0.0  # politeness: the pause that is due if the present run ends here


class RobotsRecord(msgspec.Struct, array_like=True):
    """A server's robots.txt as last read."""

    time: float
    status: int  # where there was no answer, a number of `UNHEARD`
    body: bytes


#: What the pages of a server are called whose robots.txt gave no answer, by the status it is kept under.
#: Bytes that are no HTTP count as silence: they are a passing failure of the server's, not one of its pages.
UNHEARD = {
    0: Outcome.UNREACHABLE,
    -1: Outcome.FORBIDDEN_ADDRESS,
    -2: Outcome.NO_ADDRESS,
    -3: Outcome.TIMEOUT,
}


class Counts(msgspec.Struct):
    """The collection in numbers."""

    found: int = 0
    visited: int = 0
    trapped: int = 0  # links refused because pages like them had nothing to say
    over_quota: int = 0  # links refused because their server has pages enough
    bytes: int = 0
    outcomes: dict[str, int] = msgspec.field(default_factory=dict)
