"""A query goes out in the charset the server expects."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joro.parse.query import query_codec, with_query_in


@pytest.mark.parametrize(
    ("charset", "ref", "spelled"),
    [
        ("Shift_JIS", "/表?q=表&r=a#表", "/表?q=%95\\&r=a#表"),
        ("EUC-JP", "?q=日本", "?q=%C6%FC%CB%DC"),
        ("ISO-2022-JP", "?q=日", "?q=%1B$BF|%1B(B"),
        ("windows-1252", "?q=é'\"<>", "?q=%E9%27%22%3C%3E"),
        ("windows-1252", "?q=日", "?q=%26%2326085%3B"),
        ("KOI8-R", "?q=да", "?q=%C4%C1"),
        ("GBK", "?q=中", "?q=%D6%D0"),
        ("Shift_JIS", "/a#b?日", "/a#b?日"),
        ("Shift_JIS", "/日?q=a", "/日?q=a"),
    ],
)
def test_a_query_is_percent_encoded_in_the_pages_charset(charset: str, ref: str, spelled: str) -> None:
    assert with_query_in(query_codec(charset), ref) == spelled


@pytest.mark.parametrize("charset", ["UTF-8", "UTF-16LE", "replacement", "x-user-defined", "bogus"])
def test_these_charsets_send_utf8(charset: str) -> None:
    assert query_codec(charset) == ""


@settings(deadline=None)
@given(st.text(), st.sampled_from(["Shift_JIS", "EUC-JP", "ISO-2022-JP", "Big5", "EUC-KR", "windows-874"]))
def test_a_spelled_query_is_ascii(query: str, charset: str) -> None:
    spelled = with_query_in(query_codec(charset), "?" + query.replace("#", ""))
    assert spelled.isascii()
