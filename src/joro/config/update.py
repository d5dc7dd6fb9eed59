"""Where do newer releases come from, and when are they looked for?

In:    nothing.
Out:   the section `[update]`.
Never: reads a file.
"""

from __future__ import annotations

from dataclasses import dataclass

from joro.config.declare import YEAR_S, Form, setting

_TIME = Form(r"([01][0-9]|2[0-3]):[0-5][0-9]", "a time of day like 04:00")
_URL = Form(r"(https?://\S+)?", "an http:// or https:// URL")
_PROXY = Form(r"(https?://)?[^\s/]*/?", "a proxy like proxy.example:3128")


@dataclass(frozen=True)
class Update:
    """What `joro update` needs to replace a robot by a newer one (S1, 5.3)."""

    source: str = setting(
        "", "URL of the channel of releases, e.g. https://manager.example:8768/releases/stable", form=_URL
    )
    public_keys: tuple[str, ...] = setting((), "who may sign releases: what joro release key said")
    id: str = setting("", "name to show at the source; empty: what password_file holds is a token")
    password_file: str = setting(
        "", "a file with the password or token; empty, and a manager of ours: the token of [cooperate]"
    )
    proxy: str = setting(
        "", "proxy to go through, e.g. proxy.example:3128; empty: as http_proxy says", form=_PROXY
    )
    ca: str = setting("", "PEM file of the authority that signed the source's certificate")
    plain: bool = setting(False, "let the password travel over http:// on a network of our own")
    check_at: str = setting("04:00", "local time of the daily look for a newer release", form=_TIME)
    probation_s: float = setting(
        120.0, "a new release that fails within so many seconds is rolled back", least=0.0, most=YEAR_S
    )
    patience_s: float = setting(
        60.0,
        "seconds a robot may take to end before its successor starts; then it is killed",
        least=0.0,
        most=YEAR_S,
    )
    most_bytes: int = setting(200_000_000, "a larger release is refused", least=1)
