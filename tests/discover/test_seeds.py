from __future__ import annotations

import re
from pathlib import Path

import pytest

from joro.discover.seeds import read_seeds
from joro.errors import BadSeeds, BadUrl, UsageError

PAGE = Path(__file__).parents[2] / "docs/concepts/urls.md"


def test_seeds_are_canonical_and_each_comes_once() -> None:
    assert read_seeds(["HTTP://Example.org", "http://example.org/#top"]) == ["http://example.org/"]


def test_a_seed_without_a_scheme_is_taken_as_https() -> None:
    assert read_seeds(["example.org/a"]) == ["https://example.org/a"]


def test_the_page_about_urls_says_what_becomes_of_a_seed() -> None:
    ((typed, taken),) = re.findall(r"as a seed, `([^`]+)` is `([^`]+)`", PAGE.read_text(encoding="utf-8"))
    assert read_seeds([typed]) == [taken]


@pytest.mark.parametrize("bad", ["ftp://x", "hello", "http://", "mailto:a@b.c", "", "http://a b/"])
def test_a_bad_seed_is_an_error_that_names_it(bad: str) -> None:
    with pytest.raises(BadUrl):
        read_seeds([bad])


def test_a_seed_file_may_hold_comments_blank_lines_and_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "seeds.txt"
    file.write_text("\ufeff# mine\n\nhttp://a.example/\r\nb.example\n", encoding="utf-8")
    assert read_seeds([], [file]) == ["http://a.example/", "https://b.example/"]


def test_a_comment_may_stand_behind_a_seed_but_a_fragment_is_none(tmp_path: Path) -> None:
    file = tmp_path / "seeds.txt"
    file.write_text("http://a.example/ # a note\nb.example\t#mine\n  # all of it\nhttp://c.example/x#part\n")
    assert read_seeds([], [file]) == ["http://a.example/", "https://b.example/", "http://c.example/x"]


def test_junk_lines_are_counted_and_shown_and_nothing_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "seeds.txt"
    file.write_text("http://a.example/\nftp://x\nhello world\n")
    with pytest.raises(BadSeeds, match=r"2 lines.*line 2: 'ftp://x', line 3: 'hello world'"):
        read_seeds([], [file])


def test_a_missing_or_binary_seed_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for name in ("missing", "binary"):
        with pytest.raises(UsageError, match=name):
            read_seeds([], [tmp_path / name])
