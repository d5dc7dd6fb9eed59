"""Who says that a host is theirs, and have they shown it?

In:    claims, opened by anybody; what came of looking for the proof.
Out:   the claim behind a secret address; those to be looked at now.
Never: believes a claim by itself; keeps the secret, only its digest; lets strangers fill the disk, or have us
       ask a host more than a few times.

A claim is proved by a token that only the host's owner can publish. Whoever has the secret address of a
proved claim may give orders about the host. The file is appended to; the last line about a claim counts.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable
from pathlib import Path

import msgspec

from joro.errors import UsageError
from joro.model import DAY_S
from joro.store.durable import appending

FILE_NAME = "claims.jsonl"
#: Claims waiting for their proof, of all hosts and of one; more are refused.
MOST_PENDING, MOST_OF_HOST = 1_000, 5
#: Not proved within this time, a claim lapses; a proof is believed so long.
PENDING_S, PROVED_S = 7 * DAY_S, 30 * DAY_S
#: Seconds until the proof is looked for again, after each look: ten looks in a week.
WAITS_S = (60.0, 120.0, 300.0, 900.0, 3_600.0, 14_400.0, 43_200.0, 86_400.0, 172_800.0)
CONTACT_LIMIT_CHARS = 200


class Claim(msgspec.Struct, frozen=True):
    """Somebody says that a host is theirs."""

    id: str  # digest of the secret
    host: str
    token: str  # to be published by the owner
    contact: str
    opened: float
    look_at: float  # when the proof is to be looked for
    looks: int = 0
    proved: float = 0.0  # when; 0: not yet
    proof: str = ""  # where it was found, or why not

    def is_proved(self, now: float) -> bool:
        return 0.0 < self.proved <= now < self.proved + PROVED_S

    def is_pending(self, now: float) -> bool:
        return not self.proved and now < self.opened + PENDING_S and self.looks <= len(WAITS_S)


class ClaimBook:
    """The claims of a collection."""

    def __init__(self, directory: Path, now: Callable[[], float]) -> None:
        self._path = directory / FILE_NAME
        self._now = now

    def open(self, host: str, contact: str) -> tuple[Claim, str]:
        """A new claim, and the secret that leads to it."""
        now, secret = self._now(), secrets.token_urlsafe(24)
        pending = [claim for claim in self._all().values() if claim.is_pending(now)]
        if len(pending) >= MOST_PENDING or sum(c.host == host for c in pending) >= MOST_OF_HOST:
            raise UsageError(
                f"too many claims of {host} wait for their proof", remedy="go on with one of them, or wait"
            )
        token = f"joro-{secrets.token_hex(16)}"
        claim = Claim(_digest(secret), host, token, contact[:CONTACT_LIMIT_CHARS], now, now)
        self._append(claim)
        return claim, secret

    def behind(self, secret: str) -> Claim | None:
        """The claim that a secret leads to."""
        return self._all().get(_digest(secret))

    def all(self) -> list[Claim]:
        """Every claim, oldest first."""
        return list(self._all().values())

    def due(self) -> list[Claim]:
        """Claims whose proof is to be looked for now."""
        now = self._now()
        return [claim for claim in self._all().values() if claim.is_pending(now) and claim.look_at <= now]

    def looked(self, claim: Claim, proof: str, why_not: str) -> Claim:
        """Note what came of looking; `proof` says where it was found, "" that it was not."""
        now = self._now()
        wait_s = WAITS_S[min(claim.looks, len(WAITS_S) - 1)]
        claim = msgspec.structs.replace(
            claim,
            looks=claim.looks + 1,
            look_at=now + wait_s,
            proved=now if proof else 0.0,
            proof=proof or why_not,
        )
        self._append(claim)
        return claim

    def _all(self) -> dict[str, Claim]:
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return {}
        lines = content[: content.rfind(b"\n") + 1].splitlines()
        claims = (msgspec.json.decode(line, type=Claim) for line in lines)
        return {claim.id: claim for claim in claims}

    def _append(self, claim: Claim) -> None:
        with appending(self._path, 0o600) as file:
            os.write(file, msgspec.json.encode(claim) + b"\n")


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
