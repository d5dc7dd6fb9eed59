import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from joro.clock import FastClock
from joro.config import Config, Fetch
from joro.model import Response
from joro.owner import file_holds, page_holds, verify
from joro.store.claims import Claim, ClaimBook
from joro.store.collection import Collection
from tests.fetch.test_txt import TxtServer
from tests.web.scripted import scripted

NOW = 1_794_808_500.0
NOTHING = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


def answer(body: str, mime: str = "text/plain") -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Type: {mime}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


def claimed(directory: Path, port: int, **fetch: object) -> tuple[Collection, Claim]:
    ports = {"80": port, "443": 1}  # nobody speaks https
    settings = {"hosts": {"*": "127.0.0.1"}, "ports": ports, **fetch}
    if "allow_addresses" not in settings:
        settings["allow_addresses"] = ("127.0.0.0/8",)
    collection = Collection.create(directory / "my-web", Config(fetch=Fetch(**settings)))  # type: ignore[arg-type]
    claim, _ = ClaimBook(collection.orders, lambda: NOW - 1).open("a.example", "")
    return collection, claim


async def looked(collection: Collection, *texts: str) -> Claim:
    """What comes of one look, while DNS says `texts`."""
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: TxtServer(*(text.encode() for text in texts)), local_addr=("127.0.0.1", 0)
    )
    nameserver = f"127.0.0.1:{transport.get_extra_info('sockname')[1]}"
    fetch = replace(collection.config.fetch, nameservers=(nameserver,))
    asking = replace(collection, config=replace(collection.config, fetch=fetch))
    (claim,) = await verify(asking, FastClock(epoch=NOW, speed=1_000.0))
    transport.close()
    return claim


def test_a_file_with_the_token_proves_it(tmp_path: Path) -> None:
    async def story() -> tuple[Claim, list[bytes]]:
        async with scripted(NOTHING) as web:
            collection, claim = claimed(tmp_path, web.port)
        async with scripted(answer(f"other\n{claim.token}\n"), port=web.port) as web:
            return await looked(collection), web.requests

    claim, requests = asyncio.run(story())
    assert claim.proof == "http://a.example/.well-known/joro-owner.txt"
    assert claim.is_proved(claim.proved)
    assert b"GET /.well-known/joro-owner.txt HTTP/1.1\r\n" in requests[-1]


def test_a_meta_element_of_the_home_page_proves_it(tmp_path: Path) -> None:
    async def story() -> Claim:
        async with scripted(NOTHING) as web:
            collection, claim = claimed(tmp_path, web.port)
        page = answer(f'<title>x</title><meta name="joro-owner" content="{claim.token}">', "text/html")
        async with scripted(NOTHING, page, port=web.port):
            return await looked(collection)

    assert asyncio.run(story()).proof == "http://a.example/"


def test_a_txt_record_proves_it_without_asking_the_server(tmp_path: Path) -> None:
    async def story() -> tuple[Claim, int]:
        async with scripted(NOTHING) as web:
            collection, claim = claimed(tmp_path, web.port)
            return await looked(collection, "something else", claim.token), len(web.requests)

    claim, requests = asyncio.run(story())
    assert (claim.proof, requests) == ("TXT record of _joro.a.example", 0)


@pytest.mark.parametrize(
    "said",
    [
        NOTHING,
        answer("joro-00000000000000000000000000000000"),
        b"HTTP/1.1 302 Found\r\nLocation: http://b.example/\r\nContent-Length: 0\r\n\r\n",
        answer("<p>no head, no token", "text/html"),
    ],
)
def test_everything_else_proves_nothing(said: bytes, tmp_path: Path) -> None:
    async def story() -> tuple[Claim, int]:
        async with scripted(said) as web:
            collection, _ = claimed(tmp_path, web.port)
            return await looked(collection), web.connections

    claim, connections = asyncio.run(story())
    assert not claim.is_proved(claim.look_at)
    assert "http://a.example/" in claim.proof
    assert connections <= 4


def test_a_host_at_a_forbidden_address_is_not_asked(tmp_path: Path) -> None:
    async def story() -> tuple[Claim, int]:
        async with scripted(NOTHING) as web:
            collection, _ = claimed(tmp_path, web.port, allow_addresses=())
            return await looked(collection), web.connections

    claim, connections = asyncio.run(story())
    assert connections == 0
    assert "forbidden address" in claim.proof


def test_a_token_in_a_comment_a_body_or_an_error_proves_nothing() -> None:
    html = {"content-type": "text/html"}
    meta = '<meta name="joro-owner" content="T">'
    assert page_holds(Response(200, b"", f"<head>{meta}".encode(), html), "T", "http://a.example/")
    for body in (f"<!-- {meta} -->", f"<body><div>{meta}", f"<body><textarea>{meta}", f"<template>{meta}"):
        assert not page_holds(Response(200, b"", body.encode(), html), "T", "http://a.example/")
    assert not page_holds(Response(404, b"", meta.encode(), html), "T", "http://a.example/")
    assert not file_holds(Response(200, b"", b"you asked for T", {}), "T", "http://a.example/")
    assert not file_holds(Response(404, b"", b"T", {}), "T", "http://a.example/")
