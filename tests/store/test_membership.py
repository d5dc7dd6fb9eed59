from __future__ import annotations

from pathlib import Path

import pytest

from joro.errors import UsageError
from joro.store.frontier import Frontier
from joro.store.layout import set_share_count
from joro.store.membership import is_unheard, join, membership, withdraw


def write(directory: Path, name: str, value: bytes) -> None:
    set_share_count(directory, 1)
    frontier = Frontier(directory / "0-of-1")
    frontier.keep(name, value)
    frontier.commit(None)
    frontier.close()


def test_a_collection_works_alone_until_it_joins_and_again_after_it_withdrew(tmp_path: Path) -> None:
    assert membership(tmp_path) is None
    joined = join(tmp_path, "one")
    assert membership(tmp_path) == joined
    withdraw(tmp_path)
    assert membership(tmp_path) is None


def test_the_same_name_keeps_its_identity_and_two_collections_have_two(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    assert join(tmp_path, "one") == join(tmp_path, "one")
    assert join(tmp_path, "one").identity != join(tmp_path / "other", "one").identity


def test_a_name_can_be_mended_while_no_manager_has_heard_it(tmp_path: Path) -> None:
    join(tmp_path, "uno")
    write(tmp_path, "letter", b"0")
    assert join(tmp_path, "one").name == "one"


@pytest.mark.parametrize(
    ("name", "value"), [("letter", b"3"), ("ours http://a.example", b""), ("posted", b"2")]
)
def test_a_name_that_a_manager_knows_stays(tmp_path: Path, name: str, value: bytes) -> None:
    join(tmp_path, "one")
    write(tmp_path, name, value)
    assert not is_unheard(tmp_path)
    with pytest.raises(UsageError, match="works as 'one', not as 'uno'; give --name one"):
        join(tmp_path, "uno")
