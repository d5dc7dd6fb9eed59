"""How is somebody turned away?

In:    why.
Out:   an answer that says so, and when to come again.
Never: is sent without a line in the log: `service.problem` sees to it.
"""

from __future__ import annotations

from starlette.exceptions import HTTPException

from joro.redistribute.journal import Usage


class Refused(HTTPException):
    """Somebody is turned away, and it is written down."""


def too_much(usage: Usage, reason: str) -> Refused:
    """A party has had its share of today."""
    wait = str(usage.until_tomorrow_s())
    return Refused(429, f"{reason}; ask again tomorrow (UTC)", headers={"retry-after": wait})
