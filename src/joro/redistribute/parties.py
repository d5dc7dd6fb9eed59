"""Who is registered, for what, and how much may each have?

In:    the file of parties, and the token somebody shows.
Out:   the party it belongs to, or none; new tokens, shown once.
Never: keeps a token: only its SHA-256, from which 256 random bits cannot be found again. Misses a change: the
       file is looked at on every request, so a party that is removed is refused from that moment on.
Paper: S1, 5.4.1: data goes to registered systems only.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from joro.errors import CollectionError, UsageError
from joro.store.durable import write_whole

FILE_NAME = "parties.json"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Party(msgspec.Struct, frozen=True, omit_defaults=True):
    """Somebody who may ask."""

    name: str
    token_sha256: str
    added: float
    purposes: tuple[str, ...] = ()  # what it will do with captures, beside keeping them
    hosts: str = ""  # regular expression of the hosts it may have; all, if empty
    bytes_per_day: int = 0  # 0: no limit; days are UTC
    requests_per_day: int = 0
    may_push: bool = False
    contact: str = ""


class PartyBook:
    """The parties of a collection as they stand at this moment."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / FILE_NAME
        self._seen: tuple[int, int, int] | None = None
        self._by_token: dict[str, Party] = {}

    def all(self) -> list[Party]:
        return sorted(self._latest().values(), key=lambda party: party.name)

    def of_token(self, token: str) -> Party | None:
        """Whose token that is."""
        return self._latest().get(fingerprint_of(token))

    def add(self, party: Party) -> str:
        """Register a party, or give a registered one other terms and a new token; the token."""
        if not _NAME.fullmatch(party.name):
            raise UsageError(
                f"{party.name!r} is no name for a party", remedy="use letters, digits, dots and hyphens"
            )
        token = secrets.token_urlsafe(32)
        party = msgspec.structs.replace(party, token_sha256=fingerprint_of(token))
        with self._changing() as parties:
            parties[party.name] = party
        return token

    def remove(self, name: str) -> None:
        with self._changing() as parties:
            if parties.pop(name, None) is None:
                raise UsageError(f"no party is called {name!r}", remedy="see: joro redistribute party list")

    def _latest(self) -> dict[str, Party]:
        try:
            status = os.stat(self.path)
        except FileNotFoundError:
            return {}
        stamp = status.st_ino, status.st_mtime_ns, status.st_size
        if stamp != self._seen:
            self._by_token = {party.token_sha256: party for party in self._read()}
            self._seen = stamp
        return self._by_token

    def _read(self) -> list[Party]:
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=list[Party])
        except FileNotFoundError:
            return []
        except msgspec.DecodeError as error:
            raise CollectionError(
                f"{self.path} cannot be read ({error})",
                remedy="restore it from a copy: nobody is served while it is unclear who is registered",
            ) from None

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Party]]:
        lock = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            parties = {party.name: party for party in self._read()}
            yield parties
            write_whole(self.path, msgspec.json.encode(list(parties.values())), 0o600)
        finally:
            os.close(lock)


def fingerprint_of(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()
