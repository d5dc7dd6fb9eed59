"""Which characters live on this web, and how many of each?

Out:   a role and a kind for every host number.
Never: says how a role behaves: that is for `site` and the modules it calls.
"""

from __future__ import annotations

from joro.errors import UsageError
from joro.testweb.chance import Stream, source

NORMAL = "normal"

#: role → (share of all hosts, its kinds). Shares are a little above what one meets outside, so that a
#: thousand hosts hold several of each kind.
ROLES: dict[str, tuple[float, tuple[str, ...]]] = {
    "slow": (0.02, ("delay", "dribble", "stall")),
    "flaky": (0.02, ("reset", "error", "cut")),
    "dead": (0.03, ("refused", "silent", "hangup", "nxdomain", "servfail")),
    "huge": (0.01, ("large", "giant")),
    "redirecting": (0.02, ("moved", "chain", "loop", "cross", "private", "refresh")),
    "throttling": (0.02, ("429-seconds", "429-date", "503-seconds", "503-bare")),
    "soft404": (0.02, ("page", "front")),
    "restricted": (
        0.03,
        ("all", "parts", "delay", "wildcard", "named", "error", "redirect", "huge"),
    ),
    "news": (0.03, ("rss", "atom")),
    "sitemap": (0.04, ("right", "index", "gzip", "wrong", "undated")),
    "trap": (0.02, ("calendar", "session", "path", "facets", "pagination")),
    "hostile": (
        0.04,
        (
            "endless",
            "bomb",
            "headers",
            "garbage",
            "short",
            "long",
            "bighead",
            "parserbomb",
            "nested",
            "nulls",
            "badchunk",
            "notgzip",
            "drip",
            "rebinding",
        ),
    ),
    "copy": (0.03, ("exact", "near", "aliases")),
}

KINDS = sum(len(kinds) for _, kinds in ROLES.values())


def cast(seed: int, hosts: int, wanted: tuple[str, ...]) -> list[tuple[str, str]]:
    """(role, kind) of every host. Host 0 is always normal: the portal from which all others are reached."""
    special = _special(hosts, wanted)
    cast = [(NORMAL, "")] * (hosts - 1 - len(special)) + special
    source(seed, Stream.ROLES, hosts).shuffle(cast)
    return [(NORMAL, ""), *cast]


def _special(hosts: int, wanted: tuple[str, ...]) -> list[tuple[str, str]]:
    for role in wanted:
        if role not in ROLES and role != NORMAL:
            raise UsageError(
                f"no role {role!r} on the test web", remedy=f"known: {', '.join([NORMAL, *ROLES])}"
            )
    roles = [role for role in ROLES if not wanted or role in wanted]
    limit = hosts - 1 - hosts // 4  # a quarter stays normal: someone must link to the rest
    chosen: list[tuple[str, str]] = []
    for role in roles:
        share, kinds = ROLES[role]
        count = round(share * hosts)
        if hosts >= 3 * KINDS or wanted:
            count = max(count, len(kinds))  # nobody is missing where there is room for all
        chosen += [(role, kinds[number % len(kinds)]) for number in range(count)]
    return chosen[: max(0, limit)]
