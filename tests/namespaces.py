"""Machines on a network of their own, for tests; see `joro.scaling.network`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from joro.scaling.network import Network, why_not


@cache
def _reason() -> str:
    return why_not()


@pytest.fixture
def network() -> Iterator[Network]:
    """A network without machines yet; the test is skipped where none can be made."""
    if _reason():
        pytest.skip(_reason())
    with Network() as made:
        yield made
