"""Who is on this web?

In:    `Settings`.
Out:   every host with its role, size, language, character set, address and habits; pages are numbered
       through, host by host, so a page is one int.
Never: makes a page, opens a socket or looks at a clock.
"""

from __future__ import annotations

import bisect
from collections import defaultdict
from dataclasses import dataclass, field, replace
from random import Random

from joro.testweb import names, roles, sizes
from joro.testweb.chance import Stream, source
from joro.testweb.prose import LANGUAGES, STYLES, TOPICS
from joro.testweb.roles import NORMAL
from joro.testweb.settings import Settings

LANGUAGE_SHARES = {"ja": 0.45, "en": 0.30}  # the others share the rest evenly

#: Character sets by language, with weights; whatever a set cannot write becomes `&#12354;`.
CHARSETS: dict[str, dict[str, int]] = {
    "ja": {"utf-8": 45, "shift_jis": 30, "euc-jp": 17, "iso-2022-jp": 8},
    "en": {"utf-8": 80, "iso-8859-1": 12, "windows-1252": 8},
    "ru": {"utf-8": 70, "windows-1251": 22, "koi8-r": 8},
    "zh": {"utf-8": 70, "gbk": 20, "gb18030": 10},
    "ko": {"utf-8": 70, "euc-kr": 30},
}
WESTERN = {"utf-8": 75, "iso-8859-1": 17, "windows-1252": 8}
WESTERN_LANGUAGES = ("de", "fr", "es", "it", "pt", "nl", "sv")

DECLARED = {"header": 45, "meta": 25, "both": 25, "nowhere": 5}
CONNECTIONS = {"keep-alive": 75, "close": 15, "http/1.0": 10}
TRANSFERS = {"length": 60, "chunked": 20, "gzip": 20}
VALIDATORS = {"both": 40, "etag": 15, "modified": 15, "absent": 20, "frozen": 5, "restless": 5}
ROBOTS = {"absent": 40, "open": 25, "usual": 35}

#: Children of a normal host's front page in the tree through which every host can be reached.
HOST_FAN = 8
#: Port of a host that refuses connections: nobody listens on "discard".
REFUSED_PORT = 9
PATH_STYLES = 6


@dataclass(frozen=True, eq=False)  # each is the only one of its kind, and a quick key
class Host:
    """One web server of the plan; nothing about it ever changes."""

    number: int
    name: str
    role: str
    kind: str
    language: str
    charset: str
    topic: str
    address: str
    pages: int
    first: int = 0  # number of its front page; the others follow
    declared: str = "header"  # where the character set is said: header, meta, both, nowhere
    has_lang: bool = True  # <html lang=…>
    connection: str = "keep-alive"
    transfer: str = "length"
    validators: str = "both"  # frozen: never change; restless: change at every request
    robots: str = "absent"  # of a restricted host: its kind
    style: int = 0  # how its paths look
    prose: str = "plain"  # how its texts sound: one of prose.STYLES
    vendor: bool = False  # writes ①, ㈱ and their kind
    base: bool = False  # <base href>
    copy_of: int = -1  # number of the host it copies
    port: int = 80

    @property
    def url(self) -> str:
        """Address of the front page."""
        return f"http://{self.name}/" if self.port == 80 else f"http://{self.name}:{self.port}/"


@dataclass(frozen=True)
class Plan:
    """All hosts, and how to find them."""

    settings: Settings
    hosts: list[Host]
    by_name: dict[str, Host] = field(default_factory=dict)
    children: dict[int, list[int]] = field(default_factory=dict)  # host → hosts its front page leads to
    firsts: list[int] = field(default_factory=list)

    @property
    def pages(self) -> int:
        return self.hosts[-1].first + self.hosts[-1].pages

    def host_of(self, page: int) -> Host:
        """The host a page belongs to."""
        return self.hosts[bisect.bisect_right(self.firsts, page) - 1]

    def seeds(self) -> list[str]:
        """Where to start: from the first of these alone every host can be reached; the rest are hubs."""
        normal = [host for host in self.hosts if host.role == NORMAL]
        biggest = sorted(normal[1:], key=lambda host: (-host.pages, host.number))[:9]
        return [host.url for host in [self.hosts[0], *biggest]]


def make(settings: Settings) -> Plan:
    """The plan of a whole web; a thousand hosts take some 20 ms."""
    cast = roles.cast(settings.seed, settings.hosts, _wanted(settings))
    counts = sizes.sizes(
        settings.seed, [role for role, _ in cast], settings.pages, even=settings.sizes == "even"
    )
    hosts: list[Host] = []
    for number, (role, kind) in enumerate(cast):
        hosts.append(_host(settings, number, role, kind, counts[number], hosts))
    hosts = _numbered(_paired(hosts, settings))
    return Plan(
        settings,
        hosts,
        by_name={host.name: host for host in hosts},
        children=_tree(hosts),
        firsts=[host.first for host in hosts],
    )


