"""Which pages does a sitemap list, and when did they change?

In:    the body of a sitemap, as it came: XML or plain lines, gzipped or not, and its URL.
Out:   its kind, and its entries one by one, while it is being unpacked: page or further sitemap, last change,
       and the weak words about how often and how important.
Never: raises; holds more than some pieces of 64 KB, so that 50 MB of sitemap need no more memory than 50 KB;
       reads beyond the protocol's own limit of 50 MB.

The protocol: sitemaps.org, with Google's news extension. A news sitemap's publication date makes an entry
news; pictures, videos and translations are passed over.
"""

from __future__ import annotations

import codecs
import functools
import itertools
import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass

from isal import isal_zlib

from joro.model import DAY_S, Entry, Response
from joro.parse.charset import charset_of, decode
from joro.parse.dates import is_day, moment
from joro.parse.markup import Markup, attributes
from joro.parse.payload import payload, without_frames
from joro.url import Joiner, try_canonical

#: The protocol's limit on an unpacked sitemap.
LIMIT_BYTES = 52_428_800
PIECE_BYTES = 65_536
#: Tags read of one sitemap, at about 1 µs each: 50,000 pages with forty each.
TAG_LIMIT = 2_000_000
#: A longer line is no URL.
LINE_LIMIT_CHARS = 8_192
TITLE_LIMIT_CHARS = 500

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 31
#: Gzip in gzip: a .gz file that the server packed once more.
_LAYERS = 3

_ROOT = re.compile(r"<(?:[A-Za-z][\w.-]*:)?(urlset|sitemapindex)(?=[\s>/])", re.IGNORECASE)
_HEAD_CHARS = 4_096
_NEWLINE = re.compile(r"[\r\n]+")
#: Some begin with words about the list; it is one if a URL stands behind them.
_LINE_URL = re.compile(r"(?:\s*+#[^\r\n]*+|)*+\s*https?://\S+\s*(?:\n|\r|\Z)", re.IGNORECASE)
_NEWS = "google.com/schemas/sitemap-news/"
_LISTS = frozenset({"url", "sitemap"})
_OWN = _LISTS | {"loc", "lastmod", "changefreq", "priority"}
_EVERY_S = {
    "always": 3_600.0,
    "hourly": 3_600.0,
    "daily": DAY_S,
    "weekly": 7 * DAY_S,
    "monthly": 30 * DAY_S,
    "yearly": 365 * DAY_S,
    "never": 3_650 * DAY_S,
}
_PRIORITY = re.compile(r"[01](?:\.\d{1,9})?|\.\d{1,9}")


@dataclass(frozen=True, slots=True)
class Sitemap:
    """A sitemap being read."""

    kind: str  # "pages", "index" (its entries are sitemaps) or "lines"; "": this is no sitemap
    entries: Iterator[Entry]  # to be read once


def sitemap_of(url: str, response: Response) -> Sitemap:
    """The sitemap in a response."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding in ("", "identity", "gzip", "x-gzip"):
        body = without_frames(response.body, LIMIT_BYTES) if response.chunked else response.body
    else:
        body = payload(response, LIMIT_BYTES)
    return read_sitemap(body, url, response.headers.get("content-type", ""))


def read_sitemap(body: bytes, url: str, content_type: str = "") -> Sitemap:
    """A sitemap; `kind` is "" when the body is none."""
    pieces = texts(unpacked(body), url, content_type)
    first = next(pieces, "")
    root = _root(first)
    if root is not None:
        markup = Markup(itertools.chain([first[root.start() :]], pieces))
        kind = "index" if root[1].lower() == "sitemapindex" else "pages"
        return Sitemap(kind, _entries(markup, Joiner(url)))
    if _LINE_URL.match(first):
        return Sitemap("lines", _lines(itertools.chain([first], pieces), Joiner(url)))
    return Sitemap("", iter(()))


def _root(text: str) -> re.Match[str] | None:
    """Its root, where one expects it: comments do not count, however long they are."""
    at, left = 0, _HEAD_CHARS
    while True:
        comment = text.find("<!--", at, at + left)
        root = _ROOT.search(text, at, at + left if comment < 0 else comment)
        end = text.find("-->", comment + 4) if comment >= 0 else -1
        if root is not None or end < 0:
            return root
        left -= comment - at
        at = end + 3


def unpacked(body: bytes, limit: int = LIMIT_BYTES) -> Iterator[bytes]:
    """A body in pieces, with all its gzip layers off, up to the limit."""
    pieces: Iterator[bytes] = (
        body[start : start + PIECE_BYTES] for start in range(0, len(body), PIECE_BYTES)
    )
    for _ in range(_LAYERS):
        first = next(pieces, b"")
        pieces = itertools.chain([first], pieces)
        if not first.startswith(_GZIP_MAGIC):
            break
        pieces = _gunzipped(pieces)
    for piece in pieces:
        yield piece[:limit]
        limit -= len(piece)
        if limit <= 0:
            return


def _gunzipped(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Unpack gzip members one after the other; what is broken gives what came before."""
    decoder = isal_zlib.decompressobj(_GZIP_WINDOW)
    for piece in pieces:
        rest, more = piece, True
        while more:
            try:
                unpacked = decoder.decompress(rest, PIECE_BYTES)
            except isal_zlib.error:  # type: ignore[misc]  # isal's stub
                return
            yield unpacked
            rest = decoder.unconsumed_tail
            more = bool(rest) or len(unpacked) == PIECE_BYTES
            if decoder.eof:
                rest = decoder.unused_data
                more = rest.startswith(_GZIP_MAGIC)
                if rest and not more:
                    return
                decoder = isal_zlib.decompressobj(_GZIP_WINDOW)


