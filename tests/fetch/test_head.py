from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.archive.payload import header_fields
from joro.fetch.head import fields_of
from joro.url import canonical, join

NAMES = st.sampled_from(["A", "a", "b", "Set-Cookie", "X-Robots-Tag", "x-robots-tag", "Location"])
VALUES = st.text("ab:, あ\xe9", max_size=6)


def test_lines_of_x_robots_tag_stay_lines() -> None:
    head = b"HTTP/1.1 200 OK\r\nX-Robots-Tag: a: noindex\r\nB: 1\r\nx-robots-tag: none\r\nB: 2\r\n\r\n"
    assert fields_of(head) == {"x-robots-tag": "a: noindex\nnone", "b": "1, 2"}


@given(st.lists(st.tuples(NAMES, VALUES)))
def test_a_head_says_the_same_when_it_is_read_from_the_archive(fields: list[tuple[str, str]]) -> None:
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
    head = f"HTTP/1.1 200 OK\r\n{lines}\r\n".encode("euc-jp", "replace")
    assert fields_of(head) == header_fields(head)


@pytest.mark.parametrize(
    ("octets", "leads_to"),
    [
        ("/日本".encode(), "http://a.jp/%E6%97%A5%E6%9C%AC"),
        ("/日本".encode("shift_jis"), "http://a.jp/%93%FA%96{"),
        ("http://日本.jp/".encode(), "http://xn--wgv71a.jp/"),
        (b"/x\r\nLocation: /y", "http://a.jp/x"),
    ],
)
def test_a_location_leads_where_browsers_go(octets: bytes, leads_to: str) -> None:
    head = b"HTTP/1.1 302 Found\r\nLocation: " + octets + b"\r\nServer: \xe9\r\n\r\n"
    for fields in (fields_of(head), header_fields(head)):
        assert join("http://a.jp/", fields["location"]) == canonical(leads_to)
