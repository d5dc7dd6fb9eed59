"""How fast do archived pages become searchable, and how fast is a query answered?

In:    3,000 pages made here, half Japanese, half English; words as frequent as in real text (Zipf).
Out:   captures per CPU-second from the archive into the index (reading, parsing, cutting, writing, all
       threads), and milliseconds per query including titles and snippets.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from joro.archive.warc import WarcWriter
from joro.clock import FakeClock
from joro.config import Config
from joro.index.query import search
from joro.index.segment import Reader, place
from joro.indexer import index_new
from joro.model import Outcome, Page, Response, Visit
from joro.store.collection import Collection

PAGES = 3_000
QUERIES = 500
#: Around the mean of real pages: 1,640 characters of text in 20 KB of HTML.
TEXT_CHARS = 1_640
MARKUP = '<div class="entry"><img src="/images/spacer.png" width="1" height="1" alt=""></div>\n' * 210


class Language:
    """A made-up language: words, the common ones short, and how often each is said."""

    def __init__(self, chance: random.Random, letters: str, space: str, longest: int) -> None:
        self._chance = chance
        self._space = space
        self.words = ["".join(chance.choices(letters, k=1 + n % longest)) for n in range(5_000)]
        self._length = sum(map(len, self.words)) / len(self.words) + len(space)
        self._weights = [1 / (rank + 10) for rank in range(len(self.words))]

    def text(self, characters: int) -> str:
        return self._space.join(
            self._chance.choices(self.words, self._weights, k=int(characters / self._length))
        )

    def word(self) -> str:
        return self._chance.choices(self.words, self._weights)[0]


def figures() -> dict[str, tuple[float, str]]:
    """Indexing speed and query times."""
    chance = random.Random(20261116)
    kanji = "".join(map(chr, range(0x4E00, 0x4E00 + 1_500))) + "".join(map(chr, range(0x3042, 0x3094))) * 8
    languages = [
        Language(chance, kanji, "", longest=4),
        Language(chance, "abcdefghijklmnopqrstuvwxyzeeeaaooiittnnrrss", " ", longest=12),
    ]
    with tempfile.TemporaryDirectory(prefix="joro-bench-") as directory:
        collection = Collection.create(Path(directory) / "web", Config())
        _archive(collection, languages)
        began = time.process_time()
        counts = index_new(collection)
        per_cpu_s = counts.captures / (time.process_time() - began)
        took = sorted(_times_ms(Reader(place(collection.index)), languages, chance))
    return {
        "index.docs_per_cpu_s": (per_cpu_s, "pages per CPU-second"),
        "search.p50_ms": (statistics.median(took), "ms"),
        "search.p95_ms": (took[len(took) * 95 // 100], "ms"),
    }


def _archive(collection: Collection, languages: list[Language]) -> None:
    writer = WarcWriter(collection.archive, limit_bytes=10**9, clock=FakeClock(), robot="joro")
    for number in range(PAGES):
        language = languages[number % 2]
        text = "</p>\n<p>".join(language.text(TEXT_CHARS // 8) for _ in range(8))
        body = f"<!doctype html><title>{language.text(20)}</title>{MARKUP}<p>{text}</p>".encode()
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
        url = f"http://host{number % 50}.example/{number}"
        writer.append(Visit(Page(url), float(number), Outcome.OK, response=Response(200, head, body)))
    writer.close()


def _times_ms(reader: Reader, languages: list[Language], chance: random.Random) -> Iterator[float]:
    """One to three words of one language, as often said as they are; the first query opens the index."""
    search(reader, "warm")
    for number in range(QUERIES):
        language = languages[number % 2]
        query = " ".join(language.word() for _ in range(chance.randint(1, 3)))
        yield search(reader, query).elapsed_s * 1000
