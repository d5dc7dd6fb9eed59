"""What does a page say, at a given version?

In:    a page and its `State`.
Out:   the HTML as text and as bytes in the host's character set.
Never: knows the time, sockets or headers; the same page and state give the same bytes.

The main text is picked from a pool of sentences. A new version rewrites the first third of it; the
needle, the links and the rest stay, as on most real pages.
"""

from __future__ import annotations

import codecs
import math
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from random import Random
from time import gmtime, strftime

from joro.testweb.chance import Stream, source, uniform
from joro.testweb.change import Changes, State
from joro.testweb.graph import Graph, is_leaf
from joro.testweb.look import Look, Looks
from joro.testweb.paths import path, url
from joro.testweb.plan import Host, Plan
from joro.testweb.texts import Texts, rare_word

#: Bytes of a page are log-normal: median 16 KB, mean 22 KB; cut at what S0-12 saw.
SIZE_MEDIAN, SIZE_SIGMA = 16_000.0, 0.8
SIZE_LEAST, SIZE_MOST = 63, 2_000_000
BENCH_SIZE = 20_000
#: What the frame and one link cost in bytes, roughly; the rest of the size is text.
FRAME_BYTES, LINK_BYTES = 2_300, 85
SENTENCES_PER_PARAGRAPH = 5
NOFOLLOW_SHARE, NOINDEX_SHARE, CANONICAL_SHARE = 0.01, 0.01, 0.3

