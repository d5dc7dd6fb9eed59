from __future__ import annotations

from pathlib import Path

import numpy as np

from joro.testweb.log import DTYPE, ROW, AccessLog


def row(start: float, host: int = 0, target: int = 0) -> tuple[float, ...]:
    return (start, start + 0.5, host, 3, target, 20_000, 0x7F000001, 1, 200, 1, 1, 1, 5_555, 0x7F000001)


def test_a_row_takes_60_bytes() -> None:
    assert ROW.size == DTYPE.itemsize == 60


def test_rows_come_back_in_the_order_of_their_start() -> None:
    log = AccessLog()
    log.add(*row(2.0))
    log.add(*row(1.0))
    assert log.rows()["start"].tolist() == [1.0, 2.0]
    assert len(log) == 2


def test_a_path_keeps_its_number() -> None:
    log = AccessLog()
    assert [log.target(path) for path in ("/a", "/b", "/a")] == [0, 1, 0]
    assert log.targets == ["/a", "/b"]


def test_reset_forgets() -> None:
    log = AccessLog()
    log.add(*row(1.0))
    log.reset()
    assert len(log.rows()) == 0
    assert log.rows().dtype == np.dtype(DTYPE)


def test_the_file_holds_what_was_flushed_and_the_rest_at_the_end(tmp_path: Path) -> None:
    file = tmp_path / "log.tsv"
    log = AccessLog(file)
    log.add(*row(1.0, target=log.target("/a")))
    log.flush(["one.example"])
    assert len(file.read_text().splitlines()) == 2
    log.add(*row(2.0, target=log.target("/b")))
    log.close(["one.example"])
    header, first, second = file.read_text().splitlines()
    assert header.split("\t")[:4] == ["start", "end", "host", "path"]
    assert first.split("\t")[:4] == ["1.000000", "1.500000", "one.example", "/a"]
    assert second.split("\t")[3] == "/b"
    assert len(second.split("\t")) == len(header.split("\t"))


def test_a_second_run_appends_without_a_second_header(tmp_path: Path) -> None:
    file = tmp_path / "log.tsv"
    for start in (1.0, 2.0):
        log = AccessLog(file)
        log.add(*row(start, target=log.target("/")))
        log.close(["h"])
    assert len(file.read_text().splitlines()) == 3
