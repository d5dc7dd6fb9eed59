"""How is a small page framed that is not in the graph?

In:    a host, a title and some HTML.
Out:   a whole page in the host's language and character set.
Never: more than a frame: planned pages are `pages`' work.
"""

from __future__ import annotations

from html import escape

from joro.testweb.answer import Body
from joro.testweb.charsets import encode
from joro.testweb.plan import Host


def meta_charset(host: Host) -> str:
    """The declaration inside the page, in the old or the new spelling, where the host has one."""
    if host.declared not in ("meta", "both"):
        return ""
    if host.number % 2:
        return f'<meta charset="{host.charset}">\n'
    return f'<meta http-equiv="Content-Type" content="text/html; charset={host.charset}">\n'


def said_charset(host: Host) -> str:
    """The character set as Content-Type names it."""
    return host.charset if host.declared in ("header", "both") else ""


def opening(host: Host) -> str:
    """Everything before the title."""
    lang = f' lang="{host.language}"' if host.has_lang else ""
    return f"<!DOCTYPE html>\n<html{lang}>\n<head>\n{meta_charset(host)}"


def page_html(host: Host, title: str, inside: str) -> Body:
    """A page with a title and whatever is inside."""
    title = escape(title)
    head = f"{opening(host)}<title>{title}</title>\n</head>\n"
    text = f"{head}<body>\n<h1>{title}</h1>\n{inside}</body>\n</html>\n"
    return Body(encode(text, host.charset), charset=said_charset(host))


def list_html(doors: list[tuple[str, str]]) -> str:
    """Links as a list: (path, anchor text)."""
    lines = "".join(f'<li><a href="{escape(path)}">{escape(anchor)}</a></li>\n' for path, anchor in doors)
    return f"<ul>\n{lines}</ul>\n" if doors else ""
