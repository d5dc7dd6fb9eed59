"""Which spelling of a URL is ours, and what can be read off it?

In:    a URL as someone wrote it: a seed, a link, a redirect.
Out:   its canonical spelling (or nothing), and from that: server, host, path, domain, SURT, fingerprint.
Never: touches the network or a table; guesses a missing scheme; changes what the server would answer.

The rules, each with an example that a test runs, are in `docs/concepts/urls.md`. The law that
carries the frontier and the archive: `canonical(canonical(u)) == canonical(u)`, also for joined links.
"""

from __future__ import annotations

import functools
import itertools
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

import can_ada
import xxhash
from url import URL, URLError

from joro.errors import BadUrl

if TYPE_CHECKING:
    from collections.abc import Callable

    from publicsuffixlist import PublicSuffixList

#: What we collect. A canonical URL starts with one of these and "://".
ALLOWED_SCHEMES = ("http", "https")

_STARTS = tuple(f"{scheme}://" for scheme in ALLOWED_SCHEMES)

#: Links that lead nowhere we go. Only a shortcut: the parser would come to the same answer, later.
_FOREIGN = ("javascript:", "mailto:", "tel:", "data:", "about:", "blob:")

_ESCAPES = re.compile("(?:%[0-9A-Fa-f]{2})+")
#: Escaped letters, digits and `-._~`: RFC 3986, 2.3 calls them unreserved, so they need no escape.
_NEEDLESS = re.compile("%(?:2[DE]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])")
_STRAY = re.compile("%(?![0-9A-Fa-f]{2})")


def canonical(text: str) -> str:
    """The one spelling of an absolute http or https URL; `BadUrl` says why there is none."""
    url = try_canonical(text)
    if url is None:
        raise _complaint(text)
    return url


def try_canonical(text: str) -> str | None:
    """Like `canonical`, but None where that raises: for links, most of whose mistakes nobody mends."""
    try:
        return _tidy(can_ada.parse(text).href)
    except (ValueError, TypeError):  # TypeError: lone surrogates have no UTF-8
        return None


def _tidy(href: str) -> str | None:
    """What is left to do after a WHATWG parser has spoken."""
    if not href.startswith(_STARTS):
        return None
    if "#" in href:
        href = href[: href.index("#")]
    end = href.index("/", 8)
    if href[end - 1] == "." or "@" in href or href.find(".:", 0, end) > 0 or "xn--" in href:
        server = _bare_server(href[:end])
        if server is None:
            return None
        href = server + href[end:]
    if "%" in href:
        href = respell(href)
    if href[-1] == "?" and href.index("?") == len(href) - 1:
        return href[:-1]
    return href


def _bare_server(server: str) -> str | None:
    """The server key without user, password and the dot of the root domain; None when that leaves no name."""
    scheme, _, authority = server.partition("://")
    authority = authority.rpartition("@")[2]
    if not authority.startswith("["):
        host, colon, port = authority.partition(":")
        host = host.removesuffix(".")
        # An empty last label names nothing, and `1.2.3..` without its dots would suddenly be an address.
        if not host or host.endswith(".") or ("xn--" in host and not _is_international(host)):
            return None
        authority = host + colon + port
    return f"{scheme}://{authority}"


@functools.lru_cache(maxsize=4_096)
def _is_international(host: str) -> bool:
    """Do both parsers know this name? They follow different editions of IDNA; the stricter one wins."""
    try:
        return URL.parse(f"http://{host}/").host_str == host
    except URLError:
        return False


def respell(href: str) -> str:
    """A URL or a part of it with escapes in upper case and needless ones undone."""
    href = _ESCAPES.sub(lambda run: run[0].upper(), href)
    # Beside a stray percent sign nothing is undone: `%2%45` would become `%2E`, yet another URL.
    if _NEEDLESS.search(href) and not _STRAY.search(href):
        href = _NEEDLESS.sub(lambda escape: chr(int(escape[0][1:], 16)), href)
    return href


def from_header(value: str) -> str:
    """A URL in a header field, whose octets were read as Latin-1: they mean UTF-8, or else themselves."""
    octets = value.encode("latin-1")
    try:
        return octets.decode()
    except UnicodeDecodeError:
        return "".join(chr(octet) if octet < 128 else f"%{octet:02X}" for octet in octets)


def _complaint(text: str) -> BadUrl:
    shown = text if text.isprintable() and 0 < len(text) <= 200 else repr(text[:200])
    scheme, separator, _ = text.strip().partition("://")
    if not separator:
        return BadUrl(
            f"{shown} does not start with http:// or https://",
            remedy="write it in full, like http://example.com/",
        )
    if scheme.lower() not in ALLOWED_SCHEMES:
        return BadUrl(f"{shown} has the scheme {scheme!r:.50}", remedy="give an http:// or https:// URL")
    return BadUrl(f"{shown} has an impossible host or port", remedy="check its spelling")


