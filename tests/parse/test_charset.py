"""The charset is found in the standard's order, and bytes become the characters a browser shows."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joro.parse.charset import charset_of, decode
from joro.parse.prescan import encoding_of
from joro.testweb.plan import make
from joro.testweb.settings import EPOCH, Settings
from joro.testweb.site import Site

JAPANESE = "日本の大学では、情報検索の研究が盛んに行われています。"


def test_a_byte_order_mark_beats_the_header() -> None:
    assert charset_of(b"\xef\xbb\xbf<p>", "text/html; charset=shift_jis") == "UTF-8"
    assert charset_of(b"\xff\xfe<\0", "text/html; charset=shift_jis") == "UTF-16LE"
    assert charset_of(b"\xfe\xff\0<", "text/html; charset=shift_jis") == "UTF-16BE"


def test_the_header_beats_the_page() -> None:
    assert charset_of(b"<meta charset=koi8-r>", 'text/html; Charset="euc-jp"') == "EUC-JP"


def test_a_header_that_says_nothing_known_leaves_it_to_the_page() -> None:
    assert charset_of(b"<meta charset=koi8-r>", "text/html; charset=bogus") == "KOI8-R"
    assert charset_of(b"<meta charset=koi8-r>", "charset=euc-jp") == "KOI8-R"


def test_the_page_beats_a_guess() -> None:
    assert charset_of(b"<meta charset=koi8-r>" + JAPANESE.encode()) == "KOI8-R"


def test_a_declaration_behind_1024_bytes_counts_as_in_a_browser() -> None:
    assert charset_of(b"<!--" + b"x" * 2_000 + b"--><meta charset=koi8-r>") == "KOI8-R"
    assert charset_of(b"<!--" + b"x" * 2_000 + b"<meta charset=koi8-r>-->") == "windows-1252"


@pytest.mark.parametrize(
    ("codec", "encoding"),
    [("cp932", "Shift_JIS"), ("euc_jp", "EUC-JP"), ("iso2022_jp", "ISO-2022-JP"), ("utf-8", "UTF-8")],
)
@pytest.mark.parametrize("length", [20, len(JAPANESE)])
def test_japanese_without_a_declaration_is_recognised(codec: str, encoding: str, length: int) -> None:
    page = b"<title>x</title><p class=text>" + JAPANESE[:length].encode(codec)
    assert charset_of(page) == encoding
    assert decode(page, encoding).endswith(JAPANESE[:length])


@pytest.mark.parametrize(
    ("text", "codec", "encoding"),
    [
        ("Größe und Preis können geändert werden, während die Bäume blühen.", "cp1252", "windows-1252"),
        ("Сегодня хорошая погода, и мы пошли гулять в парк.", "cp1251", "windows-1251"),
        ("今天天气很好，我们一起去公园散步。信息检索很重要。", "gbk", "GBK"),
        ("오늘은 날씨가 좋아서 친구들과 함께 공원에 갔습니다.", "euc-kr", "EUC-KR"),
    ],
)
def test_other_languages_are_recognised_too(text: str, codec: str, encoding: str) -> None:
    assert charset_of(text.encode(codec)) == encoding


def test_the_top_level_domain_helps_a_short_text() -> None:
    assert charset_of("検索です".encode("cp932"), url="http://www.example.jp/") == "Shift_JIS"


def test_a_character_cut_off_at_the_end_is_still_utf8() -> None:
    assert charset_of(JAPANESE.encode()[:-1]) == "UTF-8"
    assert charset_of(JAPANESE.encode()[:-1] + b"<p>") != "UTF-8"


def test_pure_ascii_is_what_the_standard_falls_back_to() -> None:
    assert charset_of(b"<p>hello") == "windows-1252"


@pytest.mark.parametrize(
    ("octets", "charset", "text"),
    [
        (b"\x87\x40\x87\x8a\x87\x82", "Shift_JIS", "①㈱№"),
        (b"\xed\x40\xfa\x5c\xfa\x40", "Shift_JIS", "纊纊ⅰ"),
        (b"\xb6\xc5\x5c\x7e\x80", "Shift_JIS", "ｶﾅ\\~\x80"),
        (b"\x81\x60\x81\x7c", "Shift_JIS", "～－"),
        (b"\xf0\x40", "Shift_JIS", "\ue000"),
        (b"\x81A\x81\xff\xa0", "Shift_JIS", "、\ufffd\ufffd"),
        (b"\x81<p>", "Shift_JIS", "\ufffd<p>"),
        (b"\xad\xa1\xad\xea\xad\xe2", "EUC-JP", "①㈱№"),
        (b"\x8e\xb6\x8f\xb0\xa1", "EUC-JP", "ｶ丂"),
        (b"\xa4<p>\xa4", "EUC-JP", "\ufffd<p>\ufffd"),
        (b"\x8f\xa1<p>", "EUC-JP", "\ufffd<p>"),
        (b"\x1b$B\x2d\x21\x2d\x6a\x1b(Ba", "ISO-2022-JP", "①㈱a"),
        (b"\x1b(I\x36\x45\x1b(J\\~", "ISO-2022-JP", "ｶﾅ¥‾"),
        (b"\x1b$B\x24\x22\x1b(B\x1b(B\x0e\x80", "ISO-2022-JP", "あ\ufffd\ufffd\ufffd"),
        (b"\x80\x81\x8d", "windows-1252", "€\x81\x8d"),
        (b"\x88\x62\xa1\xc0", "Big5", "\u00ca\u0304㊣"),
        (b"\x80\x84\x31\xa4\x37", "GBK", "€\ufffd"),
        (b"\xf0\x9f\x98\xe3\x81\x82\xff", "UTF-8", "\ufffdあ\ufffd"),
        (b"\x3d\xd8\x00\xdea\0b", "UTF-16LE", "\U0001f600a\ufffd"),
        (b"anything", "replacement", "\ufffd"),
        (b"\xe9", "bogus", "é"),
    ],
)
def test_bytes_become_the_characters_of_the_encoding_standard(octets: bytes, charset: str, text: str) -> None:
    assert decode(octets, charset) == text


def test_the_byte_order_mark_is_no_text() -> None:
    assert decode(b"\xef\xbb\xbfa", "UTF-8") == "a"
    assert decode(b"\xff\xfea\0", "UTF-16LE") == "a"


@settings(deadline=None)
@given(
    st.text(alphabet=st.characters(codec="cp932", exclude_characters="\x80\uf8f0\uf8f1\uf8f2\uf8f3¢£¬‖−〜"))
)
def test_shift_jis_reads_back_what_cp932_wrote(text: str) -> None:
    assert decode(text.encode("cp932"), "Shift_JIS") == text


@settings(deadline=None)
@given(
    st.binary(),
    st.text(max_size=40),
    st.sampled_from(["sjis", "euc-jp", "iso-2022-jp", "gbk", "utf-16", "x"]),
)
def test_no_bytes_make_it_raise(octets: bytes, content_type: str, label: str) -> None:
    assert isinstance(decode(octets, charset_of(octets, content_type)), str)
    assert isinstance(decode(octets, encoding_of(label)), str)


def test_undeclared_japanese_pages_of_the_test_web_are_read_as_they_were_written() -> None:
    """Where only the detector was asked, 58 of these 130 pages in EUC-JP were taken for Shift_JIS."""
    site = Site(make(Settings(seed=4, hosts=300, pages=2_000, roles=("normal", "soft404", "copy", "trap"))))
    hosts = [host for host in site.plan.hosts if host.declared == "nowhere" and host.charset == "euc-jp"]
    pages = [(host, page) for host in hosts for page in range(host.first, host.first + host.pages)]
    found = [
        charset_of(site.pages.content(page, site.changes.state(page, EPOCH)), "", host.url)
        for host, page in pages
    ]
    assert (len(found), set(found)) == (130, {"EUC-JP"})
