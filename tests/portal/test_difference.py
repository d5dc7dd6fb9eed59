import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.portal.difference import Row, compared, words

LINES = st.lists(st.sampled_from(["a", "b", "c", "red car", "blue car", "赤い車", "青い車", ""]), max_size=12)


def told(old: str, new: str) -> list[str]:
    """Rows in short: `=` the same, `-` removed, `+` added."""
    marks = {"same": "", "removed": "-", "added": "+"}
    return [
        "".join(f"[{marks[op]}{text}]" if marks[op] else text for op, text in row.pieces)
        for row in compared(old, new)
    ]


@pytest.mark.parametrize(
    ("old", "new", "rows"),
    [
        ("a b c", "a x c", ["a [-b][+x] c"]),
        ("a\nb\nc", "a\nc", ["a", "[-b]", "c"]),
        ("a\nc", "a\nb\nc", ["a", "[+b]", "c"]),
        ("今日は良い天気です。", "今日は悪い天気でした。", ["今日は[-良][+悪]い天気で[-す][+した]。"]),
        (
            "コンピュータを買う",
            "コンピューターを買った",
            ["[-コンピュータ][+コンピューター]を買[-う][+った]"],
        ),
        ("the red old car", "the blue new car", ["the [-red old][+blue new] car"]),
        ("", "a", ["[+a]"]),
        ("same", "same", ["same"]),
        ("wholly other words", "nothing in common", ["[-wholly other words]", "[+nothing in common]"]),
    ],
)
def test_a_change_is_told_in_the_words_that_changed(old: str, new: str, rows: list[str]) -> None:
    assert told(old, new) == rows


def test_changed_lines_are_paired_with_the_lines_they_were() -> None:
    old = "a long line about the town hall\nanother one about the river"
    new = "something new\na long line about the old town hall\nanother one about a river"
    assert told(old, new) == [
        "[+something new]",
        "a long line about the [+old ]town hall",
        "another one about [-the][+a] river",
    ]


@given(LINES, LINES, st.sampled_from([0, 5, 50, 10**6]))
def test_both_texts_can_be_read_off_the_rows_whatever_the_budget(
    old: list[str], new: list[str], budget: int
) -> None:
    rows = compared("\n".join(old), "\n".join(new), budget)
    assert _side(rows, "removed") == "\n".join(old).splitlines()
    assert _side(rows, "added") == "\n".join(new).splitlines()


def _side(rows: list[Row], op: str) -> list[str]:
    return ["".join(text for own, text in row.pieces if own in ("same", op)) for row in rows if _has(row, op)]


def _has(row: Row, op: str) -> bool:
    return row.kind in ("same", "changed", op)


@given(LINES)
def test_a_text_does_not_differ_from_itself(lines: list[str]) -> None:
    assert {row.kind for row in compared("\n".join(lines), "\n".join(lines))} <= {"same"}


@given(st.text())
def test_words_joined_are_the_line(line: str) -> None:
    assert "".join(words(line)) == line


def test_hostile_texts_are_compared_within_the_budget() -> None:
    assert len(compared("a\n" * 40_000, "b\na\n" * 20_000)) > 0
    assert len(compared("ab " * 60_000, "ba " * 60_000)) > 0
