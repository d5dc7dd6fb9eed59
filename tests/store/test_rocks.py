import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from joro.errors import CollectionError
from joro.store.rocks import CACHE_BYTES, opened


@pytest.mark.parametrize("read_only", [False, True])
def test_a_database_opened_again_has_the_same_cache_as_a_new_one(tmp_path: Path, read_only: bool) -> None:
    new = opened(tmp_path / "db", read_only=False)
    assert new.property_int_value("rocksdb.block-cache-capacity") == CACHE_BYTES
    new.close()
    again = opened(tmp_path / "db", read_only=read_only)
    assert again.property_int_value("rocksdb.block-cache-capacity") == CACHE_BYTES
    again.close()


def test_files_written_after_opening_again_have_filters_too(tmp_path: Path) -> None:
    for number in range(2):
        database = opened(tmp_path / "db", read_only=False)
        database.put(b"%d" % number, b"x" * 100)
        database.flush()
        database.close()
    logs = "".join(path.read_text() for path in (tmp_path / "db").glob("LOG*"))
    assert logs.count('"filter_policy": "bloomfilter"') == 2


@pytest.mark.parametrize("missing", ["CURRENT", "MANIFEST-*", "*.sst"])
def test_a_database_with_a_file_missing_is_damaged_and_not_made_anew(tmp_path: Path, missing: str) -> None:
    path = tmp_path / "0-of-1" / "pages"
    database = opened(path, read_only=False)
    database.put(b"page", b"1")
    database.flush()
    database.close()
    (lost,) = path.glob(missing)
    kept = lost.rename(tmp_path / lost.name)
    for read_only in (True, False, False):
        with pytest.raises(
            CollectionError, match=r"is damaged \(.*restore .*0-of-1 from a copy, or move it away"
        ):
            opened(path, read_only=read_only)
    kept.rename(lost)
    database = opened(path, read_only=True)
    assert database.get(b"page") == b"1"
    database.close()


def test_before_the_first_crawl_there_is_no_frontier(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    with pytest.raises(CollectionError, match="holds no frontier yet; run: joro crawl SEED"):
        opened(tmp_path / "pages", read_only=True)


#: Loaded before, because the source may be somebody's alone.
READ_AS_NOBODY = """
import os, sys
from pathlib import Path
from joro.store.rocks import opened
os.setgid(65534)
os.setuid(65534)
database = opened(Path(sys.argv[1]), read_only=True)
print(*(database.get(key).decode() for key in (b"in a table", b"in the log")))
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_who_may_only_read_a_database_may_read_it_beside_its_owner() -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        os.chmod(directory, 0o755)
        path = Path(directory, "db")
        database = opened(path, read_only=False)
        database.put(b"in a table", b"1")
        database.flush()
        database.put(b"in the log", b"2")
        before = {each.name: each.read_bytes() for each in path.iterdir()}
        words = [sys.executable, "-c", READ_AS_NOBODY, str(path)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, cwd="/")
        assert (done.stdout, done.stderr) == ("1 2\n", "")
        assert {each.name: each.read_bytes() for each in path.iterdir()} == before
        database.close()
