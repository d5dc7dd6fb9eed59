"""May this visitor see the control pages, and order something there?

In:    a request, and the operator's password in the control store (as a hash).
Out:   a visitor with a login, or a refusal.
Never: lets anyone in from another machine while there is no password; takes an order from a page that is not
       ours.

Without a password only this machine is let in, and only by a name of this machine: a page of somebody else's
that makes its own name point here shows that name.
"""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from joro.errors import UsageError
from joro.manager.login import LASTS_S, LEAST_CHARS, Logins, opens, sealed
from joro.manager.refusal import Refused
from joro.manager.tokens import bearer_of
from joro.serving.body import body_of
from joro.store.control import Control, Transaction

PASSWORD, KEY = "operator_password", "operator_key"  # notes in the control store
COOKIE = "joro_manager"
LOGIN, LOGOUT = "/login", "/logout"
#: No honest form is longer; seeds come in forms too.
FORM_LIMIT_BYTES = 4_000_000


@dataclass(frozen=True)
class Visitor:
    """The operator, with the cookie of this login."""

    cookie: str
    form: str  # what the forms of its pages carry
    is_new: bool = False
    has_password: bool = False

    def sees(self, page: Response, *, secure: bool) -> Response:
        """The page, and the cookie where it is not there yet."""
        if self.is_new:
            page.set_cookie(
                COOKIE, self.cookie, max_age=LASTS_S, httponly=True, samesite="strict", secure=secure
            )
        return page


class Operator:
    """Who may order."""

    def __init__(self, control: Control, now: Callable[[], float]) -> None:
        self._control = control
        self._now = now
        self._own_key = secrets.token_hex(32)  # as long as there is no password
        self._guessing = asyncio.Lock()  # guesses are slow on purpose; they may cost one core, not all

    async def visitor(self, request: Request) -> Visitor:
        """Whoever may see the pages; others are refused."""
        seal, logins = await asyncio.to_thread(self._kept)
        cookie = request.cookies.get(COOKIE, "")
        is_known = logins.is_valid(cookie)
        if seal:
            if not is_known:
                raise Refused(401, "log in at /login first", headers={"www-authenticate": "Bearer"})
            return Visitor(cookie, logins.form(cookie), has_password=True)
        _must_be_near(request)
        cookie = cookie if is_known else logins.new()
        return Visitor(cookie, logins.form(cookie), is_new=not is_known)

    async def ordered(self, request: Request) -> dict[str, list[str]]:
        """The fields of a form that the operator sent from one of our pages."""
        visitor = await self.visitor(request)
        fields = await _fields(request)
        if visitor.is_new or not secrets.compare_digest(
            _first(fields, "form").encode(), visitor.form.encode()
        ):
            raise Refused(403, "this form is not from a page of this login; load the page again")
        return fields

    async def prove(self, request: Request) -> None:
        """Let a program in that shows the operator's password ("Authorization: Bearer PASSWORD")."""
        seal, _ = await asyncio.to_thread(self._kept)
        if not await self._is_right(bearer_of(request), seal):
            raise Refused(403, "this is not the operator's password")

    async def log_in(self, request: Request) -> Response:
        """Take the password of the login page."""
        fields = await _fields(request)
        seal, logins = await asyncio.to_thread(self._kept)
        if not await self._is_right(_first(fields, "password"), seal):
            raise Refused(403, "this is not the operator's password")
        visitor = Visitor(logins.new(), "", is_new=True)
        answer = RedirectResponse("/servlets/listrobot", 303)
        return visitor.sees(answer, secure=request.url.scheme == "https")

    async def log_out(self, request: Request) -> Response:
        await self.ordered(request)
        answer = RedirectResponse("/servlets/listrobot", 303)
        answer.delete_cookie(COOKIE)
        return answer

    async def _is_right(self, password: str, seal: str) -> bool:
        async with self._guessing:
            return bool(seal) and await asyncio.to_thread(opens, password, seal)

    def _kept(self) -> tuple[str, Logins]:
        with self._control.reading() as transaction:
            notes: dict[str, str] = dict(
                transaction.rows("SELECT name, value FROM notes WHERE name = ANY(?)", [PASSWORD, KEY])
            )
        seal = notes.get(PASSWORD, "")
        return seal, Logins(notes[KEY] if seal else self._own_key, self._now)


def set_password(control: Control, password: str) -> None:
    """Let the operator in by this password from now on; all logins so far end. Empty: none any more."""
    if password and len(password) < LEAST_CHARS:
        raise UsageError(
            f"the password has {len(password)} characters", remedy=f"take at least {LEAST_CHARS}"
        )
    with control.transaction() as transaction:
        transaction.run("DELETE FROM notes WHERE name = ANY(?)", [PASSWORD, KEY])
        if password:
            _note(transaction, PASSWORD, sealed(password))
            _note(transaction, KEY, secrets.token_hex(32))


def _note(transaction: Transaction, name: str, value: str) -> None:
    transaction.run("INSERT INTO notes (name, value) VALUES (?, ?)", name, value)


def _must_be_near(request: Request) -> None:
    """From this machine, and by a name of it."""
    address = request.client.host if request.client else ""
    if not (_is_loopback(address) and _is_loopback(request.url.hostname or "")):
        raise Refused(
            403, "there is no password yet, so only this machine is let in; see: joro manager password"
        )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


async def _fields(request: Request) -> dict[str, list[str]]:
    body = await body_of(request, FORM_LIMIT_BYTES)
    try:
        return parse_qs(body.decode("utf-8"), keep_blank_values=True, max_num_fields=10_000)
    except ValueError:
        raise Refused(400, "this is no form") from None


def _first(fields: dict[str, list[str]], name: str) -> str:
    return fields.get(name, [""])[0]
