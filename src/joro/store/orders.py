"""What must not be shown, kept or collected any more, and by whose order?

In:    orders: take-downs, embargoes, exclusions, each about a URL, a prefix, a host, a payload or everything,
       perhaps for captures of some dates only; and orders that lift others.
Out:   the order that withholds a capture, or forbids a visit, within microseconds, whatever their number.
Never: forgets an order: they are lines appended to one file, and whoever looks sees the newest, also in a
       program that has been running for weeks. Goes on without them when they cannot be read.

Schemes are not looked at: http://a.example/ and https://a.example/ have one owner, and are one target.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from joro.errors import CollectionError, UsageError
from joro.model import Capture
from joro.store.durable import appending
from joro.url import host_of

FILE_NAME = "orders.jsonl"
#: Beside it: which collection, the last, has erased what the orders take down. Whoever keeps copies of
#: captures (the index, tables) compares it with the one that it has followed.
COLLECTED = "collected"

#: What an order does. A take-down withholds at once, forbids visits, and is carried out on disk by
#: `joro takedown collect`; an embargo withholds until it opens; an exclusion forbids visits, and no more.
TAKEDOWN, EMBARGO, EXCLUSION, LIFT = "takedown", "embargo", "exclusion", "lift"
#: What it is about; "host" may be "*.example.org": that domain and every name below it.
TARGETS = ("url", "prefix", "host", "digest", "all")

_REMEDY = "restore the file from a copy: nothing is shown while orders cannot be read"
#: A number with more is none of an order, and from 4,300 digits on Python takes it for no number at all.
_MOST_DIGITS = 20


class Order(msgspec.Struct, frozen=True, omit_defaults=True):
    """One order."""

    number: int
    act: str
    target: str  # one of TARGETS; of a lift: "order"
    value: str  # the canonical URL, its beginning, the host, the digest; of a lift: the number
    time: float  # when it was given
    since: float | None = None  # only captures from this moment on …
    until: float | None = None  # … and before this one
    opens: float | None = None  # an embargo's end; None: with `after_s`, or never
    after_s: float = 0.0  # an embargo's length, counted from each capture
    reason: str = ""
    requester: str = ""

    def covers(self, time: float) -> bool:
        """Is a capture of that moment meant?"""
        return (self.since is None or self.since <= time) and (self.until is None or time < self.until)

    def withholds(self, time: float, now: float) -> bool:
        """Is a capture of that moment, if it is the target, hidden now?"""
        if not self.covers(time) or self.act == EXCLUSION:
            return False
        if self.act == TAKEDOWN or (self.opens is None and not self.after_s):
            return True
        return now < (self.opens if self.opens is not None else time + self.after_s)

    @property
    def sentence(self) -> str:
        """For people, without the reason."""
        return f"order {self.number} ({self.act} of {self.target} {self.value})"


class Orders:
    """All orders in force, made ready for thousands of questions a second."""

    def __init__(self, orders: Iterable[Order] = ()) -> None:
        given = list(orders)
        lifted = {int(order.value) for order in given if order.act == LIFT}
        self.all = [order for order in given if order.act != LIFT and order.number not in lifted]
        self._by: dict[str, defaultdict[str, list[Order]]] = {
            target: defaultdict(list) for target in (*TARGETS, "domain")
        }
        for order in self.all:
            target, value = order.target, order.value
            if target == "host" and value.startswith("*."):
                target, value = "domain", value[2:]
            elif target in ("url", "prefix"):
                value = _bare(value)
            self._by[target][value].append(order)
        self._prefixes = sorted(self._by["prefix"])
        self._shorter = _parents(self._prefixes)

    def __bool__(self) -> bool:
        return bool(self.all)

    def about(self, url: str, digest: str = "") -> Iterator[Order]:
        """The orders that a capture, or a visit, is the target of, whatever its time."""
        yield from self._by["all"].get("", ())
        if digest and self._by["digest"]:
            yield from self._by["digest"].get(digest, ())
        bare = _bare(url)
        yield from self._by["url"].get(bare, ())
        if self._by["host"] or self._by["domain"]:
            yield from self._of_host(host_of(url))
        place = bisect_right(self._prefixes, bare) - 1
        while place >= 0:
            # Of all prefixes that fit, one stands last before the URL, or is a prefix of what stands there.
            if bare.startswith(self._prefixes[place]):
                yield from self._by["prefix"][self._prefixes[place]]
            place = self._shorter[place]

    def _of_host(self, host: str) -> Iterator[Order]:
        yield from self._by["host"].get(host, ())
        domains = self._by["domain"]
        while domains and host:
            yield from domains.get(host, ())
            host = host.partition(".")[2]

    def withholds(self, url: str, time: float, digest: str, now: float) -> Order | None:
        """The order by which a capture is hidden now."""
        if not self.all:
            return None
        return next((order for order in self.about(url, digest) if order.withholds(time, now)), None)

    def erases(self, url: str, time: float, digest: str) -> Order | None:
        """The order by which a capture has to vanish from the disk."""
        if not self.all:
            return None
        found = self.about(url, digest)
        return next((order for order in found if order.act == TAKEDOWN and order.covers(time)), None)

    def forbids(self, url: str, now: float) -> Order | None:
        """The order by which a page must not be visited (again)."""
        if not self.all:
            return None
        acts = (TAKEDOWN, EXCLUSION)
        return next((order for order in self.about(url) if order.act in acts and order.covers(now)), None)


def _bare(url: str) -> str:
    return url.partition("://")[2]


def _parents(prefixes: list[str]) -> list[int]:
    """For each of the sorted prefixes the place of the longest other one that it begins with, or -1."""
    parents: list[int] = []
    for place, prefix in enumerate(prefixes):
        parent = place - 1
        while parent >= 0 and not prefix.startswith(prefixes[parent]):
            parent = parents[parent]
        parents.append(parent)
    return parents


class OrderBook:
    """The orders of a collection, as they stand at this moment. Threads may share one."""

    def __init__(self, directory: Path, now: Callable[[], float]) -> None:
        self.path = directory / FILE_NAME
        self._name = os.fspath(self.path)
        self._now = now
        self._seen: tuple[int, int, int] | None = None
        self._latest = Orders()

    def latest(self) -> Orders:
        """All orders in force. To see that none came costs a microsecond, so everyone may ask each time."""
        try:
            status = os.stat(
                self._name
            )  # os.access would take a folder that is locked for one without orders
        except FileNotFoundError:
            if self._seen is not None:
                self._seen, self._latest = None, Orders()
            return self._latest
        except OSError as error:
            raise _unreadable(self._name, error) from None
        stamp = status.st_ino, status.st_mtime_ns, status.st_size
        if stamp != self._seen:
            self._latest, self._seen = Orders(_read(self.path)), stamp
        return self._latest

    def order_about(self, capture: Capture) -> Order | None:
        """The order by which a capture is hidden now."""
        return self.latest().withholds(capture.url, capture.time, capture.digest, self._now())

    def is_withheld(self, capture: Capture) -> bool:
        """What a `CaptureIndex` wants to know."""
        return self.order_about(capture) is not None

    def hides(self) -> Callable[[str, float, str], bool] | None:
        """Is a page (URL, time of its capture, digest) hidden now? None when none can be."""
        orders, now = self.latest(), self._now()
        if all(order.act == EXCLUSION for order in orders.all):
            return None
        return lambda url, time, digest: orders.withholds(url, time, digest, now) is not None

    def forbids(self) -> Callable[[str], bool] | None:
        """Must a page not be visited now? None when every page may be: robots ask once for many links."""
        orders = self.latest()
        if not orders.all or all(order.act == EMBARGO for order in orders.all):
            return None
        now = self._now()
        return lambda url: orders.forbids(url, now) is not None

    def history(self) -> list[Order]:
        """Every order ever given, lifted ones and lifts included."""
        return list(_read(self.path))

    def give(self, order: Order) -> Order:
        """Let an order stand from now on; its number is the next free one, its time is now."""
        self.latest()  # what stands there must be readable, or a file at all
        _refuse_half_letters(order)
        with appending(self.path) as file:
            known = [each.number for each in _read(self.path)]
            order = msgspec.structs.replace(order, number=max(known, default=0) + 1, time=self._now())
            line = msgspec.json.encode(order)
            _order_in(line, "the order given")  # one that nobody could read again would hide everything
            os.write(file, line + b"\n")
        return order


def _refuse_half_letters(order: Order) -> None:
    """A command line may hold bytes that are no text; no JSON can."""
    try:
        msgspec.json.encode(order)
    except UnicodeEncodeError:
        raise UsageError(
            "the order given holds bytes that are no UTF-8", remedy="write its reason and requester in UTF-8"
        ) from None


def _read(path: Path) -> Iterator[Order]:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unreadable(path, error) from None
    for number, line in enumerate(content[: content.rfind(b"\n") + 1].splitlines(), 1):
        yield _order_in(line, f"{path}, line {number}")


def _order_in(line: bytes, where: str) -> Order:
    try:
        order = msgspec.json.decode(line, type=Order)
        if fault := _fault(order):
            raise msgspec.ValidationError(fault)
    except msgspec.DecodeError as error:
        raise CollectionError(f"{where} is no order ({error})", remedy=_REMEDY) from None
    return order


def _fault(order: Order) -> str:
    """What nobody could follow in an order; "" if anyone can."""
    if order.act == LIFT:
        is_number = order.value.isascii() and order.value.isdigit() and len(order.value) < _MOST_DIGITS
        return "" if is_number else f"it lifts {order.value!r:.50}, which is no number of an order"
    if order.act not in (TAKEDOWN, EMBARGO, EXCLUSION):
        return f"its act {order.act!r:.50} is not known"
    return "" if order.target in TARGETS else f"its target {order.target!r:.50} is not known"


def _unreadable(path: Path | str, error: OSError) -> CollectionError:
    return CollectionError(f"{path} cannot be read ({error.strerror})", remedy=_REMEDY)
