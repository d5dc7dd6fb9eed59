import os
import resource
import signal
from pathlib import Path

import pytest

from joro.store.durable import appending, write_whole


def test_a_file_is_replaced_whole_and_leaves_no_draft(tmp_path: Path) -> None:
    for content in (b"first, and longer", b"second"):
        write_whole(tmp_path / "state", content)
    assert (tmp_path / "state").read_bytes() == b"second"
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


def test_a_secret_is_nobody_elses_from_its_first_byte_on(tmp_path: Path) -> None:
    write_whole(tmp_path / "token", b"secret", 0o600)
    assert (tmp_path / "token").stat().st_mode & 0o077 == 0


def test_a_line_that_a_kill_cut_off_is_gone_when_the_next_one_comes(tmp_path: Path) -> None:
    book = tmp_path / "orders" / "book"
    with appending(book) as file:
        os.write(file, b"one\n")
    book.write_bytes(b"one\ntw")
    with appending(book) as file:
        os.write(file, b"three\n")
    assert book.read_bytes() == b"one\nthree\n"


def test_what_finds_no_room_leaves_the_old_content_and_no_draft(tmp_path: Path) -> None:
    write_whole(tmp_path / "state", b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            write_whole(tmp_path / "state", b"n" * 2_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert (tmp_path / "state").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["state"]
