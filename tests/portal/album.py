"""What the tests of replay have archived: pages that changed, that stayed, that are odd."""

import gzip
from collections.abc import Iterator

from msgspec.structs import replace

from joro.archive.payload import digest
from joro.model import Known, Truncated, Visit
from tests.index.archived import START, answer, page

DAY = 86_400.0
#: 2024-02-29, two moments of 2025-12-31, and START: 2026-11-16.
TIMES = [1_709_208_000.0, 1_767_168_000.0, 1_767_171_600.0, START]
STAMPS = ["20240229120000", "20251231080000", "20251231090000", "20261116055500"]
OLDEST, SECOND, UNCHANGED, NEWEST = STAMPS

TOWN = "http://town.example.jp/"
TEXTS = ["広場の木は緑です。", "広場の木は赤です。", "広場の木は赤です。", "広場の木は赤くなりました。"]

PIXEL = b"\x89PNG\r\n\x1a\n" + bytes(20)
STYLE = "@import 'more.css'; h1 { background: url(/pixel.png) } /* 漢字 */"
SHIFT_JIS = "<title>題</title><p>漢字①㈱<a href='/q?語=木'>次</a>"
FRAMED = "<!doctype html><title>f</title><p>inside a frame</p>"


def town(n: int) -> Visit:
    """The page with a history; its third version is its second."""
    body = f"<nav><a href='/'>町</a></nav><main><h1>町</h1><p>{TEXTS[n]}</p><p>町の人は元気です。</p></main>"
    visit = page(TOWN, "町", body, time=TIMES[n], head="<link rel=stylesheet href=/town.css>")
    if n != 2:
        return visit
    assert visit.response
    return replace(visit, known=Known(TIMES[1], digest(visit.response.body)))


def cut(visit: Visit) -> Visit:
    """The same visit, broken off."""
    assert visit.response
    return replace(visit, response=replace(visit.response, truncated=Truncated.DISCONNECT))


def unchanged(url: str, known: Known) -> Visit:
    """A visit that was answered 304."""
    return replace(answer(url, status=304, content_type=""), known=known)


def history() -> Iterator[Visit]:
    yield from map(town, range(4))
    yield answer(TOWN + "town.css", STYLE.encode("cp932"), content_type="text/css; charset=Shift_JIS")
    yield answer(TOWN + "pixel.png", PIXEL, content_type="application/octet-stream")
    yield answer(TOWN + "sjis", SHIFT_JIS.encode("cp932"), content_type="text/html")
    yield answer(TOWN + "euc", SHIFT_JIS.encode("euc_jisx0213"), content_type="text/html; charset=euc-jp")
    yield answer(
        TOWN + "packed", gzip.compress(b"<p>packed"), fields="Content-Encoding: gzip\r\nSet-Cookie: a=b\r\n"
    )
    yield answer(TOWN + "lying", "<p>not packed", fields="Content-Encoding: gzip\r\n")
    yield cut(answer(TOWN + "cut", "<p>only half of this se"))
    yield answer(TOWN + "moved", status=301, fields="Location: /sjis\r\n")
    yield answer(TOWN + "strange", status=302, fields="Location: javascript:alert(1)\r\n")
    yield answer(TOWN + "gone", "not here", status=404)
    yield answer(TOWN + "refresh", "<meta http-equiv=refresh content='0; url=/sjis'>")
    yield answer(TOWN + "drawing.svg", "<svg/>", content_type="image/svg+xml")
    yield answer(TOWN + "feed", "<rss/>", content_type="application/rss+xml")
    yield answer(TOWN + "run.js", "alert(1)", content_type="text/javascript")
    yield answer(TOWN + "font.woff2", "wOF2", content_type="font/woff2")
    yield answer(TOWN + "font", b"wOFF\0", content_type="application/octet-stream")
    yield answer(TOWN + "otto", "OTTO is a name, and BM25 a formula", content_type="text/plain")
    yield answer(TOWN + "paper.pdf", "%PDF", content_type="application/pdf")
    yield answer(TOWN + "odd", "?", content_type='text/<"')
    yield answer(TOWN + "frames", "<frameset><frame src=/frame><frame src=/never></frameset>")
    yield answer(TOWN + "frame", FRAMED)
    yield answer(TOWN + "film.mp4", b"0123456789", content_type="video/mp4")
    yield answer("http://loop.example/", status=301, fields="Location: https://loop.example/\r\n")
    yield answer("https://www.slash.example/page/", "<p>secure")
    yield unchanged(TOWN + "lost", Known(START - DAY, "sha1:" + "A" * 32))
