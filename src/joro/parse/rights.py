"""For which purposes may a capture be used, by the word of its owner?

In:    response headers, the page itself, the server's robots.txt and tdmrep.json.
Out:   `Rights`: what is reserved, in words; `may` says what follows for a purpose.
Never: decides about collecting (robots.txt's Disallow does that); raises because of what a server sent.

    said by the owner                          search  snippet  replay  analysis  training  export
    noindex, Content-Signal search=no            no      no
    nosnippet, max-snippet: 0                            no
    noarchive, nocache                                            no                          no
    tdm-reservation: 1 (TDMRep), noai                                      no       no
    Content-Signal ai-input=no                                             no
    Content-Signal ai-train=no                                                      no
    noimageai, said of an image                                            no       no

Where an owner speaks twice, the word nearest to the content counts for TDMRep (page, then header, then
file) and for Content-Signal (header, then robots.txt); the directives of page and header add up.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from joro.model import Response
from joro.parse.charset import charset_of, decode
from joro.parse.directives import directives, header_directives
from joro.parse.html import Tree
from joro.parse.payload import is_html, mime_of, unwrap
from joro.url import path_of, server_of

#: Where a server keeps its word on robots, and on text and data mining.
ROBOTS_FILE, TDM_FILE = "/robots.txt", "/.well-known/tdmrep.json"
#: Servers whose terms are kept in memory.
SERVERS_LIMIT = 50_000
#: More rules than this are no policy but an attack.
RULES_LIMIT = 1_000
_FILE_LIMIT_BYTES = 500 * 1024
_POLICY_LIMIT_CHARS = 2_000


class Purpose(enum.Enum):
    """What someone wants to do with a capture."""

    SEARCH = "search"  # show that the page exists, among results
    SNIPPET = "snippet"  # show parts of its text there
    REPLAY = "replay"  # show the archived page
    ANALYSIS = "analysis"  # text and data mining, also by language models that are not taught by it
    TRAINING = "training"  # teach a model
    EXPORT = "export"  # hand the archived page to others


_FORBIDS: Mapping[str, frozenset[Purpose]] = {
    "noindex": frozenset({Purpose.SEARCH, Purpose.SNIPPET}),
    "nosearch": frozenset({Purpose.SEARCH, Purpose.SNIPPET}),
    "nosnippet": frozenset({Purpose.SNIPPET}),
    "noarchive": frozenset({Purpose.REPLAY, Purpose.EXPORT}),
    "noai": frozenset({Purpose.ANALYSIS, Purpose.TRAINING}),
    "noimageai": frozenset(),  # the page says it of its images; said of an image it becomes "noai"
    "tdm": frozenset({Purpose.ANALYSIS, Purpose.TRAINING}),
    "noinput": frozenset({Purpose.ANALYSIS}),
    "notrain": frozenset({Purpose.TRAINING}),
}
_SPELLINGS = {"nocache": "noarchive", "max-snippet:0": "nosnippet"}


@dataclass(frozen=True, slots=True)
class Rights:
    """What the owner reserves; nothing, when nothing was said."""

    reserved: frozenset[str] = frozenset()  # keys of the table above
    policy: str = ""  # URL of the terms on which mining can be had (TDMRep)

    def __str__(self) -> str:
        """As tables and the index keep it: `noarchive tdm`."""
        return " ".join(sorted(self.reserved))

    @classmethod
    def read(cls, text: str) -> Rights:
        """What `str` wrote."""
        return cls(frozenset(text.split()) & _FORBIDS.keys())


NO_RESERVATION = Rights()


def may(rights: Rights, purpose: Purpose) -> bool:
    """Is the purpose free, as far as the owner's word goes?"""
    return not any(purpose in _FORBIDS[word] for word in rights.reserved)


@dataclass(frozen=True, slots=True)
class Terms:
    """What a server says for all of its pages; made by `terms_in`."""

    signals: Mapping[str, bool]  # Content-Signal of robots.txt
    mining: tuple[tuple[_Location, bool, str], ...] = ()  # tdmrep.json: location, reserved?, policy


