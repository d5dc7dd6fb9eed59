"""Which questions can be asked, and how?

In:    a question as a path with arguments, e.g. `/page?url=http://…`.
Out:   the answer as JSON over HTTP; a question that makes no sense gets 400 and a reason.
Never: guesses: what is planned comes from `truth`, what happened from `witness`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec

from joro.testweb.log import AccessLog
from joro.testweb.site import Site
from joro.testweb.timeline import Timeline
from joro.testweb.truth import Arguments, Truth, Unknown
from joro.testweb.witness import Witness


class Oracle:
    """Answers questions about one running web."""

    def __init__(self, site: Site, log: AccessLog, timeline: Timeline) -> None:
        self._log = log
        self.truth = Truth(site, timeline.now)
        self.witness = Witness(self.truth, log, timeline)
        self.questions: dict[str, Callable[[Arguments], Any]] = {
            "/summary": self.summary,
            "/hosts": self.truth.hosts,
            "/pages": self.truth.pages,
            "/page": self.truth.page,
            "/changes": self.truth.changes,
            "/articles": self.truth.articles,
            "/links": self.truth.links,
            "/reachable": self.truth.reachable,
            "/log": self.witness.log,
            "/fetched": self.witness.fetched,
            "/politeness": self.witness.politeness,
            "/freshness": self.witness.freshness,
            "/clock": self.witness.clock,
            "/reset": self.witness.reset,
        }

    def summary(self, arguments: Arguments) -> Any:
        """Counts, where to start, and how many requests there were."""
        return self.truth.summary(arguments) | {"requests": len(self._log)}

    def http(self, target: str) -> bytes:
        """The whole HTTP response to one question."""
        status, answer = self._respond(target)
        body = msgspec.json.encode(answer)
        head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + body

    def _respond(self, target: str) -> tuple[str, Any]:
        parts = urlsplit(target)
        question = self.questions.get(parts.path)
        if question is None:
            return "404 Not Found", {"error": "no such question", "known": list(self.questions)}
        try:
            return "200 OK", question(dict(parse_qsl(parts.query)))
        except (Unknown, ValueError) as error:
            return "400 Bad Request", {"error": str(error)}
        except KeyError as error:
            return "400 Bad Request", {"error": f"the argument {error} is missing"}
