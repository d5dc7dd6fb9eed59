"""May we visit this page, by the server's own robots.txt?

In:    the bytes of a robots.txt (or the status that came instead) and our product token.
Out:   allowed or not, the line that decided, the crawl delay, the sitemaps.
Never: fetches anything; takes longer than linear time, whatever the pattern; raises on bad input.
Paper: S2, what servers forbid.

RFC 9309, read as Google's parser reads it, because that is what site owners test their files
against: `docs/concepts/robots-txt.md` lists what it forgives and the three places where we differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from joro.url import respell, try_canonical

#: RFC 9309, 2.5 wants at least 500 KiB to be read; Google reads no more. So do we.
SIZE_LIMIT_BYTES = 500 * 1024

#: Google cuts lines here: eight times the longest URL of an old browser, less one for a closing zero.
_LINE_LIMIT_BYTES = 2083 * 8 - 1

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

#: Beginnings of keys, typing errors that Google forgives included; `crawl-delay` is our own addition.
_KEY = re.compile(
    rb"(?P<agent>user-agent|useragent|user agent)|(?P<allow>allow)"
    rb"|(?P<disallow>disallow|dissallow|dissalow|disalow|diasllow|disallaw)"
    rb"|(?P<sitemap>sitemap|site-map)|(?P<delay>crawl-delay)",
    re.IGNORECASE,
)
_TWO_WORDS = re.compile(rb"([^ \t]+)[ \t]+([^ \t]+)")
_EVERYONE = re.compile(rb"\*(?:\s|$)")
_PRODUCT_TOKEN = re.compile(rb"[A-Za-z_-]*")
_SECONDS = re.compile(rb"\d+(?:\.\d+)?|\.\d+")
_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}")
_NOT_ASCII = re.compile(rb"[\x80-\xff]")

#: A URL's path with parameters and query; of anything else that may be given, what Google's parser takes.
_PATH = re.compile(r"(?://)?(?:[^/?;#]*://)?[^/?;#]*([/?;][^#\0]*)?")


class _Rule(NamedTuple):
    """One pattern, cut up for matching."""

    needle: str  # its longest piece: a path without it cannot match
    pieces: tuple[str, ...]  # what stands between its asterisks; () when needle is all, a plain prefix
    ends: bool  # a dollar sign closes it
    allow: bool
    line: int
    value: str  # as the line has it, escapes normalised

    def matches(self, path: str) -> bool:
        """Leftmost search for each piece suffices: no piece can profit from starting later."""
        if not self.pieces:
            return path.startswith(self.needle)
        if not path.startswith(self.pieces[0]):
            return False
        at = len(self.pieces[0])
        if len(self.pieces) == 1:
            return len(path) == at
        for piece in self.pieces[1:-1]:
            at = path.find(piece, at)
            if at < 0:
                return False
            at += len(piece)
        last = self.pieces[-1]
        if self.ends:
            return path.endswith(last) and len(path) - len(last) >= at
        return path.find(last, at) >= 0


class Robots:
    """What one robots.txt says to us."""

    __slots__ = ("_rules", "crawl_delay_s", "sitemaps")

    def __init__(
        self, rules: tuple[_Rule, ...], crawl_delay_s: float | None = None, sitemaps: tuple[str, ...] = ()
    ) -> None:
        self._rules = rules  # the strongest first
        self.crawl_delay_s = crawl_delay_s
        self.sitemaps = sitemaps  # canonical URLs

    def allows(self, url: str) -> bool:
        """May we visit this canonical URL (or path)? What no rule speaks of is allowed."""
        rule = self._deciding(url)
        return rule is None or rule.allow

    def rule_for(self, url: str) -> str | None:
        """The rule that decides about `url`, with its line number, for people; None when none does."""
        rule = self._deciding(url)
        if rule is None:
            return None
        if rule.line == 0:
            return "robots.txt cannot be had, so nothing is allowed"
        return f"line {rule.line}: {'Allow' if rule.allow else 'Disallow'}: {rule.value}"

    def _deciding(self, url: str) -> _Rule | None:
        path = _path(url)
        for rule in self._rules:
            if rule[0] in path and rule.matches(path):
                # RFC 9309, 2.2.2: robots.txt itself is always allowed.
                return None if path == "/robots.txt" else rule
        return None


def _path(url: str) -> str:
    found = _PATH.match(url)
    path = (found and found[1]) or "/"
    return path if path[0] == "/" else "/" + path


def parse(body: bytes, agent: str) -> Robots:
    """Read a robots.txt for the robot whose product token is `agent`."""
    reader = _Reader(agent.encode().lower())
    for number, line in enumerate(_lines(body), 1):
        reader.read(number, line)
    return reader.robots()


def _lines(body: bytes) -> Iterable[bytes]:
    if len(body) >= SIZE_LIMIT_BYTES:  # the fetcher stops there, too
        # A line cut in the middle says something else than its author did (`Allow: /` …): leave it out.
        end = max(body.rfind(b"\n", 0, SIZE_LIMIT_BYTES), body.rfind(b"\r", 0, SIZE_LIMIT_BYTES))
        body = body[: end + 1]
    for length in (3, 2, 1):
        if body.startswith(_BYTE_ORDER_MARK[:length]):
            body = body[length:]
            break
    lines = body.splitlines()
    if len(body) > _LINE_LIMIT_BYTES:
        lines = [line[:_LINE_LIMIT_BYTES] for line in lines]
    if b"\0" in body:
        lines = [line.partition(b"\0")[0] for line in lines]
    return lines


class _Group:
    """The rules for one robot, or for everyone: all groups naming it are one (RFC 9309, 2.2.1)."""

    __slots__ = ("delay_s", "rules")

    def __init__(self) -> None:
        self.rules: list[tuple[bytes, bool, int]] = []  # value, allow, line
        self.delay_s: float | None = None


class _Reader:
    """Goes through the lines and keeps what concerns us."""

    def __init__(self, agent: bytes) -> None:
        self.agent = agent
        self.ours: _Group | None = None  # rules that name us
        self.everyone = _Group()
        self.sitemaps: list[bytes] = []
        self.named = self.starred = False  # does the group we are in name us, or everyone?
        self.closed = False  # has it had a rule, so that the next user-agent line opens another?

    def read(self, number: int, line: bytes) -> None:
        if b"#" in line:
            line = line[: line.index(b"#")]
        line = line.strip()
        key, colon, value = line.partition(b":")
        if not colon:
            words = _TWO_WORDS.fullmatch(line)  # a colon forgotten, as in `Disallow /x`
            if words is None:
                return
            key, value = words.groups()
        found = _KEY.match(key)
        if found is None:
            return
        value = value.strip()
        if found.lastgroup == "agent":
            self._open(value)
        elif found.lastgroup == "sitemap":
            self.sitemaps.append(value)
        elif self.named or self.starred:
            self._add(found.lastgroup, value, number)

    def _open(self, value: bytes) -> None:
        if self.closed:
            self.named = self.starred = self.closed = False
        if _EVERYONE.match(value):
            self.starred = True
            return
        token = _PRODUCT_TOKEN.match(value)
        if token and token[0].lower() == self.agent:
            self.named = True
            self.ours = self.ours or _Group()

    def _add(self, kind: str | None, value: bytes, number: int) -> None:
        group = self.ours if self.named and self.ours else self.everyone
        if kind == "delay":
            # No standard line, so it closes no group; of several the longest counts.
            seconds = _SECONDS.match(value)
            if seconds:
                group.delay_s = max(float(seconds[0]), group.delay_s or 0.0)
        else:
            self.closed = True
            group.rules.append((value, kind == "allow", number))

    def robots(self) -> Robots:
        group = self.ours or self.everyone
        rules = [rule for line in group.rules for rule in _rules(*line)]
        # The longest pattern decides, Allow before Disallow among equals: the first match will do.
        rules.sort(key=lambda weighed: (-weighed[0], not weighed[1].allow))
        found = (try_canonical(value.decode(errors="replace")) for value in self.sitemaps)
        sitemaps = tuple(dict.fromkeys(url for url in found if url))
        if not rules and not sitemaps and group.delay_s is None:
            return ALLOW_ALL
        return Robots(tuple(rule for _, rule in rules), group.delay_s, sitemaps)


def _rules(raw: bytes, allow: bool, line: int) -> Iterable[tuple[int, _Rule]]:
    """The weighed rules of one line: usually one, none for an empty value."""
    value = _normalised(raw)
    if value:
        yield len(value), _rule(value, value, allow, line)
    if allow:
        slash = value.rfind("/")
        if slash >= 0 and value.startswith("/index.htm", slash):
            # Google: who allows the index page allows its directory.
            yield slash + 2, _rule(value[: slash + 1] + "$", value, allow, line)
    elif "%" in value:
        # RFC 9309, 2.2.2 compares `%7E` and `~` as equal. Our URLs have only `~`, so the rule must too.
        respelled = respell(value)
        if respelled != value:
            yield len(respelled), _rule(respelled, value, allow, line)


def _normalised(value: bytes) -> str:
    """A pattern with its escapes in upper case and all that is not ASCII escaped."""
    if b"%" in value:
        value = _ESCAPE.sub(lambda escape: escape[0].upper(), value)
    if not value.isascii():
        value = _NOT_ASCII.sub(lambda octet: b"%%%02X" % octet[0][0], value)
    return value.decode("ascii")


def _rule(pattern: str, value: str, allow: bool, line: int) -> _Rule:
    ends = pattern.endswith("$")
    if not ends and "*" not in pattern:
        return _Rule(pattern, (), False, allow, line, value)
    pieces = tuple(pattern.removesuffix("$").split("*"))
    return _Rule(max(pieces, key=len), pieces, ends, allow, line, value)


def from_status(status: int, body: bytes, agent: str) -> Robots:
    """What follows from the answer to our request for robots.txt; status 0 means there was none.

    RFC 9309, 2.3.1: success is read; "unavailable" (4xx, and redirects that never end) allows
    everything; "unreachable" (5xx, network errors) forbids everything. Google counts 429 among
    the latter, since a server that is overrun wants fewer visits, not all of them.
    """
    if 200 <= status < 300:
        return parse(body, agent)
    if 300 <= status < 500 and status != 429:
        return ALLOW_ALL
    return DISALLOW_ALL


ALLOW_ALL = Robots(())
DISALLOW_ALL = Robots((_rule("/", "/", allow=False, line=0),))