def _wanted(settings: Settings) -> tuple[str, ...]:
    return (NORMAL,) if settings.profile == "bench" else settings.roles


def _host(settings: Settings, number: int, role: str, kind: str, pages: int, earlier: list[Host]) -> Host:
    rng = source(settings.seed, Stream.HOST, number)
    landlord = _landlord(rng, earlier) if role == NORMAL else None
    language = landlord.language if landlord else _language(rng)
    if number == 0:
        language = "ja"  # the portal stands for the web it opens
    name = names.tenant(rng, landlord.name, number) if landlord else names.name(rng, language, number)
    plain = Host(
        number=number,
        name=name,
        role=role,
        kind=kind,
        language=language,
        charset="utf-8",
        topic=rng.choice(TOPICS),
        address=_address(settings, number, landlord),
        pages=pages,
        style=rng.randrange(PATH_STYLES),
        prose=rng.choice(STYLES),
    )
    return plain if settings.profile == "bench" else _with_habits(rng, plain)


def _with_habits(rng: Random, host: Host) -> Host:
    """The host with the ways of speaking HTTP and HTML that differ so much out there."""
    well_behaved = host.role in (NORMAL, "restricted", "news", "sitemap", "copy", "soft404")
    return replace(
        host,
        charset=_weighted(rng, charsets(host.language)),
        declared=_weighted(rng, DECLARED),
        has_lang=rng.random() < 0.6,
        connection=_weighted(rng, CONNECTIONS) if well_behaved else "keep-alive",
        transfer=_weighted(rng, TRANSFERS) if well_behaved else "length",
        validators=_weighted(rng, VALIDATORS),
        robots=host.kind if host.role == "restricted" else _weighted(rng, ROBOTS),
        base=rng.random() < 0.05,
        vendor=host.language == "ja" and rng.random() < 0.3,
        port=REFUSED_PORT if (host.role, host.kind) == ("dead", "refused") else 80,
    )


def charsets(language: str) -> dict[str, int]:
    """Character sets in use for one language, with weights."""
    return CHARSETS.get(language, WESTERN if language in WESTERN_LANGUAGES else {"utf-8": 1})


def _language(rng: Random) -> str:
    pick = rng.random()
    for language, share in LANGUAGE_SHARES.items():
        if pick < share:
            return language
        pick -= share
    return rng.choice([language for language in LANGUAGES if language not in LANGUAGE_SHARES])


def _weighted(rng: Random, table: dict[str, int]) -> str:
    return rng.choices(list(table), weights=list(table.values()))[0]


def _landlord(rng: Random, earlier: list[Host]) -> Host | None:
    """One host in eight rents from an earlier one: a name under its domain, and the same address."""
    if rng.random() >= 0.125 or not earlier:
        return None
    host = earlier[int(len(earlier) * rng.random() ** 3)]  # few landlords, many tenants
    return host if host.role == NORMAL else None


def _address(settings: Settings, number: int, landlord: Host | None) -> str:
    if settings.addresses == "one":
        return settings.address()
    if landlord is not None:
        return landlord.address
    return settings.address(number + 256)  # leaves 127.0.0.x to others on this machine


def _paired(hosts: list[Host], settings: Settings) -> list[Host]:
    """Copies get what they copy: language, character set, paths and size of some normal host."""
    originals = [host for host in hosts[1:] if host.role == NORMAL and host.pages <= COPY_LIMIT] or [hosts[0]]
    result = []
    for host in hosts:
        if host.role == "copy" and host.kind != "aliases":
            rng = source(settings.seed, Stream.SIZES, host.number)
            host = _copy(host, rng.choice(originals))
        result.append(host)
    return result


def _copy(host: Host, original: Host) -> Host:
    return replace(
        host,
        copy_of=original.number,
        pages=original.pages,
        language=original.language,
        charset=original.charset,
        declared=original.declared,
        has_lang=original.has_lang,
        style=original.style,
        topic=original.topic,
        prose=original.prose,
        vendor=original.vendor,
        base=original.base,
    )


def _numbered(hosts: list[Host]) -> list[Host]:
    result, first = [], 0
    for host in hosts:
        result.append(replace(host, first=first))
        first += host.pages
    return result


#: Only smaller hosts are copied, so that copies stay a small part of the web.
COPY_LIMIT = 50


def _tree(hosts: list[Host]) -> dict[int, list[int]]:
    """Host → the hosts its front page must lead to, so that all are reached from host 0 by normal ones."""
    normal = [host.number for host in hosts if host.role == NORMAL]
    others = [host.number for host in hosts if host.role != NORMAL]
    children: dict[int, list[int]] = defaultdict(list)
    for place, number in enumerate(normal[1:]):
        children[normal[place // HOST_FAN]].append(number)
    for place, number in enumerate(others):
        children[normal[place % len(normal)]].append(number)
    return dict(children)
