"""What does a host say to a request?

In:    a host, the target asked for and the virtual time.
Out:   an `Answer`.
Never: touches a socket; decides when an answer leaves.
"""

from __future__ import annotations

import math

from joro.testweb import robots
from joro.testweb.answer import Answer, Body, compose, http_date, unchanged
from joro.testweb.change import Changes, State
from joro.testweb.graph import Graph
from joro.testweb.pages import Pages, encode
from joro.testweb.paths import place
from joro.testweb.plan import Host, Plan
from joro.testweb.server import Booth
from joro.testweb.texts import Texts

FOREVER = math.inf

#: The smallest picture there is: 1 × 1, transparent.
PICTURE = bytes.fromhex(
    "47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b"
)
STYLE = b"body{max-width:60em;margin:0 auto}\nimg{max-width:100%}\n"


class Site:
    """Answers for every host of one plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.graph = Graph(plan)
        self.changes = Changes(plan)
        self.texts = Texts(plan.settings.seed)
        self.pages = Pages(plan, self.graph, self.changes, self.texts)

    def answer(self, booth: Booth, target: bytes, gzip: bool, now: float) -> Answer:
        """The answer to one request."""
        host = booth.host
        if target == b"/robots.txt":
            return self._robots(host, gzip)
        found = place(host, target)
        if found >= 0:
            return self.page(host, host.first + found, gzip, now)
        return self._fixed(host, target) or self._missing(host, gzip)

    def page(self, host: Host, page: int, gzip: bool, now: float) -> Answer:
        """A page as it stands now."""
        if self.changes.gone(page) <= now:
            return self._missing(host, gzip, status=410)
        state = self.changes.state(page, now)
        until = min(state.until, self.changes.gone(page))
        fields = validators(host, page, state)
        body = Body(self.pages.content(page, state), charset=said_charset(host))
        answer = compose(host, 200, body, fields, gzip=gzip, page=page, until=until)
        return with_validators(answer, host, fields)

    def _robots(self, host: Host, gzip: bool) -> Answer:
        planned = robots.rules(host)
        if planned.status != 200:
            return self._missing(host, gzip, status=planned.status)
        body = Body(robots.text(host).encode(), "text/plain")
        return compose(host, 200, body, gzip=gzip, until=FOREVER)

    def _fixed(self, host: Host, target: bytes) -> Answer | None:
        if target == b"/style.css":
            return compose(host, 200, Body(STYLE, "text/css"), until=FOREVER)
        if target.startswith(b"/img/") and target.endswith(b".gif"):
            return compose(host, 200, Body(PICTURE, "image/gif"), until=FOREVER)
        return None

    def _missing(self, host: Host, gzip: bool, status: int = 404) -> Answer:
        text = f"<html><head><title>{status}</title></head><body><h1>{status}</h1></body></html>\n"
        return compose(host, status, Body(encode(host, text)), gzip=gzip)


def said_charset(host: Host) -> str:
    """The character set as Content-Type names it."""
    return host.charset if host.declared in ("header", "both") else ""


def validators(host: Host, page: int, state: State) -> tuple[tuple[str, str], ...]:
    """ETag and Last-Modified in the host's habit, right or wrong."""
    etag = ("ETag", f'"{page:x}-{state.version ^ state.advertisement:x}"')
    modified = ("Last-Modified", http_date(state.since))
    match host.validators:
        case "both":
            return (etag, modified)
        case "etag":
            return (etag,)
        case "modified":
            return (modified,)
        case "frozen":
            return (("ETag", f'"{page:x}"'), ("Last-Modified", http_date(1e9)))
        case _:
            return ()


def with_validators(answer: Answer, host: Host, fields: tuple[tuple[str, str], ...]) -> Answer:
    """The answer with the 304 that can stand in for it."""
    sent = dict(fields)
    answer.etag = sent.get("ETag", "").encode()
    answer.modified = sent.get("Last-Modified", "").encode()
    if fields:
        answer.unchanged = unchanged(host, fields)
    return answer
