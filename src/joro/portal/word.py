"""What does the owner of a page say about showing its captures?

In:    a capture and the archived response.
Out:   why it is not shown, in a sentence for readers; "" where it may be.
Never: looks at orders: what they withhold is not found in the first place.
"""

from __future__ import annotations

from joro.model import Capture, Response
from joro.parse.rights import Purpose, may, rights_in
from joro.portal.opened import Refusal

NO_ARCHIVE = "Its owner asked robots not to show archived copies of it (noarchive)."


def refusal_by_owner(robot: str) -> Refusal:
    """Whether to show a capture, by what its page and headers say to all robots or to ours."""

    def refusal(capture: Capture, response: Response) -> str:
        is_free = may(rights_in(capture.url, response, agent=robot), Purpose.REPLAY)
        return "" if is_free else NO_ARCHIVE

    return refusal
