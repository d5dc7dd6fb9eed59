"""Is this server one too many of its domain?

In:    a server whose turn it is, the guard against traps, the frontier.
Out:   whether its waiting pages are left out.
Never: leaves out a seed, a page that is to be visited again, or a server of so many pages that it is watched
       for itself.
"""

from __future__ import annotations

from joro.discover.traps import WATCHED_FROM, Traps
from joro.store.frontier import Frontier


def is_one_too_many(server: str, traps: Traps, frontier: Frontier) -> bool:
    """Is the server one of endlessly many, and no person asked for it?"""
    if not traps.is_wary:
        return False
    record = frontier.server(server)
    if record.collected >= WATCHED_FROM or record.due or traps.shuns(server) is None:
        return False
    page = frontier.take(server)
    if page is not None:
        frontier.put_back(page)
    return page is not None and page.hops > 0
