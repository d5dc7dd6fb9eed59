"""Which words do the stages speak with each other?

Out:   the vocabulary as small records; one word per thing, one thing per word. Every page takes half a dozen
       of them, and msgspec makes one in a tenth of the time that a dataclass takes.
Never: imports anything of ours, or does anything.

A page is named by its *canonical URL* (a str, see `url.py`), a server by its *server key*: the
canonical URL's scheme, host and port, e.g. `http://www.example.jp:8080`, default port left out.
A canonical URL therefore always starts with its server key followed by `/`.
"""

from __future__ import annotations

import enum

from msgspec import Struct, field

DAY_S = 86_400.0

#: Kinds of source: a page that is watched for what is new elsewhere.
FEED, SITEMAP, INDEX, FRONT = "feed", "sitemap", "index", "front"


class Outcome(enum.Enum):
    """What became of one visit. The web's failures are observations, never exceptions."""

    __hash__ = object.__hash__  # members are one of a kind; `Enum`'s own is slow, and every page asks

    OK = "ok"  # 2xx
    NOT_MODIFIED = "not modified"  # 304
    REDIRECT = "redirect"  # 3xx with a Location
    GONE = "gone"  # 404, 410
    CLIENT_ERROR = "client error"  # other 4xx
    SERVER_ERROR = "server error"  # 5xx
    THROTTLED = "throttled"  # 429, 503
    MALFORMED = "malformed"  # bytes that are not HTTP, or an impossible status
    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"  # refused, reset, cut off before the headers were complete
    NO_ADDRESS = "no address"  # the name does not resolve
    FORBIDDEN_ADDRESS = "forbidden address"  # the name resolves to where we must not go
    UNWANTED = "unwanted"  # answered, but a rule of the operator keeps it out of the archive
    TRAP = "trap"  # pages like it had nothing to say; nothing was sent
    DISALLOWED = "disallowed"  # robots.txt says no; nothing was sent


#: Outcomes that come with a response worth archiving.
ANSWERED = frozenset(
    {
        Outcome.OK,
        Outcome.NOT_MODIFIED,
        Outcome.REDIRECT,
        Outcome.GONE,
        Outcome.CLIENT_ERROR,
        Outcome.SERVER_ERROR,
        Outcome.THROTTLED,
    }
)

#: Outcomes that may be different next time: try again later, never conclude that the page is gone.
PASSING = frozenset(
    {Outcome.SERVER_ERROR, Outcome.THROTTLED, Outcome.TIMEOUT, Outcome.UNREACHABLE, Outcome.NO_ADDRESS}
)


class Truncated(enum.Enum):
    """Why a body is shorter than what the server meant to send (values as WARC-Truncated wants them)."""

    LENGTH = "length"  # longer than our limit
    TIME = "time"  # slower than our limit
    DISCONNECT = "disconnect"  # the server hung up early


class Page(Struct, frozen=True):
    """One URL we know, visited or not."""

    url: str
    hops: int = 0  # links followed from the nearest seed
    server: str = ""  # server key
    cgi_hops: int = 0  # of these, links followed since the last page that was not generated


class Link(Struct, frozen=True):
    """A URL found in a page, already joined to the page's base and canonical."""

    url: str
    anchor: str = ""
    rel: str = ""  # the rel attribute, lower case, as written
    kind: str = "a"  # a, area, frame, link, refresh, redirect, canonical


class Entry(Struct):
    """One page that a feed, a sitemap or a front page announces."""

    url: str  # canonical
    time: float | None = None  # when it last changed or appeared, as announced; None: not said
    span_s: float = 0.0  # the true moment lies at most so much after `time`: a bare date means any hour of it
    title: str = ""
    id: str = ""  # what the source calls it, as written
    news: bool = False  # announced as news: worth a visit at once
    every_s: float = 0.0  # how often it changes, as claimed; 0: not said
    priority: float = 0.5  # beside the other pages of its server, as claimed


class PollHints(Struct, frozen=True):
    """When a source asks to be read again."""

    least_s: float = 0.0  # not sooner after the last reading; 0: not said
    skip_hours: frozenset[int] = frozenset()  # of the day, UTC
    skip_days: frozenset[int] = frozenset()  # of the week, UTC; Monday is 0


class Response(Struct):
    """What the server sent, exactly: header block and body byte for byte."""

    status: int
    head: bytes  # status line and header fields, up to and including the empty line
    body: bytes  # as received: content and transfer encoding untouched
    headers: dict[str, str] = field(default_factory=dict)  # lower-case names; repeated ones joined by ", "
    truncated: Truncated | None = None
    chunked: bool = False  # body still carries chunk frames; `archive`d so, `payload` takes them off


class Known(Struct, frozen=True):
    """The last capture of a page that holds its bytes; a later visit may find them unchanged."""

    time: float
    digest: str  # of the payload, "sha1:BASE32"


class Visit(Struct):
    """One attempt at one page; always has an outcome, has a response when the server gave one."""

    page: Page
    time: float  # when the request left, seconds since 1970
    outcome: Outcome
    request: bytes = b""  # request line and header fields as sent
    response: Response | None = None
    address: str = ""  # IP address we connected to
    elapsed_s: float = 0.0
    detail: str = ""  # for people: what libcurl or the guard said
    kept_alive: bool = False  # the connection outlived the visit
    certificate: str = ""  # the server's, PEM, when this visit made the TLS handshake
    known: Known | None = None  # what we had of the page before


class Capture(Struct, frozen=True):
    """Where the archived bytes of a visit lie."""

    url: str
    time: float
    status: int
    mime: str
    digest: str  # of the payload, "sha1:BASE32"
    warc: str  # file name inside archive/
    offset: int
    length: int  # compressed bytes of the record
    elapsed_ms: int = 0  # from the request to the last byte; 0: not known


class Document(Struct, frozen=True):
    """The readable form of a capture."""

    url: str
    title: str
    text: str  # visible text, one block per line
    charset: str
    language: str  # BCP 47, "" when unknown
    links: tuple[Link, ...] = ()
    directives: frozenset[str] = frozenset()  # meta robots and X-Robots-Tag, lower case: noindex, nofollow …
