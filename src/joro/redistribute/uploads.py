"""How does a robot behind a firewall bring what it holds?

In:    a manifest, then the bytes it speaks of, in as many pieces as the line allows.
Out:   a package in our archive, once every digest is right.
Never: takes anything from a party that may not push; gives a file its name before it is whole; takes a
       package in twice because an answer was lost.
Paper: S1, 5.4.1: a collection client behind a proxy reads its schedule and transfers by itself.

    POST /uploads                the manifest: how much of it has arrived
    GET  /uploads/NAME           the same
    PUT  /uploads/NAME/index     its index, from a byte on: `Content-Range: bytes 0-99/100`
    PUT  /uploads/NAME/warc      its WARC
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from joro.clock import Clock
from joro.errors import JoroError
from joro.model import DAY_S
from joro.redistribute.download import Part
from joro.redistribute.journal import Journal, Usage
from joro.redistribute.package import INDEX, NO_LIMITS, PART_BYTES, WARC_NAME, Manifest
from joro.redistribute.parties import Party
from joro.redistribute.receive import begin, done, incoming, is_placed, take_in, unfinished
from joro.redistribute.refusal import Refused, too_much
from joro.store.collection import Collection

_MANIFEST_LIMIT_BYTES = 4_000_000
_INDEX_LIMIT_BYTES = 400_000_000
_NAME = re.compile("[0-9a-f]{32}")
_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})")
#: What has not arrived by then is thrown away, and begins anew.
PATIENCE_S = 7 * DAY_S
#: So long a request that brings bytes may go on when somebody asks how far it got.
SETTLE_S, _LOOK_S = 30.0, 0.05
#: Bytes held before they are written.
_HELD_BYTES = 1 << 20
FILES = {"index": INDEX, "warc": WARC_NAME}


class State(msgspec.Struct, frozen=True):
    """How much of a package has arrived."""

    index: int
    warc: int
    done: bool


class Uploads:
    """Receives packages from those who may push."""

    def __init__(self, collection: Collection, clock: Clock, journal: Journal, usage: Usage) -> None:
        self._collection = collection
        self._clock = clock
        self._journal = journal
        self._usage = usage
        self._busy: set[str] = set()
        self._taking = asyncio.Lock()

    async def begin(self, request: Request, party: Party) -> Response:
        """Somebody has a package for us."""
        self._may_push(party)
        content = bytearray()
        async for piece in request.stream():
            content += piece
            if len(content) > _MANIFEST_LIMIT_BYTES:
                raise HTTPException(413, "this is no manifest: it is too long")
        try:
            manifest = msgspec.json.decode(content, type=Manifest)
            problem = _problem(manifest)
        except msgspec.DecodeError as error:
            problem = str(error)
        if problem:
            raise HTTPException(400, f"this is no manifest: {problem}")
        if manifest.package in self._done(party):
            return _json(State(manifest.index_bytes, manifest.bytes, True))
        await asyncio.to_thread(self._tidy, party)
        folder = begin(self._collection, party.name, manifest)
        if not self._is_busy(manifest.package):
            await self._settle(party, folder, manifest)  # we may have been killed when all had arrived
        return _json(self._state(party, manifest.package))

    async def state(self, request: Request, party: Party) -> Response:
        """How much has arrived, once a request that was cut off is seen to have ended."""
        self._may_push(party)
        name = request.path_params["name"]
        for _ in range(round(SETTLE_S / _LOOK_S)):
            if not self._is_busy(name):
                break
            await asyncio.sleep(_LOOK_S)
        return _json(self._state(party, name))

    async def bring(self, request: Request, party: Party) -> Response:
        """Bytes of a package, from where the last ones ended."""
        self._may_push(party)
        name, file = request.path_params["name"], request.path_params["file"]
        if file not in FILES:
            raise HTTPException(404, f"a package has a warc and an index, no {file[:20]!r}")
        folder, manifest = self._folder(party, name)
        size = manifest.index_bytes if file == "index" else manifest.bytes
        draft = folder / f"{FILES[file]}.part"
        if str(draft) in self._busy:
            raise HTTPException(409, "these bytes are being brought by another request")
        self._busy.add(str(draft))
        try:
            have = _size(folder, file)
            _fits(request, have, size)
            start, arrived = self._clock.now(), 0
            self._reserve(party, size - have)
            try:
                arrived = await self._write(request, draft, size)
            finally:
                self._usage.add(party, arrived - (size - have))
                self._usage.save()
            ended = _size(folder, file) == size
            self._journal.transferred(
                "brought", party.name, start, arrived, manifest.captures, ended=ended, package=name, file=file
            )
            await self._settle(party, folder, manifest)
        finally:
            self._busy.discard(str(draft))
        return _json(self._state(party, name))

    def _is_busy(self, name: str) -> bool:
        return any(Path(path).parent.name == name for path in self._busy)

    async def _settle(self, party: Party, folder: Path, manifest: Manifest) -> None:
        """Verify what has arrived in full, and take the package in if that is all of it."""
        async with self._taking:
            for file in FILES:
                await asyncio.to_thread(_verify, folder, manifest, file)
            if all((folder / name).exists() for name in FILES.values()):
                await asyncio.to_thread(self._take_in, party, folder, manifest)

    async def _write(self, request: Request, draft: Path, size: int) -> int:
        """What comes, until it ends or is cut off; how much that was."""
        file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        arrived, room, held = 0, size - os.fstat(file).st_size, bytearray()
        try:
            async for piece in request.stream():
                held += piece
                arrived += len(piece)
                if arrived > room:
                    raise HTTPException(400, f"more than {size:,} bytes come")
                if len(held) >= _HELD_BYTES:
                    await asyncio.to_thread(_write_all, file, bytes(held))
                    held.clear()
        except ClientDisconnect:
            pass  # what came is kept
        finally:
            _write_all(file, bytes(held[: max(0, room)]))
            os.close(file)
        return arrived

    def _take_in(self, party: Party, folder: Path, manifest: Manifest) -> None:
        take_in(self._collection, party.name, folder, self._clock, fresh=bool(manifest.selection.after))
        with self._done_path(party).open("a") as file:
            file.write(manifest.package + "\n")
        done(folder)

    def _state(self, party: Party, name: str) -> State:
        if name in self._done(party):
            return State(0, 0, True)
        folder, _ = self._folder(party, name)
        return State(_size(folder, "index"), _size(folder, "warc"), False)

    def _folder(self, party: Party, name: str) -> tuple[Path, Manifest]:
        for folder, manifest in unfinished(self._collection, party.name):
            if folder.name == name:
                return folder, manifest
        raise HTTPException(404, f"no package {name[:64]!r} is on its way; send its manifest first")

    def _may_push(self, party: Party) -> None:
        if not party.may_push:
            raise Refused(403, f"{party.name} may fetch, but not bring anything")

    def _reserve(self, party: Party, size: int) -> None:
        """Count bytes before they come: a party may bring several packages at a time."""
        left = self._usage.left_bytes(party)
        if left is not None and size > left:
            raise too_much(self._usage, f"{party.name} may bring {left:,} more bytes today")
        self._usage.add(party, size)

    def _done_path(self, party: Party) -> Path:
        folder = self._collection.part("redistribution") / "sources"
        folder.mkdir(exist_ok=True)
        return folder / f"{party.name}.done"

    def _done(self, party: Party) -> list[str]:
        path = self._done_path(party)
        return path.read_text().split() if path.exists() else []

    def _tidy(self, party: Party) -> None:
        for folder in incoming(self._collection, party.name).iterdir():
            if is_placed(folder):
                for _, manifest in unfinished(self._collection, party.name):
                    if manifest.package == folder.name:
                        self._take_in(party, folder, manifest)
            elif folder.stat().st_mtime < self._clock.now() - PATIENCE_S:
                done(folder)


def _problem(manifest: Manifest) -> str:
    if not _NAME.fullmatch(manifest.package):
        return f"package = {manifest.package[:64]!r} is no name"
    if manifest.part_bytes != PART_BYTES:
        return f"parts have {PART_BYTES:,} bytes"
    if not 0 < manifest.bytes <= 2 * NO_LIMITS.bytes or not 0 < manifest.index_bytes <= _INDEX_LIMIT_BYTES:
        return f"a package has up to {2 * NO_LIMITS.bytes:,} bytes"
    if len(manifest.parts) != -(-manifest.bytes // PART_BYTES):
        return f"{manifest.bytes:,} bytes are not {len(manifest.parts)} parts"
    return ""


def _fits(request: Request, have: int, size: int) -> None:
    asked = _RANGE.fullmatch(request.headers.get("content-range", "").strip())
    if asked is None:
        raise HTTPException(400, f"no Content-Range; write bytes {have}-{size - 1}/{size}")
    if int(asked[1]) != have or int(asked[3]) != size or int(asked[2]) >= size:
        raise HTTPException(409, f"{have:,} of {size:,} bytes are here; go on from there")


def _size(folder: Path, file: str) -> int:
    for name in (FILES[file], f"{FILES[file]}.part"):
        try:
            return (folder / name).stat().st_size
        except FileNotFoundError:
            continue
    return 0


def _verify(folder: Path, manifest: Manifest, file: str) -> None:
    """Give a file that is long enough its name; if a digest is wrong, cut it behind the last right part."""
    if file == "index":
        part = Part(folder / INDEX, manifest.index_bytes, [manifest.index_sha256], manifest.index_bytes)
        size = manifest.index_bytes
    else:
        part = Part(folder / WARC_NAME, manifest.bytes, manifest.parts, manifest.part_bytes)
        size = manifest.bytes
    if not part.draft.exists() or part.draft.stat().st_size < size:
        return
    try:
        part.fetch(_nothing)
    except JoroError:
        return  # the answer says how much is left
    if file == "warc" and part.sha256 != manifest.sha256:
        part.path.unlink()
        raise HTTPException(400, "the manifest contradicts itself: its parts are right, the whole is not")


def _nothing(start: int) -> Iterator[bytes]:
    return iter(())


def _write_all(file: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(file, view) :]


def _json(value: object) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")
