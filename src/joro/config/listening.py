"""Where do our own programs listen, and what do they let pass?

In:    nothing.
Out:   the sections `[portal]` and `[breaker]`.
Never: reads a file.
"""

from __future__ import annotations

from dataclasses import dataclass

from joro.config.declare import YEAR_S, Form, setting

#: An empty one would be every address of the machine, without anybody having said so.
LISTENING = Form(r"[!-~]+", "an address, like 127.0.0.1, or 0.0.0.0 for everyone")


@dataclass(frozen=True)
class Portal:
    """Where people look at the collection."""

    address: str = setting("127.0.0.1", "address the portal listens on", form=LISTENING)
    port: int = setting(8765, "port the portal listens on", least=0, most=65_535)


@dataclass(frozen=True)
class Breaker:
    """Where `joro breaker` stops whoever asks too much; each limit well above what politeness ever needs."""

    address: str = setting("127.0.0.1", "address the breaker listens on", form=LISTENING)
    port: int = setting(8766, "port the breaker listens on", least=0, most=65_535)
    per_server_per_minute: int = setting(60, "requests to one server in any 60 seconds", least=1)
    per_address_per_minute: int = setting(120, "requests to one IP address in any 60 seconds", least=1)
    global_per_second: int = setting(5_000, "requests to anyone in any second", least=1)
    concurrent_per_server: int = setting(2, "requests in progress at one server", least=1)
    concurrent_per_address: int = setting(4, "requests in progress at one IP address", least=1)
    quarantine_s: float = setting(
        600.0, "whoever was asked too often is not asked at all for this time", least=0.0, most=YEAR_S
    )
    forbid_addresses: tuple[str, ...] = setting(
        (), "networks never connected to, whatever the robot's own guard says, e.g. 10.0.0.0/8"
    )
    alert_command: str = setting("", "command to run at an alert, with the alert as JSON on its input")
    alert_url: str = setting("", "where an alert is posted to as JSON")
