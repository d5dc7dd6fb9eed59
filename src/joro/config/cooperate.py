"""How do robots and managers work together over machines?

In:    nothing.
Out:   the sections `[cooperate]` (of a robot) and `[manager]`.
Never: reads a file.
"""

from __future__ import annotations

from dataclasses import dataclass

from joro.config.declare import YEAR_S, Form, setting
from joro.config.listening import LISTENING

_TIME = Form(r"([01]?[0-9]|2[0-3]):[0-5][0-9]", "a time of day like 09:00")
_RULE = Form(r"plan|equalise|random|hash", "plan, equalise, random or hash")


@dataclass(frozen=True)
class Cooperate:
    """What a robot needs to work for a manager."""

    managers: tuple[str, ...] = setting((), "addresses of the managers, e.g. https://one.example:8768")
    name: str = setting("", "name of this robot at its managers; empty: the name of this machine")
    token: str = setting("", "what it proves itself with: joro manager robot add NAME")
    token_file: str = setting("", "a file that holds the token, instead")
    ca: str = setting("", "PEM file of the authority that signed the managers' certificates")
    plain: bool = setting(False, "let the token travel over http:// on a network of our own")
    exchange: str = setting(
        "", "nats:// address of a JetStream server, to send links straight to robots in one data centre"
    )
    log_at: str = setting(
        "09:00", "local time at which a day's transfer log goes to the manager (S1, M3)", form=_TIME
    )
    keep_logs_days: int = setting(7, "how long transfer logs are kept here after they were sent", least=0)


@dataclass(frozen=True)
class Manager:
    """What a manager promises robots, and how it shares servers out."""

    address: str = setting("127.0.0.1", "address the manager listens on", form=LISTENING)
    port: int = setting(8768, "port the manager listens on", least=0, most=65_535)
    certificate: str = setting("", "PEM file to speak https with, together with its key")
    key: str = setting("", "PEM file of the certificate's key")
    database: str = setting("", "postgresql://… for a pair of managers; empty: control.db in the collection")
    lease_s: float = setting(
        60.0, "how long a robot may go on without hearing from a manager", least=1.0, most=YEAR_S
    )
    beat_s: float = setting(
        2.0, "seconds between two calls of a robot; less than lease_s", least=0.1, most=YEAR_S
    )
    grace_s: float = setting(
        10.0,
        "how long after its lease a silent robot is left its servers, for clocks that drift",
        least=0.5,
        most=YEAR_S,
    )
    skew_s: float = setting(30.0, "a robot whose clock differs by more is refused", least=1.0, most=YEAR_S)
    rule: str = setting("plan", "how servers are shared out: plan, equalise, random or hash", form=_RULE)
    plan_every_s: float = setting(
        600.0, "seconds between two looks whether servers should move", least=1.0, most=YEAR_S
    )
    most_moves_percent: float = setting(
        10.0, "servers that may move at one such look, of all", least=0.0, most=100.0
    )
    probe_pages: int = setting(
        0, "pages of a new server that each robot collects in turn to learn its distance; 0: none", least=0
    )
    split_above_mb: float = setting(
        0.0, "larger servers are split by directory; 0: none are", least=0.0, most=1e12
    )
    classic: bool = setting(
        False, "let robots that know only S1's messages subscribe and work without a token or a lease"
    )
    silent_after_s: float = setting(
        10_800.0,
        "such a robot is down that has not asked for so long; S1's asks every hour",
        least=1.0,
        most=YEAR_S,
    )
