"""How do owners of sites find out who we are, and stop us?

In:    what they say in forms, or as JSON.
Out:   a page about the robot; claims of hosts; orders about hosts whose owner has shown that they are theirs.
Never: asks their servers anything: `joro owner verify` looks for the proof. Believes anyone without one, or
       lets the owner of one host order about another.

    /robot              who we are, what for, how to stop us (S2-10)
    /owner              claim a host: a form
    /owner/SECRET       the claim: how to prove it, then what to order
    /api/owner …        the same as JSON
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from joro.archive.times import time_of
from joro.clock import RealClock
from joro.config import Config, Politeness
from joro.errors import UsageError
from joro.portal.look import Look
from joro.store.claims import Claim, ClaimBook
from joro.store.collection import Collection
from joro.store.orders import EMBARGO, EXCLUSION, TAKEDOWN, Order, OrderBook
from joro.url import host_of, try_canonical

#: No honest form is longer.
FORM_LIMIT_BYTES = 10_000
REASON_LIMIT_CHARS = 500
ACTS = (TAKEDOWN, EMBARGO, EXCLUSION)


@dataclass(frozen=True)
class Proof:
    """One way to show that a host is one's own."""

    where: str
    what: str


def proofs(claim: Claim) -> list[Proof]:
    """What an owner may publish, and where."""
    return [
        Proof(f"a file at https://{claim.host}/.well-known/joro-owner.txt with the line", claim.token),
        Proof(f"in the head of https://{claim.host}/", f'<meta name="joro-owner" content="{claim.token}">'),
        Proof(f"a TXT record of _joro.{claim.host}", claim.token),
    ]


class Owners:
    """Pages and JSON for owners of sites."""

    def __init__(self, collection: Collection, look: Look) -> None:
        self._config: Config = collection.config
        self._look = look
        self._now = RealClock().now
        self._claims = ClaimBook(collection.orders, self._now)
        self._orders = OrderBook(collection.orders, self._now)

    @property
    def routes(self) -> list[Route]:
        return [
            Route("/robot", self.robot),
            Route("/owner", self.begin),
            Route("/owner", self.open, methods=["POST"]),
            Route("/owner/{secret}", self.show),
            Route("/owner/{secret}", self.order, methods=["POST"]),
            Route("/api/owner", self.open, methods=["POST"]),
            Route("/api/owner/{secret}", self.show),
            Route("/api/owner/{secret}", self.order, methods=["POST"]),
        ]

    def robot(self, request: Request) -> Response:
        """Who we are, from the settings."""
        config = self._config
        return self._look.page(
            "robot.html",
            identity=config.identity,
            politeness=config.politeness,
            pace=_pace(config.politeness),
            bind_address=config.fetch.bind_address,
        )

    def begin(self, request: Request) -> Response:
        return self._look.page("owner.html", problem="")

    async def open(self, request: Request) -> Response:
        """Take a claim in."""
        said = await _said(request)
        host = _host(said.get("host", ""))
        if host is None:
            return self._refuse(request, "This is no name of a host. Write it like www.example.org.")
        try:
            claim, secret = self._claims.open(host, said.get("contact", ""))
        except UsageError as error:
            return self._refuse(
                request, f"{error.problem[0].upper()}{error.problem[1:]}: {error.remedy}.", 429
            )
        if _is_api(request):
            return JSONResponse({"claim": f"/api/owner/{secret}"} | self._described(claim), 201)
        return RedirectResponse(f"/owner/{secret}", 303)

    def show(self, request: Request) -> Response:
        """A claim, whoever knows its secret."""
        claim = self._claim(request)
        if _is_api(request):
            return JSONResponse(self._described(claim))
        page = self._look.page(
            "claim.html",
            claim=claim,
            is_proved=claim.is_proved(self._now()),
            is_pending=claim.is_pending(self._now()),
            proofs=proofs(claim),
            orders=self._given(claim),
            problem="",
        )
        page.headers["cache-control"] = "no-store"
        return page

    async def order(self, request: Request) -> Response:
        """Carry out what the owner of a host wants done with it."""
        claim, said = self._claim(request), await _said(request)
        if not claim.is_proved(self._now()):
            raise HTTPException(403, "This claim has not been proved (or not for a month).")
        order = self._orders.give(_order(claim, said))
        if _is_api(request):
            return JSONResponse({"order": order.number, "act": order.act, "value": order.value}, 201)
        return RedirectResponse(request.url.path, 303)

    def _claim(self, request: Request) -> Claim:
        claim = self._claims.behind(request.path_params["secret"])
        if claim is None:
            raise HTTPException(404)
        return claim

    def _given(self, claim: Claim) -> list[Order]:
        """Orders in force about the host that were given by claims of it."""
        return [order for order in self._orders.latest().all if order.requester == _requester(claim)]

    def _described(self, claim: Claim) -> dict[str, Any]:
        now = self._now()
        state = "proved" if claim.is_proved(now) else "pending" if claim.is_pending(now) else "lapsed"
        orders = [
            {"order": order.number, "act": order.act, "target": order.target, "value": order.value}
            for order in self._given(claim)
        ]
        ways = [asdict(proof) for proof in proofs(claim)]
        return {"host": claim.host, "state": state, "found": claim.proof, "proofs": ways, "orders": orders}

    def _refuse(self, request: Request, problem: str, status: int = 400) -> Response:
        if _is_api(request):
            return JSONResponse({"problem": problem}, status)
        return self._look.page("owner.html", status, problem=problem)


