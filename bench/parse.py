"""How many pages can a core read?

Measured: CPU time of `outline` (what the robot does in its loop) and `document` (what the indexer does),
on pages of some 20 KB with 30 links, half of them Japanese, declared in a meta element.
Left out: taking off encodings, and writing anything down. The ratio is `outline` against selectolax's
parser with our joining of links: same bytes, same URLs out, in turn with ours.
"""

from __future__ import annotations

import importlib
import random
import time
from collections.abc import Callable
from typing import Any

from joro.parse.page import document, outline
from joro.url import Joiner

PAGES = 200
ROUNDS = 7
PAGE_BYTES = 20_000
LINKS = 30
URL = "http://www.example.jp/dir/page.html"

WORDS = {
    "en": "the of and in to archive page version index server change visit time crawl search".split(),
    "ja": "研究 資料 です 収集 の 情報 を 検索 する ページ に 更新 した 時刻 は 公開 、 。".split(),
}

HEAD = """<!DOCTYPE html>
<html lang="{language}"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/style.css">
<link rel="canonical" href="{url}?n={number}"><script>var n = {number}; if (n < 1) {{ n++; }}</script></head>
<body><div class="page"><nav><ul>{menu}</ul></nav><main><article><h1>{title}</h1>
"""


def page(number: int) -> bytes:
    """A page like those of the test web, a different one for each number."""
    chance = random.Random(number)
    language = ("en", "ja")[number % 2]
    space = " " if language == "en" else ""

    def words(count: int) -> str:
        return space.join(chance.choices(WORDS[language], k=count))

    menu = "".join(f'<li class="entry"><a href="/part{n}/">{words(2)}</a></li>' for n in range(10))
    parts = [HEAD.format(language=language, title=words(5), url=URL, number=number, menu=menu)]
    links, size = 10, len(parts[0].encode())
    while size < PAGE_BYTES or links < LINKS:
        part = f'<p class="text">{words(30)}'
        if links < LINKS:
            server = f"http://www{chance.randrange(999)}.example.com" if links % 3 == 0 else ""
            part += f' <a href="{server}/topic/{chance.randrange(9999)}.html">{words(3)}</a> '
            links += 1
        part += (
            f"{words(30)} <em>{words(1)}</em> &amp; <b>{words(1)}</b>.<br><img src=/{links}.png alt=x></p>\n"
        )
        parts.append(part)
        size += len(part.encode())
    return "".join([*parts, "</article></main><footer>&copy; 2026</footer></div></body></html>"]).encode()


def best_rates(readers: dict[str, Callable[[bytes], object]]) -> dict[str, float]:
    """Pages per CPU second of each reader, the best of several rounds taken in turn."""
    pages = [page(number) for number in range(PAGES)]
    least: dict[str, float] = {}
    for _ in range(ROUNDS):
        for name, read in readers.items():
            start = time.process_time()
            for content in pages:
                read(content)
            spent = time.process_time() - start
            least[name] = min(spent, least.get(name, spent))
    return {name: PAGES / spent for name, spent in least.items()}


def peer() -> Callable[[bytes], object] | None:
    """selectolax reading the links of a page, if it is installed."""
    try:
        parser: Any = importlib.import_module("selectolax.lexbor")
    except ImportError:
        return None

    def read(content: bytes) -> dict[str | None, None]:
        tree = parser.LexborHTMLParser(content)
        join = Joiner(URL)
        return {
            join(node.attributes["href"] or ""): None for node in tree.css("a[href], link[rel=canonical]")
        }

    return read


def figures() -> dict[str, tuple[float, str]]:
    """Speed of both ways to read a page, and of the first against a peer."""
    readers: dict[str, Callable[[bytes], object]] = {
        "outline": lambda content: outline(content, URL, "text/html"),
        "document": lambda content: document(content, URL, "text/html"),
    }
    if (selectolax := peer()) is not None:
        readers["selectolax"] = selectolax
    rates = best_rates(readers)
    found = {
        "parse.outline_pages_per_cpu_s": (rates["outline"], "pages/CPU-s"),
        "parse.document_pages_per_cpu_s": (rates["document"], "pages/CPU-s"),
    }
    if "selectolax" in rates:
        found["parse.ratio_selectolax"] = (rates["outline"] / rates["selectolax"], "x")
    return found
