"""Does a browser read a rewritten page as we meant it?

In:    the source of a rewritten page.
Out:   the same, without what turns up only when it is read again.
Never: rewrites; an address that is not ours by now is taken away.

HTML is not always read as it is written. `<form><math><mtext></form><form><mglyph><style></math><a href=…>`
is a style in a form in a form at first, and a link when what came of that is read once more. Whoever hides
a link so could lead a reader's click to the live web. So the page is read until nothing new turns up.
"""

from __future__ import annotations

import html
import re

from joro.parse.html import Element, Tree, safe
from joro.portal.elements import DROPPED, FOLLOWED, REFERENCES, SHOWN, is_unwanted

#: Pages that still show something new when read so often are shown as their source.
READINGS = 4
#: Addresses a rewritten page may have.
_OURS = re.compile(r"/(?:replay|archive)/\d{14}/https?://|#|data:|\Z", re.ASCII)
_ADDRESSES = SHOWN | FOLLOWED | REFERENCES


def proven(page: str) -> str:
    """The page as it can be read any number of times; its source, as text, where there is no such page."""
    for _ in range(READINGS):
        if safe(page) != page:  # then only a part of it would be read
            break
        tree = Tree(page)
        if not _purge(tree):
            return page
        page = tree.document.serialize()
    return f"<!DOCTYPE html><pre>{html.escape(page)}</pre>"


def _purge(tree: Tree) -> bool:
    """Take away what does not belong into a rewritten page; was there any?"""
    is_changed = False
    for element in list(tree.document.iter_elements()):
        if is_unwanted(element):
            element.decompose()
            is_changed = True
        else:
            is_changed |= _purge_attributes(element)
    return is_changed


def _purge_attributes(element: Element) -> bool:
    alien = [
        name
        for name, value in element.attrs.items()
        if _is_alien(name.lower(), value if isinstance(value, str) else " ".join(value or ()))
    ]
    for name in alien:
        del element.attrs[name]
    return bool(alien)


def _is_alien(name: str, value: str) -> bool:
    if name == "target":
        return value != "_top"
    if name == "srcdoc":
        return _purge(Tree(value))
    if name in _ADDRESSES:
        return not _OURS.match(value)
    return name.startswith("on") or name in DROPPED
