"""How are captures laid out in the directories that robots of S1 kept?

In:    a chooser, and a directory.
Out:   `html/[sumh]/[suml]/[server:port]/` for each server, with the newest capture of each page.
Never: leaves half a server behind under its name; does one again that is there.
Paper: S1 5.4.1, the directory of a data collection client.

    extserver.list           links to other servers: target, tab, source
    transferredurl.list      the pages, one path a line
    transferredurldate.list  for each of these lines 24 bytes: when it was collected, when it was last changed
                             (0: not said), both in milliseconds since 1970, and its size in bytes
    pages/1, pages/2 …       what was collected, by the number of the line: the paper does not say where

Numbers are big-endian, as Java writes them. A server with the default port has it spelled out.
"""

from __future__ import annotations

import shutil
import struct
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from itertools import groupby
from pathlib import Path

from joro.archive.names import Position
from joro.exporter.copying import Progress, State, resumed, save
from joro.exporter.selection import Chooser, Chosen, key_of
from joro.model import Capture, Response
from joro.parse.page import outline_of
from joro.parse.payload import unwrap
from joro.url import path_of, server_of, surt

_MASK = 0xFFFFFFFF
_ROOT = "html"


def folder_of(server: str) -> str:
    """`html/[sumh]/[suml]/[server:port]`, by the paper's hash: Java's `int`, whose bits above 32 are lost."""
    total = 0
    for unit in struct.unpack(f"<{len(server.encode('utf-16-le')) // 2}H", server.encode("utf-16-le")):
        total = (total * 13 + unit) & _MASK
    return f"{_ROOT}/{total & 0xFF00:x}/{total & 0x00FF:x}/{server}"


def name_of(url: str) -> str:
    """`host:port` of a page, the port always told."""
    scheme, _, authority = server_of(url).partition("://")
    _, _, port = authority.rpartition(":")
    return authority if port.isdigit() else f"{authority}:{443 if scheme == 'https' else 80}"


def lay_out(chooser: Chooser, directory: Path, progress: Progress) -> State:
    """Write the directories of all servers selected."""
    state = resumed(directory, chooser, "s1")
    if state.is_done:
        return state
    if state.after is None:
        shutil.rmtree(directory / _ROOT, ignore_errors=True)
    for _, captures in groupby(chooser.captures(state.after), key=_neighbours):
        servers: dict[str, _Server] = {}
        for _, versions in groupby(captures, key=lambda capture: surt(capture.url)):
            for capture in _newest(versions):
                state.looked_at += 1
                state.after = max(state.after, key_of(capture)) if state.after else key_of(capture)
                chosen = _page(chooser, capture)
                if chosen is not None:
                    name = name_of(capture.url)
                    if name not in servers:
                        servers[name] = _Server(directory, name)
                    servers[name].add(chosen)
                    state.copied += 1
                progress(state.looked_at, state.copied)
        for server in servers.values():
            server.close()
        save(directory, state, Position("", 0))
    if chooser.newest_order > state.newest_order:
        return lay_out(chooser, directory, progress)
    state.is_done = True
    save(directory, state, Position("", 0))
    return state


def _page(chooser: Chooser, capture: Capture) -> Chosen | None:
    """The capture with its bytes, if it may be had and is a page: S1 kept no redirects and no errors."""
    chosen = chooser.chosen(capture)
    if chosen is None or 200 <= chosen.response.status < 300:
        return chosen
    chooser.left_out["redirect or error"] += 1
    return None


def _neighbours(capture: Capture) -> str:
    """What is sorted together: the hosts that differ in `www.`, scheme or port only."""
    return surt(capture.url).partition(")")[0].partition(":")[0]


def _newest(versions: Iterator[Capture]) -> Iterator[Capture]:
    """The last version of each URL; several URLs may have one SURT."""
    last = {capture.url: capture for capture in versions}
    yield from sorted(last.values(), key=key_of)


class _Server:
    """One server's directory in the making."""

    def __init__(self, directory: Path, name: str) -> None:
        self._target = directory / folder_of(name)
        self._draft = self._target.with_name(self._target.name + ".new")
        shutil.rmtree(self._draft, ignore_errors=True)
        (self._draft / "pages").mkdir(parents=True)
        self._number = 0
        self._lists = {name: bytearray() for name in _LISTS}  # at most as long as a server has pages

    def add(self, chosen: Chosen) -> None:
        capture, content = chosen.capture, unwrap(chosen.response).content
        self._number += 1
        (self._draft / "pages" / str(self._number)).write_bytes(content)
        outside, paths, dates = self._lists.values()
        paths += path_of(capture.url).encode() + b"\n"
        times = round(capture.time * 1e3), _modified_ms(chosen.response)
        dates += struct.pack(">qqq", *times, len(content))
        here = server_of(capture.url)
        for link in outline_of(capture.url, chosen.response).links:
            if server_of(link) != here:
                outside += f"{link}\t{capture.url}\n".encode()

    def close(self) -> None:
        for name, content in self._lists.items():
            (self._draft / f"{name}.list").write_bytes(content)
        shutil.rmtree(self._target, ignore_errors=True)
        self._draft.rename(self._target)


_LISTS = ("extserver", "transferredurl", "transferredurldate")


def _modified_ms(response: Response) -> int:
    try:
        return round(parsedate_to_datetime(response.headers.get("last-modified", "")).timestamp() * 1e3)
    except (ValueError, TypeError, OverflowError):
        return 0
