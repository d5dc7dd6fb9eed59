"""A PRS as somebody would write it who has read S1 5.1 and nothing else: nothing of joro is in it.

What the paper says of a robot is done in the paper's order: subscribe (M5), fetch the list (M1), collect all
pages of its servers by their own links, tell servers that were found (M2), send the transfer log (M3), look
for a restart (M4), and fetch the next list. `proxy` is the paper's prs.proxy.
"""

from __future__ import annotations

import gzip
import http.client
import re
import time
from dataclasses import dataclass, field
from html import unescape
from urllib.error import HTTPError
from urllib.parse import urldefrag, urljoin, urlsplit
from urllib.request import Request, urlopen

LINK = re.compile(rb"""<a\b[^>]*?\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))""", re.IGNORECASE)


def server_and_port(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}"


def spelled(url: str) -> str:
    """With its port, as the paper writes http://www.etl.go.jp:80/."""
    parts = urlsplit(url)
    return (
        f"{parts.scheme}://{server_and_port(url)}{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
    )


@dataclass
class PaperRobot:
    """One PRS; `prsm` is the address of its manager."""

    prsm: str
    name: str
    proxy: str
    authorization: str = ""
    pages: dict[str, bytes] = field(default_factory=dict)  # its disk
    servers: list[str] = field(default_factory=list)  # its serverlist file
    max_transfer: int | None = None
    transfer_log: list[str] = field(default_factory=list)
    found: set[str] = field(default_factory=set)

    def ask(self, page: str, body: bytes | None = None) -> bytes:
        request = Request(f"{self.prsm}/servlets/{page}", body)
        request.add_header("Content-Type", "application/octet-stream")
        if self.authorization:
            request.add_header("Authorization", self.authorization)
        with urlopen(request, timeout=30) as answer:
            content: bytes = answer.read()
        return content

    def subscribe(self) -> None:
        self.ask(f"subscribe?host={self.name}")

    def unsubscribe(self) -> None:
        self.ask(f"unsubscribe?host={self.name}")

    def fetch_list(self) -> None:
        """(M1) gzip of: URL (HT RefererURL)? LF, or '#MaxTransfer=' [0-9]+ LF, or '#' comment LF."""
        self.servers, self.max_transfer = [], None
        text = gzip.decompress(self.ask(f"list?host={self.name}")).decode("ascii")
        assert not text or text.endswith("\n")
        for line in text.split("\n")[:-1]:
            if line.startswith("#MaxTransfer="):
                self.max_transfer = int(line.removeprefix("#MaxTransfer="))
            elif not line.startswith("#"):
                self.servers.append(line.split("\t")[0])

    def collect(self) -> None:
        """All pages of the servers on the list, server after server."""
        by_server: dict[str, list[str]] = {}
        for url in self.servers:
            by_server.setdefault(server_and_port(url), []).append(spelled(url))
        for server, pages in by_server.items():
            self._collect(server, pages)

    def _collect(self, server: str, waiting: list[str]) -> None:
        transferred = 0
        while waiting and (self.max_transfer is None or transferred < self.max_transfer):
            url = waiting.pop(0)
            if url in self.pages:
                continue
            self.pages[url] = page = self._transfer(url)
            transferred += 1
            for link in self._links(url, page):
                if server_and_port(link) == server:
                    waiting.append(link)
                else:
                    self.found.add(f"http://{server_and_port(link)}/")

    def _transfer(self, url: str) -> bytes:
        began = time.monotonic()
        host, _, port = self.proxy.partition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=30)
        try:
            connection.request("GET", url, headers={"Host": urlsplit(url).netloc, "User-Agent": "PRS"})
            answer = connection.getresponse()
            page = answer.read()
        finally:
            connection.close()
        head = "".join(f"{name}: {value}\r\n" for name, value in answer.getheaders())
        elapsed = int((time.monotonic() - began) * 1000)
        sent, received = len(url) + 60, len(head) + len(page)
        self.transfer_log.append(f'"{url}",{sent},{received},{elapsed},"{head}"\n')
        return page

    def _links(self, url: str, page: bytes) -> list[str]:
        found = []
        for groups in LINK.findall(page):
            written = unescape(next(filter(None, groups), b"").decode("ascii", "ignore")).strip()
            try:
                link = urldefrag(urljoin(url, written)).url
                if link.startswith("http://") and urlsplit(link).hostname and server_and_port(link):
                    found.append(spelled(link))
            except ValueError:
                continue
        return [link for link in found if re.fullmatch(r"[!-~]+", link) and '"' not in link]

    def report_servers(self) -> None:
        """(M2) the same grammar, by POST: top pages only, no referrer, as 5.1.5 says."""
        self.ask("record", gzip.compress("".join(f"{url}\n" for url in sorted(self.found)).encode()))
        self.found.clear()

    def submit_log(self, date: str) -> None:
        """(M3) FileName LF gzip(lines); after that the log is renamed, here: emptied."""
        packed = gzip.compress("".join(self.transfer_log).encode())
        self.ask("submitlog", f"{self.name}.{date}\n".encode() + packed)
        self.transfer_log.clear()

    def is_restart(self) -> bool:
        """(M4) RESTART on the first line: drop the list and the pages on disk, fetch a new list."""
        if self.ask(f"isrestart?host={self.name}").split(b"\n")[0] != b"RESTART":
            return False
        self.servers, self.pages = [], {}
        self.fetch_list()
        return True


def status_of(robot: PaperRobot, page: str, body: bytes | None = None) -> int:
    """What a request is answered with."""
    try:
        robot.ask(page, body)
    except HTTPError as refused:
        refused.close()
        return refused.code
    return 200
