"""What does a page ask of robots?

In:    meta elements named "robots" or as we are, and the X-Robots-Tag header.
Out:   the words, in lower case: noindex, nofollow, noarchive …; "none" also as what it stands for.
Never: decides what follows from them.
"""

from __future__ import annotations

import re

from joro.parse.html import Elements

#: A word, with its value if it takes one: `max-snippet: 20`, `unavailable_after: 25 Jun 2030 15:00:00 PST`.
_WORD = re.compile(r"([a-z_-]+)[ \t]*(:[^,\n]*)?")

#: Words that take a value. Before any other word, a colon ends the name of the robot that is meant.
_VALUED = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})

#: A date may begin with its day of the week, whose comma ends no word.
_WEEKDAY = re.compile(r"(unavailable_after[ \t]*:[ \t]*(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*),")

_NONE = frozenset({"noindex", "nofollow"})


def directives(page: Elements, x_robots: str = "", agent: str = "joro") -> frozenset[str]:
    """What page and server ask of all robots, or of the one named `agent`."""
    found = set(header_directives(x_robots, agent))
    names = ("robots", agent.lower())
    for meta in page.all("meta"):
        name = meta.attr("name")
        if name is not None and name.strip().lower() in names:
            found |= _words(meta.attr("content") or "")
    return _spelled_out(found)


def header_directives(x_robots: str, agent: str) -> frozenset[str]:
    """The words of X-Robots-Tag that are for us.

    A robot's name is for all words behind it up to the end of the line. Where several lines were
    joined by commas that end is lost, and a name holds until the next name.
    """
    if not x_robots:
        return frozenset()
    found: set[str] = set()
    for line in _lowered(x_robots).split("\n"):
        ours = True
        for part in line.split(","):
            name, colon, words = part.strip().partition(":")
            if colon and name.strip() not in _VALUED:
                ours, part = name.strip() == agent.lower(), words
            if ours:
                found |= _words(part)
    return _spelled_out(found)


def _words(text: str) -> set[str]:
    found = _WORD.findall(_lowered(text))
    return {f"{word}:{value[1:].strip()}" if value else word for word, value in found}


def _lowered(text: str) -> str:
    text = text.lower()
    return _WEEKDAY.sub(r"\1", text) if "unavailable_after" in text else text


def _spelled_out(words: set[str]) -> frozenset[str]:
    return frozenset(words | _NONE if "none" in words else words)
