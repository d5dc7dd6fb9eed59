"""Which hosts never end?

In:    a trap host and a target.
Out:   a small page with links deeper into the trap, the same for the same target.
Never: ends. Each host has one trap and some honest pages; the front page leads to both.

  calendar    a month links to its days, the month before and the month after
  session     every link carries a new session id
  path        relative links that pile up: /a/b/a/b/…
  facets      filters that can be set and unset in any combination
  pagination  always one more page of results
"""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import parse_qsl

from joro.testweb.answer import Body
from joro.testweb.chance import Stream, draw
from joro.testweb.frame import list_html, page_html
from joro.testweb.paths import path, place
from joro.testweb.plan import Host

ENTRANCES = {
    "calendar": "/calendar/2026/01/",
    "session": "/index?sid=0",
    "path": "/shelf/",
    "facets": "/shop",
    "pagination": "/list?page=1",
}
FACETS = {
    "color": ("red", "blue", "green", "white", "black"),
    "size": ("s", "m", "l", "xl"),
    "brand": ("hana", "kawa", "yama", "umi", "sora"),
    "price": ("low", "middle", "high"),
    "sort": ("name", "price", "date"),
    "view": ("list", "grid"),
    "stock": ("yes", "no"),
}
SHELVES = ("box", "bag", "case")

Link = tuple[str, str]  # href as written, anchor text


def entrance(host: Host) -> str:
    """The path by which the front page leads into the trap."""
    return ENTRANCES[host.kind]


def links(seed: int, host: Host, target: bytes) -> list[Link] | None:
    """Where the trap's page at `target` leads; None when the target is no part of it."""
    return _TRAPS[host.kind](seed, host, target.decode("latin-1"))


def page(host: Host, target: bytes, links: list[Link]) -> Body:
    """A page with next to nothing on it but links."""
    text = "<p>Nothing has been entered here yet. Choose another one below.</p>\n"
    return page_html(host, target.decode("latin-1"), text + list_html(links))


def without_session(target: bytes) -> bytes:
    """The path of the page behind a session id."""
    return re.sub(rb"[?&]sid=\w+$", b"", target)


def _calendar(_seed: int, _host: Host, target: str) -> list[Link] | None:
    day = re.fullmatch(r"/calendar/(\d{4})/(\d\d)/(\d\d)?", target)
    if day is None or not 1 <= int(day[2]) <= 12:
        return None
    months = int(day[1]) * 12 + int(day[2]) - 1
    links = [(_month(months + step), "next" if step > 0 else "previous") for step in (-1, 1)]
    if day[3] is None:
        links += [(f"/calendar/{day[1]}/{day[2]}/{number:02}", str(number)) for number in range(1, 29)]
    return links


def _month(months: int) -> str:
    return f"/calendar/{months // 12 % 10_000:04}/{months % 12 + 1:02}/"


def _session(seed: int, host: Host, target: str) -> list[Link] | None:
    parts = re.fullmatch(r"(.*)[?&]sid=(\w+)", target)
    if parts is None or (parts[1] != "/index" and place(host, parts[1].encode()) < 0):
        return None
    fresh = draw(seed, Stream.TRAP, host.number, int.from_bytes(target.encode()[-8:], "big"))
    marks = ((path(host, number), (fresh + number) & 0xFFFF_FFFF_FFFF) for number in range(host.pages))
    return [(f"{where}{'&' if '?' in where else '?'}sid={mark:012x}", where) for where, mark in marks]


def _path(_seed: int, _host: Host, target: str) -> list[Link] | None:
    if not re.fullmatch(r"/shelf/((box|bag|case)/)*", target):
        return None
    return [(f"{name}/", name) for name in SHELVES]


def _facets(_seed: int, _host: Host, target: str) -> list[Link] | None:
    where, _, query = target.partition("?")
    chosen = dict(parse_qsl(query))
    if where != "/shop" or any(value not in FACETS.get(name, ()) for name, value in chosen.items()):
        return None
    links = []
    for name, values in FACETS.items():
        for value in values:
            toggled = chosen | {name: value} if chosen.get(name) != value else _without(chosen, name)
            query = "&".join(f"{key}={each}" for key, each in toggled.items())
            links.append((f"/shop?{query}" if query else "/shop", f"{name}: {value}"))
    return links


def _without(chosen: dict[str, str], name: str) -> dict[str, str]:
    return {key: value for key, value in chosen.items() if key != name}


def _pagination(_seed: int, _host: Host, target: str) -> list[Link] | None:
    listing = re.fullmatch(r"/list\?page=(\d{1,12})", target)
    if listing:
        number = int(listing[1])
        entries = [(f"/entry/{number * 10 + step}", f"entry {number * 10 + step}") for step in range(10)]
        return [*entries, (f"/list?page={number + 1}", "next page")]
    return [("/list?page=1", "back to the list")] if re.fullmatch(r"/entry/\d{1,13}", target) else None


_TRAPS: dict[str, Callable[[int, Host, str], list[Link] | None]] = {
    "calendar": _calendar,
    "session": _session,
    "path": _path,
    "facets": _facets,
    "pagination": _pagination,
}
