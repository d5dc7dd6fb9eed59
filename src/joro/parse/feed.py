"""What does a feed announce?

In:    the payload of a feed (RSS 0.9x, 1.0 and 2.0, Atom, JSON Feed), its Content-Type and URL.
Out:   its entries, each with the canonical URL, time, title and id, and when it asks to be read again.
Never: raises; reads a web page that was sent instead; reads more entries than a limit.

Over `markup`, our own reader of broken XML, and not over a library: feedparser reads 69 feeds of 50 KB a CPU
second where this reads 890; turbohtml's reader takes 5,300, but 2 MB of `<font a1><p>` cost it more than 8 GB
and 17 s, and neither tells ttl, update period and hours to skip. `docs/concepts/watching.md` compares more.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import Any

import msgspec

from joro.model import DAY_S, Entry, PollHints
from joro.parse.charset import charset_of, decode
from joro.parse.entry import TIMES, entry_from, title_from
from joro.parse.html import Elements
from joro.parse.markup import TEXT_LIMIT_CHARS, Markup, attributes
from joro.url import Joiner

#: Entries read of one feed; the longest honest ones are a podcast's whole life.
ENTRY_LIMIT = 5_000
#: Tags read of one feed, at about 1 µs: 60 for each of those entries.
TAG_LIMIT = 300_000

#: Where the root element is looked for; some programs print warnings first.
_HEAD_CHARS = 16_384
_ROOT = re.compile(r"<(?:[A-Za-z][\w.-]*:)?(rss|feed|rdf|channel|item|entry|html)(?=[\s>])", re.IGNORECASE)
_TYPES = frozenset(
    {"application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json"}
)
#: Some feeds are inserted into nothing: they begin with their first entry.
_KINDS = {"rss": "rss", "channel": "rss", "item": "rss", "feed": "atom", "entry": "atom", "rdf": "rdf"}

#: Namespaces by the prefix we know them by; a document may choose others.
_PREFIXES = {
    "http://www.w3.org/2005/atom": "atom",
    "http://purl.org/atom/ns#": "atom",
    "http://purl.org/rss/1.0/": "",
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://purl.org/dc/terms/": "dcterms",
    "http://purl.org/rss/1.0/modules/syndication/": "sy",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf",
    "http://rssnamespace.org/feedburner/ext/1.0": "feedburner",
}
_FIELDS = frozenset(["title", "link", "guid", "id", "feedburner:origlink", *TIMES])
_HINTS = frozenset(["ttl", "hour", "day", "sy:updateperiod", "sy:updatefrequency", "title", "link"])
#: What holds titles, links and dates of something else, or a whole text.
_FOREIGN = frozenset(
    "description content content:encoded summary source image textinput author contributor generator".split()
)
_DAYS = {name: n for n, name in enumerate("mon tue wed thu fri sat sun".split())}
_PERIODS = {
    "hourly": 3_600.0,
    "daily": DAY_S,
    "weekly": 7 * DAY_S,
    "monthly": 30 * DAY_S,
    "yearly": 365 * DAY_S,
}
_ENTRIES = frozenset({"item", "entry"})
_KNOWN = _FIELDS | _HINTS | _FOREIGN | _ENTRIES | {"atom:link", "feed"}
#: No feed keeps us away for longer, whatever it says.
LEAST_LIMIT_S = 30 * DAY_S
NO_HINTS = PollHints()


@dataclass(frozen=True, slots=True)
class Feed:
    """What one reading of a feed gave."""

    kind: str = ""  # rss, rdf, atom or json; "": this is no feed
    title: str = ""
    site: str = ""  # the page it belongs to, as it says
    entries: tuple[Entry, ...] = ()
    hints: PollHints = NO_HINTS
    more: str = ""  # where it goes on, if it comes in parts


NO_FEED = Feed()


def read_feed(payload: bytes, url: str, content_type: str = "") -> Feed:
    """A feed; `kind` is "" when the payload is none."""
    if payload[:64].lstrip(b"\xef\xbb\xbf\t\n\r ").startswith(b"{"):
        return _json(payload, url)
    text = decode(payload, charset_of(payload, content_type, url))
    root = _ROOT.search(text, 0, _HEAD_CHARS)
    kind = _KINDS.get(root[1].lower(), "") if root else ""
    return _Reader(kind, url).read(Markup([text[root.start() :]])) if root and kind else NO_FEED


def declared_feeds(page: Elements, base: str) -> list[str]:
    """The feeds a page names in its head, and does not ask us to leave alone."""
    join = Joiner(base)
    found: dict[str, None] = {}
    for element in page.all("link"):
        mime = (element.attr("type") or "").split(";")[0].strip().lower()
        ref = element.attr("href")
        if ref and mime in _TYPES and _leads_on((element.attr("rel") or "").lower().split()):
            url = join(ref)
            if url is not None:
                found[url] = None
    return list(found)


def _leads_on(relations: list[str]) -> bool:
    return "alternate" in relations and "nofollow" not in relations


class _Reader:
    """Reads the tags of one feed. What is left open ends where the next thing begins."""

    def __init__(self, kind: str, url: str) -> None:
        self._kind = kind
        self._join = Joiner(url)
        self._prefixes: dict[str, str] = {}
        self._names: dict[str, str] = {}  # as written → as we call it
        self._entries: dict[str, Entry] = {}
        self._entry: dict[str, str] | None = None  # the fields of the entry being read
        self._channel: dict[str, str] = {}
        self._hours: list[str] = []
        self._days: list[str] = []
        self._field = self._value = ""

    def read(self, markup: Markup) -> Feed:
        """All the feed tells."""
        for text, written, slash, attrs in itertools.islice(markup, TAG_LIMIT):
            if self._field and len(self._value) < TEXT_LIMIT_CHARS:
                self._value += text
            name = self._names.get(written)
            if name is None or (attrs and "xmlns:" in attrs):
                name = self._name(written, attrs)
            if not name:
                continue
            if not slash:
                self._begin(name, attrs)
                if name in _FOREIGN and attrs[-1:] != "/":
                    markup.skip(written)
            elif name == self._field or name in _ENTRIES:
                self._end(name)
                if len(self._entries) >= ENTRY_LIMIT:
                    break
        self._end("entry")
        return self._feed()

    def _name(self, written: str, attrs: str) -> str:
        """A name in lower case, with a prefix we know unless it is the feed's own; "" if it is no matter."""
        if "xmlns:" in attrs:
            self._names.clear()
            for key, uri in attributes(attrs).items():
                if key.startswith("xmlns:"):
                    self._prefixes[key[6:]] = _PREFIXES.get(uri.strip().lower(), key[6:])
        prefix, colon, local = written.rpartition(":")
        prefix = self._prefixes.get(prefix, prefix).lower()
        own = not colon or prefix in ("", "rss", "atom" if self._kind == "atom" else "")
        name = local.lower() if own else f"{prefix}:{local.lower()}"
        self._names[written] = name if name in _KNOWN else ""
        return self._names[written]

    def _begin(self, name: str, attrs: str) -> None:
        if name in _ENTRIES:
            self._end(name)
            self._entry = self._about(attributes(attrs)) if attrs else {}
        elif name in ("link", "atom:link") and "href" in attrs:
            self._link(attributes(attrs))
        elif name in (_FIELDS if self._entry is not None else _HINTS):
            self._end(self._field)
            self._field = name
            if name == "guid" and self._entry is not None and "false" in attrs.lower():
                self._entry["opaque"] = "guid"
        elif name == "feed" and "xml:base" in attrs:
            base = self._join(attributes(attrs).get("xml:base", ""))
            self._join = Joiner(base) if base else self._join

    def _end(self, name: str) -> None:
        """A field or an entry is over."""
        if self._field:
            value = self._value.strip()
            if self._entry is not None:
                self._entry.setdefault(self._field, value)
            elif self._field == "hour":
                self._hours.append(value[:3])
            elif self._field == "day":
                self._days.append(value[:3].lower())
            else:
                self._channel.setdefault(self._field, value)
            self._field = self._value = ""
        if name in _ENTRIES and self._entry is not None:
            entry = entry_from(self._entry, self._join)
            if entry is not None:
                self._entries.setdefault(entry.url, entry)
            self._entry = None

    def _about(self, attrs: dict[str, str]) -> dict[str, str]:
        about = next((value for name, value in attrs.items() if name.endswith(":about")), "")
        return {"about": about, "base": attrs.get("xml:base", "")}

    def _link(self, attrs: dict[str, str]) -> None:
        relations = attrs.get("rel", "alternate").lower().split()
        fields = self._entry if self._entry is not None else self._channel
        if "alternate" in relations:
            is_page = "html" in attrs.get("type", "html").lower()
            fields.setdefault("link" if is_page else "other", attrs["href"])
        elif "next" in relations and self._entry is None:
            fields.setdefault("more", attrs["href"])

    def _feed(self) -> Feed:
        channel = self._channel
        return Feed(
            kind=self._kind,
            title=title_from(channel.get("title", "")),
            site=self._join(channel["link"]) or "" if channel.get("link") else "",
            entries=tuple(self._entries.values()),
            hints=PollHints(
                least_s=_least_s(channel),
                skip_hours=frozenset(int(hour) % 24 for hour in self._hours if _is_number(hour)),
                skip_days=frozenset(_DAYS[day] for day in self._days if day in _DAYS),
            ),
            more=self._join(channel["more"]) or "" if channel.get("more") else "",
        )


