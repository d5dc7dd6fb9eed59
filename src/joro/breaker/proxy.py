"""How does the breaker come up, tell how it is, and go down?

In:    the `[breaker]` section of the settings.
Out:   a proxy on an address and port; `/` says in JSON, `/metrics` in lines, what it let pass and refused.
Never: leaves a connection behind; writes to disk: a breaker that was killed starts with a clean slate.
"""

from __future__ import annotations

import asyncio
import errno
import json
import resource
from contextlib import suppress
from itertools import chain, islice
from typing import Any

from joro.breaker.alert import Alerts
from joro.breaker.back import Backroom
from joro.breaker.front import SILENCE_S, Front, Hub
from joro.breaker.limits import Limiter
from joro.breaker.request import page
from joro.clock import Clock
from joro.config import Breaker as Settings
from joro.errors import PortInUse, UsageError

TIDY_EVERY_S = 5.0
#: How long requests under way may go on after `stop`.
GRACE_S = 3.0
#: Servers and addresses in quarantine that the status page lists.
LISTED = 1_000


class Breaker:
    """The access-limiting proxy: `start`, then `stop`."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._started_at = clock.now()
        self.limiter = Limiter(settings, clock)
        self.port = 0

    async def start(self) -> None:
        """Listen; the port is known afterwards."""
        _allow_many_files()
        settings = self._settings
        self._alerts = Alerts(settings, self._clock)
        self._hub = Hub(
            limiter=self.limiter,
            backroom=Backroom(settings.forbid_addresses),
            alert=self._alerts.raise_alert,
            page=self._page,
        )
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                lambda: Front(self._hub), settings.address, settings.port, backlog=4_096
            )
        except (OSError, UnicodeError) as error:  # what no name of a machine can be has no spelling in DNS
            raise _complaint(settings, error) from None
        self.port = self._server.sockets[0].getsockname()[1]
        self._tidying = loop.create_task(self._tidy())

    async def stop(self) -> None:
        """Let nobody in, let what is under way end for a moment, then end everything."""
        self._server.close()
        self._tidying.cancel()
        hub = self._hub
        gone = hub.gone = asyncio.Event()
        for front in [each for each in hub.fronts if each.is_idle]:
            front.abort()
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE_S):
                while hub.fronts:
                    gone.clear()
                    await gone.wait()
        for work in list(hub.under_way):
            work.cancel()
        await asyncio.gather(self._tidying, *hub.under_way, self._alerts.close(), return_exceptions=True)
        for front in list(hub.fronts):
            front.abort()
        for back in list(hub.backroom.open):
            back.abort()
        await asyncio.sleep(0)

    async def _tidy(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(TIDY_EVERY_S)
            self._hub.backroom.tidy()
            oldest = loop.time() - SILENCE_S
            for front in [each for each in self._hub.fronts if each.heard_at < oldest]:
                front.abort()

    def status(self) -> dict[str, Any]:
        """What happened since the start, and who is in quarantine."""
        now = self._clock.now()
        limiter = self.limiter
        quarantined = chain(limiter.servers.quarantined(now), limiter.addresses.quarantined(now))
        return {
            "up_s": round(now - self._started_at, 3),
            "granted": limiter.granted,
            "refused": sum(limiter.refused.values()),
            "refused_by_reason": dict(limiter.refused),
            "alerts": self._alerts.raised,
            "clients": len(self._hub.fronts),
            "connections": len(self._hub.backroom.open),
            "servers": len(limiter.servers.accounts),
            "addresses": len(limiter.addresses.accounts),
            "quarantined": [
                {"who": who, "why": why, "for_s": round(until - now, 3)}
                for who, why, until in islice(quarantined, LISTED)
            ],
        }

    def _page(self, path: str) -> bytes | None:
        if path == "/":
            return page("application/json", json.dumps(self.status(), ensure_ascii=False).encode())
        if path == "/metrics":
            numbers = {key: value for key, value in self.status().items() if isinstance(value, int | float)}
            lines = [f"joro_breaker_{key} {value}\n" for key, value in numbers.items()]
            return page("text/plain; version=0.0.4", "".join(lines).encode())
        return None


def _allow_many_files() -> None:
    """Two sockets a request: use all the system lets us have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _complaint(settings: Settings, error: OSError | UnicodeError) -> PortInUse | UsageError:
    where = f"{settings.address}:{settings.port}"
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.EADDRINUSE:
        return PortInUse(f"{where} is in use", remedy="stop what serves there, or choose another --port")
    if number == errno.EACCES:
        return PortInUse(
            f"port {settings.port} is reserved for root", remedy="choose a --port of 1024 or more"
        )
    return UsageError(
        f"{settings.address!r} is not an address of this machine",
        remedy="use 127.0.0.1, or 0.0.0.0 for everyone",
    )