#: Links joined before, as written, by all of the base that they depend on: nothing, its server, or its
#: directory. Pages of a site repeat each other's links, and a look-up takes a tenth of the time. Forgotten
#: all at once when there are too many.
_joined: dict[str, dict[str, str | None]] = {}
_times_kept = itertools.count()
_JOINED_LIMIT, _BASES_LIMIT = 100_000, 20_000
#: What a link begins with that depends on the base's directory alone, or on less.
_PLAIN_START = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~-%")

#: Links of which every parser makes the same: themselves, behind what they are relative to. Only a shortcut:
#: the parser would come to the same answer, later (a test asks it).
_PLAIN_REF = re.compile(
    r"(?:(/(?!/))|(https?://[a-z0-9]+(?:[.-][a-z0-9]+)*\.[a-z]+/)|(?![\w+.-]*:)\w)"
    r"[\w~!$&()*+,;=:./-]*(?:\?[\w~!$&()*+,;=:./?-]+)?",
    re.ASCII,
)


def _known_by(base: str) -> dict[str, str | None]:
    known = _joined.get(base)
    if known is None:
        if len(_joined) >= _BASES_LIMIT:
            _joined.clear()
        known = _joined[base] = {}
    return known


def shed() -> None:
    """Remember no link that was joined."""
    _joined.clear()


class Joiner:
    """Joins links to one base URL: made once per page, called once per link."""

    __slots__ = (
        "_join",
        "base",
        "directory",
        "server",
    )

    def __init__(self, base: str, *, is_canonical: bool = False) -> None:
        self.base = base if is_canonical else canonical(base)
        self.server = server_of(self.base)
        path, _, _ = self.base.partition("?")
        self.directory = path[: path.rindex("/") + 1]
        self._join: Callable[[str], URL] | None = None  # many a page has only links that were joined before

    def __call__(self, ref: str) -> str | None:
        """The canonical URL a link leads to, or None where we do not go; `#part` leads to the base itself."""
        first = ref[:1]
        if first == "/":
            known = _known_by(self.server)
        elif ref.startswith(_STARTS):
            known = _known_by("")
        elif first in _PLAIN_START:
            known = _known_by(self.directory)
        else:  # may depend on more of the base than its directory
            return self._joined(ref)
        found = known.get(ref)
        if found is not None or ref in known:
            return found
        if next(_times_kept) % _JOINED_LIMIT == _JOINED_LIMIT - 1:
            _joined.clear()
        url = known[ref] = self._plain(ref) or self._joined(ref)
        return url

    def _plain(self, ref: str) -> str | None:
        """The URL a link leads to that needs no parser; None for any other."""
        plain = _PLAIN_REF.fullmatch(ref)
        if plain is None or "/." in ref:
            return None
        if plain[1]:
            return self.server + ref
        return ref if plain[2] else self.directory + ref

    def _joined(self, ref: str) -> str | None:
        if ref.startswith("#"):
            return self.base
        if ref.startswith(_STARTS):
            return try_canonical(ref)
        if ref.startswith(_FOREIGN):
            return None
        if self._join is None:
            self._join = URL.parse(self.base).join
        try:
            href = str(self._join(ref))
        except (URLError, ValueError):  # ValueError: lone surrogates
            return None
        # Another server: its name is for the parser that `canonical` trusts.
        return _tidy(href) if href.startswith(self.server + "/") else try_canonical(href)


def join(base: str, ref: str) -> str | None:
    """One link joined to a base URL; a page with many wants a `Joiner`."""
    return Joiner(base)(ref)


def server_of(url: str) -> str:
    """The server key of a canonical URL: scheme, host and port, the default port left out."""
    return url[: url.index("/", 8)]


def host_of(url: str) -> str:
    """The host of a canonical URL, without port; an IPv6 address keeps its brackets."""
    authority = url[url.index("/") + 2 : url.index("/", 8)]
    if authority[-1] == "]":
        return authority
    host, colon, _ = authority.rpartition(":")
    return host if colon else authority


def path_of(url: str) -> str:
    """Path and query of a canonical URL, as the request line and robots.txt want them."""
    return url[url.index("/", 8) :]


def is_address(host: str) -> bool:
    """Is the host of a canonical URL an IP address? Only addresses end in a number or a bracket."""
    return host[-1] == "]" or host.rpartition(".")[2].isdigit()


@functools.lru_cache(maxsize=65_536)
def registrable_domain(host: str) -> str:
    """The domain someone registered, by the public suffix list including its private section.

    So `a.github.io` and `b.github.io` are two: each has an owner of its own. A public suffix
    itself, a name without dots and an IP address stand for themselves.
    """
    if is_address(host):
        return host
    return _suffixes().privatesuffix(host) or host


