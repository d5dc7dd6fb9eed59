"""Which pages are front pages, where news appears first?

In:    a page with its links, at every visit; what watching it has shown.
Out:   its links as entries, for `watch` to find the new ones; whether the page is a hub.
Never: knows the word "news"; takes a page for a hub because its text changes, or because its links do
       without leading to pages nobody has seen.
Paper: S4, the news collector: new articles from the front pages of news sites, without feeds.

Any page high up on its server may be one. It is watched on trial at the visits it gets anyway; if new pages
keep appearing on it, it is a hub, and gets readings of its own as often as they appear. What counts is links
that stand there for the first time and lead to pages not visited yet: random recommendations bring none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from joro.discover.watch import FRONT, Watched
from joro.model import DAY_S, Entry
from joro.url import path_of

#: A page with fewer links is no front page.
LEAST_LINKS = 5
LINK_LIMIT = 2_000
#: Folders between the server and a front page: /, /news/, /news/sport/.
DEPTH_LIMIT = 2
#: Readings on trial before a verdict, and before giving up a page on which nothing ever appeared.
LEAST_READINGS, MOST_READINGS = 3, 12
#: A hub brings a new page so often at least; a rarer one comes with the page's ordinary visits.
HUB_GAP_S = 3 * DAY_S


def may_be_front(url: str, links: int) -> bool:
    """Is the page worth a trial?"""
    path, _, query = path_of(url).partition("?")
    folders = [part for part in path.split("/")[1:-1] if part]
    return links >= LEAST_LINKS and not query and len(folders) <= DEPTH_LIMIT


def front_entries(url: str, links: Iterable[str]) -> list[Entry]:
    """The links of a front page (those it does not ask us to leave alone) as entries without dates."""
    return [Entry(link) for link in list(dict.fromkeys(links))[:LINK_LIMIT] if link != url]


def is_hub(front: Watched) -> bool:
    """Do new pages keep appearing here, as surely as one can tell?"""
    if front.kind != FRONT or front.readings < LEAST_READINGS or front.is_restless:
        return False
    arrivals = front.arrivals
    surely = arrivals.count - math.sqrt(arrivals.count)  # a standard deviation less than was seen
    return arrivals.time_s > 0 and surely / arrivals.time_s > 1.0 / HUB_GAP_S


def is_barren(front: Watched) -> bool:
    """Has the trial gone on long enough without a single new page?"""
    return front.readings >= MOST_READINGS and front.arrivals.count < 0.5
