"""A control store and robots that are not served but called."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from joro.clock import FakeClock
from joro.store.control import Control
from joro.store.control_sqlite import SqliteControl


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(1_000.0)


@pytest.fixture
def control(tmp_path: Path, clock: FakeClock) -> Iterator[Control]:
    control = SqliteControl(tmp_path / "control.db", clock)
    yield control
    control.close()
