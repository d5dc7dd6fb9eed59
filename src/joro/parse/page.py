"""What do the robot and the indexer need to know of a page?

In:    a response, or its payload with what its header said.
Out:   an `Outline` (links and directives, for the robot) or a `Document` (text too, for the indexer).
Never: raises because of what a server sent.
"""

from __future__ import annotations

from joro.model import Document, Response
from joro.parse.charset import charset_of, decode
from joro.parse.directives import directives, header_directives
from joro.parse.feed import declared_feeds
from joro.parse.html import Tree
from joro.parse.language import language_of
from joro.parse.likeness import bytes_likeness, likeness_of
from joro.parse.likeness import likeness as texts_likeness
from joro.parse.links import base_of, link_urls, links, quick_link_urls
from joro.parse.outline import NO_LIKENESS, Outline
from joro.parse.payload import is_html, mime_of, unwrap
from joro.parse.quick import Quick, quick
from joro.parse.text import main_digest, one_line, title_of, visible_text, without_soft_breaks
from joro.url import Joiner, join

_NONE: frozenset[str] = frozenset()

#: Bytes that decide whether a payload without a media type is a page.
_HEAD_BYTES = 512


def outline(
    payload: bytes,
    url: str,
    content_type: str,
    x_robots: str = "",
    agent: str = "joro",
    *,
    likeness: bool = False,
    main: bool = False,
    feeds: bool = False,
) -> Outline:
    """Links and directives of a payload, and what else is asked for; what is no page has no links."""
    if not is_html(mime_of({"content-type": content_type}), payload[:_HEAD_BYTES]):
        return Outline(directives=header_directives(x_robots, agent), base=url)
    charset = charset_of(payload, content_type, url)
    if not main:
        to_url = Joiner(url, is_canonical=True)
        page = quick(payload, charset, to_url, texts=likeness)
        if page is not None:
            return _quick_outline(page, to_url, x_robots, agent, likeness=likeness, feeds=feeds)
    tree = Tree(decode(payload, charset), charset)
    base = base_of(tree, url)
    found, canonical = link_urls(tree, base)
    return Outline(
        links=list(found),
        nofollow=_unfollowed(found),
        directives=directives(tree, x_robots, agent),
        title=title_of(tree),
        canonical=canonical,
        base=base,
        charset=charset,
        likeness=likeness_of(tree) if likeness else NO_LIKENESS,
        main=main_digest(tree) if main else 0,
        feeds=declared_feeds(tree, base) if feeds else [],
    )


def _quick_outline(
    page: Quick, to_url: Joiner, x_robots: str, agent: str, *, likeness: bool, feeds: bool
) -> Outline:
    found, canonical = quick_link_urls(page, to_url)
    title = one_line(page.title)
    return Outline(
        links=list(found),
        nofollow=_unfollowed(found),
        directives=directives(page, x_robots, agent),
        title=title,
        canonical=canonical,
        base=to_url.base,
        charset=page.charset,
        likeness=texts_likeness(page.texts, title) if likeness else NO_LIKENESS,
        feeds=declared_feeds(page, to_url.base) if feeds else [],
    )


def _unfollowed(found: dict[str, bool]) -> frozenset[str]:
    if all(found.values()):
        return _NONE
    return frozenset(target for target, follow in found.items() if not follow)


def outline_of(
    url: str,
    response: Response,
    agent: str = "joro",
    *,
    likeness: bool = False,
    main: bool = False,
    feeds: bool = False,
) -> Outline:
    """The outline of a response; a redirect is a page with one link."""
    headers = response.headers
    x_robots = headers.get("x-robots-tag", "")
    if 300 <= response.status < 400:
        target = join(url, headers.get("location", "")) if headers.get("location") else None
        asked = header_directives(x_robots, agent)
        return Outline([target] if target else [], directives=asked, base=url)
    mime = mime_of(headers)
    if not is_html(mime, b"<p>"):
        asked = header_directives(x_robots, agent)
        seen = bytes_likeness(response.body) if likeness else NO_LIKENESS
        return Outline(directives=asked, base=url, likeness=seen)
    content = unwrap(response)
    if content.undecoded and not is_html("", content.content[:_HEAD_BYTES]):
        return Outline(directives=header_directives(x_robots, agent), base=url)
    content_type = headers.get("content-type", "")
    return outline(
        content.content, url, content_type, x_robots, agent, likeness=likeness, main=main, feeds=feeds
    )


def document_of(url: str, response: Response, agent: str = "joro") -> Document:
    """The document of a response."""
    headers = response.headers
    content_type, x_robots = headers.get("content-type", ""), headers.get("x-robots-tag", "")
    return document(unwrap(response).content, url, content_type, x_robots, agent)


def document(
    payload: bytes, url: str, content_type: str, x_robots: str = "", agent: str = "joro"
) -> Document:
    """The readable form of a payload: a page, or plain text; anything else is an empty document."""
    mime = mime_of({"content-type": content_type})
    if is_html(mime, payload[:_HEAD_BYTES]):
        return _page(payload, url, content_type, x_robots, agent)
    asked = header_directives(x_robots, agent)
    if mime != "text/plain":
        return Document(url, title="", text="", charset="", language="", directives=asked)
    charset = charset_of(payload, content_type, url)
    text = decode(payload, charset)
    return Document(url, "", text, charset, language_of(text), directives=asked)


def _page(payload: bytes, url: str, content_type: str, x_robots: str, agent: str) -> Document:
    charset = charset_of(payload, content_type, url)
    tree = Tree(without_soft_breaks(decode(payload, charset)), charset)
    found = tuple(links(tree, url))
    text = visible_text(tree)
    return Document(
        url=url,
        title=title_of(tree),
        text=text,
        charset=charset,
        language=language_of(text, tree.language),
        links=found,
        directives=directives(tree, x_robots, agent),
    )
