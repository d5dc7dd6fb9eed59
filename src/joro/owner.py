"""Is whoever claims a host its owner?

In:    claims that wait for their proof.
Out:   the same, proved or not, with the reason.
Never: follows a redirect: another server's word proves nothing. Asks a host more than a few times, or one
       at a forbidden address: every request goes through `fetch`.
Paper: S2-10's stop and deletion requests, carried out by owners themselves.

The token is looked for where only an owner can put it: in DNS (TXT of `_joro.HOST`), in a file
(`/.well-known/joro-owner.txt`), in the home page (`<meta name="joro-owner" content="TOKEN">`).
"""

from __future__ import annotations

from collections.abc import Callable

from joro import __version__
from joro.clock import Clock
from joro.fetch.txt import texts_of
from joro.fetch.visit import Later, Visitor, user_agent
from joro.model import Outcome, Page, Response
from joro.parse.charset import charset_of, decode
from joro.parse.html import Tree
from joro.parse.payload import is_html, mime_of, payload, unwrap
from joro.store.claims import Claim, ClaimBook
from joro.store.collection import Collection
from joro.url import is_address, server_of, try_canonical

FILE_PATH, META_NAME, TXT_NAME = "/.well-known/joro-owner.txt", "joro-owner", "_joro"
#: Seconds between two requests to the host.
PAUSE_S = 2.0
_LIMIT_BYTES = 100_000


async def verify(
    collection: Collection, clock: Clock, tell: Callable[[Claim], None] = lambda _claim: None
) -> list[Claim]:
    """Look for the proofs of all claims that are due; what came of them."""
    book = ClaimBook(collection.orders, clock.now)
    due = book.due()
    if not due:
        return []
    settings = collection.config
    agent = user_agent(settings.identity, __version__)
    visitor = Visitor(settings.fetch, user_agent=agent, clock=clock)
    looked = []
    try:
        for claim in due:
            proof, why_not = await _Look(visitor, clock, settings.fetch.nameservers, claim).found()
            looked.append(book.looked(claim, proof, why_not))
            tell(looked[-1])
    finally:
        await visitor.close()
    return looked


class _Look:
    """One look for the token of one claim."""

    def __init__(self, visitor: Visitor, clock: Clock, nameservers: tuple[str, ...], claim: Claim) -> None:
        self._visitor = visitor
        self._clock = clock
        self._nameservers = nameservers
        self._claim = claim

    async def found(self) -> tuple[str, str]:
        """Where the token stands ("" if nowhere), and why it was not found."""
        host, token = self._claim.host, self._claim.token
        if not is_address(host) and token in await texts_of(f"{TXT_NAME}.{host}", self._nameservers):
            return f"TXT record of {TXT_NAME}.{host}", ""
        reasons = []
        for scheme in ("https", "http"):
            for path, holds in ((FILE_PATH, file_holds), ("/", page_holds)):
                url = f"{scheme}://{host}{path}"
                response, reason = await self._get(url)
                if response is not None and holds(response, token, url):
                    return url, ""
                reasons.append(f"{url}: {reason or 'the token is not there'}")
                if response is None:
                    break  # nobody answers by this scheme
        return "", "; ".join(reasons)

    async def _get(self, url: str) -> tuple[Response | None, str]:
        known = try_canonical(url)
        if known is None:
            return None, "no URL"
        visit = await self._visitor.visit(Page(known, server=server_of(known)))
        await self._clock.sleep(PAUSE_S)
        if isinstance(visit, Later):
            return None, "its address is busy"
        if visit.outcome is Outcome.OK:
            return visit.response, ""
        status = f" {visit.response.status}" if visit.response is not None else ""
        return visit.response, f"{visit.outcome.value}{status}"


def file_holds(response: Response, token: str, url: str) -> bool:
    """Is the token a line of the file? A server that answers everything with everything proves nothing."""
    if not 200 <= response.status < 300:
        return False
    return token.encode() in [line.strip() for line in payload(response, _LIMIT_BYTES).splitlines()]


def page_holds(response: Response, token: str, url: str) -> bool:
    """Does the page name the token in its head?"""
    if not (200 <= response.status < 300 and is_html(mime_of(response.headers), b"<p>")):
        return False
    content = unwrap(response).content
    charset = charset_of(content, response.headers.get("content-type", ""), url)
    metas = Tree(decode(content, charset), charset).select("head meta")
    return any(meta.attr("name") == META_NAME and meta.attr("content") == token for meta in metas)
