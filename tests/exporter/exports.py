"""A small collection of many kinds of captures, and what an export of it holds."""

from pathlib import Path

from msgspec.structs import replace

from joro.archive.index import CaptureIndex
from joro.archive.warc import WarcWriter
from joro.clock import FakeClock
from joro.exporter.copying import Progress, State, copy
from joro.exporter.selection import Chooser, Selection
from joro.model import Capture, Known, Visit
from joro.store.collection import Collection
from joro.store.orders import TAKEDOWN, Order, OrderBook
from tests.index.archived import START, answer, collection_in, page

DAY_S = 86_400.0


def filled(directory: Path) -> Collection:
    """Two hosts, two days, two languages; a page that stays as it was; owners who reserve something."""
    made = collection_in(directory)
    writer = WarcWriter(made.archive, limit_bytes=10**9, clock=FakeClock(START), robot="joro")
    same = page("http://www.a.jp/same", "変わらない", "いつも同じ文章です。")
    first = writer.append(replace(same, request=b"GET /same HTTP/1.1\r\nHost: www.a.jp\r\n\r\n"))
    known = Known(first.time, first.digest)
    for visit in (
        page("http://www.a.jp/", "題名", "日本語の文章です。"),
        replace(same, time=START + DAY_S, known=known),
        not_modified(same, START + 2 * DAY_S, known),
        page(
            "http://b.example/",
            "Title",
            "This is an English text, long enough for everybody to see which language it is in.",
            time=START + DAY_S,
        ),
        answer("http://b.example/kept-out", "<p>Not for archives.", fields="X-Robots-Tag: noarchive\r\n"),
        answer("http://b.example/mine", "<p>Not for mining.", fields="TDM-Reservation: 1\r\n"),
        answer("http://b.example/gone", "not here", status=404),
    ):
        writer.append(visit)
    writer.close()
    return made


def not_modified(visit: Visit, time: float, known: Known) -> Visit:
    assert visit.response is not None
    response = replace(visit.response, status=304, head=b"HTTP/1.1 304 Not Modified\r\n\r\n", body=b"")
    return replace(visit, time=time, known=known, response=response)


def chooser_of(collection: Collection, selection: Selection | None = None) -> Chooser:
    return Chooser(collection, selection or Selection(), FakeClock(START))


def dying_at(capture: int) -> Progress:
    """Ends an export when it looks at that capture."""

    def dying(looked_at: int, copied: int) -> None:
        if looked_at == capture:
            raise KeyboardInterrupt

    return dying


def taken_down(collection: Collection, host: str) -> None:
    OrderBook(collection.orders, lambda: START).give(Order(0, TAKEDOWN, "host", host, 0.0))


def exported(
    collection: Collection,
    directory: Path,
    selection: Selection | None = None,
    progress: Progress = lambda _looked_at, _copied: None,
) -> State:
    clock = FakeClock(START)
    chooser = chooser_of(collection, selection)
    return copy(chooser, directory, clock, limit_bytes=10**9, robot="joro", progress=progress)


def captures(directory: Path) -> list[Capture]:
    return list(CaptureIndex(directory).all())


def pages(directory: Path) -> list[tuple[str, float]]:
    """URL and day of every capture in a directory of WARCs."""
    return [(capture.url, (capture.time - START) / DAY_S) for capture in captures(directory)]
