"""What do traps cost, and does the guard against them cost honest pages?

Measured: every trap of the test web, and its larger honest and news hosts, each collected whole over HTTP by
a plain sequential loop with `discover.traps` in it, until nothing is left; and a domain that has every name,
with five new servers on each page. `most_fetches` counts requests beyond the honest pages, of the worst
trap; `honest_share` the honest pages fetched, over all hosts; then CPU time of the guard per page, its new
links included, and of its likeness.
Left out: what the frontier and the seen set cost.
"""

from __future__ import annotations

import heapq
import http.client
import random
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from joro.discover.traps import WATCHED_FROM, Traps
from joro.parse.charset import charset_of, decode
from joro.parse.html import Tree
from joro.parse.likeness import Likeness, likeness_of
from joro.parse.page import outline
from joro.testweb.plan import make
from joro.testweb.running import Running, running
from joro.testweb.settings import EPOCH, Settings
from joro.testweb.site import Site
from joro.url import fingerprint, join, path_of, server_of

SEEDS = (7, 8)
LIMIT = 5_000
#: What endless pages are made of.
STOCK = (
    "time river stone house green light walk quiet paper garden morning winter summer train letter window "
    "music story market bridge forest island harbor engine doctor kitchen village mountain border copper"
).split()
LARGE = 60  # pages; small honest hosts are not watched


@dataclass(frozen=True)
class Reply:
    """What a server said."""

    status: int
    kind: str
    body: bytes
    location: str = ""


Fetch = Callable[[str], Reply]


@dataclass
class Trip:
    """What one collects, and what a guard against traps says to it."""

    fetch: Fetch
    traps: Traps = field(default_factory=Traps)
    fetched: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)  # URL → why
    guard_s: float = 0.0
    _seen: set[str] = field(default_factory=set)


@dataclass
class Walk(Trip):
    """Collects one server by itself: nearest pages first, until nothing waits."""

    _queue: list[tuple[int, int, str]] = field(default_factory=list)

    def collect(self, front: str, limit: int = LIMIT) -> Walk:
        """Everything that can be reached from the front page."""
        self._register([front], 0)
        while self._queue and len(self.fetched) < limit:
            hops, _, url = heapq.heappop(self._queue)
            reason = self.traps.verdict(url)
            if reason is not None:
                self.refused[url] = reason
                self._register([url], hops)
            else:
                self._visit(url, hops)
        return self

    def _visit(self, url: str, hops: int) -> None:
        reply = self.fetch(url)
        self.fetched.append(url)
        links, likeness = _read(url, reply)
        inside = server_of(url) + "/"
        new = [link for link in links if link.startswith(inside) and link not in self._seen]
        start = time.process_time()
        self.traps.observe(url, likeness, len(self.fetched))
        self._register(new, hops + 1, url)
        self.guard_s += time.process_time() - start

    def _register(self, urls: list[str], hops: int, source: str = "") -> None:
        for url in self.traps.admit(urls, source):
            if url not in self._seen:
                self._seen.add(url)
                heapq.heappush(self._queue, (hops, fingerprint(url), url))


@dataclass
class Tour(Trip):
    """Collects the servers of a domain, one page after the other, until nothing waits."""

    _servers: Counter[str] = field(default_factory=Counter)  # known, with pages fetched
    _queue: deque[str] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.traps = Traps(is_known=self._servers.__contains__)

    def collect(self, front: str, limit: int = LIMIT) -> Tour:
        """Everything that can be reached from the front page."""
        self._register([front])
        while self._queue and len(self.fetched) < limit:
            url = self._queue.popleft()
            is_watched = self._servers[server_of(url)] >= WATCHED_FROM
            reason = self.traps.verdict(url) or (None if is_watched else self.traps.shuns(server_of(url)))
            if reason is not None:
                self.refused[url] = reason
            else:
                self._visit(url)
        return self

    def _visit(self, url: str) -> None:
        links, likeness = _read(url, self.fetch(url))
        self.fetched.append(url)
        start = time.process_time()
        self.traps.observe(url, likeness, self._servers[server_of(url)], links)
        self._servers[server_of(url)] += 1
        self._register(links, url)
        self.guard_s += time.process_time() - start

    def _register(self, urls: list[str], source: str = "") -> None:
        new = [url for url in dict.fromkeys(urls) if url not in self._seen]
        self._seen.update(new)
        for url in self.traps.admit(new, source):
            self._servers[server_of(url)] += 0
            self._queue.append(url)


