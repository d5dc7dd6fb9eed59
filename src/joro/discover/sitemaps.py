"""Where are a server's sitemaps?

In:    a server and what its robots.txt names.
Out:   sitemaps to read; which of an index's sitemaps are worth following.
Never: asks anything; follows an index from index to index without end.
"""

from __future__ import annotations

from collections.abc import Iterable

from joro.url import host_of, registrable_domain

#: Where sitemaps lie when nobody says where.
USUAL = "/sitemap.xml"
#: Sitemaps of one server: with 50,000 pages each, more than anyone collects of one.
SITEMAP_LIMIT = 5_000
#: An index names sitemaps, not indexes; one more step is forgiven.
DEPTH_LIMIT = 2


def sitemap_sources(server: str, named: Iterable[str], *, guess: bool = True) -> list[str]:
    """The sitemaps to begin with: those that robots.txt names, else the usual place, if it may be tried."""
    found = list(dict.fromkeys(named))[:SITEMAP_LIMIT]
    return found or ([server + USUAL] if guess else [])


def listed_sitemaps(index: str, listed: Iterable[str], known: int, depth: int, home: str = "") -> list[str]:
    """The sitemaps of an index to be watched: of its own domain or `home`, up to the limit, and not too deep.

    `home` is the domain it speaks for: many sites keep their sitemaps elsewhere.
    """
    if depth >= DEPTH_LIMIT:
        return []
    homes = {registrable_domain(host_of(index)), home}
    ours = [
        url for url in dict.fromkeys(listed) if registrable_domain(host_of(url)) in homes and url != index
    ]
    return ours[: max(0, SITEMAP_LIMIT - known)]
