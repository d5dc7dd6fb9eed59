"""How is text written in a character set, as the web understands its name?

In:    text and a name such as `shift_jis`.
Out:   bytes; what the set lacks becomes a character reference (`&#12354;`).
Never: takes Python's word for it: on the web Shift_JIS means Windows' extension of it, Latin-1 means
       windows-1252, and EUC-JP also has ①, ㈱ and № (its row 13), which Python's does not.
"""

from __future__ import annotations

import codecs

#: Name on the web → Python's codec, where they differ.
CODECS = {"shift_jis": "cp932", "iso-2022-jp": "iso2022_jp", "iso-8859-1": "cp1252", "windows-1252": "cp1252"}

_ERRORS = "testweb-euc"


def encode(text: str, charset: str) -> bytes:
    """The text as a server sends it."""
    errors = _ERRORS if charset == "euc-jp" else "xmlcharrefreplace"
    return codecs.encode(text, CODECS.get(charset, charset), errors)


def _euc_row_13(error: UnicodeError) -> tuple[str | bytes, int]:
    """EUC-JP bytes of characters Windows added to JIS X 0208, worked out from their Shift_JIS bytes."""
    assert isinstance(error, UnicodeEncodeError)
    written = b"".join(_euc(one) for one in error.object[error.start : error.end])
    return written, error.end


def _euc(character: str) -> bytes:
    code = character.encode("cp932", "replace")
    if len(code) != 2 or code[0] != 0x87:  # 0x87 is Shift_JIS for rows 13 and 14; only 13 is filled
        return b"&#%d;" % ord(character)
    cell = code[1] - 0x3F - (code[1] > 0x7F)
    return bytes((0xA0 + 13, 0xA0 + cell))


codecs.register_error(_ERRORS, _euc_row_13)
