from pathlib import Path

import pytest

from joro.errors import ConfigError, UsageError
from joro.redistribute.sources import parse, token_in

WHOLE = """
[[sources]]
name = "tokyo"
url = "https://tokyo.example:8767/"
token_file = "tokyo.token"
schedule = "30 3 * * *"
"""


def test_a_source_without_a_url_is_one_that_pushes() -> None:
    first, second = parse(WHOLE + '[[sources]]\nname = "osaka"\nschedule = "@daily"\n')
    assert (first.pushes, second.pushes) == (False, True)


def test_each_kind_of_transfer_asks_for_what_it_means() -> None:
    (source,) = parse(WHOLE + 'transfer = "period"\nsince = "20260101"\nuntil = "2026-07-01"\nhosts = "a"\n')
    selection = source.selection({"joro": (3, 7)})
    assert (selection.since, selection.until, selection.hosts, selection.after) == (
        1_767_225_600,
        1_782_864_000,
        "a",
        {},
    )
    (source,) = parse(WHOLE)
    assert source.selection({"joro": (3, 7)}).after == {"joro": (3, 7)}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("[sources", "is not TOML"),
        ("[[source]]\nname = 1", "unknown key source"),
        (WHOLE + 'hots = "a"', "hots"),
        (WHOLE + 'hosts = "("', "no regular expression"),
        (WHOLE + 'transfer = "some"', "transfer = 'some'"),
        (WHOLE + 'transfer = "since"', "needs a date"),
        (WHOLE + 'transfer = "period"\nsince = "2026"', "needs an end"),
        (WHOLE + 'transfer = "since"\nsince = "soon"', "'soon' is no time"),
        (WHOLE.replace("30 3", "70 3"), "'70' is no minute"),
        (WHOLE.replace("https", "ftp"), "url = 'ftp://"),
        (WHOLE.replace('token_file = "tokyo.token"', ""), "no token_file"),
        (WHOLE.replace('"tokyo"', '"../x"'), "name = '../x'"),
        (WHOLE + WHOLE, "two sources are called 'tokyo'"),
        (WHOLE.replace('"30 3 * * *"', "5"), "schedule"),
    ],
)
def test_what_is_wrong_in_the_file_is_named(change: str, named: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse(change)
    assert named in str(error.value)
    assert "redistribution.toml" in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("合言葉", "has characters that no request can carry"),
        ("two words", "holds no token"),
        ("", "holds no"),
    ],
)
def test_a_file_without_a_token_that_can_be_sent_is_named(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "token").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=f"token {said}"):
        token_in(tmp_path / "token")
