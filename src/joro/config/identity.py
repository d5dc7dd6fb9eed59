"""Who are we, and what of this machine may we use?

In:    nothing.
Out:   the sections `[identity]` and `[machine]`.
Never: reads a file.
"""

from __future__ import annotations

from dataclasses import dataclass

from joro.config.declare import Form, setting

#: RFC 9309 2.2.1: no other name can stand in a User-agent line, so nobody could address another one.
PRODUCT_TOKEN = Form("[A-Za-z_-]+", "letters, - and _ only")
#: It travels in a header line.
PRINTABLE = Form("[ -~]*", "printable ASCII")


@dataclass(frozen=True)
class Identity:
    """Who we say we are: every server owner must be able to find and stop us."""

    name: str = setting(
        "joro", "robot name, matched against the User-agent lines of robots.txt", form=PRODUCT_TOKEN
    )
    contact: str = setting(
        "", "address of a page or mailbox about this robot, sent in User-Agent", form=PRINTABLE
    )
    purpose: str = setting("", "what the collection is for, told on the portal's page about the robot")
    addresses: tuple[str, ...] = setting((), "addresses the robot comes from, told there, too")


@dataclass(frozen=True)
class Machine:
    """What of this machine may be used."""

    processes: int = setting(1, "robots on this machine, each with a share of the servers", least=1, most=256)
    disk_reserve_mb: int = setting(
        500,
        "robots stand still while less is free on the disk, and go on when there is room; 0 = off",
        least=0,
    )
    memory_limit_mb: int = setting(
        0,
        "a robot that takes more memory drops its caches and starts nothing until it is less; 0 = off",
        least=0,
    )