NO_TERMS = Terms({})


def terms_in(robots: bytes = b"", tdmrep: bytes = b"", agent: str = "joro") -> Terms:
    """The word of a server, from its robots.txt and its tdmrep.json; either may be nonsense."""
    if not robots and not tdmrep:
        return NO_TERMS
    return Terms(_robots_signals(robots, agent), tuple(_mining_rules(tdmrep)))


class TermsBook:
    """The word of many servers, each read once; `archived` gives what lies at a URL, or b""."""

    def __init__(self, archived: Callable[[str], bytes], agent: str = "joro") -> None:
        self._archived = archived
        self._agent = agent
        self._known: dict[str, Terms] = {}

    def of(self, url: str) -> Terms:
        """The terms of the server of a page."""
        server = server_of(url)
        if server not in self._known:
            if len(self._known) >= SERVERS_LIMIT:
                self._known.clear()
            robots, tdmrep = (self._archived(server + path) for path in (ROBOTS_FILE, TDM_FILE))
            self._known[server] = terms_in(robots, tdmrep, self._agent)
        return self._known[server]

    def learn(self, url: str, content: bytes) -> None:
        """Take in a newer file; of a server never heard of there is no older one to be looked for."""
        known = self._known.get(server_of(url), NO_TERMS)
        if path_of(url) == ROBOTS_FILE:
            self._known[server_of(url)] = replace(known, signals=_robots_signals(content, self._agent))
        elif path_of(url) == TDM_FILE:
            self._known[server_of(url)] = replace(known, mining=tuple(_mining_rules(content)))


def rights_in(url: str, response: Response, terms: Terms = NO_TERMS, agent: str = "joro") -> Rights:
    """The rights in a response, its page read for what it says of itself."""
    headers = response.headers
    x_robots, mime = headers.get("x-robots-tag", ""), mime_of(headers)
    if not is_html(mime, b"<p>"):
        return rights_of(url, headers, header_directives(x_robots, agent), terms)
    body = unwrap(response).content
    tree = Tree(decode(body, charset := charset_of(body, headers.get("content-type", ""), url)), charset)
    return rights_of(url, headers, directives(tree, x_robots, agent), terms, _mining_metas(tree))


def page_rights(
    url: str, headers: Mapping[str, str], asked: Iterable[str], content: bytes, terms: Terms = NO_TERMS
) -> Rights:
    """The rights of a page whose directives are known already; read again only if it speaks of mining."""
    metas: dict[str, str] = {}
    if b"tdm-" in content.lower():
        charset = charset_of(content, headers.get("content-type", ""), url)
        metas = _mining_metas(Tree(decode(content, charset), charset))
    return rights_of(url, headers, asked, terms, metas)


def rights_of(
    url: str,
    headers: Mapping[str, str],
    asked: Iterable[str],
    terms: Terms = NO_TERMS,
    metas: Mapping[str, str] | None = None,
) -> Rights:
    """All words together; `asked`: the directives of page and header, `metas`: the tdm-… elements."""
    words = {_SPELLINGS.get(word.replace(" ", ""), word) for word in asked}
    if "noimageai" in words and mime_of(dict(headers)).startswith("image/"):
        words.add("noai")
    signals = {**terms.signals, **_signals(headers.get("content-signal", ""))}
    for signal, word in (("search", "nosearch"), ("ai-input", "noinput"), ("ai-train", "notrain")):
        if signals.get(signal) is False:
            words.add(word)
    reserved, policy = _mining(url, headers, terms, metas or {})
    if reserved:
        words.add("tdm")
    found = frozenset(words & _FORBIDS.keys())
    return Rights(found, policy) if found else NO_RESERVATION


