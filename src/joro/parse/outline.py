"""What does a page say that a robot goes on with?

In:    nothing: this is a record.
Out:   links, directives, and what tells a page from others.
Never: reads a page: that is `page`'s business.
"""

from __future__ import annotations

from msgspec import Struct, field

from joro.parse.likeness import Likeness

NO_LIKENESS = Likeness()


class Outline(Struct):
    """What the robot needs to go on from a page."""

    links: list[str] = field(default_factory=list)  # in the order of the page, each once
    nofollow: frozenset[str] = frozenset()  # those of them the page links with rel=nofollow only
    directives: frozenset[str] = frozenset()
    title: str = ""
    canonical: str = ""  # what rel=canonical says, "" if nothing
    base: str = ""
    charset: str = ""
    likeness: Likeness = NO_LIKENESS  # only when asked for
    main: int = 0  # digest of the main text, only when asked for; 0: none
    feeds: list[str] = field(default_factory=list)  # that the page names, only when asked for

    @property
    def follow(self) -> bool:
        """May links of this page be followed at all?"""
        return "nofollow" not in self.directives

    @property
    def to_follow(self) -> list[str]:
        """The links the page does not ask us to leave alone."""
        if not self.follow:
            return []
        return [url for url in self.links if url not in self.nofollow] if self.nofollow else self.links
