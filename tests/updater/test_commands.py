from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from joro.cli import joro
from joro.cli.update import _collection_in
from joro.errors import JoroError, UsageError
from joro.updater.shelf import Shelf
from tests.updater.stand import INSTALLED, Shop, collection_at, open_shop
from tests.updater.wheels import tiny_wheel


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with open_shop(tmp_path / "shop") as shop:
        yield shop


@pytest.fixture
def web(tmp_path: Path, shop: Shop) -> Path:
    return collection_at(tmp_path / "web", shop).path


def call(*words: object) -> Result:
    """What a command says; its mistakes are raised."""
    result = CliRunner().invoke(joro, [str(word) for word in words])
    if isinstance(result.exception, JoroError):
        raise result.exception
    return result


def test_key_make_and_list(tmp_path: Path) -> None:
    key, channel = tmp_path / "release.key", tmp_path / "stable"
    public = call("release", "key", key).stdout
    assert call("release", "key", key).stdout == public
    call("release", "make", "--wheel", tiny_wheel(tmp_path, "0.2.0"), "--key", key, "--to", channel)
    assert call("release", "list", channel).stdout.startswith("0.2.0  20")


def test_a_file_that_is_no_key_is_named(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("what?")
    with pytest.raises(UsageError, match="holds no secret key"):
        call(
            "release",
            "make",
            "--wheel",
            tiny_wheel(tmp_path, "0.2.0"),
            "--key",
            tmp_path / "key",
            "--to",
            "x",
        )


def test_check_changes_nothing(shop: Shop, web: Path, tmp_path: Path) -> None:
    shop.release(tiny_wheel(tmp_path, "0.2.0"))
    assert "0.2.0 can be had" in call("update", "check", "-C", web).stdout
    assert Shelf(web / "releases", INSTALLED).versions() == [INSTALLED]


@pytest.mark.slow
def test_now_status_and_roll_back(shop: Shop, web: Path, tmp_path: Path) -> None:
    shop.release(tiny_wheel(tmp_path, "0.2.0"))
    call("update", "now", "-C", web)
    assert "runs: 0.2.0 (on trial)\nhere: 0.1.0, 0.2.0" in call("update", "status", "-C", web).stdout
    assert call("update", "roll-back", "-C", web).stdout == "0.1.0 is started next\n"
    said = call("update", "status", "-C", web).stdout
    assert "runs: 0.1.0\nhere: 0.1.0, 0.2.0" in said
    assert "failed: 0.2.0: an operator rolled it back" in said
    assert "0.2.0 failed here before" in call("update", "check", "-C", web).stdout


def test_going_back_needs_no_channel(shop: Shop, tmp_path: Path) -> None:
    web = collection_at(tmp_path / "other", shop, source="", public_keys=()).path
    (web / "releases" / "0.2.0").mkdir(parents=True)
    Shelf(web / "releases", INSTALLED).switch("0.2.0")
    assert call("update", "roll-back", "-C", web).stdout == "0.1.0 is started next\n"


def test_there_may_be_nothing_to_roll_back_to(web: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no release before 0\.1\.0"):
        call("update", "roll-back", "-C", web)


@pytest.mark.parametrize("setting", ["source", "public_keys"])
def test_what_is_not_set_is_named(shop: Shop, tmp_path: Path, setting: str) -> None:
    empty: object = "" if setting == "source" else ()
    web = collection_at(tmp_path / "other", shop, **{setting: empty}).path
    with pytest.raises(UsageError, match=rf"update\.{setting}"):
        call("update", "check", "-C", web)


@pytest.mark.parametrize(
    "words",
    [["crawl", "-C", "x"], ["crawl", "-Cx", "-q"], ["crawl", "--collection=x"], ["a", "--collection", "x"]],
)
def test_the_collection_is_that_of_the_command(words: list[str]) -> None:
    assert _collection_in(words) == Path("x")


def test_without_one_it_is_where_we_are() -> None:
    assert _collection_in(["crawl", "-C"]) == Path()
