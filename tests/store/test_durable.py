import os
from pathlib import Path

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
