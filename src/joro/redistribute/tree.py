"""How does a third party keep what it received, as S1's did?

In:    a package that arrived whole, and the directory of the party.
Out:   `html/[sumh]/[suml]/[host:port].zip` for each server: the newest capture of every page, and S1's lists.
Never: leaves half a file behind under its name; puts an older capture in the place of a newer one.
Paper: S1, 5.4.1: the third-party client stores `hostname:port.zip` under the same directories.

    extserver.list           links to other servers: target, tab, source
    transferredurl.list      the pages, one path a line
    transferredurldate.list  for each of these lines 24 bytes: when it was collected, when it was last changed
                             (0: not said), both in milliseconds since 1970, and its size in bytes
    pages/1, pages/2 …       what was collected, by the number of the line
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime
from itertools import groupby
from pathlib import Path

from joro.archive.cdx import REVISIT
from joro.archive.index import CaptureIndex
from joro.archive.read import response_at
from joro.model import Capture, Response
from joro.parse.page import outline_of
from joro.parse.payload import unwrap
from joro.redistribute.subscriber import Keep, opened_folder
from joro.url import path_of, server_of, surt

LISTS = ("extserver.list", "transferredurl.list", "transferredurldate.list")
_DATES = struct.Struct(">qqq")
#: Zip knows no earlier date; the same for all, so that the same captures give the same bytes.
_DATE = (1980, 1, 1, 0, 0, 0)

#: The path of a server's directory, from the URL of a page: `html/a00/7/www.example.jp:80`.
Place = Callable[[str], str]


def keep_tree(directory: Path, place: Place) -> Keep:
    """Keep packages as the directories of S1, one zip file for each server."""

    def keep(folder: Path) -> None:
        index = CaptureIndex(opened_folder(folder))
        for _, captures in groupby(index.all(), key=_neighbours):
            servers: dict[str, dict[str, Capture]] = {}
            for capture in captures:
                if capture.mime == REVISIT or 200 <= capture.status < 300:
                    pages = servers.setdefault(place(capture.url), {})
                    known = pages.get(path_of(capture.url))
                    if known is None or known.time <= capture.time:
                        pages[path_of(capture.url)] = capture
            for path, pages in servers.items():
                _renew(directory / f"{path}.zip", pages, index)

    return keep


def _neighbours(capture: Capture) -> str:
    """What is sorted together: the hosts that differ in `www.`, scheme or port only."""
    return surt(capture.url).partition(")")[0].partition(":")[0]


def _renew(target: Path, pages: dict[str, Capture], index: CaptureIndex) -> None:
    """Write a server's file anew: what it had, and newer captures in the place of older ones."""
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.new")
    with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
        server = _Server(archive)
        if target.exists():
            with zipfile.ZipFile(target) as before:
                server.take_over(before, pages)
        for path, capture in pages.items():
            if capture.mime == REVISIT and index.original(capture) is None:
                continue  # its body did not come, neither now nor before
            response = response_at(index.directory, capture, index)
            if 200 <= response.status < 300:
                server.add(path, capture, response)
        server.close()
    if server.number:
        draft.replace(target)
    else:
        draft.unlink()


class _Server:
    """One server's file in the making."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._lists = {name: bytearray() for name in LISTS}  # at most as long as a server has pages
        self.number = 0

    def take_over(self, before: zipfile.ZipFile, pages: dict[str, Capture]) -> None:
        """What stays of an earlier file; pages that are newer there, or unchanged since, leave `pages`."""
        links: dict[str, list[bytes]] = {}
        for line in before.read(LISTS[0]).splitlines(keepends=True):
            links.setdefault(path_of(line.decode().rstrip("\n").partition("\t")[2]), []).append(line)
        for number, path, dates in _entries(before):
            newer = pages.get(path)
            if newer is not None and newer.mime != REVISIT and newer.time * 1e3 > dates[0]:
                continue
            if newer is not None:
                dates = max(dates[0], round(newer.time * 1e3)), dates[1], dates[2]
                del pages[path]
            self._write(path, before.read(f"pages/{number}"), dates, links.get(path, []))

    def add(self, path: str, capture: Capture, response: Response) -> None:
        content = unwrap(response).content
        here = server_of(capture.url)
        links = [
            f"{link}\t{capture.url}\n".encode()
            for link in outline_of(capture.url, response).links
            if server_of(link) != here
        ]
        dates = round(capture.time * 1e3), _modified_ms(response), len(content)
        self._write(path, content, dates, links)

    def close(self) -> None:
        for name, content in self._lists.items():
            self._put(name, bytes(content))

    def _write(self, path: str, content: bytes, dates: tuple[int, int, int], links: list[bytes]) -> None:
        self.number += 1
        self._put(f"pages/{self.number}", content)
        outside, paths, times = self._lists.values()
        outside += b"".join(links)
        paths += path.encode() + b"\n"
        times += _DATES.pack(*dates)

    def _put(self, name: str, content: bytes) -> None:
        entry = zipfile.ZipInfo(name, _DATE)
        entry.compress_type = zipfile.ZIP_DEFLATED
        self._archive.writestr(entry, content)


def _entries(archive: zipfile.ZipFile) -> Iterator[tuple[int, str, tuple[int, int, int]]]:
    paths = archive.read(LISTS[1]).decode().splitlines()
    for number, (path, dates) in enumerate(
        zip(paths, _DATES.iter_unpack(archive.read(LISTS[2])), strict=True), 1
    ):
        yield number, path, dates


def _modified_ms(response: Response) -> int:
    try:
        return round(parsedate_to_datetime(response.headers.get("last-modified", "")).timestamp() * 1e3)
    except (ValueError, TypeError, OverflowError):
        return 0
