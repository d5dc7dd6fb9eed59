"""Which path has a page, and which page has a path?

In:    a host and a page's place in it (0 = front page).
Out:   the path in the host's own style, and back.
Never: keeps a table: both directions are computed, so a million pages cost no memory.
"""

from __future__ import annotations

import re

from joro.testweb.plan import Host, Plan

SECTIONS = ("news", "about", "guide", "diary", "products", "library", "people", "events")

_LAST_NUMBER = re.compile(rb"(\d+)\D*$")


def path(host: Host, place: int) -> str:
    """The path of the `place`-th page; some styles look static, some are programs with arguments."""
    if place == 0:
        return "/"
    section = SECTIONS[(place + host.number) % len(SECTIONS)]
    match host.style:
        case 0:
            return f"/{section}/{place}.html"
        case 1:
            return f"/{section}/topic{place % 7}/{place}/"
        case 2:
            return f"/{section}.php?id={place}"
        case 3:
            return f"/~{section}/page{place}.htm"
        case 4:
            return f"/{2010 + place % 16}/{place % 12 + 1:02}/{section}-{place}.html"
        case _:
            return f"/{section}/article.cgi?lang={host.language}&no={place}"


def place(host: Host, target: bytes) -> int:
    """The place of the page at `target`, -1 when there is none."""
    if target == b"/":
        return 0
    number = _LAST_NUMBER.search(target)
    if number is None or len(number[1]) > 9:
        return -1
    found = int(number[1])
    return found if 0 < found < host.pages and path(host, found).encode() == target else -1


def url(plan: Plan, page: int) -> str:
    """The whole address of a page."""
    host = plan.host_of(page)
    return host.url[:-1] + path(host, page - host.first)
