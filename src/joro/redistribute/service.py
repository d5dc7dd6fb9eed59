"""What does a collection answer to those who want its captures, or bring some?

In:    requests of registered parties.
Out:   packages, in ranges; the schedule of those who push; room for what they bring.
Never: answers anybody without a registered token (401 without one, 403 with a wrong one, both logged); sends
       more than a party's share of a day; sends what an order withholds, be it in the middle of a transfer.
Paper: S1, 5.4: the data collection system and the data distribution system are both such a service.

    POST /packages                 a selection as JSON: the manifest of its next package
    GET  /packages                 the manifests of packages made for the party this week
    GET  /packages/NAME            a manifest
    GET  /packages/NAME/warc       its bytes; Range is honoured
    GET  /packages/NAME/index      the same of its index (CDXJ, gzip)
    GET  /schedule                 when to push what, for a party that does
    …    /uploads                  see `uploads`
    GET  /healthz                  "ok"; anybody may ask
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from joro.clock import Clock
from joro.errors import JoroError, UsageError
from joro.redistribute.allowed import Allowed, purposes_named
from joro.redistribute.journal import Journal, Usage
from joro.redistribute.package import NO_LIMITS, Limits, Maker, Manifest
from joro.redistribute.parties import Party, PartyBook
from joro.redistribute.refusal import Refused, too_much
from joro.redistribute.selection import Selection, checked, span_of
from joro.redistribute.shelf import Package, Shelf, Withdrawn
from joro.redistribute.sources import sources_of
from joro.redistribute.uploads import Uploads
from joro.serving.body import body_of
from joro.store.collection import Collection
from joro.store.orders import OrderBook

log = logging.getLogger(__name__)

#: A longer request body is no selection: a mark has some 40 bytes for each robot there ever was.
ASKED_LIMIT_BYTES = 4_000_000
#: So long after midnight a day is over: by then the last capture of it is written.
OVER_S = 3_600.0
_RANGE = re.compile(r"bytes=(\d{1,18})-(\d{0,18})")

Answer = Callable[[Request, Party], Awaitable[Response]]


def application(collection: Collection, clock: Clock, limits: Limits = NO_LIMITS) -> ASGIApp:
    """The service of one collection."""
    service = Service(collection, clock, limits)
    uploads = Uploads(collection, clock, service.journal, service.usage)
    ask = service.guarded
    return Starlette(
        routes=[
            Route("/healthz", healthz),
            Route("/packages", ask(service.make), methods=["POST"]),
            Route("/packages", ask(service.list_packages)),
            Route("/packages/{name}", ask(service.manifest)),
            Route("/packages/{name}/warc", ask(service.warc)),
            Route("/packages/{name}/index", ask(service.index)),
            Route("/schedule", ask(service.schedule)),
            Route("/uploads", ask(uploads.begin), methods=["POST"]),
            Route("/uploads/{name}", ask(uploads.state)),
            Route("/uploads/{name}/{file}", ask(uploads.bring), methods=["PUT"]),
        ],
        exception_handlers={
            kind: service.problem for kind in (HTTPException, Withdrawn, JoroError, Exception)
        },
    )


async def healthz(request: Request) -> Response:
    return PlainTextResponse("ok\n")


class Service:
    """Hands packages to those who may have them."""

    def __init__(self, collection: Collection, clock: Clock, limits: Limits) -> None:
        room = collection.part("redistribution")
        self._collection = collection
        self._clock = clock
        self._parties = PartyBook(room)
        self.journal = Journal(collection.logs, clock.now)
        self.usage = Usage(room, clock.now)
        self._shelf = Shelf(collection, OrderBook(collection.orders, clock.now))
        self._maker = Maker(collection, self._shelf.folder, limits)
        self._days: dict[bytes, str] = {}  # packages of days that are over, by what was asked for
        self._making = asyncio.Lock()  # one at a time: each reads the disk as fast as it can

    def guarded(self, answer: Answer) -> Callable[[Request], Awaitable[Response]]:
        """The answer, for registered parties within their limits."""

        async def ask(request: Request) -> Response:
            party = request.state.party = self._party(request)
            too_often = self.usage.ask(party)
            if too_often:
                raise too_much(self.usage, too_often)
            if party.requests_per_day:
                self.usage.save()
            return await answer(request, party)

        return ask

    def _party(self, request: Request) -> Party:
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not token.strip():
            raise Refused(401, "no token was shown", headers={"www-authenticate": "Bearer"})
        party = self._parties.of_token(token.strip())
        if party is None:
            raise Refused(403, "the token belongs to no registered party")
        return party

    async def make(self, request: Request, party: Party) -> Response:
        """The next package of what is asked for."""
        try:
            asked = msgspec.json.decode(await body_of(request, ASKED_LIMIT_BYTES), type=Selection)
            selection = checked(asked)
        except (msgspec.DecodeError, UsageError) as error:
            raise HTTPException(400, f"this is no selection: {error}") from None
        # Made anew each time: what servers say in robots.txt is remembered as long as it lives.
        allowed = Allowed(self._collection, purposes_named(party.purposes), self._clock)
        async with self._making:
            self._shelf.tidy(self._clock.now())
            manifest = await asyncio.to_thread(self._made, selection, allowed, party.hosts)
            if manifest.package:
                self._shelf.give(manifest.package, party.name)
        return _json(manifest)

    def _made(self, selection: Selection, allowed: Allowed, scope: str) -> Manifest:
        """The package that was made before of a day that is over, or a new one."""
        key = msgspec.json.encode((selection, sorted(each.value for each in allowed.purposes), scope))
        with contextlib.suppress(Withdrawn):
            known = self._shelf.find(self._days.get(key, ""), self._clock.now())
            if known is not None:
                return known.manifest
        manifest = self._maker.make(selection, allowed, scope)
        if selection.day and self._clock.now() > span_of(selection.day)[1] + OVER_S:
            self._days[key] = manifest.package
        return manifest

    async def list_packages(self, request: Request, party: Party) -> Response:
        manifests = await asyncio.to_thread(lambda: [each.manifest for each in self._of(party)])
        return _json(manifests)

    async def manifest(self, request: Request, party: Party) -> Response:
        return _json((await self._found(request, party)).manifest)

    async def schedule(self, request: Request, party: Party) -> Response:
        """What a party that pushes should push, and when."""
        sources = sources_of(self._collection)
        found = [source for source in sources if source.name == party.name and source.pushes]
        if not found or not party.may_push:
            raise HTTPException(
                404, f"nothing is wanted of {party.name}: no such source in redistribution.toml"
            )
        return _json(msgspec.structs.replace(found[0], token_file="", ca=""))

    async def warc(self, request: Request, party: Party) -> Response:
        package = await self._found(request, party)
        return self._ranged(request, party, package, package.manifest.bytes, package.pieces)

    async def index(self, request: Request, party: Party) -> Response:
        package = await self._found(request, party)
        return self._ranged(request, party, package, package.manifest.index_bytes, package.index)

    def _ranged(
        self,
        request: Request,
        party: Party,
        package: Package,
        size: int,
        pieces: Callable[[int, int], Iterator[bytes]],
    ) -> Response:
        start, end = _asked_range(request, size)
        left = self.usage.left_bytes(party)
        if left is not None and start < end:
            if left == 0:
                raise too_much(self.usage, f"{party.name} may have {party.bytes_per_day:,} bytes a day")
            end = min(end, start + left)
        is_part = (start, end) != (0, size)
        headers = {"accept-ranges": "bytes", "content-length": str(end - start)}
        if is_part:
            headers["content-range"] = f"bytes {start}-{end - 1}/{size}"
        self.usage.add(party, end - start)  # at once: a party may ask for many ranges at a time
        content = self._counted(party, package, request.url.path, pieces(start, end), end - start)
        return StreamingResponse(
            content, 206 if is_part else 200, headers, media_type="application/octet-stream"
        )

    async def _counted(
        self, party: Party, package: Package, path: str, pieces: Iterator[bytes], whole: int
    ) -> AsyncIterator[bytes]:
        """The pieces, as long as no order comes; what was not sent is given back to the party's share."""
        begin, size, is_whole = self._clock.now(), 0, False
        try:
            while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
                self._shelf.see(package, self._clock.now())
                yield piece
                size += len(piece)
            is_whole = True
        except Withdrawn:
            return  # fewer bytes than announced: the receiver asks again, and is told
        finally:
            name, captures = package.manifest.package, package.manifest.captures
            what = path.rpartition("/")[2]
            self.journal.transferred(
                "sent", party.name, begin, size, captures, ended=is_whole, package=name, file=what
            )
            self.usage.add(party, size - whole)
            self.usage.save()

    async def _found(self, request: Request, party: Party) -> Package:
        name = request.path_params["name"]
        package = await asyncio.to_thread(self._shelf.find, name, self._clock.now())
        if package is None or not self._is_for(party, package.manifest):
            raise HTTPException(404, f"there is no package {name[:64]!r}; ask for a new one")
        return package

    def _of(self, party: Party) -> Iterator[Package]:
        for path in sorted(self._shelf.folder.iterdir()):
            try:
                package = self._shelf.find(path.name, self._clock.now())
            except Withdrawn:
                continue
            if package is not None and self._is_for(party, package.manifest):
                yield package

    def _is_for(self, party: Party, manifest: Manifest) -> bool:
        """Was it made for the party, on the terms that it has now?"""
        purposes = sorted(purpose.value for purpose in purposes_named(party.purposes))
        is_same = manifest.purposes == purposes and manifest.scope == party.hosts
        return is_same and self._shelf.is_for(manifest.package, party.name)

    async def problem(self, request: Request, error: Exception) -> Response:
        """One line of JSON for whatever went wrong; what broke inside stays inside."""
        status, said, headers = 500, "something broke in the service", None
        if isinstance(error, HTTPException):
            status, said, headers = error.status_code, error.detail, error.headers
        elif isinstance(error, Withdrawn):
            status, said = 410, "a capture in this package has been withheld; ask for a new one"
        else:
            log.error("%s failed", request.url.path, exc_info=error)
        if isinstance(error, Refused):
            party: Party | None = getattr(request.state, "party", None)
            address = request.client.host if request.client else "?"
            self.journal.refused(party.name if party else "?", address, status, said, request.url.path)
        return JSONResponse({"problem": said}, status, dict(headers or {}))


def _json(value: object) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")


def _asked_range(request: Request, size: int) -> tuple[int, int]:
    """The bytes wanted, the last one excluded; all of them where no range is given."""
    text = request.headers.get("range")
    if text is None:
        return 0, size
    asked = _RANGE.fullmatch(text.strip())
    if asked is None:
        raise HTTPException(
            400, f"Range: {text[:100]} is not understood; write bytes=FIRST- or bytes=FIRST-LAST"
        )
    start = int(asked[1])
    end = min(int(asked[2]) + 1, size) if asked[2] else size
    if start >= end:
        raise HTTPException(
            416,
            f"there are {size} bytes, none of them from {start} on",
            headers={"content-range": f"bytes */{size}"},
        )
    return start, end