def every_name(url: str) -> Reply:
    """A domain of which every name is a server, each with a page of its own that leads to five more."""
    chance = random.Random(url)
    text = " ".join(chance.choices(STOCK, k=120))
    links = [f"http://{chance.getrandbits(40):010x}.every.example/" for _ in range(5)]
    anchors = "".join(f'<a href="{link}">{chance.choice(STOCK)}</a>' for link in links)
    return Reply(200, "text/html", f"<title>Sub</title><p>{text}</p>{anchors}".encode())


def _read(url: str, reply: Reply) -> tuple[list[str], Likeness]:
    if reply.location:
        target = join(url, reply.location)
        return [target] if target else [], Likeness()
    if reply.status != 200 or not reply.kind.startswith("text/html"):
        return [], Likeness()
    tree = Tree(decode(reply.body, charset_of(reply.body, reply.kind, url)))
    return outline(reply.body, url, reply.kind).to_follow, likeness_of(tree)


@contextmanager
def over_http(port: int) -> Iterator[Fetch]:
    """Asks a test web that is up, over one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)

    def fetch(url: str) -> Reply:
        connection.request("GET", path_of(url), headers={"Host": urlsplit(url).netloc})
        response = connection.getresponse()
        body = response.read()
        return Reply(
            response.status, response.getheader("content-type", ""), body, response.getheader("location", "")
        )

    try:
        yield fetch
    finally:
        connection.close()


def honest_pages(web: Running, host: str) -> set[str]:
    """What the plan says is there, and articles."""
    pages = {page["url"] for page in web.oracle.get("/pages", host=host)}
    return pages | {article["url"] for article in web.oracle.get("/articles", host=host, since=0)}


def figures() -> dict[str, tuple[float, str]]:
    """The worst trap, the share of honest pages, and what the guard costs."""
    most = found = wanted = 0
    guard_s, pages = 0.0, 0
    for seed in SEEDS:
        with running(Settings(seed=seed, hosts=120, pages=3_000, roles=("trap", "news"))) as web:
            reachable = set(web.oracle.get("/reachable"))
            for host in web.oracle.get("/hosts"):
                if host["role"] == "normal" and host["pages"] < LARGE:
                    continue
                with over_http(web.port) as fetch:
                    walk = Walk(fetch).collect(host["url"])
                honest = honest_pages(web, host["name"])
                here = {url for url in honest if url in reachable or "/articles/" in url}
                found, wanted = found + len(here & set(walk.fetched)), wanted + len(here)
                if host["role"] == "trap":
                    most = max(most, len(set(walk.fetched) - honest))
                guard_s, pages = guard_s + walk.guard_s, pages + len(walk.fetched)
    most = max(most, len(Tour(every_name).collect("http://www.every.example/").fetched))
    return {
        "traps.most_fetches": (most, "fetches"),
        "traps.honest_share": (found / wanted, "share"),
        "traps.guard_us": (guard_s / pages * 1e6, "µs/page"),
        "traps.likeness_us": (_likeness_us(), "µs/page"),
    }


def _likeness_us() -> float:
    """CPU time for the likeness of a parsed page of 20 KB, the best of several rounds."""
    site = Site(make(Settings(hosts=50, pages=500, profile="bench")))
    pages = [site.pages.content(page, site.changes.state(page, EPOCH)) for page in range(200)]
    trees = [Tree(page.decode()) for page in pages]
    rounds = []
    for _ in range(7):
        start = time.process_time()
        for tree in trees:
            likeness_of(tree)
        rounds.append(time.process_time() - start)
    return min(rounds) / len(trees) * 1e6
