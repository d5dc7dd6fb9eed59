"""Where do the links of a captured page lead, once it is replayed?

In:    a captured page, its URL and its time.
Out:   the page as UTF-8, everything it loads or leads to being a capture near in time.
Never: leaves an address of the live web where a browser would use it; leaves a script.

Every attribute is judged by its name. Addresses of what a page shows (images, styles, frames) lead to
`/replay/`, addresses of where a reader goes (links, forms) to `/archive/` in the whole window, so that the
banner tells of the new page. The browser refuses whatever slips through: see `replay.rules`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from joro.parse.html import TEXT_LIMIT_CHARS, Element, Tree, safe
from joro.parse.links import base_of, refresh_target
from joro.parse.query import query_codec, with_query_in
from joro.portal.elements import (
    DROPPED,
    FOLLOWED,
    HIDDEN_TEXT,
    REFERENCES,
    SETS,
    SHOWN,
    STYLED,
    is_unwanted,
)
from joro.portal.proof import proven
from joro.portal.styles import rewritten_css
from joro.url import Joiner

#: A page that is still too long after so many cuts is not shown.
CUTS = 6
#: Pages inside `srcdoc` attributes are rewritten so deep; one further inside is left out.
NESTING_LIMIT = 3

#: Addresses of one page may grow to so much: with a <base> of 1 MB, each of 100,000 links would be as long.
ROOM_CHARS = 16_000_000

#: Where scripts that load images late keep their addresses.
_WAITING = {
    "src": ("data-src", "data-original", "data-lazy-src"),
    "srcset": ("data-srcset", "data-lazy-srcset"),
}

_CANDIDATE = re.compile(r"[\s,]*+(\S++)([^,(]*+(?:\([^)]*+\)?+[^,(]*+|)*+)")
#: What a browser strips before it looks at an address.
_LEADING = re.compile(r"^[\x00-\x20]+|[\t\n\r]+")

Way = Callable[[str], "str | None"]


class Guide:
    """Says where the addresses of one page lead in the archive."""

    def __init__(self, page: str, base: str, charset: str, stamp: str) -> None:
        self._join = Joiner(base)
        self._codec = query_codec(charset)
        self._stamp = stamp
        self._room_chars = ROOM_CHARS
        self.page = f"/archive/{stamp}/{page}"
        self.charset = charset if self._codec else ""  # "" where forms send UTF-8

    def shown(self, ref: str) -> str | None:
        """For what the page shows; images inside the page itself stay there. None: nowhere."""
        plain = _LEADING.sub("", ref)
        if plain[:5].lower() == "data:":
            return plain
        return self._led("replay", plain)

    def followed(self, ref: str) -> str | None:
        """For where a reader may go."""
        return self._led("archive", _LEADING.sub("", ref))

    def style(self, ref: str) -> str:
        """For addresses in CSS, which must not be left out."""
        return self.shown(ref) or "about:invalid"

    def _led(self, place: str, ref: str) -> str | None:
        if ref.startswith("#"):
            return ref
        address, hash_mark, fragment = ref.partition("#")
        if self._codec and not address.isascii():
            address = with_query_in(self._codec, address)
        url = self._join(address) if address else self._join.base
        if url is None:
            return None
        self._room_chars -= len(url)
        return f"/{place}/{self._stamp}/{url}{hash_mark}{fragment}" if self._room_chars > 0 else None


def rewritten_page(text: str, url: str, charset: str, stamp: str) -> tuple[str, bool]:
    """The page, ready to be shown in a sandbox, and whether this is all of it.

    What comes out has to be short enough to be read again, so that of pages near the limit the end is cut.
    """
    part = safe(text)
    for _ in range(CUTS):
        tree = Tree(part, charset)
        _rewrite(tree, Guide(url, base_of(tree, url), charset, stamp), NESTING_LIMIT)
        page = tree.document.serialize()
        if len(page) <= TEXT_LIMIT_CHARS:
            return proven(page), len(part) == len(text)
        part = part[: int(0.9 * len(part) * TEXT_LIMIT_CHARS / len(page))]
    return "", False


def leads_on(tree: Tree, url: str) -> str | None:
    """The URL to which the page sends its readers by itself, which a replay does not."""
    for meta in tree.all("meta"):
        if (meta.attr("http-equiv") or "").lower() == "refresh":
            ref = refresh_target(meta.attr("content") or "")
            target = Joiner(base_of(tree, url))(ref) if ref else None
            if ref is not None:
                return target if target != url else None
    return None


def _rewrite(tree: Tree, guide: Guide, nesting: int) -> None:
    for element in list(tree.document.iter_elements()):
        if is_unwanted(element):
            element.decompose()
        elif element.tag == "noscript":
            element.unwrap()  # its reader has no scripts
        else:
            _rewrite_element(element, guide, nesting)


def _rewrite_element(element: Element, guide: Guide, nesting: int) -> None:
    tag = element.tag.lower()
    if tag in ("img", "source"):
        _load_at_once(element)
    for name, value in list(element.attrs.items()):
        text = value if isinstance(value, str) else " ".join(value or ())
        changed = _attribute(tag, name.lower(), text, guide, nesting)
        if changed is None:
            del element.attrs[name]
        elif changed != text:
            element.attrs[name] = changed
    if tag == "meta" and element.attr("http-equiv") is not None:
        _rewrite_refresh(element, guide)
    elif tag == "style":
        style = "".join(element.strings)
        changed = rewritten_css(style, guide.style)
        if changed != style:
            element.set_text(changed)
    elif tag in HIDDEN_TEXT:
        element.clear()
    elif tag in ("a", "area", "form"):
        _open_in_window(element, tag, guide)


def _load_at_once(image: Element) -> None:
    """Give an image the address that a script would have given it when it came into sight."""
    for name, waiting in _WAITING.items():
        shown = image.attr(name)
        later = next((ref for each in waiting if (ref := image.attr(each))), None)
        if later and (not shown or shown.lstrip()[:5].lower() == "data:"):
            image.attrs[name] = later


def _attribute(tag: str, name: str, value: str, guide: Guide, nesting: int) -> str | None:
    """The value an attribute has in the replay; None where it has no place there."""
    if name.startswith("on") or name in DROPPED:
        return None
    if name in REFERENCES:
        return guide.followed(value) if tag in ("a", "area") else guide.shown(value)
    if name in SHOWN:
        return guide.shown(value)
    if name in FOLLOWED:
        return guide.followed(value)
    if name in SETS:
        return rewritten_srcset(value, guide.shown)
    if name == "srcdoc":
        return _nested(value, guide, nesting)
    return rewritten_css(value, guide.style) if name in STYLED else value


def _nested(source: str, guide: Guide, nesting: int) -> str | None:
    """A page inside an attribute."""
    if nesting == 0:
        return None
    tree = Tree(source)
    _rewrite(tree, guide, nesting - 1)
    return tree.document.serialize()


def _rewrite_refresh(meta: Element, guide: Guide) -> None:
    """The sandbox does not let it happen; should a browser think otherwise, it stays in the archive."""
    ref = refresh_target(meta.attr("content") or "")
    target = guide.shown(ref) if ref else None
    if target is None or not target.startswith("/"):
        meta.decompose()
    else:
        meta.attrs["content"] = f"0; url={target}"


def _open_in_window(element: Element, tag: str, guide: Guide) -> None:
    """Links and forms change the window, banner and all; those within the page stay in it."""
    if tag == "form":
        if not element.attr("action"):
            element.attrs["action"] = guide.page
        if guide.charset:
            element.attrs["accept-charset"] = guide.charset
    if not (element.attr("href") or "").startswith("#"):
        element.attrs["target"] = "_top"


def rewritten_srcset(value: str, way: Way) -> str | None:
    """A list of images for screens of several sizes; read as the HTML Standard reads it."""
    found = []
    position = 0
    while candidate := _CANDIDATE.match(value, position):
        ref, descriptor = candidate[1], candidate[2].strip()
        position = candidate.end()
        if ref.endswith(","):
            ref, descriptor, position = ref.rstrip(","), "", candidate.end(1)
        address = way(ref) if ref else None
        if address:
            if address.endswith(","):
                address = address[:-1] + "%2C"
            found.append(f"{address} {descriptor}".rstrip())
    return ", ".join(found) or None
