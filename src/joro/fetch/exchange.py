"""What is asked of a transfer, and what does it give back?

In:    nothing: these are the words `http` and `lean` share.
Out:   `Limits` for a transfer, `Exchange` for its end.
Never: does anything.
"""

from __future__ import annotations

from msgspec import Struct

from joro.model import Outcome, Response


class Exchange(Struct):
    """One request and what came of it."""

    outcome: Outcome | None  # None: there is a response, judge by its status
    request: bytes
    response: Response | None = None
    detail: str = ""
    connected: bool = True  # False: no server was reached, another address may do better
    kept_alive: bool = False
    certificate: str = ""
    held_off_s: float = 0.0  # nothing left the breaker or proxy; do not try again for so long
    hung_up: bool = False  # nobody was asked: the connection it was to go over is gone


class Limits(Struct, frozen=True):
    """Where a transfer must stop."""

    timeout_s: float
    connect_timeout_s: float
    body_bytes: int
    head_bytes: int
    stall_s: float = 0.0  # 0: none but `timeout_s`
    stall_bytes_per_s: int = 1
    memory_bytes: int = 24_000_000  # of all bodies under way
    rules_bytes: int = 0  # of a robots.txt, where that is more than `body_bytes`
