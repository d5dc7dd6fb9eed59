"""Is this the operator, and did the operator's own page send this form?

In:    a password, a cookie, a form's token.
Out:   yes or no; new cookies and form tokens.
Never: keeps a password: a slow salted hash of it (scrypt) is all there is. Takes a form that another login's
       page, or another site, made: its token belongs to the cookie.

A login is nothing that is kept: the cookie says until when it lasts, and a key that the managers share signs
it. A new password is a new key, so it ends every login.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable

#: 16 MB and some 50 ms for each guess.
_COST, _BLOCK, _LANES = 1 << 14, 8, 1
#: A working day.
LASTS_S = 43_200
LEAST_CHARS = 12


def sealed(password: str) -> str:
    """What is kept of a password."""
    salt = secrets.token_bytes(16)
    return f"scrypt:{salt.hex()}:{_stretched(password, salt).hex()}"


def opens(password: str, seal: str) -> bool:
    """Is it the password that was sealed?"""
    kind, _, rest = seal.partition(":")
    salt, _, kept = rest.partition(":")
    if kind != "scrypt" or not kept:
        return False
    return hmac.compare_digest(_stretched(password, bytes.fromhex(salt)).hex(), kept)


def _stretched(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(errors="replace"), salt=salt, n=_COST, r=_BLOCK, p=_LANES)


class Logins:
    """Cookies and forms signed with one key."""

    def __init__(self, key: str, now: Callable[[], float]) -> None:
        self._key = key.encode()
        self._now = now

    def new(self) -> str:
        """A cookie."""
        words = f"{int(self._now()) + LASTS_S}.{secrets.token_urlsafe(16)}"
        return f"{words}.{self._signed('login', words)}"

    def is_valid(self, cookie: str) -> bool:
        """Is it one of ours, and not over?"""
        words, _, signature = cookie.rpartition(".")
        until = words.partition(".")[0]
        if not _same(signature, self._signed("login", words)) or not until.isdecimal():
            return False
        return float(until) > self._now()

    def form(self, cookie: str) -> str:
        """What a form on a page for that login carries."""
        return self._signed("form", cookie)

    def _signed(self, purpose: str, words: str) -> str:
        return hmac.new(self._key, f"{purpose}:{words}".encode(), hashlib.sha256).hexdigest()


def _same(one: str, other: str) -> bool:
    """Compared as bytes: letters beyond ASCII are no reason to fail."""
    return hmac.compare_digest(one.encode(errors="replace"), other.encode(errors="replace"))