BYTES_PER_CHAR = {"utf-8": {"ja": 3.0, "zh": 3.0, "ko": 2.6, "ru": 1.8}}


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
        self._looks = Looks(self._seed, texts)
        self._bench = plan.settings.profile == "bench"
        self.title = lru_cache(maxsize=200_000)(self._title)

    def needle(self, page: int) -> str:
        """The word that stands on this page (and its copies) and nowhere else."""
        page = self._changes.original(page)
        return rare_word(self._plan.host_of(page).language, page)

    def _title(self, page: int) -> str:
        page = self._changes.original(page)
        host = self._plan.host_of(page)
        return self._texts.prose(host.language).title(source(self._seed, Stream.TITLE, page), host.topic)

    def size_bytes(self, page: int) -> int:
        """How big the page shall be, about."""
        if self._bench:
            return BENCH_SIZE
        rng = source(self._seed, Stream.PAGE, page, 1)
        size = round(SIZE_MEDIAN * math.exp(SIZE_SIGMA * rng.gauss(0.0, 1.0)))
        if rng.random() < 0.002:
            size *= 40
        return min(SIZE_MOST, max(SIZE_LEAST, size))

    def directions(self, page: int) -> Directions:
        """Its meta robots and canonical marks; only leaves say nofollow, so that all stays reachable."""
        host = self._plan.host_of(page)
        if self._bench or not is_leaf(host, page - host.first):
            return Directions()
        pick = uniform(self._seed, Stream.PAGE, page, 2)
        canonical = uniform(self._seed, Stream.PAGE, host.number, 3) < CANONICAL_SHARE
        return Directions(
            noindex=pick < NOINDEX_SHARE,
            nofollow=NOINDEX_SHARE / 2 < pick < NOINDEX_SHARE / 2 + NOFOLLOW_SHARE,
            canonical=canonical,
        )

    def content(self, page: int, state: State, extra: str = "") -> bytes:
        """The page as its host sends it."""
        return encode(self._plan.host_of(page), self.html(page, state, extra))

    def html(self, page: int, state: State, extra: str = "") -> str:
        """The page as text; `extra` is put after the links (doors to traps, news and so on)."""
        host = self._plan.host_of(page)
        source_page = self._changes.original(page)
        if host.kind == "exact":
            host, page = self._plan.hosts[host.copy_of], source_page
        look = self._looks.of(host)
        targets = self._graph.links(page)
        room = self.size_bytes(source_page) - FRAME_BYTES - LINK_BYTES * len(targets)
        rng = source(self._seed, Stream.TEXT, source_page)
        paragraphs = self._paragraphs(rng, host, source_page, state, room)
        title = escape(self.title(source_page))
        parts = [
            self._head(host, page, look, title),
            "<body>\n",
            look.header,
            f'\n<div id="main"><h1>{title}</h1>\n',
            f"<p>{look.words[1]}: <time>{strftime('%Y-%m-%d', gmtime(state.since))}</time></p>\n",
            *paragraphs,
            "</div>\n",
            self._advertisement(host, page, state, look),
            self._links(host, page, targets, look),
            extra,
            look.footer,
            "\n</body>\n</html>\n",
        ]
        return "".join(parts)

    def _head(self, host: Host, page: int, look: Look, title: str) -> str:
        lang = f' lang="{host.language}"' if host.has_lang else ""
        return (
            f"<!DOCTYPE html>\n<html{lang}>\n<head>\n{meta_charset(host)}"
            f"<title>{title}</title>\n{self._marks(host, page)}"
            f'<link rel="stylesheet" href="/style.css">\n{look.head}\n</head>\n'
        )

    def _marks(self, host: Host, page: int) -> str:
        directions = self.directions(page)
        marks = []
        if host.base:
            marks.append(f'<base href="{host.url}">\n')
        words = [word for word in ("noindex", "nofollow") if getattr(directions, word)]
        if words:
            marks.append(f'<meta name="robots" content="{", ".join(words)}">\n')
        if directions.canonical or host.kind == "aliases":
            marks.append(f'<link rel="canonical" href="{url(self._plan, page)}">\n')
        return "".join(marks)

    def _paragraphs(self, rng: Random, host: Host, page: int, state: State, room: int) -> list[str]:
        pool = self._texts.pool(host.language, host.topic)
        width = BYTES_PER_CHAR.get(host.charset, {}).get(
            host.language, 2.0 if host.language in "ja zh ko" else 1.0
        )
        count = max(3, round(room / (pool.chars * width)))
        fresh = max(1, count // 3)
        again = source(self._seed, Stream.VERSION, page, state.version)
        sentences = again.choices(pool.sentences, k=fresh) + rng.choices(pool.sentences, k=count - fresh)
        sentences.insert(rng.randrange(fresh, count), f"{self.needle(page)} ")
        step = SENTENCES_PER_PARAGRAPH
        return [f"<p>{''.join(sentences[start : start + step])}</p>\n" for start in range(0, count + 1, step)]

    def _advertisement(self, host: Host, page: int, state: State, look: Look) -> str:
        rng = source(self._seed, Stream.ADVERTISEMENT, page, state.advertisement)
        slogan = rng.choice(self._texts.pool(host.language, host.topic).sentences)
        number = rng.randrange(1_000_000)
        return (
            f'<div class="ad" id="ad{number}"><b>{look.words[2]}</b> {slogan}'
            f'<img src="/img/ad{number % 50}.gif" alt=""></div>\n'
        )

    def _links(self, host: Host, page: int, targets: list[int], look: Look) -> str:
        lines = [f"<h2>{look.words[5]}</h2>\n<ul>\n"]
        lines += [
            f'<li><a href="{self._href(host, page, target)}">{escape(self.title(target))}</a></li>\n'
            for target in targets
        ]
        lines.append("</ul>\n")
        return "".join(lines)

    def _href(self, host: Host, page: int, target: int) -> str:
        """One link: within the site mostly without the host's name, and in several spellings."""
        if not host.first <= target < host.first + host.pages:
            return escape(url(self._plan, target))
        where = path(host, target - host.first)
        if host.base:
            return escape(where[1:]) or "./"
        return escape(url(self._plan, target) if (page + target) % 5 == 0 else where)


def meta_charset(host: Host) -> str:
    """The declaration inside the page, in the old or the new spelling, where the host has one."""
    if host.declared not in ("meta", "both"):
        return ""
    if host.number % 2:
        return f'<meta charset="{host.charset}">\n'
    return f'<meta http-equiv="Content-Type" content="text/html; charset={host.charset}">\n'


#: What a name of a character set means on the web, in Python's spelling.
CODECS = {"shift_jis": "cp932", "iso-2022-jp": "iso2022_jp", "iso-8859-1": "cp1252", "windows-1252": "cp1252"}


def encode(host: Host, text: str) -> bytes:
    """Text in the host's character set; what it lacks is written as a character reference."""
    return codecs.encode(text, CODECS.get(host.charset, host.charset), "xmlcharrefreplace")
