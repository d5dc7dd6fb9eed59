"""Which of the links that others sent can be taken in at all?

In:    links, as their sender wrote them.
Out:   those whose parts are what they should be.
Never: judges whether a page is wanted: `discover.scope` does, for these links as for any other.

A manager checks what it passes on, but a robot must not end because another one, or a disk, has gone mad, nor
for ever: a letter, or a batch, is read again after a restart.
"""

from __future__ import annotations

import logging

from joro.coordinate.beat import Link
from joro.model import FEED, INDEX, SITEMAP
from joro.url import try_canonical

log = logging.getLogger(__name__)

_KINDS = frozenset({"", FEED, SITEMAP, INDEX})
#: What the frontier has room for: a byte for each count of hops.
_HOPS = range(256)


def sound(links: list[Link]) -> list[Link]:
    """The links that can be taken in; the others are told in one line."""
    taken = [link for link in links if _is_sound(link)]
    if len(taken) < len(links):
        wrong = next(link for link in links if not _is_sound(link))
        log.warning("%d links left out that nobody can follow, like %.200r", len(links) - len(taken), wrong)
    return taken


def _is_sound(link: Link) -> bool:
    counted = link.hops in _HOPS and link.cgi_hops in _HOPS and link.kind in _KINDS
    source_needed = bool(link.found_on or link.kind or link.urgent)  # what a seed leads to was found nowhere
    return counted and _is_canonical(link.url) and (not source_needed or _is_canonical(link.found_on))


def _is_canonical(url: str) -> bool:
    return try_canonical(url) == url
