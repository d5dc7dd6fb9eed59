from hypothesis import given
from hypothesis import strategies as st

from joro.breaker.tunnel import FLIGHT_BYTES, Flights


def record(kind: int, length: int = 100) -> bytes:
    return bytes([kind, 3, 3, *length.to_bytes(2, "big")]) + b"x" * length


HELLO, CIPHER, REQUEST = record(22), record(20, 1), record(23)


def accesses(*moves: bytes | None) -> list[int]:
    """What each piece of the client's is worth; None: the server speaks."""
    flights, worth = Flights(), []
    for move in moves:
        if move is None:
            flights.server_said()
        else:
            worth.append(flights.client_said(move))
    return worth


def test_the_first_flight_was_granted_with_connect() -> None:
    assert accesses(b"GET / HTTP/1.1\r\n", b"\r\n") == [0, 0]


def test_client_bytes_after_server_bytes_are_another_request() -> None:
    assert accesses(b"GET /", None, b"GET /", None, None, b"GET /", b" HTTP/1.1") == [0, 1, 1, 0]


def test_a_tls_handshake_is_no_request() -> None:
    assert accesses(HELLO, None, HELLO, None, CIPHER + HELLO, None, REQUEST) == [0, 0, 0, 0]


def test_requests_inside_tls_count_after_the_first() -> None:
    assert accesses(HELLO, None, CIPHER + REQUEST, None, REQUEST, None, REQUEST) == [0, 0, 1, 1]


def test_a_flight_that_may_hold_many_requests_counts_as_many() -> None:
    assert accesses(b"x" * FLIGHT_BYTES, b"x", b"x" * (2 * FLIGHT_BYTES)) == [0, 1, 2]


def test_what_only_looks_like_tls_at_first_is_counted_all_the_same() -> None:
    assert accesses(HELLO, None, b"GET / HTTP/1.1\r\n\r\n", None, b"GET / HTTP/1.1\r\n\r\n") == [0, 0, 1]


@given(st.integers(1, 60), st.integers(1, 5))
def test_records_are_found_however_they_are_cut(size: int, requests: int) -> None:
    flights, total = Flights(), 0
    for whole in [HELLO, CIPHER + REQUEST, *[REQUEST] * requests]:
        total += sum(flights.client_said(whole[at : at + size]) for at in range(0, len(whole), size))
        flights.server_said()
    assert total == requests
