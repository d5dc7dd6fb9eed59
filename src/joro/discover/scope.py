"""Does a page belong to the collection?

In:    a canonical URL and how many links it is away from a seed.
Out:   yes or no, by the operator's `[scope]`.
Never: asks the network; what servers allow is `fetch.robotstxt`'s business.
"""

from __future__ import annotations

from joro.config import Scope
from joro.url import host_of


class Boundary:
    """The operator's scope, made ready for thousands of questions a second."""

    def __init__(self, settings: Scope) -> None:
        self._hops = settings.hops
        self._url_limit = settings.url_limit_chars
        self._domains = tuple(domain.lower().lstrip(".") for domain in settings.domains)
        self._suffixes = tuple(f".{domain}" for domain in self._domains)

    def within(self, urls: list[str], hops: int) -> list[str]:
        """Those URLs, found `hops` links from a seed, that belong to the collection."""
        if hops > self._hops:
            return []
        short = [url for url in urls if len(url) <= self._url_limit]
        if not self._domains:
            return short
        return [url for url in short if self._is_inside(host_of(url))]

    def _is_inside(self, host: str) -> bool:
        return host in self._domains or host.endswith(self._suffixes)
