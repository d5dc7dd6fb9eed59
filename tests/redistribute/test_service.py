import contextlib
import json
import ssl
import urllib.request
from pathlib import Path
from urllib.error import HTTPError

import pytest
import trustme
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from joro import cli
from joro.archive.index import CaptureIndex
from joro.clock import FakeClock
from joro.errors import TransferError, UsageError
from joro.redistribute.caller import Caller
from joro.redistribute.package import Manifest
from joro.redistribute.parties import PartyBook
from joro.redistribute.selection import Selection
from joro.store.collection import Collection
from joro.store.orders import TAKEDOWN, Order, OrderBook
from tests.archive.examples import HEAD, NOON, visit, writer
from tests.redistribute.stand import DAY_S, caller, collection_at, fill, register, running, serving
from tests.web.plainly import speaking_plainly


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    return collection_at(tmp_path / "web")


def status(
    url: str, *, token: str = "", method: str = "GET", body: bytes | None = None, **headers: str
) -> int:
    request = urllib.request.Request(url, body, method=method)
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    for name, value in headers.items():
        request.add_header(name.replace("_", "-"), value)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            answer.read()
            return int(answer.status)
    except HTTPError as error:
        error.close()
        return error.code


def logged(collection: Collection) -> list[dict[str, object]]:
    (log,) = collection.logs.glob("redistribution-*.jsonl")
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_whoever_is_not_registered_is_refused_and_that_is_logged(collection: Collection) -> None:
    with serving(collection) as url:
        assert status(f"{url}/packages", method="POST", body=b"{}") == 401
        assert status(f"{url}/packages", token="guessed", method="POST", body=b"{}") == 403
        assert status(f"{url}/packages/{'0' * 32}/warc") == 401
    assert [(line["act"], line["status"], line["address"]) for line in logged(collection)] == [
        ("refused", 401, "127.0.0.1"),
        ("refused", 403, "127.0.0.1"),
        ("refused", 401, "127.0.0.1"),
    ]


@pytest.mark.parametrize(
    "path", ["packages", f"packages/{'0' * 32}", f"packages/{'0' * 32}/index", "schedule", "uploads/x"]
)
def test_no_address_but_healthz_answers_without_a_token(collection: Collection, path: str) -> None:
    with serving(collection) as url:
        assert status(f"{url}/{path}") == 401
        assert status(f"{url}/healthz") == 200


def test_a_party_that_is_removed_is_refused_from_then_on(collection: Collection) -> None:
    token = register(collection)
    with serving(collection) as url:
        assert status(f"{url}/packages", token=token) == 200
        PartyBook(collection.part("redistribution")).remove("tokyo")
        assert status(f"{url}/packages", token=token) == 403


def test_a_token_is_kept_as_its_hash_only_where_only_the_owner_can_read(collection: Collection) -> None:
    token = register(collection)
    path = collection.path / "redistribution" / "parties.json"
    assert token not in path.read_text()
    assert path.stat().st_mode & 0o077 == 0


def test_requests_beyond_a_partys_limit_wait_for_the_next_day(collection: Collection) -> None:
    token, clock = register(collection, requests_per_day=2), FakeClock(NOON)
    with serving(collection, clock) as url:
        answers = [status(f"{url}/packages", token=token) for _ in range(3)]
        assert answers == [200, 200, 429]
        clock._now += DAY_S
        assert status(f"{url}/packages", token=token) == 200


def test_bytes_beyond_a_partys_limit_wait_even_when_the_service_is_started_anew(
    collection: Collection,
) -> None:
    fill(collection, 30, body_bytes=4_000)
    token, clock = register(collection, bytes_per_day=40_000), FakeClock(NOON)
    with serving(collection, clock) as url:
        manifest = caller(url, token).post("/packages", Selection(), Manifest)
        assert manifest.bytes > 50_000
        at = f"/packages/{manifest.package}/warc"
        first = b"".join(caller(url, token).pieces(at, 0))
        assert len(first) == 40_000
    with serving(collection, clock) as url:
        with pytest.raises(TransferError, match="may have 40,000 bytes a day") as refused:
            list(caller(url, token).pieces(at, 40_000))
        assert refused.value.status == 429
        clock._now += DAY_S
        rest = b"".join(caller(url, token).pieces(at, 40_000))
    assert len(first + rest) == manifest.bytes


