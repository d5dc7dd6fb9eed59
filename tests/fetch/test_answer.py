from __future__ import annotations

from typing import Any

from hypothesis import given

from joro.fetch.answer import Answer
from tests.fetch.answers import in_pieces


@given(in_pieces())
def test_where_an_answer_is_cut_makes_no_difference(pieces: list[bytes]) -> None:
    def read(several: list[bytes]) -> tuple[Any, ...]:
        answer, body = Answer(2_000), b""
        for each in several:
            if not answer.flaw and not (answer.framing and answer.framing.is_done):
                body += bytes(answer.receive(bytearray(each), len(each)))
        answer.end()
        return answer.status, answer.head, answer.fields, bool(answer.flaw), b"" if answer.flaw else body

    assert read(pieces) == read([b"".join(pieces)])
