"""What do a robot of ours and its manager tell each other, every few seconds?

In:    what the robot did since its last word; where its word has been read to.
Out:   a lease on its servers, and letters: links others found, servers that come and go.
Never: says anything twice that cannot bear it: posts and letters have numbers, and whoever reads one commits
       its number together with what it led to.
Paper: S1 5.1.1 asks for polling over HTTP, started by the robot; this is M1 to M4 in one exchange, as often
       as a lease needs it. Robots that know only S1 use `messages`. Why so: docs/decisions/0008.

A *post* is what one commit of a robot has to tell. It is written down in that very commit, under the robot's
next number, and sent until it is acknowledged. A *letter* is what the manager has to tell a robot. It lies in
the manager's control store, under the robot's next letter number, until the robot has committed it.

Every server has a *journal* at the manager: the changes of its keys in the frontier, whoever owned it when
they were made. Whoever is given a server reads its journal and goes on where the owner before stopped.
"""

from __future__ import annotations

import msgspec

#: Where a robot posts its beat; msgpack both ways, with "Authorization: Bearer TOKEN".
BEAT = "/cooperate/beat"
#: Where it reads a server's journal: ?server=SERVER&after=NUMBER.
JOURNAL = "/cooperate/journal"
#: How all of it goes, as JSON, for people and programs.
STATUS = "/cooperate/status"

#: A beat carries posts up to about so many bytes; the rest goes with the next one.
BEAT_BYTES = 4_000_000
#: A page of a journal is about so long.
PAGE_BYTES = 4_000_000


class Link(msgspec.Struct, array_like=True, frozen=True):
    """A link to a server of somebody else, or of nobody yet."""

    url: str
    hops: int
    cgi_hops: int = 0
    found_on: str = ""
    kind: str = ""  # of a source to be watched, see `discover.watch`
    urgent: bool = False  # it is to wait before all others of its server, whatever its hops
    home: str = ""  # the domain a source speaks for, if not that of the page it was found on


class Changes(msgspec.Struct, array_like=True, frozen=True):
    """What changed about one server: keys of its robot's frontier, None where one went."""

    server: str
    keys: list[tuple[bytes, bytes | None]]


class Effort(msgspec.Struct, array_like=True, frozen=True):
    """What one server cost its robot since the last post: distance and size are reckoned from these."""

    server: str
    pages: int
    received_bytes: int
    elapsed_ms: int


class Post(msgspec.Struct, array_like=True, frozen=True):
    """What one commit of a robot has to tell."""

    number: int
    changes: list[Changes] = []
    links: list[Link] = []
    released: list[str] = []  # servers given back; their changes are in this post or in earlier ones
    efforts: list[Effort] = []


class Beat(msgspec.Struct, array_like=True, frozen=True):
    """Robot to manager."""

    robot: str
    identity: str  # of its collection: the same name from elsewhere is somebody else
    clock: float  # of the robot, seconds since 1970
    read: int = 0  # letters committed
    posts: list[Post] = []
    sockets: int = 0  # servers it can collect side by side
    waiting: int = 0
    visited: int = 0
    idle: bool = False  # nothing to do and nothing to tell, until a letter comes
    version: str = ""
    more: bool = False  # further posts wait for the next beat
    exchange: bool = False  # it can send links straight to robots: tell it whose servers are
    leaves: bool = False  # it ends now and asks nobody any more: its lease is over with this beat


class Links(msgspec.Struct, tag="links", array_like=True, frozen=True):
    """Pages to know of, all on servers of this robot."""

    links: list[Link]


class Piece(msgspec.Struct, array_like=True, frozen=True):
    """Which pages of a server make up a part of it, and how often its robot may ask (see `units`)."""

    directories: list[str]  # its own, as `/a/b/`; the innermost that a page lies in decides
    others: list[str]  # those of the other parts
    stretch: float  # pauses are so many times as long: all parts together ask as often as one robot
    phase: float = 0.0  # such a share of the first pause is added to it, so that the parts take turns
    found: int = 0  # pages of the part when it was made, and of the whole server:
    found_of_all: int = 0  # what a quota leaves for later is shared as pauses are


class Given(msgspec.Struct, tag="given", array_like=True, frozen=True):
    """This server is yours from now on; read its journal first.

    Until then it is a server as any other: links to it are offered to the manager, and come back by letter.
    `wait_s` seconds from now somebody else may still be asking it: its usual pause begins then.
    """

    server: str
    journal: int = 0  # up to this number; 0: nobody ever had it
    wait_s: float = 0.0
    most_pages: int | None = None  # a probe: give it back after so many
    piece: Piece | None = None  # only this part of it is yours; `server` is then the name of the part


class Wanted(msgspec.Struct, tag="wanted", array_like=True, frozen=True):
    """Give these servers back, each as soon as nobody of yours is visiting it."""

    servers: list[str]


class Lost(msgspec.Struct, tag="lost", array_like=True, frozen=True):
    """These are not yours any more: your lease had ended. There is no lease before this is read."""

    servers: list[str]


class Late(msgspec.Struct, tag="late", array_like=True, frozen=True):
    """What another robot did to a server of yours while it was still its own, and told only now."""

    changes: Changes


class Restart(msgspec.Struct, tag="restart", array_like=True, frozen=True):
    """Forget your servers and all that was found on them; others will be given (S1's M4)."""


class Letter(msgspec.Struct, array_like=True, frozen=True):
    """Manager to robot."""

    number: int
    content: Links | Given | Wanted | Lost | Late | Restart


class Answer(msgspec.Struct, array_like=True, frozen=True):
    """Manager to robot."""

    received: int  # posts up to this number are safe
    lease_s: float  # from when the beat was sent, the robot's servers are its own; 0: no lease now
    beat_s: float  # come again after so long
    letters: list[Letter] = []
    more: bool = False  # further letters wait: come again at once
    owners: dict[
        str, str
    ] = {}  # a hint, if `exchange`: robots that have the servers this beat's links lead to
    silent: list[
        str
    ] = []  # likewise: robots that are down, or left; what was sent to them waits for somebody


class JournalPage(msgspec.Struct, array_like=True, frozen=True):
    """Some of what became of a server, oldest first."""

    changes: list[tuple[int, bool, Changes]]  # number, whether it came late, and what changed
    more: bool = False


def encode(message: Beat | Answer | JournalPage | Post) -> bytes:
    """Its bytes."""
    return msgspec.msgpack.encode(message)