def texts(pieces: Iterable[bytes], url: str, content_type: str = "") -> Iterator[str]:
    """Pieces of bytes as pieces of text, cut between tags or lines; the first is long enough to judge by."""
    pieces = iter(pieces)
    rest = b""
    for piece in pieces:
        rest += piece
        if len(rest) >= PIECE_BYTES:
            break
    charset = charset_of(rest, content_type, url)
    if charset.startswith("UTF-16"):
        wide = codecs.getincrementaldecoder(charset)("replace")
        yield from map(wide.decode, itertools.chain([rest], pieces))
        return
    for piece in itertools.chain(pieces, [b""]):
        # In no charset of the web but the two above is the last byte of a character `>` or a line feed.
        cut = max(rest.rfind(b">"), rest.rfind(b"\n")) + 1 or len(rest)
        whole, rest = (rest[:cut], rest[cut:] + piece) if piece else (rest, b"")
        yield decode(whole, charset)
    yield decode(rest, charset)


def _entries(markup: Markup, join: Joiner) -> Iterator[Entry]:
    """The entries of an XML sitemap, each as soon as it is whole."""
    names: dict[str, str] = {}
    fields: dict[str, str] = {}
    prefix: str | None = None
    news = {"news:"}
    for text, written, slash, attrs in itertools.islice(markup, TAG_LIMIT):
        if attrs and _NEWS in attrs:
            news |= {f"{key[6:]}:" for key, uri in attributes(attrs).items() if _NEWS in uri}
            names.clear()
        name = names.get(written)
        if name is None:
            prefix = written[: written.rfind(":") + 1] if prefix is None else prefix  # the root's
            name = names[written] = _name(written, prefix, news)
        if name in _LISTS:
            if fields and (entry := _entry(fields, join)) is not None:
                yield entry
            fields = {}
        elif name and slash:
            fields[name] = text
    if fields and (entry := _entry(fields, join)) is not None:
        yield entry


def _name(written: str, prefix: str, news: Container[str]) -> str:
    """What we call an element; "" when it is no matter, as image:loc, which is no page."""
    before, colon, local = written.rpartition(":")
    if before + colon in news:
        return local if (local := local.lower()) in ("publication_date", "title") else ""
    local = written.removeprefix(prefix).lower()
    return local if local in _OWN else ""


def _entry(fields: dict[str, str], join: Joiner) -> Entry | None:
    ref = fields.get("loc", "").strip()
    # Joined links are remembered, for pages repeat them; a sitemap does not, and would push all others out.
    url = try_canonical(ref) if ref.startswith(("http://", "https://")) else join(ref or "about:blank")
    if url is None:
        return None
    published = fields.get("publication_date", "")
    written = fields.get("lastmod", "") or published
    time = moment(written) if written else None
    return Entry(
        url,
        time,
        DAY_S if time is not None and len(written) < 20 and is_day(written) else 0.0,
        " ".join(fields["title"].split())[:TITLE_LIMIT_CHARS] if "title" in fields else "",
        "",
        bool(published),
        _every_s(fields["changefreq"]) if "changefreq" in fields else 0.0,
        _priority(fields["priority"]) if "priority" in fields else 0.5,
    )


@functools.lru_cache(maxsize=64)
def _every_s(written: str) -> float:
    return _EVERY_S.get(written.strip().lower(), 0.0)


@functools.lru_cache(maxsize=64)
def _priority(written: str) -> float:
    return min(1.0, float(written)) if _PRIORITY.fullmatch(written.strip()) else 0.5


def _lines(pieces: Iterable[str], join: Joiner) -> Iterator[Entry]:
    """The entries of a sitemap that is a list of URLs."""
    rest = ""
    for piece in itertools.chain(pieces, ["\n"]):
        *lines, rest = _NEWLINE.split(rest[-LINE_LIMIT_CHARS:] + piece)
        for line in lines:
            ref = line.strip()
            if len(ref) <= LINE_LIMIT_CHARS and ref[:4].lower() == "http" and (url := join(ref)):
                yield Entry(url)
