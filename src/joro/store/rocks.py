"""How is RocksDB opened, and what do its complaints mean?

Out:   a database with bounded memory; errors of ours.
Never: knows what is kept in it.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from rocksdict import AccessType, BlockBasedOptions, Cache, DBCompressionType, Options, Rdict

from joro.errors import CollectionError, DiskFull

#: What RocksDB may use: blocks read, and two buffers being written.
CACHE_BYTES = 128_000_000
WRITE_BUFFER_BYTES = 32_000_000

#: rocksdict writes this one anew whenever it opens a database, be it to read only.
_CONFIG = "rocksdict-config.json"
#: Files that are not needed to read, or that we have to have ourselves.
_NOT_LINKED = ("LOCK", "LOG", _CONFIG)
#: While we link its files, a robot may put others in their place.
_ATTEMPTS = 3


def options() -> Options:
    """How our databases and their tables are made."""
    made = Options(raw_mode=True)
    made.set_keep_log_file_num(2)
    made.set_max_log_file_size(1_000_000)
    made.set_write_buffer_size(WRITE_BUFFER_BYTES)
    made.set_max_write_buffer_number(2)
    # What a buffer leaves behind is soon worked into the tables below: only these are compressed.
    made.set_compression_per_level([DBCompressionType.none(), *[DBCompressionType.lz4()] * 6])
    table = BlockBasedOptions()
    table.set_block_cache(Cache(CACHE_BYTES))
    table.set_cache_index_and_filter_blocks(True)
    table.set_bloom_filter(10, False)  # most look-ups are for servers never heard of
    made.set_block_based_table_factory(table)
    return made


def opened(path: Path, *, read_only: bool) -> Rdict:
    """The database in `path`, made when missing."""
    if read_only and path.is_dir() and not _may_write(path):
        return _opened_beside(path)
    try:
        return _opened(path, read_only=read_only)
    except Exception as error:  # rocksdict has no exception class of its own
        raise translated(error, path) from None


def _opened(path: Path, *, read_only: bool) -> Rdict:
    chosen = options()
    # A new database in the place of a damaged one would remove the tables of that.
    chosen.create_if_missing(not read_only and not _is_headless(path))
    access = AccessType.read_only() if read_only else AccessType.read_write()
    # Named a second time: a database that exists is else opened as RocksDB has it by default.
    return Rdict(str(path), options=chosen, column_families={"default": chosen}, access_type=access)


def _may_write(path: Path) -> bool:
    config = path / _CONFIG
    return os.access(config if config.exists() else path, os.W_OK)


def _opened_beside(path: Path) -> Rdict:
    """A database that we may only read: by links to its files, which stay open when the links go."""
    for attempt in range(1, _ATTEMPTS + 1):
        with tempfile.TemporaryDirectory(prefix="joro-frontier-") as links:
            try:
                for each in path.iterdir():
                    if each.name not in _NOT_LINKED:
                        Path(links, each.name).symlink_to(each.absolute())
                return _opened(Path(links), read_only=True)
            except Exception as error:
                if attempt == _ATTEMPTS:
                    raise translated(RuntimeError(str(error).replace(links, str(path))), path) from None
    raise AssertionError


def translated(error: Exception, path: Path) -> Exception:
    """One of our errors for what rocksdict raises, which has no exception class of its own."""
    text = str(error)
    if "No space left" in text or "Disk quota" in text or "File too large" in text:
        return DiskFull(
            f"no room left on the disk of {path}", remedy="make room, then run the same command again"
        )
    if "Corruption" in text or _is_headless(path):
        return CollectionError(
            f"the frontier in {path} is damaged ({text})",
            remedy=f"run it again if a robot is at work there; else restore {path.parent} from a copy, or"
            " move it away and crawl anew: joro crawl SEED",
        )
    if "does not exist" in text or "No such file" in text:
        return CollectionError(f"{path} holds no frontier yet", remedy="run: joro crawl SEED")
    return CollectionError(
        f"the frontier in {path} cannot be used ({text})", remedy="check the disk and permissions"
    )


def _is_headless(path: Path) -> bool:
    """Are there tables, or the log of what is not in them yet, but no list of them?

    One that is being made now, or gets a new list, has a list or nothing to be listed at every moment.
    """
    if not any(each.suffix in (".sst", ".log") for each in path.glob("*")):
        return False
    try:
        return not (path / (path / "CURRENT").read_text().strip()).is_file()
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False  # RocksDB says what is wrong with it
