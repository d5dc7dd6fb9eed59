"""Which other URLs is a URL like?

In:    a canonical URL.
Out:   the kinds it belongs to, from wide to narrow: section, place, kind; and the slots in which only a
       value stands: query keys, path parameters, segments that look like ids.
Never: looks at a page; knows the name of any shop, forum or calendar program.

    http://a/shop/list?color=red&page=7   section /shop/*    place /shop/list?   kind /shop/list?color&page
    http://a/2026/03/news-5.html          section /0/*       place /0/0/news-0.html
    http://a/people/jane-doe              section /people/*  place /people/w

Numbers are 0, ids x, names of pages w. A folder whose name stood further left already is ^, and ^^ is ^, so
that /a/b/a/b/a/ and all that follows is one place.
"""

from __future__ import annotations

import functools
import re

from joro.url import path_of

#: Folders beyond this depth are not told apart; query keys beyond this number neither.
DEPTH, KEYS = 8, 8
#: More words than this make a title, not a name.
NAME_WORDS = 2

_NUMBER = re.compile(r"\d+")
_WORDS = re.compile(r"[^\W\d_]+")
#: Eight and more hexadecimal digits, or letters and digits mixed at least twice: UUIDs, session ids.
_ID = re.compile(r"(?=\D*\d)[0-9a-fA-F-]{8,}$|(?=[^%.~]{8,}$)(?:\D*\d+[^\d\W_]+){2}[\w=:-]*$")
_DATE = re.compile(r"\d{4}-?\d\d-?\d\d$")
_EXTENSION = re.compile(r"\.[a-z]\w{1,4}$")


@functools.lru_cache(maxsize=8_192)  # a page is asked about four times between its turn and its end
def kinds(url: str) -> tuple[str, ...]:
    """Section, place and, where there is a query, the kind; each starts with the one before or narrows it."""
    path, mark, query = path_of(url).partition("?")
    folders = path.split("/")[1:]
    page = folders.pop().partition(";")[0]
    shapes = _folders(folders)
    section = f"/{shapes[0]}/*" if shapes else "/*"
    if not mark:
        return section, "/".join(["", *shapes, _name(page)])
    place = "/".join(["", *shapes, _NUMBER.sub("0", page)]) + "?"
    keys = sorted({_NUMBER.sub("0", part.partition("=")[0]) for part in query.split("&")})
    return section, place, place + "&".join(keys[:KEYS])


def _folders(folders: list[str]) -> list[str]:
    shapes: list[str] = []
    seen: set[str] = set()
    for folder in folders[:DEPTH]:
        if folder in seen and not folder.isdigit():
            if shapes[-1] != "^":
                shapes.append("^")
            continue
        seen.add(folder)
        shapes.append(folder if folder.isalpha() else _folder(folder))
    return [*shapes, "…"] if len(folders) > DEPTH else shapes


def _folder(name: str) -> str:
    name = name.partition(";")[0]
    if "%" in name or len(_WORDS.findall(name)) > NAME_WORDS:
        return "x" if is_id(name) else "w"
    return "x" if is_id(name) else _NUMBER.sub("0", name)


def _name(page: str) -> str:
    """The last part of a path: without a number it is one of many names, with one it is one of a row."""
    ending = _EXTENSION.search(page)
    stem, extension = (page[: ending.start()], ending[0]) if ending else (page, "")
    if not stem:
        return extension
    if is_id(stem):
        return "x" + extension
    if "%" in stem or not _NUMBER.search(stem) or len(_WORDS.findall(stem)) > NAME_WORDS:
        return "w" + extension
    return _NUMBER.sub("0", stem) + extension


def is_id(text: str) -> bool:
    """Does this look like something a program made up to tell things apart?"""
    return len(text) >= 8 and _ID.match(text) is not None and _DATE.match(text) is None


def slots(url: str) -> dict[str, str]:
    """The values in a URL by the name of their slot: `?sid`, `;jsessionid`, `/2` (an id as second part)."""
    path, _, query = path_of(url).partition("?")
    found = {}
    for number, segment in enumerate(path.split("/")[1:], 1):
        name, semicolon, parameter = segment.partition(";")
        if semicolon:
            key, _, value = parameter.partition("=")
            found[f";{key}"] = value
        if is_id(name):
            found[f"/{number}"] = name
    for part in query.split("&")[:KEYS] if query else ():
        key, _, value = part.partition("=")
        found[f"?{key}"] = value
    return found


def with_slot(url: str, slot: str, value: str | None) -> str:
    """The URL with another value in a slot, or without it."""
    start = url.index("/", 8)
    path, _, query = url[start:].partition("?")
    name = slot[1:]
    if slot[0] == "/":
        segments = path.split("/")
        segments[int(name)] = value or ""
        path = "/".join(segments)
    elif slot[0] == ";":
        path = re.sub(rf";{re.escape(name)}(=[^/]*|(?=/|$))", _parameter(";", name, value), path, count=1)
    else:
        parts = [_other(part, name, value) for part in query.split("&")]
        query = "&".join(filter(None, parts))
    return url[:start] + path + (f"?{query}" if query else "")


def _other(part: str, name: str, value: str | None) -> str:
    if part.partition("=")[0] != name:
        return part
    return "" if value is None else f"{name}={value}"


def _parameter(mark: str, name: str, value: str | None) -> str:
    return "" if value is None else f"{mark}{name}={value}".replace("\\", r"\\")
