"""What can an element of a captured page, or an attribute of it, do to its reader?

In:    an element.
Out:   whether it has a place in a replay; which attributes hold what kind of address.
Never: changes anything.
"""

from __future__ import annotations

from joro.parse.html import Element

#: Elements that can do nothing in a replay, or only harm. <base> has been heeded by then.
NEVER = frozenset({"script", "base", "portal", "fencedframe", "applet"})
#: What <link> would open or load before it is needed; some browsers ask no policy about it.
HASTY = frozenset(
    "preconnect dns-prefetch prefetch prerender preload modulepreload manifest expect import".split()
)
#: Attributes that ask for permissions, other windows, checks that a rewritten file fails, or reports home.
DROPPED = frozenset(
    "target formtarget ping nonce integrity crossorigin manifest codebase classid archive profile csp allow"
    " sandbox attributionsrc referrerpolicy privatetoken sharedstoragewritable browsingtopics xml:base"
    " autofocus".split()
)
SHOWN = frozenset({"src", "poster", "background", "lowsrc", "dynsrc", "data", "icon"})
FOLLOWED = frozenset({"action", "formaction", "cite", "longdesc"})
REFERENCES = frozenset({"href", "xlink:href"})
SETS = frozenset({"srcset", "imagesrcset"})
#: CSS in attributes; all but the first are SVG's.
STYLED = frozenset(
    "style fill stroke filter mask clip-path cursor marker marker-start marker-mid marker-end".split()
)
#: What stands in these is for browsers that no longer exist, and unread by the parser.
HIDDEN_TEXT = frozenset({"iframe", "noembed", "noframes"})
#: In SVG, an animation may change where a link leads while the page is looked at.
ANIMATIONS = frozenset({"set", "animate", "animatemotion", "animatetransform"})


def is_unwanted(element: Element) -> bool:
    """Has the element no place in a replay?"""
    tag = element.tag.lower()
    if tag in NEVER:
        return True
    if tag == "link":
        return not HASTY.isdisjoint((element.attr("rel") or "").lower().split())
    if tag == "meta":
        pragma = element.attr("http-equiv")
        if pragma is not None:
            return pragma.lower() != "refresh"
        return element.attr("charset") is not None or (element.attr("name") or "").lower() == "referrer"
    if tag in ANIMATIONS:
        changed = (element.attr("attributename") or element.attr("attributeName") or "").lower()
        return changed in REFERENCES or changed in DROPPED
    return False
