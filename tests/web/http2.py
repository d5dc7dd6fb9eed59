"""A server that speaks HTTP/2 over TLS, and counts what came."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import cast

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import RequestReceived, WindowUpdated

Fields = list[tuple[str, str]]


@dataclass
class Page:
    """One answer; `reset` breaks the stream off after the body."""

    fields: Fields
    body: bytes = b""
    reset: bool = False


@dataclass
class Web:
    """What was received, and where to connect."""

    answer: Callable[[dict[str, str]], Page]
    port: int = 0
    connections: int = 0
    requests: list[dict[str, str]] = field(default_factory=list)
    under_way: int = 0
    most_at_once: int = 0


class _Session(asyncio.Protocol):
    def __init__(self, web: Web) -> None:
        self._web = web
        self._unsent: dict[int, Page] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._web.connections += 1
        self._h2 = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        self._h2.initiate_connection()
        self._flush()

    def data_received(self, data: bytes) -> None:
        for event in self._h2.receive_data(data):
            if isinstance(event, RequestReceived):
                assert event.headers is not None
                assert event.stream_id is not None
                self._begin(event.stream_id, cast(Fields, event.headers))
            elif isinstance(event, WindowUpdated):
                self._send()
        self._flush()

    def _begin(self, stream: int, fields: Fields) -> None:
        request = dict(fields)
        self._web.requests.append(request)
        page = self._web.answer(request)
        self._h2.send_headers(stream, page.fields)
        self._unsent[stream] = page
        self._web.most_at_once = max(self._web.most_at_once, len(self._unsent))
        self._send()

    def _send(self) -> None:
        for stream, page in list(self._unsent.items()):
            while page.body and (room := self._room(stream)):
                self._h2.send_data(stream, page.body[:room])
                page.body = page.body[room:]
            if not page.body:
                del self._unsent[stream]
                self._h2.reset_stream(stream, 2) if page.reset else self._h2.end_stream(stream)

    def _room(self, stream: int) -> int:
        return min(self._h2.local_flow_control_window(stream), self._h2.max_outbound_frame_size)

    def _flush(self) -> None:
        self._transport.write(self._h2.data_to_send())


@asynccontextmanager
async def http2(answer: Callable[[dict[str, str]], Page], tls: ssl.SSLContext) -> AsyncIterator[Web]:
    """Answer every request by `answer`."""
    web = Web(answer)
    server = await asyncio.get_running_loop().create_server(lambda: _Session(web), "127.0.0.1", 0, ssl=tls)
    web.port = server.sockets[0].getsockname()[1]
    try:
        yield web
    finally:
        server.close()
        await asyncio.sleep(0)
