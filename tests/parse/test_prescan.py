"""The HTML Standard's prescan, rule by rule. koi8-r stands for "was found": nothing guesses that."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joro.parse.prescan import PRESCAN_BYTES, declared_encoding, encoding_in_content, encoding_of

FOUND = [
    b"<meta charset=koi8-r>",
    b'<meta charset="KOI8-R">',
    b"<META CHARSET='koi8-r'>",
    b"<meta/charset=koi8-r>",
    b"<meta\tname=x\ncharset = koi8-r >",
    b"<meta charset='koi8-r'name=x>",
    b"<meta charset=' koi8-r '>",
    b"<meta charset=koi8-r charset=euc-jp>",
    b'<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">',
    b'<meta content="text/html; charset=koi8-r" http-equiv=content-type>',
    b"<meta http-equiv=content-type content=\"charset charset = 'koi8-r'\">",
    b"<meta content='charset=euc-jp' http-equiv=content-type charset=koi8-r>",
    b"<!--><meta charset=koi8-r>",
    b"<!-- <meta charset=euc-jp> --><meta charset=koi8-r>",
    b"<!doctype html><meta charset=bogus><meta charset=koi8-r>",
    b"<a title='<meta charset=euc-jp>'><meta charset=koi8-r>",
    b"</a title='<meta charset=euc-jp>'><meta charset=koi8-r>",
    b"</ <meta charset=euc-jp><meta charset=koi8-r>",
    b"<? <meta charset=euc-jp><meta charset=koi8-r>",
    b"1 < 2 <meta charset=koi8-r>",
    b"<script>'<meta charset=koi8-r>'</script>",
    b"<?xml version='1.0' encoding='koi8-r'?><p>",
    b'<?xml encoding \n=\n "koi8-r">',
]

NOT_FOUND = [
    b"",
    b"koi8-r",
    b"<metacharset=koi8-r>",
    b"<meta\x0bcharset=koi8-r>",
    b"<meta charset=koi8-r",
    b"<meta charset='koi8-r",
    b"<meta charset='koi8-r'",
    b"<meta charset=koi8-r/>",
    b"<meta =charset=koi8-r>",
    b"<meta name=charset=koi8-r>",
    b"<meta charset= charset=koi8-r>",
    b"<meta content='text/html; charset=koi8-r'>",
    b"<meta http-equiv=refresh content='charset=koi8-r'>",
    b"<meta http-equiv='content-type ' content='charset=koi8-r'>",
    b"<meta http-equiv=content-type content='charset=koi8-r' charset>",
    b"<meta http-equiv=content-type content='charset=\"koi8-r'>",
    b"<!-- <meta charset=koi8-r>",
    b"<a title='<meta charset=koi8-r>",
    b"<a<meta charset=koi8-r>",
    b"<meta name='x><meta charset=koi8-r>",
    b" <?xml version='1.0' encoding='koi8-r'?>",
    b"<?XML encoding='koi8-r'?>",
    b"<?xml encoding='koi8-r'",
    b"<?xml encoding='koi8 -r'?>",
    b"<?xml encoding=koi8-r?>",
]


@pytest.mark.parametrize("head", FOUND)
def test_a_declaration_is_found(head: bytes) -> None:
    assert declared_encoding(head) == "KOI8-R"


@pytest.mark.parametrize("head", NOT_FOUND)
def test_what_only_looks_like_a_declaration_is_none(head: bytes) -> None:
    assert declared_encoding(head) == ""


def test_a_meta_element_is_believed_before_an_xml_declaration() -> None:
    assert declared_encoding(b"<?xml encoding='euc-jp'?><meta charset=koi8-r>") == "KOI8-R"


def test_a_declaration_must_end_within_1024_bytes() -> None:
    meta = b"<meta charset=koi8-r>"
    assert declared_encoding(b" " * (PRESCAN_BYTES - len(meta)) + meta) == "KOI8-R"
    assert declared_encoding(b" " * (PRESCAN_BYTES - len(meta) + 1) + meta) == ""


def test_utf16_read_byte_by_byte_must_be_utf8() -> None:
    assert declared_encoding(b"<meta charset=utf-16le>") == "UTF-8"
    assert declared_encoding(b"<?xml encoding='utf-16'?>") == "UTF-8"


def test_an_xml_declaration_in_utf16_says_so_by_its_zeros() -> None:
    assert declared_encoding("<?xml ".encode("utf-16-le")) == "UTF-16LE"
    assert declared_encoding("<?xml ".encode("utf-16-be")) == "UTF-16BE"


def test_user_defined_means_windows_1252_in_a_meta_element() -> None:
    assert declared_encoding(b"<meta charset=x-user-defined>") == "windows-1252"


@pytest.mark.parametrize(
    ("label", "encoding"),
    [
        ("sjis", "Shift_JIS"),
        (" MS_Kanji\n", "Shift_JIS"),
        ("windows-31j", "Shift_JIS"),
        ("x-euc-jp", "EUC-JP"),
        ("csISO2022JP", "ISO-2022-JP"),
        ("ascii", "windows-1252"),
        ("latin1", "windows-1252"),
        ("iso_8859-1:1987", "windows-1252"),
        ("iso-8859-9", "windows-1254"),
        ("gb2312", "GBK"),
        ("ks_c_5601-1987", "EUC-KR"),
        ("unicode-1-1-utf-8", "UTF-8"),
        ("utf-16", "UTF-16LE"),
        ("hz-gb-2312", "replacement"),
        ("cp932", ""),
        ("utf-8\x0b", ""),
        ("utf\N{FULLWIDTH HYPHEN-MINUS}8", ""),
        ("", ""),
    ],
)
def test_labels_stand_for_what_the_encoding_standard_says(label: str, encoding: str) -> None:
    assert encoding_of(label) == encoding


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        ("text/html; charset=koi8-r", "KOI8-R"),
        ("CHARSET = koi8-r;x", "KOI8-R"),
        ("charsetcharset=koi8-r", "KOI8-R"),
        ("charset='koi8-r'x", "KOI8-R"),
        ("charset=koi8-r'", ""),
        ("charset='koi8-r", ""),
        ("charset=", ""),
        ("koi8-r", ""),
    ],
)
def test_a_content_attribute_is_searched_for_its_charset(content: str, encoding: str) -> None:
    assert encoding_in_content(content) == encoding


@settings(deadline=None)
@given(st.lists(st.sampled_from([*FOUND, *NOT_FOUND, b"<", b">", b'"', b"'", b"=", b"<meta ", b"charset"])))
def test_no_soup_of_tags_makes_it_raise(pieces: list[bytes]) -> None:
    declared_encoding(b"".join(pieces))
