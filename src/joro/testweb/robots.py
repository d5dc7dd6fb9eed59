"""What may a robot ask for?

In:    a host.
Out:   its robots.txt as planned, and the truth the oracle judges by: is this path disallowed?
Never: parses robots.txt: the rules are planned, the file is written from them, so a crawler's parser
       is judged by something other than a parser.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from joro.testweb.paths import path
from joro.testweb.plan import Host

#: RFC 9309: a robot reads at least 500 KiB of a robots.txt.
READ_BYTES = 500 * 1024


@dataclass(frozen=True)
class Rules:
    """What one robots.txt means for a robot that no group names."""

    status: int = 200  # of /robots.txt itself; 404: all allowed, 500: all forbidden
    disallow: tuple[str, ...] = ()  # path prefixes
    allow: tuple[str, ...] = ()  # exceptions; the longest match wins
    contains: str = ""  # paths with this in them are forbidden (a `*` rule)
    ends: str = ""  # paths that end so are forbidden (a `$` rule)
    delay_s: float = 0.0

    def forbids(self, path: str) -> bool:
        """True when a polite robot leaves this path alone."""
        if path == "/robots.txt":
            return False
        if self.status >= 500:
            return True
        if (self.contains and self.contains in path) or (self.ends and path.endswith(self.ends)):
            return True
        longest_no = max((len(prefix) for prefix in self.disallow if path.startswith(prefix)), default=-1)
        longest_yes = max((len(prefix) for prefix in self.allow if path.startswith(prefix)), default=-1)
        return longest_no > longest_yes


def rules(host: Host) -> Rules:
    """The rules of one host."""
    part = section(host)
    match host.robots:
        case "absent":
            return Rules(status=404)
        case "usual":
            return Rules(disallow=("/cgi-bin/", "/admin/"))
        case "all" | "named":
            return Rules(disallow=("/",))
        case "parts" | "redirect" | "huge":
            return Rules(disallow=(part, "/private/"), allow=("/private/open",))
        case "delay":
            return Rules(delay_s=2.0)
        case "wildcard":
            return Rules(contains=part.strip("/"), ends="7.html")
        case "error":
            return Rules(status=503)
        case _:
            return Rules()


def section(host: Host) -> str:
    """The part of the host that holds its third page, as a prefix of paths."""
    return re.match(r"/[^/?]*/?", path(host, 2))[0]  # type: ignore[index]  # every path begins with /


def text(host: Host, sitemap: str = "") -> str:
    """The file; a redirecting host sends it from /robots-moved.txt."""
    planned = rules(host)
    lines = ["# robots.txt of " + host.name]
    if host.robots == "named":
        lines += ["User-agent: testbot", "Disallow:", "", "User-agent: *"]
    else:
        lines += ["User-agent: testbot", "Disallow: /", "", "User-agent: *"]
    lines += [f"Disallow: {prefix}" for prefix in planned.disallow]
    lines += [f"Allow: {prefix}" for prefix in planned.allow]
    if planned.contains:
        lines.append(f"Disallow: /*{planned.contains}")
    if planned.ends:
        lines.append(f"Disallow: /*{planned.ends}$")
    if planned.delay_s:
        lines.append(f"Crawl-delay: {planned.delay_s:g}")
    if host.robots == "huge":
        lines += _padding(len("\n".join(lines)))
    if sitemap:
        lines += ["", f"Sitemap: {sitemap}"]
    return "\n".join(lines) + "\n"


def _padding(already: int) -> list[str]:
    """Rules that bind nobody, beyond what must be read."""
    line = "Disallow: /no-such-directory-{:08d}/"
    count = (READ_BYTES - already) // (len(line.format(0)) + 1) + 2_000
    return [line.format(number) for number in range(count)]
