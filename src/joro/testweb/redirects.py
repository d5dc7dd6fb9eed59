"""Where do redirecting hosts send a visitor?

In:    a redirecting host and a target.
Out:   redirects: moved pages, chains, loops, to other hosts, to places no crawler may go.
Never: leads anywhere by itself: private addresses stand only in Location fields.
"""

from __future__ import annotations

import math
import re

from joro.testweb.answer import Answer, Body, compose
from joro.testweb.paths import path
from joro.testweb.plan import Host, Plan

STATUSES = (301, 302, 303, 307, 308)
CHAINS = (3, 8, 40)

#: Places inside other people's networks, in the spellings that fool naive guards.
PRIVATE = (
    "http://10.0.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://192.168.0.1/admin",
    "http://172.16.0.1:8080/",
    "http://167772161/",  # 10.0.0.1 as one number
    "http://0x0a000001/",
    "http://012.0.0.1/",
    "http://10.1/",
    "http://[::1]/",
    "http://[::ffff:10.0.0.1]/",
    "http://[fe80::1]/",
    "http://[fd00::1]/",
    "http://0.0.0.0/",
    "http://100.64.0.1/",
    "file:///etc/passwd",
    "ftp://10.0.0.1/",
    "gopher://10.0.0.1:70/",
)

Door = tuple[str, str]  # path, anchor text


def doors(host: Host) -> list[Door]:
    """What the front page links to besides pages."""
    match host.kind:
        case "moved":
            return [(f"/old/{place}", f"old address {place}") for place in range(1, host.pages)]
        case "chain":
            return [(f"/chain/{length}", f"{length} steps") for length in CHAINS]
        case "loop":
            return [("/loop/a", "a"), ("/loop/self", "self"), ("/loop/grow", "grow")]
        case "cross":
            return [(f"/away/{number}", f"away {number}") for number in range(10)]
        case "private":
            return [(f"/inside/{number}", f"inside {number}") for number in range(len(PRIVATE))]
        case _:
            return [(f"/refresh/{place}", f"refresh {place}") for place in range(1, host.pages)]


def answer(plan: Plan, host: Host, target: bytes) -> Answer | None:
    """The redirect at `target`, if there is one."""
    parts = re.fullmatch(r"/(old|chain|loop|away|inside|refresh)/(\w+)", target.decode("latin-1"))
    if (
        parts is None
        or {"moved": "old", "cross": "away", "private": "inside"}.get(host.kind, host.kind) != parts[1]
    ):
        return None
    if host.kind == "loop":
        return _loop(host, parts[2])
    if not parts[2].isdecimal():
        return None
    return _numbered(plan, host, int(parts[2]))


def _loop(host: Host, name: str) -> Answer | None:
    if name.startswith("grow"):
        return redirect(host, 302, f"/loop/{name}w")
    goal = {"a": "b", "b": "c", "c": "a", "self": "self"}.get(name)
    return redirect(host, 301, f"/loop/{goal}") if goal else None


def _numbered(plan: Plan, host: Host, number: int) -> Answer | None:
    match host.kind:
        case "moved" if number < host.pages:
            where = path(host, number)
            absolute = host.url[:-1] + where
            return redirect(host, STATUSES[number % len(STATUSES)], absolute if number % 2 else where)
        case "chain" if number <= max(CHAINS):
            goal = f"/chain/{number - 1}" if number > 1 else path(host, host.pages - 1)
            return redirect(host, 302, goal)
        case "cross":
            other = plan.hosts[(host.number * 7 + number * 13 + 1) % len(plan.hosts)]
            return redirect(host, 302, other.url)
        case "private" if number < len(PRIVATE):
            return redirect(host, 302, PRIVATE[number])
        case "refresh" if number < host.pages:
            goal = path(host, number).replace("&", "&amp;")
            page = f'<html><head><meta http-equiv="refresh" content="0; url={goal}"></head></html>\n'
            return compose(host, 200, Body(page.encode()), until=math.inf)
    return None


def redirect(host: Host, status: int, location: str) -> Answer:
    """A redirect with the usual little body."""
    body = Body(f'<html><body><a href="{location.replace("&", "&amp;")}">moved</a></body></html>\n'.encode())
    return compose(host, status, body, (("Location", location),), until=math.inf)