def _mining(url: str, headers: Mapping[str, str], terms: Terms, metas: Mapping[str, str]) -> tuple[bool, str]:
    """Is mining reserved, and on which policy may it be had? The nearest who speaks is heard."""
    for said in (metas, headers):
        flag = said.get("tdm-reservation", "").strip()
        if flag in ("0", "1"):
            return flag == "1", said.get("tdm-policy", "").strip()[:_POLICY_LIMIT_CHARS]
    path = path_of(url)
    for location, is_reserved, policy in terms.mining:
        if location.fits(path):
            return is_reserved, policy
    return False, ""


def _mining_metas(tree: Tree) -> dict[str, str]:
    """The first of each: a second one may be somebody else's, in a comment that was let through."""
    found: dict[str, str] = {}
    for meta in tree.all("meta"):
        name = (meta.attr("name") or "").strip().lower()
        if name in ("tdm-reservation", "tdm-policy"):
            found.setdefault(name, meta.attr("content") or "")
    return found


def _signals(text: str) -> dict[str, bool]:
    """`search=yes, ai-train=no`; what is said twice counts as no."""
    found: dict[str, bool] = {}
    for part in text.lower().split(","):
        name, _, answer = part.partition("=")
        if answer.strip() in ("yes", "no"):
            found[name.strip()] = found.get(name.strip(), True) and answer.strip() == "yes"
    return found


def _robots_signals(body: bytes, agent: str) -> dict[str, bool]:
    """The Content-Signal lines for us, else those for everyone, as lines before any User-agent are."""
    ours: dict[str, bool] = {}
    everyone: dict[str, bool] = {}
    named: set[str] = {"*"}
    closed = True  # the next User-agent line opens another group
    for line in body[:_FILE_LIMIT_BYTES].decode("utf-8", "replace").splitlines():
        key, _, value = line.partition("#")[0].partition(":")
        key, value = key.strip().lower(), value.strip()
        if key in ("user-agent", "useragent", "user agent"):
            named = set() if closed else named
            named.add(value.lower())
            closed = False
        elif key:
            closed = True
            if key in ("content-signal", "content-signals"):
                _note(ours if agent.lower() in named else everyone if "*" in named else {}, _signals(value))
    return ours or everyone


def _note(found: dict[str, bool], said: dict[str, bool]) -> None:
    for name, is_free in said.items():
        found[name] = found.get(name, True) and is_free


def _mining_rules(content: bytes) -> Iterable[tuple[_Location, bool, str]]:
    """The rules of a tdmrep.json in their order; the first that fits a path decides."""
    if not content:
        return
    try:
        rules = json.loads(content[:_FILE_LIMIT_BYTES])
    except (ValueError, RecursionError):
        return
    for rule in rules[:RULES_LIMIT] if isinstance(rules, list) else ():
        if not isinstance(rule, dict) or not isinstance(location := rule.get("location"), str):
            continue
        flag, policy = rule.get("tdm-reservation"), rule.get("tdm-policy")
        if str(flag) in ("0", "1"):
            terms = policy[:_POLICY_LIMIT_CHARS] if isinstance(policy, str) else ""
            yield (
                _Location(location if location[:1] in ("/", "*") else f"/{location}"),
                str(flag) == "1",
                terms,
            )


class _Location:
    """A path's beginning, `*` for anything, `$` for its end, as in robots.txt; linear in the path."""

    __slots__ = ("_ends", "_pieces")

    def __init__(self, text: str) -> None:
        self._ends = text.endswith("$")
        self._pieces = text.removesuffix("$").split("*")

    def fits(self, path: str) -> bool:
        first, *others = self._pieces
        if not path.startswith(first):
            return False
        if not others:
            return not self._ends or len(path) == len(first)
        place = len(first)
        for piece in others[:-1]:  # leftmost will do: no piece can profit from starting later
            place = path.find(piece, place) + len(piece)
            if place < len(piece):
                return False
        last = others[-1]
        if self._ends:
            return path.endswith(last) and len(path) - len(last) >= place
        return path.find(last, place) >= 0