@functools.cache
def _suffixes() -> PublicSuffixList:
    from publicsuffixlist import PublicSuffixList  # 0.1 s, which commands without links need not pay

    return PublicSuffixList()


def fingerprint(url: str) -> int:
    """64 bits for a URL (XXH3): two of a billion URLs collide with probability 0.03."""
    return xxhash.xxh3_64_intdigest(url.encode())


#: Non-ASCII text inside escapes; what of it is UTF-8 can be shown.
_ESCAPED_TEXT = re.compile("(?:%[89A-F][0-9A-F])+")


def readable(url: str) -> str:
    """A canonical URL as people read it: names and paths in their own script.

    Only what reads back as the same URL is unescaped: no spaces, controls or direction marks.
    """
    server, host = server_of(url), host_of(url)
    if "xn--" in host:
        name = can_ada.idna_decode(host.encode())  # type: ignore[arg-type]  # its stub says str
        server = server.replace(host, name, 1)
    shown = server + _ESCAPED_TEXT.sub(_shown, path_of(url))
    return shown if try_canonical(shown) == url else url


def _shown(escaped: re.Match[str]) -> str:
    try:
        text = unquote_to_bytes(escaped[0]).decode()
    except UnicodeDecodeError:
        return escaped[0]
    return text if text.isprintable() else escaped[0]


_WWW = re.compile(r"^www\d*\.")
_SLASHES = re.compile("//+")
_UNSAFE_OCTETS = re.compile(rb"[\x00-\x20\x7f-\xff#%]")
_ASP_SESSION = re.compile(r"/(?:\((?:[a-z]\([0-9a-z]{24}\))+\)|\([0-9a-z]{24}\))(?=/[^?]+\.aspx)")
_SESSION = re.compile(
    "(?:(?:jsessionid|phpsessid|sid)=[0-9a-z]{32}|aspsessionid[a-z]{8}=[a-z]{24}|cfid=[^&]+&cftoken=[^&]+)(?:&|$)"
)


def surt(url: str) -> str:
    """The key of a canonical URL in a CDXJ file: `jp,example)/path?a=1&b=2`.

    It is coarser than the URL, as pywb and the Wayback Machine expect it: no `www.`, lower case,
    escapes resolved, sorted query, no session ids. Whoever looks up a capture compares the URL too.
    """
    start = url.index("/", 8)
    path, _, query = url[start:].partition("?")
    key = f"{_reversed(url[url.index('/') + 2 : start])}){_surt_path(path)}"
    if not query:
        return key
    query = _SESSION.sub("", _plain(query))
    if "&" in query:
        query = "&".join(sorted(query.split("&"), key=_name_then_value))
    return f"{key}?{query}" if query else key


def surt_under(prefix: str) -> str:
    """What the SURT of every URL begins with whose canonical spelling begins with `prefix`.

    Coarser than the prefix: a directory, without the parts of which a SURT leaves some out.
    """
    start = prefix.index("/", 8)
    path = prefix[start:].partition("?")[0].partition("/(")[0]
    path = path[: path.rindex("/") + 1] if path else "/"
    return f"{_reversed(prefix[prefix.index('/') + 2 : start])}){_surt_path(path)}"


def surt_of_host(host: str, *, subdomains: bool = False) -> tuple[str, ...]:
    """What the SURTs of a host's pages begin with: without and with a port, and those of hosts below it."""
    name = _reversed(host)
    below = ",".join(reversed(host.split("."))) + ","
    return (f"{name})", f"{name}:", below) if subdomains else (f"{name})", f"{name}:")


@functools.lru_cache(maxsize=8_192)
def _reversed(authority: str) -> str:
    address, bracket, port = authority.rpartition("]")
    if bracket:
        return address[1:] + port
    host, colon, port = _WWW.sub("", authority).partition(":")
    return ",".join(reversed(host.split("."))) + colon + port


def _surt_path(path: str) -> str:
    path = _plain(path)
    if "//" in path:
        path = _SLASHES.sub("/", path)
    if "/(" in path:
        path = _ASP_SESSION.sub("", path)
    return path.rstrip("/") or "/"


def _name_then_value(parameter: str) -> tuple[str, bool, str]:
    name, equals, value = parameter.partition("=")
    return name, bool(equals), value


def _plain(text: str) -> str:
    """Lower case, with every escape undone (escaped escapes too) and the few that are needed made again."""
    if "%" not in text:  # then a canonical URL has nothing to undo or to escape
        return text.lower()
    octets = text.encode()
    while b"%" in octets and (unescaped := unquote_to_bytes(octets)) != octets:
        octets = unescaped
    return _UNSAFE_OCTETS.sub(lambda found: b"%%%02x" % found[0][0], octets).decode().lower()