def _least_s(channel: dict[str, str]) -> float:
    """How long the feed wants to be left alone: ttl in minutes, or so many times a period."""
    minutes = channel.get("ttl", "")
    if _is_number(minutes) and int(minutes) > 0:
        return min(60.0 * int(minutes), LEAST_LIMIT_S)
    period = _PERIODS.get(channel.get("sy:updateperiod", "").lower(), 0.0)
    times = channel.get("sy:updatefrequency", "1")
    return period / max(1, int(times)) if _is_number(times) else period


def _is_number(text: str) -> bool:
    return len(text) <= 9 and text.isascii() and text.isdigit()


def _json(payload: bytes, url: str) -> Feed:
    try:
        feed: Any = msgspec.json.decode(payload.lstrip(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return NO_FEED
    version = feed.get("version") if isinstance(feed, dict) else None
    if not isinstance(version, str) or "jsonfeed.org/version/" not in version:
        return NO_FEED
    join = Joiner(url)
    listed = feed.get("items")
    entries: dict[str, Entry] = {}
    for written in listed[:ENTRY_LIMIT] if isinstance(listed, list) else ():
        entry = entry_from(_json_fields(written), join) if isinstance(written, dict) else None
        if entry is not None:
            entries.setdefault(entry.url, entry)
    said = _strings(feed)
    return Feed(
        kind="json",
        title=title_from(said.get("title", "")),
        site=join(said["home_page_url"]) or "" if said.get("home_page_url") else "",
        entries=tuple(entries.values()),
        more=join(said["next_url"]) or "" if said.get("next_url") else "",
    )


def _json_fields(written: dict[Any, Any]) -> dict[str, str]:
    said = _strings(written)
    return {
        "link": said.get("url", ""),
        "other": said.get("external_url", ""),
        "id": said.get("id", "") or _digits(written.get("id")),
        "title": said.get("title", ""),
        "updated": said.get("date_modified", ""),
        "published": said.get("date_published", ""),
    }


def _digits(number: object) -> str:
    """The name of an entry that wrote it as a number, against the rule."""
    return str(number) if type(number) is int and abs(number) < 1 << 63 else ""


def _strings(written: dict[Any, Any]) -> dict[str, str]:
    """What is text."""
    return {key: value for key, value in written.items() if isinstance(value, str)}
