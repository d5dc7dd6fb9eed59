from pathlib import Path

import pytest

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
