"""Where is a server asked what it reserves?

In:    a server, or a page that waits, and the boundary of the collection.
Out:   the URL of the file that says it (TDMRep), where it may be asked for.
Never: asks for it where the operator or an order leaves it out.
"""

from __future__ import annotations

from joro.discover.scope import Boundary
from joro.model import Page
from joro.parse.rights import TDM_FILE


def terms_of(server: str, boundary: Boundary) -> list[str]:
    """What to ask a server for; nothing where it may not be."""
    url = server + TDM_FILE
    return [url] if boundary.opens(url) else []


def is_terms(page: Page, boundary: Boundary) -> bool:
    """Is the page that file? It is asked for wherever the pages of its server lie."""
    return page.url == page.server + TDM_FILE and boundary.opens(page.url)
