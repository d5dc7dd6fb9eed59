"""How much memory may the bodies under way take together?

In:    every piece of a body before it is kept, every transfer that ends.
Out:   go on, or wait until others are done.
Never: lets a stranger fill our memory: not one endless body, nor two hundred at once.

Half of the room is dealt out: each transfer has its share for sure, so small pages never wait for big ones.
For the other half big bodies compete. When that is full they pause (the server feels it as a slow reader),
all but one, which may go on up to the limit of a single body; when it is done the next one may.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Tenant(Protocol):
    """A transfer that keeps bytes in the room."""

    size: int

    def resume(self) -> None:
        """Go on reading."""


class Room:
    """The memory of all transfers of one client."""

    def __init__(self, limit_bytes: int, transfers: int, call_soon: Callable[[Callable[[], None]], object]):
        self.share = limit_bytes // (2 * transfers)
        self._common = limit_bytes // 2
        self._taken = 0  # of the common half
        self._first: Tenant | None = None  # who may go on although it is full
        self._paused: dict[Tenant, None] = {}
        self._call_soon = call_soon

    def admits(self, tenant: Tenant, size: int) -> bool:
        """May `tenant` keep `size` bytes more? If not it will be resumed."""
        beyond = tenant.size + size - self.share
        if beyond <= 0:
            return True
        beyond = min(beyond, size)
        if self._taken + beyond > self._common:
            if self._first is None:
                self._first = tenant
            if self._first is not tenant:
                self._paused[tenant] = None
                return False
        self._taken += beyond
        return True

    def leave(self, tenant: Tenant) -> None:
        """What `tenant` kept is no longer under way."""
        self._paused.pop(tenant, None)
        if tenant.size <= self.share and self._first is not tenant:
            return
        self._taken -= max(0, tenant.size - self.share)
        if self._first is tenant:
            self._first = None
        waiting, self._paused = self._paused, {}
        for each in waiting:
            self._call_soon(each.resume)
