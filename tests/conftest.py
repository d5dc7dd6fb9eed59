"""Fixtures that tests of several rooms share; keep it tiny."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the repository."""
    return ROOT
