"""Who hears of it when a limit was overstepped?

In:    the first refusal of each quarantine.
Out:   a line of JSON on standard error, always; the operator's command and web hook, if there are any.
Never: holds up the proxy: deliveries wait in a short queue, and what does not fit stays a line in the log.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import shlex
import sys
import urllib.request
from contextlib import suppress
from typing import Any

from joro.breaker.limits import Refusal
from joro.clock import Clock
from joro.config import Breaker
from joro.errors import ConfigError
from joro.url import try_canonical

WAITING_ALERTS = 100
DELIVERY_S = 30.0


class Alerts:
    """Tells the operator; use inside a running loop."""

    def __init__(self, settings: Breaker, clock: Clock) -> None:
        self._clock = clock
        self._command = _words_of(settings.alert_command)
        self._url = _url_of(settings.alert_url)
        self._quarantine_s = settings.quarantine_s
        self._queue: asyncio.Queue[bytes] = asyncio.Queue(WAITING_ALERTS)
        self._courier: asyncio.Task[None] | None = None
        self.raised = 0

    def raise_alert(self, refusal: Refusal, server: str, address: str) -> None:
        """Say that `server` at `address` would have been asked too often."""
        self.raised += 1
        told = {
            "time": round(self._clock.now(), 3),
            "alert": refusal.why,
            "who": refusal.who,
            "limit": refusal.limit,
            "server": server,
            "address": address,
            "quarantine_s": 0.0 if refusal.who == "everyone" else self._quarantine_s,
        }
        self._log(told)
        if self._command or self._url:
            self._deliver(json.dumps(told, ensure_ascii=False).encode())

    def _deliver(self, message: bytes) -> None:
        if self._courier is None:
            self._courier = asyncio.get_running_loop().create_task(self._carry())
        try:
            self._queue.put_nowait(message)
        except asyncio.QueueFull:
            self._log({"failed": "alert", "why": f"more than {WAITING_ALERTS} alerts wait for delivery"})

    async def _carry(self) -> None:
        while True:
            message = await self._queue.get()
            for deliver in (self._run, self._post):
                try:
                    async with asyncio.timeout(DELIVERY_S):
                        await deliver(message)
                except (OSError, TimeoutError, ValueError, http.client.HTTPException) as error:
                    self._log({"failed": "alert", "why": f"{type(error).__name__}: {error}"})

    async def _run(self, message: bytes) -> None:
        if not self._command:
            return
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*self._command, stdin=pipe)
        try:
            await process.communicate(message + b"\n")
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()

    async def _post(self, message: bytes) -> None:
        if self._url:
            fields = {"Content-Type": "application/json"}
            request = urllib.request.Request(self._url, data=message, headers=fields)
            await asyncio.to_thread(lambda: urllib.request.urlopen(request, timeout=DELIVERY_S / 3).close())

    def _log(self, line: dict[str, Any]) -> None:
        print(json.dumps(line, ensure_ascii=False), file=sys.stderr, flush=True)

    async def close(self) -> None:
        """Deliver no more."""
        if self._courier is not None:
            self._courier.cancel()
            await asyncio.gather(self._courier, return_exceptions=True)


def _words_of(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise ConfigError(
            f"breaker.alert_command = {command!r} is not a command ({error})",
            remedy="close the quotes, as for a shell",
        ) from None


def _url_of(text: str) -> str:
    """The hook in a spelling that can be sent; found out now, not when the first alert is to be delivered."""
    url = try_canonical(text) if text else ""
    if url is None:
        raise ConfigError(
            f"breaker.alert_url = {text!r} is not a web address", remedy="write http://… or https://…"
        )
    return url
