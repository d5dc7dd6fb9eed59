"""How fast is the archive written and read?

Visits of 20 KB pages with their requests: our writer and warcio (gzip level 9, its own) write the same ones
in turns, then our reader reads ours. A "record" of the writer is one visit, its response and its request;
a record of the reader is one of the two. CPU time of this process, system calls included; the CDXJ index
is part of our time and not of warcio's, which writes none.
"""

from __future__ import annotations

import functools
import io
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench import CannotRun
from joro.archive.names import warcs
from joro.archive.read import records
from joro.archive.warc import WarcWriter
from joro.clock import FakeClock
from joro.model import Outcome, Page, Response, Visit

VISITS = 1_000
WARCIO_VISITS = 200
#: Our own runs are short enough to repeat: the best of them has met the least of other people's noise.
ROUNDS = 5
#: A commit of the robot.
FLUSH_EVERY = 500


def figures() -> dict[str, tuple[float, str]]:
    """Our speed, and how many times warcio's that is."""
    visits = [_visit(number) for number in range(VISITS)]
    with tempfile.TemporaryDirectory() as folder:
        rounds = [_round(Path(tempfile.mkdtemp(dir=folder)), visits) for _ in range(ROUNDS)]
    ours, theirs, reading = (max(speeds) for speeds in zip(*rounds, strict=True))
    return {
        "archive.records_per_cpu_s": (ours, "visits/CPU-s"),
        "archive.ratio_warcio": (ours / theirs, "x"),
        "archive.read_records_per_cpu_s": (reading, "records/CPU-s"),
    }


def _round(directory: Path, visits: list[Visit]) -> tuple[float, float, float]:
    few = visits[:: len(visits) // WARCIO_VISITS]
    return (
        _per_cpu_s(len(visits), lambda: _write(directory, visits)),
        _per_cpu_s(len(few), lambda: _write_by_warcio(directory / "warcio", few)),
        _per_cpu_s(1 + 2 * len(visits), lambda: _read(directory)),
    )


def _per_cpu_s(count: int, work: Callable[[], None]) -> float:
    begin = time.process_time()
    work()
    return count / (time.process_time() - begin)


def _write(directory: Path, visits: list[Visit]) -> None:
    archive = WarcWriter(directory, limit_bytes=10**9, clock=FakeClock(1.7e9), robot="joro")
    for number, visit in enumerate(visits, start=1):
        archive.append(visit)
        if number % FLUSH_EVERY == 0:
            archive.flush()
    archive.close()


def _write_by_warcio(path: Path, visits: list[Visit]) -> None:
    try:
        from warcio.statusandheaders import StatusAndHeadersParser
        from warcio.warcwriter import WARCWriter
    except ModuleNotFoundError:
        raise CannotRun("warcio is not installed: pip install -e '.[dev]'") from None
    with path.open("wb") as file:
        archive = WARCWriter(file, gzip=True, warc_version="WARC/1.1")
        parsers = StatusAndHeadersParser(["HTTP/1.1"]), StatusAndHeadersParser(["GET"])
        for visit in visits:
            assert visit.response is not None
            head, request = io.BytesIO(visit.response.head), io.BytesIO(visit.request)
            fields, asked = parsers[0].parse(head), parsers[1].parse(request)
            body = io.BytesIO(visit.response.body)
            url = visit.page.url
            response = archive.create_warc_record(url, "response", payload=body, http_headers=fields)
            question = archive.create_warc_record(url, "request", payload=request, http_headers=asked)
            archive.write_request_response_pair(question, response)


def _read(directory: Path) -> None:
    (name,) = warcs(directory)
    for _ in records(directory / name):
        pass


def _visit(number: int) -> Visit:
    host = f"www.h{number % 97}.example"
    body = _page(number)
    head = (
        "HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Mon, 16 Nov 2026 05:55:00 GMT\r\n"
        f"Content-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
        f'Connection: keep-alive\r\nETag: "{number * 7919:x}"\r\n\r\n'
    )
    request = (
        f"GET /articles/{number}.html HTTP/1.1\r\nHost: {host}\r\n"
        "User-Agent: joro/0 (+http://robot.example/)\r\nAccept: */*\r\n"
        "Accept-Encoding: gzip, deflate, br\r\n\r\n"
    )
    page = Page(f"http://{host}/articles/{number}.html", 0, f"http://{host}")
    response = Response(200, head.encode(), body)
    return Visit(page, 1.7e9 + number / 100, Outcome.OK, request.encode(), response, "192.0.2.7")


def _page(number: int) -> bytes:
    """20 KB of links and words, few of them frequent and many rare, as in a language."""
    chance = random.Random(number)
    lines: list[str] = []
    while sum(map(len, lines)) < 20_000:
        ranks = [int(3_000 ** chance.random()) for _ in range(24)]
        text = " ".join(_word(rank) for rank in ranks)
        link = chance.randrange(100_000)
        lines.append(
            f'<p class="text">{text} <a href="/articles/{link}.html">{_word(link % 3_000)}</a></p>\n'
        )
    return "".join(lines)[:20_000].encode()


@functools.cache
def _word(rank: int) -> str:
    """The same rank is always the same word; frequent ones are short."""
    chance = random.Random(-1 - rank)
    return "".join(chance.choices("etaoinshrdlucmfwypvbgk", k=2 + rank.bit_length() // 2))
