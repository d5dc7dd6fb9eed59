"""What does a page say, at a given version?

In:    a page and its `State`.
Out:   the HTML, in the host's character set.
Never: knows the time, sockets or headers; the same page and state give the same bytes.

The main text is picked from a pool of sentences. A new version rewrites the first third of it; the
needle, the links and the rest stay, as on most real pages. The advertisement and the date stand outside
the main text.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from time import gmtime, strftime

from joro.testweb.chance import Stream, draw, normal, source, uniform
from joro.testweb.change import Changes, State
from joro.testweb.charsets import encode
from joro.testweb.frame import opening
from joro.testweb.graph import Graph, is_leaf, is_nofollow, is_tiny, says_host
from joro.testweb.look import Look, Looks
from joro.testweb.news import feed_mark
from joro.testweb.paths import path, url
from joro.testweb.plan import Host, Plan
from joro.testweb.texts import Texts

#: Bytes of a page are log-normal: median 16 KB, mean 22 KB; cut at what S0-12 saw.
SIZE_MEDIAN, SIZE_SIGMA = 16_000.0, 0.8
SIZE_MOST = 2_000_000
BIG_SHARE, BIG_FACTOR = 0.001, 40
BENCH_SIZE = 20_000
#: What the frame and one link cost in bytes, roughly; the rest of the size is text.
FRAME_BYTES, LINK_BYTES = 2_300, 95
SENTENCES_PER_PARAGRAPH = 5
NOINDEX_SHARE, NOFOLLOW_SHARE, CANONICAL_SHARE = 0.01, 0.01, 0.3
NAVIGATION, SIDEBAR = 4, 8

#: Bytes per character of running text, by language: in UTF-8, in the language's own sets.
WIDTHS = {"ja": (3.0, 2.0), "zh": (3.0, 2.0), "ko": (2.5, 1.8), "ru": (1.85, 1.0)}


@dataclass(frozen=True)
class Directions:
    """What a page asks of robots."""

    noindex: bool = False
    nofollow: bool = False
    canonical: bool = False


class Pages:
    """Makes the pages of one web."""

    def __init__(self, plan: Plan, graph: Graph, changes: Changes, texts: Texts) -> None:
        self._plan = plan
        self._seed = plan.settings.seed
        self._graph = graph
        self._texts = texts
        self._changes = changes
        self._bench = plan.settings.profile == "bench"
        self._looks = Looks(self._seed, texts, plain=self._bench)
        self._heading = lru_cache(maxsize=200_000)(self._make_heading)

    def needle(self, page: int) -> str:
        """The word that stands on this page (and its copies) and nowhere else."""
        page = self._changes.original(page)
        return self._texts.needle(self._plan.host_of(page), page)

    def _make_heading(self, page: int) -> str:
        return escape(self.title(page))

    def title(self, page: int) -> str:
        """What it is called; a copy like its original."""
        page = self._changes.original(page)
        return self._texts.title(source(self._seed, Stream.TITLE, page), self._plan.host_of(page))

    def size_bytes(self, page: int) -> int:
        """How big the page shall be, about."""
        if self._bench:
            return BENCH_SIZE
        size = round(SIZE_MEDIAN * math.exp(SIZE_SIGMA * normal(self._seed, Stream.PAGE, page, 1)))
        big = uniform(self._seed, Stream.PAGE, page, 4) < BIG_SHARE
        return min(SIZE_MOST, size * BIG_FACTOR if big else size)

    def directions(self, page: int) -> Directions:
        """Its meta robots and canonical marks; only leaves say nofollow, so that all stays reachable."""
        host = self._plan.host_of(page)
        if self._bench or not is_leaf(host, page - host.first):
            return Directions()
        pick = uniform(self._seed, Stream.PAGE, page, 2)
        return Directions(
            noindex=pick < NOINDEX_SHARE,
            nofollow=NOINDEX_SHARE / 2 < pick < NOINDEX_SHARE / 2 + NOFOLLOW_SHARE,
            canonical=uniform(self._seed, Stream.PAGE, host.number, 3) < CANONICAL_SHARE,
        )

    def content(self, page: int, state: State, extra: str = "") -> bytes:
        """The page as its host sends it; `extra` stands after the links (doors, news and so on)."""
        host = self._plan.host_of(page)
        shown = self._changes.original(page)
        if host.copy_of >= 0 and host.kind == "exact":
            host, page = self._plan.hosts[host.copy_of], shown
        if is_tiny(self._plan, page):
            return encode(f"{opening(host)}<title>{self.needle(page)}</title>\n", host.charset)
        return encode(self._html(host, page, shown, state, extra), host.charset)

    def _html(self, host: Host, page: int, shown: int, state: State, extra: str) -> str:
        """The page of `host` that shows the text of page `shown` (another one's, when it is a copy)."""
        look = self._looks.of(host)
        anchors = [self._anchor(host, page, target, look) for target in self._graph.links(page)]
        paragraphs = self._paragraphs(host, page, shown, state, len(anchors))
        inside = min(len(paragraphs) // 3, max(0, len(anchors) - NAVIGATION - SIDEBAR))
        for number in range(inside):
            paragraphs[3 * number + 1] += f" {anchors[NAVIGATION + SIDEBAR + number]}"
        title = self._heading(shown)
        rest = anchors[NAVIGATION + SIDEBAR + inside :]
        return "".join(
            (
                f"{opening(host)}<title>{title}</title>\n{self._marks(host, page)}{look.head}</head>\n",
                "<body>\n",
                f'{look.header}<ul id="nav">\n{_list(anchors[:NAVIGATION])}</ul>\n',
                f"<p>{look.words.updated}: <time>{strftime('%Y-%m-%d', gmtime(state.since))}</time></p>\n",
                f'<ul id="side">\n{_list(anchors[NAVIGATION : NAVIGATION + SIDEBAR])}</ul>\n',
                f'<div id="main"><h1>{title}</h1>\n<p>',
                "</p>\n<p>".join(paragraphs),
                f"</p>\n</div>\n{self._advertisement(host, page, state, look)}",
                f"<h2>{look.words.related}</h2>\n<ul>\n{_list(rest)}</ul>\n",
                f"{extra}{look.footer}</body>\n</html>\n",
            )
        )

    def _marks(self, host: Host, page: int) -> str:
        directions = self.directions(page)
        marks = []
        if host.base:
            marks.append(f'<base href="{host.url}">\n')
        if host.role == "news":
            marks.append(feed_mark(host))
        words = [word for word in ("noindex", "nofollow") if getattr(directions, word)]
        if words:
            marks.append(f'<meta name="robots" content="{", ".join(words)}">\n')
        if directions.canonical or host.kind == "aliases":
            marks.append(f'<link rel="canonical" href="{escape(url(self._plan, page))}">\n')
        return "".join(marks)

    def _paragraphs(self, host: Host, page: int, shown: int, state: State, links: int) -> list[str]:
        rng = source(self._seed, Stream.TEXT, shown)
        pool = self._texts.pool(host)
        room = self.size_bytes(shown) - FRAME_BYTES - LINK_BYTES * links
        count = max(3, round(room / (pool.chars * _width(host))))
        fresh = max(1, count // 3)
        again = source(self._seed, Stream.VERSION, shown, state.version)
        sentences = again.choices(pool.sentences, k=fresh) + rng.choices(pool.sentences, k=count - fresh)
        sentences.insert(rng.randrange(fresh, count), pool.about(self.needle(shown)))
        if host.kind == "near":
            sentences[0] = source(self._seed, Stream.TEXT, page).choice(pool.sentences)  # never the needle's
        step = SENTENCES_PER_PARAGRAPH
        rest = ["".join(sentences[start : start + step]) for start in range(0, count + 1, step)]
        return [self._texts.lead(again, host), *rest]

    def _advertisement(self, host: Host, page: int, state: State, look: Look) -> str:
        number = draw(self._seed, Stream.ADVERTISEMENT, page, state.advertisement) % 1_000_000
        sentences = self._texts.pool(host).sentences
        return (
            f'<div class="ad" id="ad{number}"><b>{look.words.advertisement}</b> '
            f'{sentences[number % len(sentences)]}<img src="/img/ad{number % 50}.gif" alt=""></div>\n'
        )

    def _anchor(self, host: Host, page: int, target: int, look: Look) -> str:
        """One link: within the site mostly without the host's name, and in several spellings."""
        rel = ' rel="nofollow"' if is_nofollow(host, page, target) else ""
        return look.anchor % (self._href(host, page, target), rel, self._heading(target))

    def _href(self, host: Host, page: int, target: int) -> str:
        if not host.first <= target < host.first + host.pages:
            return _spelled(url(self._plan, target), host).replace("&", "&amp;")
        where = path(host, target - host.first)
        if host.kind == "aliases" and (page + target) % 3 == 0:
            where += f"{'&' if '?' in where else '?'}from={page - host.first}"
        where = where.replace("&", "&amp;")
        if host.base:
            return where[1:] or "./"
        if says_host(host, page, target):
            return host.url[:-1] + where
        if (page + target) % 10 == 3:
            return _climbing(path(host, page - host.first), where)
        return where


def _climbing(start: str, where: str) -> str:
    """`where` as seen from `start`: up to the root by `../`, then down."""
    seen = "../" * (start.partition("?")[0].count("/") - 1) + where[1:]
    return "./" + seen if seen[:1] in ("", "?") else seen  # a question alone asks the page it stands on


def _spelled(address: str, host: Host) -> str:
    """An address as people write it: a kana name in kana, where the page's character set can."""
    if "//xn--" not in address or host.charset != "utf-8":
        return address
    name = address.split("/")[2]
    return address.replace(name, name.encode("ascii").decode("idna"))


def _list(anchors: list[str]) -> str:
    return "".join(f"<li>{anchor}</li>\n" for anchor in anchors)


def _width(host: Host) -> float:
    unicode_width, own_width = WIDTHS.get(host.language, (1.05, 1.0))
    return unicode_width if host.charset == "utf-8" else own_width
