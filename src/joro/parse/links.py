"""Where does a page point?

In:    a parsed page and its URL.
Out:   the links in it, joined to the page's base and canonical, each once.
Never: follows one; decides whether one may be followed.

Three readers: the robot needs URLs only and calls `quick_link_urls`, or `link_urls` where a page has a tree;
`links` reads the anchor texts too, for documents, and takes twice as long.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from joro.model import Link
from joro.parse.html import Attributed, Element, Elements, Tree
from joro.parse.query import query_codec, with_query_in
from joro.parse.quick import Quick
from joro.url import Joiner, join

#: A link's text says what the other page is about; a whole page inside a link does not.
ANCHOR_LIMIT_CHARS = 200

#: Of <link>, only what leads to pages: not style sheets, icons, connections to be opened beforehand.
_PAGE_RELATIONS = frozenset({"canonical", "alternate", "next", "prev", "previous"})

#: The "shared declarative refresh steps" of the HTML Standard: a time, a separator, a URL in some dress.
_REFRESH = re.compile(
    r"[\t\n\f\r ]*+(?:[0-9]++|(?=\.))[0-9.]*+(?:\Z|[\t\n\f\r ]|(?=[;,]))[\t\n\f\r ]*+[;,]?+[\t\n\f\r ]*+(.*)",
    re.DOTALL,
)
_REFRESH_URL = re.compile(
    r"""(?:url[\t\n\f\r ]*+=[\t\n\f\r ]*+|)(?:"([^"]*)|'([^']*)|(.*))""", re.DOTALL | re.IGNORECASE
)

#: A link as written: kind, reference, rel in lower case, and the element it was found on.
Written = tuple[str, str, str, Attributed]


def base_of(tree: Tree, url: str) -> str:
    """What relative links are relative to: the first <base> with an href, if that leads anywhere."""
    for base in tree.all("base"):
        href = base.attr("href")
        if href is not None:
            return join(url, href) or url
    return url


def _anchors(tree: Tree) -> Iterator[tuple[str, str, Element]]:
    """Reference, rel in lower case and element of every <a> that leads anywhere."""
    for element in tree.all("a"):
        ref = element.attr("href")
        if ref is not None:
            rel = element.attr("rel")
            yield ref, rel.lower() if rel else "", element


def _written_besides(page: Elements) -> Iterator[Written]:
    """Every place but an <a> where the page names another page."""
    for element in page.all("area"):
        ref = element.attr("href")
        if ref is not None:
            yield "area", ref, (element.attr("rel") or "").lower(), element
    for tag in ("frame", "iframe"):
        for element in page.all(tag):
            if ref := element.attr("src"):
                yield "frame", ref, "", element
    for element in page.all("link"):
        rel = (element.attr("rel") or "").lower()
        words = rel.split()
        ref = element.attr("href")
        if ref and not _PAGE_RELATIONS.isdisjoint(words) and "stylesheet" not in words:
            yield "canonical" if "canonical" in words else "link", ref, rel, element
    yield from _refreshes(page)


def _refreshes(page: Elements) -> Iterator[Written]:
    """The first refresh that can be read; a browser ignores the others."""
    for meta in page.all("meta"):
        if (meta.attr("http-equiv") or "").lower() == "refresh":
            ref = refresh_target(meta.attr("content") or "")
            if ref:
                yield "refresh", ref, "", meta
            if ref is not None:
                return


def refresh_target(content: str) -> str | None:
    """The URL, as written, that a refresh leads to; "" is the page itself, None is no refresh at all."""
    refresh = _REFRESH.match(content)
    target = _REFRESH_URL.match(refresh[1]) if refresh else None
    return next(part for part in target.groups() if part is not None) if target else None


def _joiner(tree: Tree, base: str) -> Callable[[str], str | None]:
    """Joins links to a canonical URL as a browser does: their query is spelled in the charset of the page."""
    to_base = Joiner(base, is_canonical=True)
    codec = query_codec(tree.charset)
    if not codec:
        return to_base
    return lambda ref: to_base(ref if ref.isascii() else with_query_in(codec, ref))


def link_urls(tree: Tree, base: str) -> tuple[dict[str, bool], str]:
    """URLs in the order of the page, each with "may be followed" as far as rel says; and the canonical URL.

    A URL that is linked both with and without nofollow may be followed.
    """
    to_base = _joiner(tree, base)
    found: dict[str, bool] = {}
    has_rel = tree.has("a", "rel")  # on most pages none has, and need not be asked one by one
    for element in tree.all("a"):
        ref = element.attr("href")
        url = to_base(ref) if ref is not None else None
        if url is not None:
            rel = element.attr("rel") if has_rel else None
            found[url] = not rel or found.get(url, False) or "nofollow" not in rel.lower()
    return found, _add_others(found, tree, to_base)


def quick_link_urls(page: Quick, to_base: Joiner) -> tuple[dict[str, bool], str]:
    """The same of a page that was only looked over."""
    return page.anchors, _add_others(page.anchors, page, to_base)


def _add_others(found: dict[str, bool], page: Elements, to_base: Callable[[str], str | None]) -> str:
    """Add what is linked by other elements than <a>; the canonical URL."""
    canonical = ""
    for kind, ref, rel, _ in _written_besides(page):
        url = to_base(ref)
        if url is not None:
            found[url] = not rel or found.get(url, False) or "nofollow" not in rel
            if kind == "canonical":
                canonical = canonical or url
    return canonical


def links(tree: Tree, url: str) -> list[Link]:
    """The links of a page with their anchor texts; what is linked twice in the same words is kept once."""
    to_base = _joiner(tree, base_of(tree, url))
    found: dict[tuple[str, str, str, str], None] = {}
    for ref, rel, anchor in _anchors(tree):
        target = to_base(ref)
        if target is not None:
            found[target, anchor_text(anchor), rel, "a"] = None
    for kind, ref, rel, element in _written_besides(tree):
        target = to_base(ref)
        if target is not None:
            found[target, _label(kind, element), rel, kind] = None
    return [Link(*link) for link in found]


def _label(kind: str, element: Attributed) -> str:
    text = element.attr("alt" if kind == "area" else "title") or ""
    return " ".join(text[: 2 * ANCHOR_LIMIT_CHARS].split())[:ANCHOR_LIMIT_CHARS]


def anchor_text(element: Element) -> str:
    """The text of a link, or of the image that stands for it.

    Read string by string: links can be nested (through tables), and each would read all the others.
    """
    text = ""
    for string in element.strings:
        text += string
        if len(text) > 4 * ANCHOR_LIMIT_CHARS:
            break
    text = " ".join(text.split())
    if not text:
        image = element.find("img")
        text = " ".join((image.attr("alt") or "").split()) if image is not None else ""
    return text[:ANCHOR_LIMIT_CHARS].rstrip()