def _pace(settings: Politeness) -> str:
    """The shortest pauses that a server may be left, as its owner may hold us to them."""
    has_fast = settings.fast_servers_percent > 0 and settings.fast_interval_percent < 100
    fast_s = settings.interval_s * (settings.fast_interval_percent / 100 if has_fast else 1)
    if settings.run_pages > 1:
        least_s = max(fast_s, settings.run_pause_s)
        return f"up to {settings.run_pages:,} in a row and then a pause of {least_s:g} seconds or more"
    fastest = f", {fast_s:g} where it is among the fastest" if fast_s < settings.interval_s else ""
    return f"{settings.interval_s:g} seconds apart or more{fastest}"


def _order(claim: Claim, said: dict[str, str]) -> Order:
    """What an owner wants; it never reaches beyond the host that was proved."""
    act = said.get("act", "")
    if act not in ACTS:
        raise HTTPException(400, f"The act is one of {', '.join(ACTS)}.")
    target, value = "host", claim.host
    if path := said.get("path", "").strip().lstrip("/"):
        prefix = try_canonical(f"http://{claim.host}/{path}")
        if prefix is None or host_of(prefix) != claim.host:
            raise HTTPException(400, "This is no path of the host.")
        target, value = "prefix", prefix
    opens = _opens(said.get("opens", "")) if act == EMBARGO else None
    reason = said.get("reason", "")[:REASON_LIMIT_CHARS]
    return Order(0, act, target, value, 0.0, opens=opens, reason=reason, requester=_requester(claim))


def _opens(text: str) -> float:
    try:
        return time_of(text.strip())
    except ValueError:
        raise HTTPException(400, "An embargo ends somewhere: write it like 2027-01-01.") from None


def _requester(claim: Claim) -> str:
    return f"owner of {claim.host}"


def _is_api(request: Request) -> bool:
    return request.url.path.startswith("/api/")


def _host(text: str) -> str | None:
    """The host that somebody means: a name, or the URL of a page of it."""
    text = text.strip()
    url = try_canonical(text if "://" in text else f"http://{text}")
    return host_of(url) if url and len(text) < 300 and "*" not in host_of(url) else None


async def _said(request: Request) -> dict[str, str]:
    """The fields of a form or of a JSON object, as texts."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > FORM_LIMIT_BYTES:
            raise HTTPException(413, "This is too long.")
    if request.headers.get("content-type", "").startswith("application/json"):
        try:
            said = json.loads(body)
        except ValueError:
            raise HTTPException(400, "This is no JSON.") from None
        return {str(k): str(v) for k, v in said.items()} if isinstance(said, dict) else {}
    return {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}
