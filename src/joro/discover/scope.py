"""Does a page belong to the collection?

In:    a canonical URL, how many links it is away from a seed, and how many of them led from generated page
       to page.
Out:   yes or no, by the operator's `[scope]`; for people also why not.
Never: asks the network; what servers allow is `fetch.robotstxt`'s business. What can only be told from the
       page itself is `wanted`'s.
Paper: S2 table 1 (hops from CGI pages, counted apart from those from the seed), 3 (pages of a site limited).

The count of CGI hops travels with a page, beside its hops. A link on a generated page to a page of the same
server has one more than that page; on any other page, and to another server, it has none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from joro.config import PerServer, Scope
from joro.discover.globs import Globs
from joro.errors import ConfigError
from joro.url import host_of, server_of, try_canonical

#: Paths that a program answers, besides everything with a query.
_GENERATED = re.compile(
    r"/cgi(?:-bin|-local)?/|\.(?:cgi|pl|php\d?|phtml|aspx?|jspx?|jsf|cfm|do|dll|fcgi|exe)(?=/|;|\Z)",
    re.IGNORECASE,
)


#: Does an order forbid to visit this URL? See `store.orders.OrderBook.forbids`.
Forbidden = Callable[[str], bool]


def is_generated(url: str) -> bool:
    """Is the page made on request, as far as its URL tells?"""
    return "?" in url or _GENERATED.search(url, url.index("/", 8)) is not None


def domains_in(texts: Iterable[str], where: str) -> tuple[str, ...]:
    """Domains as the hosts of canonical URLs have them; `where` is the setting they come from."""
    return tuple(_domain(text, where) for text in texts)


def _domain(text: str, where: str) -> str:
    url = try_canonical(f"http://{text.removeprefix('*').lstrip('.')}/")
    if url is None or url != f"http://{host_of(url)}/":
        raise ConfigError(f"{where}: {text!r} is no domain", remedy='write it like "example.jp"')
    return host_of(url)


class Boundary:
    """The operator's scope, made ready for thousands of questions a second."""

    def __init__(self, settings: Scope, forbids: Callable[[], Forbidden | None] = lambda: None) -> None:
        self._forbids = forbids
        self.renew(settings)

    def renew(self, settings: Scope) -> None:
        """Go by these settings from now on."""
        self._settings = PerServer(settings)
        self._plain = None if settings.rules else settings  # without rules nobody has to be looked up
        self._domains = domains_in(settings.domains, "scope.domains")
        self._suffixes = tuple(f".{domain}" for domain in self._domains)
        self._include = Globs(settings.include, "scope.include")
        self._exclude = Globs(settings.exclude, "scope.exclude")

    def within(self, urls: list[str], hops: int, cgi_hops: int = 0) -> list[str]:
        """Those URLs, found `hops` links from a seed, that belong to the collection."""
        urls = self._near_enough(urls, hops, cgi_hops)
        if self._domains:
            urls = [url for url in urls if self._is_inside(host_of(url))]
        if self._include:
            urls = [url for url in urls if self._include.match(url)]
        if self._exclude:
            urls = [url for url in urls if not self._exclude.match(url)]
        if urls and (is_forbidden := self._forbids()) is not None:
            urls = [url for url in urls if not is_forbidden(url)]
        return urls

    def opens(self, url: str) -> bool:
        """May this be asked for to learn about its server, though it need be no page of the collection?"""
        if self._domains and not self._is_inside(host_of(url)):
            return False
        is_forbidden = self._forbids()
        is_shut = is_forbidden is not None and is_forbidden(url)
        return not is_shut and not (self._exclude and self._exclude.match(url))

    def follow(self, source: str, hops: int, cgi_hops: int, urls: list[str]) -> list[tuple[list[str], int]]:
        """The links of a page that belong to the collection, in groups with the CGI hops of each.

        `hops` and `cgi_hops` are those of the page itself; its links are one hop further.
        """
        if not is_generated(source):
            return [(self.within(urls, hops + 1), 0)]
        here = server_of(source) + "/"
        near = [url for url in urls if url.startswith(here)]
        far = [url for url in urls if not url.startswith(here)]
        groups = [
            (self.within(near, hops + 1, cgi_hops + 1), cgi_hops + 1),
            (self.within(far, hops + 1), 0),
        ]
        return [group for group in groups if group[0]]

    def quota(self, server: str) -> int:
        """How many pages of a server may be collected."""
        return self._settings.of(server).pages_per_server

    def refusal(self, url: str, hops: int = 0, cgi_hops: int = 0) -> str:
        """Why a page does not belong to the collection, "" if it does; for people."""
        settings = self._settings.of(server_of(url))
        if len(url) > settings.url_limit_chars:
            return f"its URL is longer than scope.url_limit_chars = {settings.url_limit_chars}"
        if hops > settings.hops:
            return f"{hops} links from a seed, scope.hops = {settings.hops}"
        if cgi_hops > settings.cgi_hops:
            return f"{cgi_hops} links from generated page to page, scope.cgi_hops = {settings.cgi_hops}"
        if self._domains and not self._is_inside(host_of(url)):
            return "outside scope.domains"
        if self._include and not self._include.match(url):
            return "like nothing in scope.include"
        if (is_forbidden := self._forbids()) is not None and is_forbidden(url):
            return "an order forbids it"
        pattern = self._exclude.first(url)
        return f"scope.exclude has {pattern!r}" if pattern else ""

    def _near_enough(self, urls: list[str], hops: int, cgi_hops: int) -> list[str]:
        settings = self._plain
        if settings is None:
            return [url for url in urls if self._is_near(url, hops, cgi_hops)]
        if hops > settings.hops or cgi_hops > settings.cgi_hops:
            return []
        limit = settings.url_limit_chars
        if max(map(len, urls), default=0) <= limit:
            return urls
        return [url for url in urls if len(url) <= limit]

    def _is_near(self, url: str, hops: int, cgi_hops: int) -> bool:
        settings = self._settings.of(server_of(url))
        near = hops <= settings.hops and cgi_hops <= settings.cgi_hops
        return near and len(url) <= settings.url_limit_chars

    def _is_inside(self, host: str) -> bool:
        return host in self._domains or host.endswith(self._suffixes)
