"""How do programs travel in time?

In:    the captures of a page, and the moment a client wishes for.
Out:   Memento (RFC 7089): the way from a page to a capture, and lists of captures as links and as JSON.
Never: leads anywhere but to our own captures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC
from email.utils import format_datetime, parsedate_to_datetime

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from joro.model import Capture
from joro.portal.address import asked_url, moment, replay_path, site_of
from joro.portal.find import Finder, closest

#: Captures on one page of a list; further ones are on the next.
LIST_LIMIT = 10_000
#: The end of the year 9999.
LAST_S = 253_402_300_799.0
LINKS = "application/link-format"


def http_date(time: float) -> str:
    return format_datetime(moment(time), usegmt=True)


def link_field(site: str, versions: Sequence[Capture], capture: Capture) -> str:
    """The `Link` of a capture: the page it is of, where to ask for others, and its neighbours."""
    at, last = versions.index(capture), len(versions) - 1
    places: dict[int, list[str]] = {}
    for word, place in (("first", 0), ("prev", at - 1), ("", at), ("next", at + 1), ("last", last)):
        if 0 <= place <= last:
            places.setdefault(place, []).append(word)
    found = [_memento(site, versions[place], *filter(None, words)) for place, words in sorted(places.items())]
    return ", ".join([*_about(site, capture.url), *found])


def _about(site: str, url: str) -> list[str]:
    return [
        f'<{url}>;rel="original"',
        f'<{site}/timegate/{url}>;rel="timegate"',
        f'<{site}/timemap/link/{url}>;rel="timemap";type="{LINKS}"',
    ]


def _memento(site: str, capture: Capture, *roles: str) -> str:
    address = f"{site}{replay_path(capture.url, capture.time)}"
    return f'<{address}>;rel="{" ".join([*roles, "memento"])}";datetime="{http_date(capture.time)}"'


class TimeTravel:
    """The gates and lists of Memento."""

    def __init__(self, finder: Finder) -> None:
        self._finder = finder

    def gate(self, request: Request) -> Response:
        """Leads to the capture nearest to `Accept-Datetime`, the newest where nothing is wished."""
        url = asked_url(request, slashes=2)
        wished = request.headers.get("accept-datetime")
        time = _time_in(wished) if wished else LAST_S
        versions = self._finder.near(url, time)
        if not versions:
            raise HTTPException(404)
        chosen = closest(versions, time) if wished else versions[-1]
        headers = {"vary": "accept-datetime", "link": link_field(site_of(request), versions, chosen)}
        return RedirectResponse(replay_path(url, chosen.time), 302, headers)

    def links(self, request: Request) -> Response:
        """The list as links, page by page: `/timemap/link/URL`, `/timemap/link/2/URL` …"""
        page, url = self._asked(request)
        text = ",\n".join(_lines(site_of(request), url, self._versions(url), page)) + "\n"
        return Response(text, media_type=LINKS)

    def json(self, request: Request) -> Response:
        """The same as JSON: `/timemap/json/URL`."""
        page, url = self._asked(request)
        return JSONResponse(_described(site_of(request), url, self._versions(url), page))

    def _asked(self, request: Request) -> tuple[int, str]:
        page = request.path_params.get("page", 1)
        return page, asked_url(request, slashes=4 if "page" in request.path_params else 3)

    def _versions(self, url: str) -> list[Capture]:
        versions = self._finder.versions(url)
        if not versions:
            raise HTTPException(404)
        return versions


def _time_in(wished: str) -> float:
    try:
        date = parsedate_to_datetime(wished)
    except ValueError:
        raise HTTPException(400, "Accept-Datetime is not a date as HTTP spells it.") from None
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


def _page(versions: Sequence[Capture], page: int) -> Sequence[Capture]:
    part = versions[(page - 1) * LIST_LIMIT : page * LIST_LIMIT] if page > 0 else ()
    if not part:
        raise HTTPException(404)
    return part


def _list_address(site: str, kind: str, url: str, page: int) -> str:
    return f"{site}/timemap/{kind}/{url}" if page == 1 else f"{site}/timemap/{kind}/{page}/{url}"


def _lines(site: str, url: str, versions: Sequence[Capture], page: int) -> Iterator[str]:
    part = _page(versions, page)
    yield f'<{url}>;rel="original"'
    yield f'<{site}/timegate/{url}>;rel="timegate"'
    yield (
        f'<{_list_address(site, "link", url, page)}>;rel="self";type="{LINKS}"'
        f';from="{http_date(part[0].time)}";until="{http_date(part[-1].time)}"'
    )
    for other in range(1, -(-len(versions) // LIST_LIMIT) + 1):
        if other != page:
            yield f'<{_list_address(site, "link", url, other)}>;rel="timemap";type="{LINKS}"'
    for capture in part:
        ends = [word for word, end in (("first", versions[0]), ("last", versions[-1])) if capture is end]
        yield _memento(site, capture, *ends)


def _described(site: str, url: str, versions: Sequence[Capture], page: int) -> dict[str, object]:
    part = _page(versions, page)
    listed: dict[str, object] = {
        "list": [_entry(site, capture) for capture in part],
        "first": _entry(site, versions[0]),
        "last": _entry(site, versions[-1]),
    }
    answer: dict[str, object] = {
        "original_uri": url,
        "timegate_uri": f"{site}/timegate/{url}",
        "timemap_uri": {
            "link_format": _list_address(site, "link", url, page),
            "json_format": _list_address(site, "json", url, page),
        },
        "mementos": listed,
    }
    if page * LIST_LIMIT < len(versions):
        answer["next_timemap_uri"] = _list_address(site, "json", url, page + 1)
    return answer


def _entry(site: str, capture: Capture) -> dict[str, str]:
    return {
        "datetime": f"{moment(capture.time):%Y-%m-%dT%H:%M:%SZ}",
        "uri": f"{site}{replay_path(capture.url, capture.time)}",
    }
