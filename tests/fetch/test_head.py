from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from joro.archive.payload import header_fields
from joro.fetch.head import fields_of

NAMES = st.sampled_from(["A", "a", "b", "Set-Cookie", "X-Robots-Tag", "x-robots-tag"])
VALUES = st.text("ab:, ", max_size=6)


def test_lines_of_x_robots_tag_stay_lines() -> None:
    head = b"HTTP/1.1 200 OK\r\nX-Robots-Tag: a: noindex\r\nB: 1\r\nx-robots-tag: none\r\nB: 2\r\n\r\n"
    assert fields_of(head) == {"x-robots-tag": "a: noindex\nnone", "b": "1, 2"}


@given(st.lists(st.tuples(NAMES, VALUES)))
def test_a_head_says_the_same_when_it_is_read_from_the_archive(fields: list[tuple[str, str]]) -> None:
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
    head = f"HTTP/1.1 200 OK\r\n{lines}\r\n".encode()
    assert fields_of(head) == header_fields(head)
