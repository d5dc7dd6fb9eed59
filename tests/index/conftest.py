from collections.abc import Callable
from pathlib import Path

import pytest

from joro.index.segment import Entry, Reader, Writer

Filled = Callable[..., Reader]


@pytest.fixture
def filled(tmp_path: Path) -> Filled:
    """Makes an index of the given texts, `http://a.jp/0`, `/1` … being their URLs, or of entries."""

    def fill(*pages: str | Entry) -> Reader:
        writer = Writer(tmp_path / "pages")
        for number, page in enumerate(pages):
            writer.put(page if isinstance(page, Entry) else Entry(f"http://a.jp/{number}", "", page, 0.0))
        writer.commit()
        writer.close()
        return Reader(tmp_path / "pages")

    return fill
