"""Which of the feeds that pages name are worth watching?

In:    the pages of a server as they are visited, with the feeds each names in its head.
Out:   feeds to watch, each once.
Never: watches a feed of a single page, as the comments on one article: a blog has as many of these as
       articles; watches more than a few feeds of one server.

A feed that the front page names is the site's; so is one that two different pages name. No name of a feed
or of a program that makes feeds is known here.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from joro.url import fingerprint, path_of

#: Feeds watched of one server: most sites have one or two, papers one for each section.
WATCHED_LIMIT = 16
#: Feeds remembered that only one page has named; the one named longest ago gives way.
NAMED_LIMIT = 64


class Declared(msgspec.Struct, array_like=True):
    """The feeds that the pages of one server have named."""

    watched: list[str] = msgspec.field(default_factory=list)
    named: dict[str, int] = msgspec.field(default_factory=dict)  # by one page so far: its fingerprint

    def add(self, page: str, feeds: Iterable[str]) -> list[str]:
        """A page names feeds; those of them to watch from now on."""
        chosen = [feed for feed in dict.fromkeys(feeds) if self._is_choice(page, feed)]
        chosen = chosen[: max(0, WATCHED_LIMIT - len(self.watched))]
        self.watched += chosen
        for feed in chosen:
            self.named.pop(feed, None)
        return chosen

    def _is_choice(self, page: str, feed: str) -> bool:
        if feed in self.watched:
            return False
        mark = fingerprint(page)
        if path_of(page) == "/" or self.named.get(feed, mark) != mark:
            return True
        self.named[feed] = self.named.pop(feed, mark)  # named last
        if len(self.named) > NAMED_LIMIT:
            del self.named[next(iter(self.named))]
        return False
