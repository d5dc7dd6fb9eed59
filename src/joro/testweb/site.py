"""What does a host say to a request?

In:    a host, the target asked for and the virtual time.
Out:   an `Answer`.
Never: touches a socket; decides when an answer leaves (that is for `moods` and `server`).
"""

from __future__ import annotations

import math
import re
from html import escape

from joro.testweb import big, hostile, redirects, robots, sitemaps, traps
from joro.testweb.answer import Answer, Body, compose, http_date, unchanged
from joro.testweb.change import Changes, State
from joro.testweb.frame import list_html, page_html, said_charset
from joro.testweb.graph import Graph
from joro.testweb.news import News
from joro.testweb.pages import Pages
from joro.testweb.paths import place
from joro.testweb.plan import Host, Plan
from joro.testweb.texts import Texts

#: The smallest picture there is: 1 × 1, transparent.
PICTURE = bytes.fromhex(
    "47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b"
)
STYLE = b"body{max-width:60em;margin:0 auto}\nimg{max-width:100%}\n"
MISSING = tuple((f"/missing/{name}.html", name) for name in ("old", "lost", "moved", "gone", "none"))

Fields = tuple[tuple[str, str], ...]


class Site:
    """Answers for every host of one plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.graph = Graph(plan)
        self.changes = Changes(plan)
        self.texts = Texts(plan.settings.seed)
        self.pages = Pages(plan, self.graph, self.changes, self.texts)
        self.news = News(plan, self.texts)

    def answer(self, host: Host, target: bytes, gzip: bool, now: float) -> Answer:
        """The answer to one request."""
        if host.kind == "aliases":
            target = re.sub(rb"[?&]from=\d+$", b"", target)
        found = place(host, target)
        if found >= 0:
            return self.page(host, host.first + found, gzip, now)
        return (
            self._robots(host, target, gzip)
            or self._special(host, target, gzip, now)
            or _fixed(host, target)
            or self._missing(host, target, gzip)
        )

    def page(self, host: Host, page: int, gzip: bool, now: float, extra: str = "") -> Answer:
        """A page as it stands now."""
        gone = self.changes.gone(page)
        if gone <= now:
            return plain(host, 410, gzip)
        if page == host.first:
            extra += self._doors(host, now)
        state = self.state(page, now)
        fields = validators(host, page, state, now)
        body = Body(self.pages.content(page, state, extra), charset=said_charset(host))
        answer = compose(host, 200, body, fields, gzip=gzip, page=page, until=min(state.until, gone))
        if host.validators == "restless":
            answer.until = -math.inf
        return with_validators(answer, host, fields)

    def state(self, page: int, now: float) -> State:
        """How a page stands; on the front page of a news host a new article is a change, too."""
        state = self.changes.state(page, now)
        host = self.plan.host_of(page)
        if host.role != "news" or page != host.first:
            return state
        (newest,) = self.news.latest(host, now, 1)
        return State(
            state.version ^ int(newest.time * 1_000),
            state.advertisement,
            max(state.since, newest.time),
            min(state.until, self.news.next(host, now)),
        )

    def changed(self, page: int, since: float, until: float) -> list[float]:
        """The moments in (since, until] at which the page changes, new articles on it included."""
        moments = self.changes.changes(page, since, until)
        host = self.plan.host_of(page)
        if host.role != "news" or page != host.first:
            return moments
        return sorted(moments + [article.time for article in self.news.between(host, since, until)])

    def is_news(self, page: int, seen: float, now: float) -> bool:
        """Whether the main text is another at `now` than it was when `seen`."""
        host = self.plan.host_of(page)
        if host.role == "news" and page == host.first and self.news.between(host, seen, now):
            return True
        return self.changes.kind(page) in ("poisson", "burst") and self.changes.state(page, now).since > seen

    def _doors(self, host: Host, now: float) -> str:
        """What a front page leads to besides pages."""
        match host.role:
            case "redirecting":
                return list_html(redirects.doors(host))
            case "trap":
                return list_html([(traps.entrance(host), host.kind)])
            case "hostile":
                return list_html([(target, host.kind) for target in hostile.targets(host)])
            case "huge":
                return list_html(big.doors())
            case "soft404":
                return list_html(list(MISSING))
            case "news":
                return self.news.front(host, now)
            case _:
                return ""

    def _special(self, host: Host, target: bytes, gzip: bool, now: float) -> Answer | None:
        """What only hosts of this role have."""
        match host.role:
            case "redirecting":
                return redirects.answer(self.plan, host, target)
            case "trap":
                return self._trap(host, target, gzip, now)
            case "hostile":
                return hostile.answer(host, target)
            case "huge":
                return big.answer(host, target)
            case "news":
                return self.news.answer(host, target, gzip, now)
            case "sitemap":
                return sitemaps.answer(host, self.changes, target, gzip, now)
            case _:
                return None

    def _trap(self, host: Host, target: bytes, gzip: bool, now: float) -> Answer | None:
        links = traps.links(self.plan.settings.seed, host, target)
        if links is None:
            return None
        found = place(host, traps.without_session(target)) if host.kind == "session" else -1
        if found >= 0:  # a session id leads to honest text, again and again
            return self.page(host, host.first + found, gzip, now, extra=list_html(links))
        return compose(host, 200, traps.page(host, target, links), gzip=gzip, until=math.inf)

    def _robots(self, host: Host, target: bytes, gzip: bool) -> Answer | None:
        moved = host.robots == "redirect"
        if target == b"/robots.txt" and moved:
            return redirects.redirect(host, 301, "/robots-moved.txt")
        if target != (b"/robots-moved.txt" if moved else b"/robots.txt"):
            return None
        status = robots.rules(host).status
        if status != 200:
            return plain(host, status, gzip)
        sitemap = sitemaps.address(host) if host.role == "sitemap" else ""
        body = Body(robots.text(host, sitemap).encode(), "text/plain")
        return compose(host, 200, body, gzip=gzip, until=math.inf)

    def _missing(self, host: Host, target: bytes, gzip: bool) -> Answer:
        if host.role != "soft404" or target == b"/robots.txt":
            return plain(host, 404, gzip)
        if host.kind == "front":
            return redirects.redirect(host, 302, "/")
        name = escape(target.decode("latin-1"))
        body = page_html(host, host.name, f"<p>Sorry, there is no {name} here (any more).</p>\n" * 5)
        return compose(host, 200, body, gzip=gzip)


def _fixed(host: Host, target: bytes) -> Answer | None:
    if target == b"/style.css":
        return compose(host, 200, Body(STYLE, "text/css"), until=math.inf)
    if target.startswith(b"/img/") and target.endswith(b".gif"):
        return compose(host, 200, Body(PICTURE, "image/gif"), until=math.inf)
    return None


def plain(host: Host, status: int, gzip: bool) -> Answer:
    """A page that says nothing but its status."""
    return compose(host, status, page_html(host, str(status), ""), gzip=gzip)


def validators(host: Host, page: int, state: State, now: float) -> Fields:
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
        case "restless":
            return (("ETag", f'"{int(now * 1_000_000):x}"'), ("Last-Modified", http_date(now)))
        case _:
            return ()


def with_validators(answer: Answer, host: Host, fields: Fields) -> Answer:
    """The answer with the 304 that can stand in for it."""
    sent = dict(fields)
    answer.etag = sent.get("ETag", "").encode()
    answer.modified = sent.get("Last-Modified", "").encode()
    if fields:
        answer.unchanged = unchanged(host, fields)
    return answer
