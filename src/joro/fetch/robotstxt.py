"""May we visit this page, by the server's own robots.txt?

In:    the bytes of a robots.txt (or the status that came instead) and our product token.
Out:   allowed or not, the line that decided, the crawl delay, the sitemaps.
Never: fetches anything; takes longer than linear time, whatever the pattern; raises on bad input.
Paper: S2, what servers forbid.

RFC 9309, read as Google's parser reads it, because that is what site owners test their files
against: `docs/concepts/robots-txt.md` lists what it forgives and the four places where we differ.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from operator import itemgetter

from joro.fetch.spelling import literal, spellings
from joro.url import try_canonical

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
#: Three decades are for ever; 309 digits are infinite, which no JSON can say.
_LONGEST_DELAY_S = 1e9

#: A URL's path with parameters and query; of anything else that may be given, what Google's parser takes.
_PATH = re.compile(r"(?://)?(?:[^/?;#]*://)?[^/?;#]*([/?;][^#\0]*)?")


#: One pattern, cut up for matching. A plain tuple: a named one takes four times as long to make, and
#: there are thousands per second. The fields:
#:   weight  length of the pattern, doubled, plus one for Allow: the heaviest match decides
#:   needle  its last piece: a path without it cannot match, and most paths are without it
#:   pieces  what stands between its asterisks; () when the needle is all, a plain prefix
#:   ends    a dollar sign closes it
#:   line    its number, 0 when there is no file
#:   value   as the line has it
_Rule = tuple[int, str, tuple[str, ...], bool, int, bytes]


def _matches(pieces: tuple[str, ...], ends: bool, path: str) -> bool:
    """Leftmost search for each piece suffices: no piece can profit from starting later."""
    if not path.startswith(pieces[0]):
        return False
    at = len(pieces[0])
    if len(pieces) == 1:
        return len(path) == at
    for piece in pieces[1:-1]:
        at = path.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    last = pieces[-1]
    if ends:
        return path.endswith(last) and len(path) - len(last) >= at
    return path.find(last, at) >= 0


class Robots:
    """What one robots.txt says to us."""

    __slots__ = ("_prefixes", "_rules", "_wild", "crawl_delay_s", "sitemaps")

    def __init__(
        self, rules: tuple[_Rule, ...], crawl_delay_s: float | None = None, sitemaps: tuple[str, ...] = ()
    ) -> None:
        self._rules = rules  # the heaviest first
        self._wild = tuple(rule for rule in rules if rule[2])
        self._prefixes = tuple({rule[1] for rule in rules if not rule[2]})
        self.crawl_delay_s = crawl_delay_s
        self.sitemaps = sitemaps  # canonical URLs

    def allows(self, url: str) -> bool:
        """May we visit this canonical URL? What no rule speaks of is allowed.

        A path will do, unless it starts with two slashes: then it reads as a URL without scheme.
        """
        rule = self._deciding(url)
        return rule is None or _is_allow(rule)

    def rule_for(self, url: str) -> str | None:
        """The rule that decides about `url`, with its line number, for people; None when none does."""
        rule = self._deciding(url)
        if rule is None:
            return None
        *_, line, value = rule
        if line == 0:
            return "robots.txt cannot be had, so nothing is allowed"
        return f"line {line}: {'Allow' if _is_allow(rule) else 'Disallow'}: {value.decode(errors='replace')}"

    def _deciding(self, url: str) -> _Rule | None:
        path = _path(url)
        # One call sees that no plain prefix fits, as with most pages: four times as fast as a loop over 80.
        rules = self._rules if path.startswith(self._prefixes) else self._wild
        for rule in rules:
            if rule[1] in path:
                _, needle, pieces, ends, *_ = rule
                if _matches(pieces, ends, path) if pieces else path.startswith(needle):
                    # RFC 9309, 2.2.2: robots.txt itself is always allowed.
                    return None if path == "/robots.txt" else rule
        return None


def _is_allow(rule: _Rule) -> bool:
    return rule[0] % 2 == 1


def _path(url: str) -> str:
    found = _PATH.match(url)
    path = (found and found[1]) or "/"
    return path if path[0] == "/" else "/" + path


def parse(body: bytes, agent: str) -> Robots:
    """Read a robots.txt for the robot whose product token is `agent`."""
    reader = _Reader(agent.encode().lower())
    reader.read(_lines(body))
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


@functools.lru_cache(maxsize=1_024)
def _kind(key: bytes) -> str | None:
    """What a line with this key is about: the web has a dozen spellings of each, so remember them."""
    found = _KEY.match(key.strip())
    return found and found.lastgroup


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
        self.group: _Group | None = None  # where the rules we are reading belong, if they concern us
        self.closed = False  # has this group had a rule, so that the next user-agent line opens another?
        self.sitemaps: list[bytes] = []

    def read(self, lines: Iterable[bytes]) -> None:
        for number, line in enumerate(lines, 1):
            key, colon, value = line.partition(b":")
            if not colon or b"#" in key:
                # A colon forgotten, as in `Disallow /x`: forgiven when there are just two words.
                words = _TWO_WORDS.fullmatch(key.partition(b"#")[0].strip())
                if words is None:
                    continue
                key, value = words.groups()
            kind = _kind(key)
            if kind is None:
                continue
            if b"#" in value:
                value = value[: value.index(b"#")]
            self._take(kind, value.strip(), number)

    def _take(self, kind: str, value: bytes, number: int) -> None:
        if kind == "agent":
            self._open(value)
        elif kind == "sitemap":
            self.sitemaps.append(value)
        elif self.group is None:
            return
        elif kind == "delay":
            # No standard line, so it closes no group; of several the longest counts.
            seconds = _SECONDS.match(value)
            if seconds:
                self.group.delay_s = max(min(float(seconds[0]), _LONGEST_DELAY_S), self.group.delay_s or 0.0)
        else:
            self.closed = True
            self.group.rules.append((value, kind == "allow", number))

    def _open(self, value: bytes) -> None:
        if self.closed:
            self.group, self.closed = None, False
        if _EVERYONE.match(value):
            self.group = self.group or self.everyone
            return
        token = _PRODUCT_TOKEN.match(value)
        if token and token[0].lower() == self.agent:
            self.ours = self.group = self.ours or _Group()

    def robots(self) -> Robots:
        group = self.ours or self.everyone
        rules = _rules(group.rules)
        found = (try_canonical(value.decode(errors="replace")) for value in self.sitemaps)
        sitemaps = tuple(dict.fromkeys(url for url in found if url))
        if not rules and not sitemaps and group.delay_s is None:
            return ALLOW_ALL
        return Robots(tuple(rules), group.delay_s, sitemaps)


def _rules(lines: list[tuple[bytes, bool, int]]) -> list[_Rule]:
    """The rules that lines (value, allow, number) stand for, the heaviest first; an empty value is none."""
    rules = []
    for raw, allow, number in lines:
        if not raw:
            continue
        patterns = spellings(raw, allow)
        if allow and b"/index.htm" in raw:
            patterns |= {_directory(each) for each in patterns}
        rules += [_rule(each, raw, allow, number) for each in patterns if each]
    rules.sort(key=itemgetter(0), reverse=True)
    return rules


def _directory(allowed: str) -> str:
    """Google: who allows the index page allows its directory, too; "" if this is no index page."""
    slash = allowed.rfind("/")
    return allowed[: slash + 1] + "$" if slash >= 0 and allowed.startswith("/index.htm", slash) else ""


def _rule(pattern: str, value: bytes, allow: bool, line: int) -> _Rule:
    weight = 2 * len(pattern) + allow
    ends = pattern[-1] == "$" and pattern[-2:] != "*$"
    # An asterisk at the end, with or without dollar, adds only weight: a pattern matches prefixes anyway.
    core = pattern[:-1] if ends else pattern.removesuffix("$").rstrip("*")
    if not ends and "*" not in core:
        return weight, literal(core), (), False, line, value
    pieces = tuple(literal(piece) for piece in core.split("*"))
    return weight, pieces[-1], pieces, ends, line, value


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
DISALLOW_ALL = Robots((_rule("/", b"/", allow=False, line=0),))
