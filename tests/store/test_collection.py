import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from joro.config import Config, Scope
from joro.errors import CollectionError, ConfigError
from joro.store.collection import PARTS, Collection

HOLD = """
import sys
from pathlib import Path
from joro.store.collection import Collection
with Collection.open(Path(sys.argv[1])).lock("robot"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    return Collection.create(tmp_path / "web", Config(scope=Scope(hops=3)))


def test_a_new_collection_has_all_parts_and_its_settings(collection: Collection) -> None:
    assert {path.name for path in collection.path.iterdir()} == {*PARTS, "joro.toml"}
    assert Collection.open(collection.path) == collection
    assert collection.config.scope.hops == 3


def test_a_directory_without_settings_is_no_collection(tmp_path: Path) -> None:
    with pytest.raises(CollectionError) as caught:
        Collection.open(tmp_path)
    assert str(caught.value) == f"{tmp_path} is not a collection (no joro.toml); run: joro init {tmp_path}"
    assert list(tmp_path.iterdir()) == []


def test_a_missing_directory_is_no_collection_and_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="is not a collection"):
        Collection.open(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_wrong_settings_are_reported_on_opening(collection: Collection) -> None:
    (collection.path / "joro.toml").write_text("[fetch]\nsockets = 0")
    with pytest.raises(ConfigError, match=r"fetch\.sockets = 0 is too small"):
        Collection.open(collection.path)


def test_a_collection_is_not_made_over_another(collection: Collection) -> None:
    before = (collection.path / "joro.toml").read_bytes()
    with pytest.raises(CollectionError, match="is already a collection; choose another directory"):
        Collection.create(collection.path, Config())
    assert (collection.path / "joro.toml").read_bytes() == before


def test_a_half_made_collection_can_be_made_whole(tmp_path: Path) -> None:
    (tmp_path / "frontier").mkdir()
    (tmp_path / "joro.toml.new").write_text("half of a li")
    assert Collection.create(tmp_path, Config()).config == Config()


@pytest.mark.parametrize("below", [".", "deeper"])
def test_a_collection_cannot_be_made_where_a_file_is(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(CollectionError, match="is a file; choose another directory"):
        Collection.create(tmp_path / "file" / below, Config())
    assert (tmp_path / "file").read_text() == "mine"


def test_an_impossible_name_is_a_collection_error(tmp_path: Path) -> None:
    for attempt in (Collection.open, lambda path: Collection.create(path, Config())):
        with pytest.raises(CollectionError, match=r"cannot be used \(File name too long\)"):
            attempt(tmp_path / ("x" * 300))


def test_a_part_that_was_deleted_is_made_again(collection: Collection) -> None:
    collection.index.rmdir()
    assert collection.index.is_dir()
    assert collection.archive == collection.path / "archive"


@pytest.mark.parametrize("part", ["frontier", "archive", "index", "orders", "logs"])
def test_a_part_that_is_no_directory_is_named(collection: Collection, part: str) -> None:
    place = collection.path / part
    place.rmdir()
    place.write_text("junk")
    with pytest.raises(CollectionError, match=f"{part} is no directory; move it away"):
        collection.part(part)
    place.unlink()
    place.symlink_to(collection.path / "nowhere")
    with pytest.raises(CollectionError, match=f"{part} is no directory.*where the link leads"):
        collection.part(part)


def test_one_process_at_a_time_holds_the_lock(collection: Collection) -> None:
    with hold(collection) as holder, pytest.raises(CollectionError) as caught, collection.lock("robot"):
        pass
    assert str(caught.value) == (
        f"another robot (process {holder.pid}) works in {collection.path}; wait for it or stop it"
    )


def test_a_killed_process_leaves_no_lock_behind(collection: Collection) -> None:
    with hold(collection) as holder:
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait(timeout=10)
        with collection.lock("robot"):
            assert (collection.path / "robot.lock").read_text() == f"{os.getpid()}\n"


def test_robot_and_indexer_work_side_by_side(collection: Collection) -> None:
    with collection.lock("robot"), collection.lock("indexer"):
        pass


def test_a_lock_is_free_again_after_a_failure(collection: Collection) -> None:
    with pytest.raises(ZeroDivisionError), collection.lock("robot"):
        raise ZeroDivisionError
    with collection.lock("robot"):
        pass


def test_a_collection_that_vanished_cannot_be_locked(collection: Collection) -> None:
    collection.path.rename(collection.path.with_name("elsewhere"))
    with pytest.raises(CollectionError, match="cannot be used"), collection.lock("robot"):
        pass


def hold(collection: Collection) -> subprocess.Popen[str]:
    """Another process that has the robot's lock until it is left or killed."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(collection.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder
