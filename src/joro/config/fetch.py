"""How is a request made, and where must it stop?

In:    nothing.
Out:   the section `[fetch]`.
Never: reads a file.
"""

from __future__ import annotations

from dataclasses import dataclass

from joro.config.declare import DAY_S, setting


@dataclass(frozen=True)
class Fetch:
    """How a request is made, and where it must stop."""

    sockets: int = setting(200, "connections open at the same time", least=1, most=100_000)
    timeout_s: float = setting(60.0, "longest time for one visit", least=0.1, most=DAY_S)
    connect_timeout_s: float = setting(15.0, "longest time until a connection stands", least=0.1, most=DAY_S)
    body_limit_bytes: int = setting(16_000_000, "a longer body is cut and marked truncated", least=1_000)
    head_limit_bytes: int = setting(64_000, "longer response headers end the visit", least=1_000)
    memory_limit_bytes: int = setting(
        24_000_000, "bodies under way may take so much memory together; big ones wait for room", least=1_000
    )
    stall_s: float = setting(
        30.0, "a server that sends less than stall_bytes_per_s for so long is left", least=1.0, most=DAY_S
    )
    stall_bytes_per_s: int = setting(100, "see stall_s", least=1, most=1_000_000_000)
    keep_alive_s: float = setting(60.0, "a connection idle for longer is closed", least=1.0, most=DAY_S)
    http2: bool = setting(True, "use HTTP/2 with https servers that offer it")
    verify_tls: bool = setting(
        False,
        "refuse servers whose certificate is not valid; without, each is collected and its certificate kept",
    )
    ca_file: str = setting("", "PEM file of the authorities to trust; none = the system's")
    proxy: str = setting(
        "",
        "send every request through socks5://host:port; socks5h://, http://, https:// need proxy_resolves",
    )
    proxy_resolves: bool = setting(
        False, "agree that the proxy looks names up, and that private addresses are its business to refuse"
    )
    bind_address: str = setting("", "address or interface of this machine to connect from; none = any")
    nameservers: tuple[str, ...] = setting(
        (), 'DNS servers as "address" or "address:port"; none = the system\'s'
    )
    hosts: dict[str, str] = setting({}, 'fixed addresses: name or "*.suffix" = address')
    ports: dict[str, int] = setting({}, 'connect elsewhere: port in the URL = port to use, e.g. "80" = 8080')
    allow_addresses: tuple[str, ...] = setting(
        (), "private or special networks that may be visited all the same, e.g. 127.0.0.0/8"
    )
    breaker: str = setting("", 'host:port of a breaker every request goes through; "" = none')