def test_a_party_is_confined_to_its_hosts(collection: Collection) -> None:
    fill(collection, 40)
    token, other = register(collection, hosts=r"\.ac\.jp$"), register(collection, "osaka")
    with serving(collection) as url:
        manifest = caller(url, token).post("/packages", Selection(), Manifest)
        assert manifest.captures == 20
        assert caller(url, token).post("/packages", Selection(hosts="example"), Manifest).captures == 0
        everything = caller(url, other).post("/packages", Selection(), Manifest)
        assert status(f"{url}/packages/{everything.package}", token=token) == 404


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"no JSON", "no selection"),
        (b'{"hosts": "("}', "no regular expression"),
        (b'{"host": "a"}', "unknown field `host`"),
        (b'{"since": 2, "until": 1}', "ends before it begins"),
        (b'{"since": "yesterday"}', "since"),
        (b'{"day": "2026-02-30"}', "is no day"),
    ],
)
def test_a_selection_that_makes_no_sense_is_named(collection: Collection, body: bytes, said: str) -> None:
    token = register(collection)
    with serving(collection) as url:
        request = urllib.request.Request(f"{url}/packages", body, method="POST")
        request.add_header("Authorization", f"Bearer {token}")
        with pytest.raises(HTTPError) as answer:
            urllib.request.urlopen(request, timeout=10)
        with answer.value:
            assert answer.value.code == 400
            assert said in json.loads(answer.value.read())["problem"]


def test_a_package_is_for_the_party_that_asked_for_it_as_long_as_its_terms_stay(
    collection: Collection,
) -> None:
    fill(collection, 4)
    token, other = register(collection), register(collection, "osaka")
    with serving(collection) as url:
        manifest = caller(url, token).post("/packages", Selection(), Manifest)
        assert status(f"{url}/packages/{manifest.package}", token=other) == 404
        assert caller(url, other).get("/packages", list[Manifest]) == []
        assert caller(url, token).get("/packages", list[Manifest]) == [manifest]
        token = register(collection, purposes=("training",))
        assert status(f"{url}/packages/{manifest.package}", token=token) == 404


def test_a_damaged_record_is_left_out_and_the_others_go(collection: Collection) -> None:
    fill(collection, 8)
    (warc,) = collection.archive.glob("*.warc.gz")
    third = sorted(CaptureIndex(collection.archive).all(), key=lambda each: each.offset)[2]
    with warc.open("r+b") as file:
        file.seek(third.offset + 40)
        file.write(bytes(20))
    token = register(collection)
    with serving(collection) as url:
        assert caller(url, token).post("/packages", Selection(), Manifest).captures == 7


def test_ranges_asked_for_at_once_do_not_add_up_to_more_than_the_limit(collection: Collection) -> None:
    fill(collection, 30, body_bytes=4_000)
    token = register(collection, bytes_per_day=40_000)
    with serving(collection) as url:
        ask = caller(url, token)
        manifest = ask.post("/packages", Selection(), Manifest)
        first, second = (ask.pieces(f"/packages/{manifest.package}/warc", 0, 1_000) for _ in range(2))
        next(first)
        with pytest.raises(TransferError) as refused:
            next(second)
        assert refused.value.status == 429
        assert len(list(first)) == 39


def test_a_range_behind_the_end_and_a_senseless_one_are_refused(collection: Collection) -> None:
    fill(collection, 4)
    token = register(collection)
    with serving(collection) as url:
        manifest = caller(url, token).post("/packages", Selection(), Manifest)
        at = f"{url}/packages/{manifest.package}/warc"
        assert status(at, token=token, Range=f"bytes={manifest.bytes}-") == 416
        assert status(at, token=token, Range="bytes=-5") == 400
        assert status(at, token=token, Range="bytes=0-0") == 206
        assert status(f"{url}/packages/..%2f..%2fparties.json/warc", token=token) == 404


def test_what_an_order_withholds_is_in_no_package(collection: Collection) -> None:
    fill(collection, 40)
    OrderBook(collection.orders, lambda: NOON).give(Order(0, TAKEDOWN, "host", "b.ac.jp", 0.0))
    token = register(collection)
    with serving(collection) as url:
        assert caller(url, token).post("/packages", Selection(), Manifest).captures == 30


def test_an_order_acts_on_packages_that_were_made_before(collection: Collection) -> None:
    fill(collection, 40)
    token = register(collection)
    with serving(collection) as url:
        manifest = caller(url, token).post("/packages", Selection(), Manifest)
        OrderBook(collection.orders, lambda: NOON).give(Order(0, TAKEDOWN, "url", "http://b.ac.jp/1", 0.0))
        with pytest.raises(TransferError) as refused:
            list(caller(url, token).pieces(f"/packages/{manifest.package}/warc", 0))
        assert refused.value.status == 410
        assert caller(url, token).post("/packages", Selection(), Manifest).captures == 39


