from __future__ import annotations

import pytest

from joro.testweb.charsets import encode


@pytest.mark.parametrize(
    ("charset", "codec"),
    [("utf-8", "utf-8"), ("shift_jis", "cp932"), ("euc-jp", "euc_jp"), ("iso-2022-jp", "iso2022_jp")],
)
def test_japanese_survives_in_every_set(charset: str, codec: str) -> None:
    assert encode("峠を越えて、海へ。", charset).decode(codec) == "峠を越えて、海へ。"


def test_euc_has_the_circled_numbers_windows_added() -> None:
    assert encode("①㈱", "euc-jp") == b"\xad\xa1\xad\xea"


def test_what_a_set_lacks_becomes_a_reference() -> None:
    assert encode("é 한", "shift_jis") == b"&#233; &#54620;"
    assert encode("한", "euc-jp") == b"&#54620;"
    assert encode("あ", "iso-8859-1") == b"&#12354;"


def test_latin_1_means_windows_1252() -> None:
    assert encode("€", "iso-8859-1") == b"\x80"
