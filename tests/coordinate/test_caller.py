from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import trustme

from joro.coordinate.caller import Managers
from joro.errors import TransferError, UsageError
from tests.web.plainly import speaking_plainly

Call = Callable[..., Managers]


class Manager(ThreadingHTTPServer):
    """Somebody who answers, and counts who asks."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.status, self.said = 200, b"hello"
        self.hangs_up = False
        self.asked: list[tuple[str, str, bytes]] = []
        self.lines = 0
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def end(self) -> None:
        self.shutdown()
        self.server_close()


class Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Manager

    def setup(self) -> None:
        super().setup()
        self.server.lines += 1

    def do_GET(self) -> None:
        length = int(self.headers.get("content-length", 0))
        self.server.asked.append((self.path, self.headers["authorization"], self.rfile.read(length)))
        self.send_response(self.server.status)
        self.send_header("content-length", str(len(self.server.said)))
        self.end_headers()
        self.wfile.write(self.server.said)
        self.close_connection = self.server.hangs_up

    do_POST = do_GET

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def managers() -> Iterator[tuple[Manager, Manager]]:
    pair = Manager(), Manager()
    yield pair
    for manager in pair:
        manager.end()


@pytest.fixture
def call() -> Iterator[Call]:
    lines: list[Managers] = []

    def opened(*urls: str) -> Managers:
        lines.append(Managers(urls, "secret"))
        return lines[-1]

    yield opened
    for line in lines:
        line.close()


def test_a_manager_is_asked_with_the_token_over_one_line(
    managers: tuple[Manager, Manager], call: Call
) -> None:
    one, _ = managers
    line = call(one.url)
    assert [line.post("/beat", b"x", silence_s=5), line.get("/j?a=1", silence_s=5)] == [b"hello", b"hello"]
    assert one.asked == [("/beat", "Bearer secret", b"x"), ("/j?a=1", "Bearer secret", b"")]
    assert one.lines == 1


def test_the_next_manager_is_asked_at_once_when_one_is_gone_or_broken(
    managers: tuple[Manager, Manager], call: Call
) -> None:
    one, two = managers
    line = call(one.url, two.url)
    one.status = 503
    assert line.get("/", silence_s=5) == b"hello"
    line.get("/", silence_s=5)
    assert (len(one.asked), len(two.asked)) == (1, 2)
    two.status, one.status = 500, 200
    assert line.get("/", silence_s=5) == b"hello"
    assert len(one.asked) == 2


def test_a_line_that_was_hung_up_between_two_calls_is_opened_again(
    managers: tuple[Manager, Manager], call: Call
) -> None:
    one, _ = managers
    one.hangs_up = True
    line = call(one.url)
    assert [line.get("/", silence_s=5) for _ in range(3)] == [b"hello"] * 3


def test_nobody_there_is_told_in_one_line_and_passes() -> None:
    with pytest.raises(TransferError, match=r"http://127\.0\.0\.1:1 does not answer") as caught:
        Managers(["http://127.0.0.1:1"], "secret").get("/", silence_s=1)
    assert caught.value.passes


@pytest.mark.parametrize(
    ("status", "said", "remedy"),
    [
        (403, "the token belongs to no robot", "joro manager robot add"),
        (409, "the clock is 99 s off", "start the robot again"),
        (418, "no", "ask its operator"),
    ],
)
def test_a_refusal_is_final_and_says_why(
    managers: tuple[Manager, Manager], call: Call, status: int, said: str, remedy: str
) -> None:
    one, two = managers
    one.status, one.said = status, b'{"problem": "%s"}' % said.encode()
    with pytest.raises(TransferError, match=said) as caught:
        call(one.url, two.url).get("/", silence_s=5)
    assert remedy in caught.value.remedy
    assert not caught.value.passes
    assert two.asked == []


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://one.example:8768", "would show the token"),
        ("ftp://one.example", "no address of a manager"),
        ("https://", "no address of a manager"),
        ("https://one.example:x", "no address of a manager"),
        ("https://one.example:99999", "no address of a manager"),
        ("https://one .example", "no address of a manager"),
        ("https://me:swordfish@one.example", "the manager at one.example has a user in it"),
        ("https://one.example/?x", "the manager at one.example has a query in it"),
        ("https://one.example/#x", "the manager at one.example has a fragment in it"),
    ],
)
def test_addresses_that_cannot_be_or_give_the_token_away_are_refused(url: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        Managers([url], "secret")


def test_plain_http_is_taken_where_the_operator_says_so() -> None:
    assert Managers(["http://one.example:8768/"], "secret", plain=True).address == "http://one.example:8768"


def test_no_manager_and_no_certificates_are_mistakes(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no manager is named"):
        Managers([], "secret")
    with pytest.raises(UsageError, match="holds no certificates"):
        Managers(["https://one.example"], "secret", ca=tmp_path / "none.pem")


def test_over_tls_only_a_trusted_manager_gets_the_token(tmp_path: Path) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    manager = Manager()
    manager.socket = context.wrap_socket(manager.socket, server_side=True)
    url = manager.url.replace("http:", "https:")
    with pytest.raises(TransferError, match="is not trusted") as refused:
        Managers([url], "secret").get("/", silence_s=5)
    assert not refused.value.passes
    line = Managers([url], "secret", ca=tmp_path / "ca.pem")
    assert line.get("/", silence_s=5) == b"hello"
    assert [token for _, token, _ in manager.asked] == ["Bearer secret"]
    line.close()
    manager.end()


def test_a_manager_that_speaks_http_to_https_is_told_with_the_remedy() -> None:
    with speaking_plainly() as port, pytest.raises(TransferError, match="speaks http, not https") as caught:
        Managers([f"https://127.0.0.1:{port}"], "secret").get("/", silence_s=5)
    assert "cooperate.plain = true" in caught.value.remedy
    assert not caught.value.passes
