"""A small collection, archived and indexed, and a way to ask its portal without a network."""

import asyncio
import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Message

from joro.indexer import index_new
from joro.portal.web import application
from joro.store.collection import Collection
from tests.index.archived import START, answer, archive, collection_in, page
from tests.portal.album import history


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


Ask = Callable[..., Answer]


def ask(app: Any, target: str, method: str = "GET", **fields: str) -> Answer:
    """One request to an ASGI application; `target` is path and query as they stand in a request line."""
    raw_path, _, query = target.partition("?")
    scope = {
        "type": "http",
        "method": method,
        "scheme": "http",
        "path": raw_path,
        "raw_path": raw_path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [
            (b"host", b"127.0.0.1:8765"),
            *((name.replace("_", "-").encode(), value.encode()) for name, value in fields.items()),
        ],
        "server": ("127.0.0.1", 8765),
    }
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Answer(sent[0]["status"], headers, b"".join(message.get("body", b"") for message in sent[1:]))


HOSTILE = "</title><script>alert(1)</script>&lt;img src=x onerror=alert(2)&gt;\"'"


@pytest.fixture(scope="session")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    made = collection_in(tmp_path_factory.mktemp("portal"))
    archive(
        made,
        page("http://a.jp/", "古い題", "古い文章", time=START - 86_400),
        page("http://a.jp/", "新しい題", "新しい文章で検索を試す。"),
        page("http://a.jp/p?x=1&y=%E3%81%82", "With a query", "A page with a query part."),
        page("http://evil.example/", HOSTILE, "hostile &lt;script&gt;alert(3)&lt;/script&gt; words"),
        answer("http://a.jp/sjis", "<title>題</title><p>漢字①".encode("cp932"), content_type="text/html"),
        answer("http://a.jp/moved", status=301, fields="Location: /p\r\n"),
        answer("http://a.jp/strange", status=302, fields="Location: javascript:alert(1)\r\n"),
        answer("http://a.jp/gone", "not here", status=404),
        answer("http://a.jp/a.svg", "<svg/>", content_type="image/svg+xml"),
        answer("http://a.jp/odd", "?", content_type='text/<"'),
        *(page(f"http://many.example/{n}", f"Number {n}", "one of many pages") for n in range(35)),
    )
    index_new(made)
    return made


@pytest.fixture(scope="session")
def get(collection: Collection) -> Ask:
    app = application(collection)
    return functools.partial(ask, app)


@pytest.fixture(scope="session")
def album(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """Pages with a history."""
    made = collection_in(tmp_path_factory.mktemp("album"))
    archive(made, *history())
    index_new(made)
    return made


@pytest.fixture(scope="session")
def turn(album: Collection) -> Ask:
    """Asks the portal of the album."""
    return functools.partial(ask, application(album))


@pytest.fixture
def empty(tmp_path: Path) -> Collection:
    return collection_in(tmp_path)