def test_an_order_cuts_a_transfer_in_the_middle(collection: Collection) -> None:
    fill(collection, 60, body_bytes=500_000, limit_bytes=100_000_000)
    token = register(collection)
    with serving(collection) as url:
        ask = caller(url, token)
        manifest = ask.post("/packages", Selection(), Manifest)
        pieces = ask.pieces(f"/packages/{manifest.package}/warc", 0)
        size = len(next(pieces))
        OrderBook(collection.orders, lambda: NOON).give(Order(0, TAKEDOWN, "url", "http://b.ac.jp/1", 0.0))
        with contextlib.suppress(TransferError):
            size += sum(map(len, pieces))
        assert size < manifest.bytes


def test_what_its_owner_reserves_goes_to_nobody_who_wants_it_for_that(collection: Collection) -> None:
    archive = writer(collection.archive)
    archive.append(visit("http://a.jp/1", b"<p>free"))
    archive.append(visit("http://a.jp/2", b'<meta name="robots" content="noarchive"><p>not to be shown'))
    archive.append(visit("http://a.jp/3", b"<p>", head=HEAD[:-2] + b"X-Robots-Tag: noai\r\n\r\n"))
    archive.append(visit("http://a.jp/4", b'<meta name="tdm-reservation" content="1">'))
    archive.append(visit("http://b.jp/robots.txt", b"User-agent: *\nContent-Signal: ai-train=no\n"))
    archive.append(visit("http://b.jp/1", b"<p>no teaching"))
    archive.close()
    plain, mining = register(collection), register(collection, "lab", purposes=("analysis", "training"))
    with serving(collection) as url:
        assert caller(url, plain).post("/packages", Selection(), Manifest).captures == 5
        assert caller(url, mining).post("/packages", Selection(), Manifest).captures == 1


def test_over_tls_only_a_trusted_certificate_gets_the_token(collection: Collection, tmp_path: Path) -> None:
    authority = trustme.CA()
    ours = authority.issue_cert("127.0.0.1")
    ours.cert_chain_pems[0].write_to_path(tmp_path / "chain.pem")
    ours.private_key_pem.write_to_path(tmp_path / "key.pem")
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    token = register(collection)
    with serving(collection, ssl_cert=tmp_path / "chain.pem", ssl_key=tmp_path / "key.pem") as url:
        assert url.startswith("https://")
        trusting = Caller(url, token, ca=tmp_path / "ca.pem", silence_s=10)
        assert trusting.get("/packages", list[Manifest]) == []
        with pytest.raises(TransferError, match="is not trusted") as refused:
            Caller(url, token, silence_s=10).get("/packages", list[Manifest])
        assert not refused.value.passes
        context = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
        with urllib.request.urlopen(f"{url}/healthz", context=context, timeout=10) as answer:
            assert answer.read() == b"ok\n"


def test_a_token_is_not_sent_in_the_clear_over_a_network() -> None:
    with pytest.raises(UsageError, match="would show the token"):
        Caller("http://hub.example:8767/", "secret")
    Caller("http://hub.example:8767/", "secret", plain=True)
    Caller("http://[::1]:8767/", "secret")


def test_a_service_that_speaks_http_to_https_is_told_with_the_remedy() -> None:
    with speaking_plainly() as port, pytest.raises(TransferError, match=r"http, not https; .*--plain"):
        Caller(f"https://127.0.0.1:{port}", "secret", silence_s=10).get("/packages", list[Manifest])


def test_after_a_take_down_is_collected_no_package_names_its_pages(collection: Collection) -> None:
    fill(collection, 8)
    token = register(collection)
    with serving(collection) as url:
        ask = caller(url, token)
        manifest = ask.post("/packages", Selection(), Manifest)
        other = ask.post("/packages", Selection(hosts="example"), Manifest)
        OrderBook(collection.orders, lambda: NOON).give(Order(0, TAKEDOWN, "host", "b.ac.jp", 0.0))
        cli.joro.main(["takedown", "collect", "-C", str(collection.path), "-q"], standalone_mode=False)
        left = (collection.path / "redistribution" / "packages").iterdir()
        assert [path.name for path in left] == [other.package]
        assert status(f"{url}/packages/{manifest.package}", token=token) == 404
        assert ask.post("/packages", Selection(), Manifest).captures == 6


def test_a_redirection_does_not_get_the_token() -> None:
    seen: list[str] = []

    async def elsewhere(request: Request) -> Response:
        seen.append(request.headers.get("authorization", ""))
        return RedirectResponse("/stolen")

    app = Starlette(routes=[Route("/{path}", elsewhere)])
    with running(lambda: app) as url, pytest.raises(TransferError, match=r"refuses \(307"):
        caller(url, "secret").get("/packages", list[Manifest])
    assert seen == ["Bearer secret"]
