"""Which pages belong to the collection?

In:    nothing.
Out:   the section `[scope]`; servers may differ.
Never: reads a file.
"""

from __future__ import annotations

from dataclasses import dataclass

from joro.config.declare import Override, setting


@dataclass(frozen=True)
class Scope:
    """Which pages belong to the collection."""

    hops: int = setting(15, "links to follow from a seed", least=0, most=255)
    cgi_hops: int = setting(
        10, "links to follow from one generated page to the next on a server", least=0, most=255
    )
    pages_per_server: int = setting(10_000, "upper limit of pages collected from one server", least=1)
    domains: tuple[str, ...] = setting(
        (), "stay inside these domains and their subdomains; none = everywhere", whole=True
    )
    url_limit_chars: int = setting(2_000, "longer URLs are left alone", least=20, most=100_000)
    include: tuple[str, ...] = setting(
        (), 'only URLs like these: "*/news/*", or "re:" and a regular expression; none = all', whole=True
    )
    exclude: tuple[str, ...] = setting((), "no URLs like these, even if included", whole=True)
    everything_under: tuple[str, ...] = setting(
        (), 'where pages of all languages are kept, e.g. ".jp"', whole=True
    )
    languages_elsewhere: tuple[str, ...] = setting(
        (), 'elsewhere only pages in these languages, e.g. "ja"; none = all', whole=True
    )
    unwanted_words: tuple[str, ...] = setting((), "words that mark pages nobody wants here", whole=True)
    unwanted_limit: int = setting(
        3, "so many different unwanted words on a page, and it is not kept", least=1, whole=True
    )
    rules: tuple[Override, ...] = setting(
        (), 'for some servers: [[scope.rules]], servers = ["*.example.jp"] and keys of above', whole=True
    )
