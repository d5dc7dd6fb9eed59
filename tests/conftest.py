"""Fixtures that tests of several rooms share; keep it tiny."""

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("joro", deadline=None)  # a busy machine breaks no law
settings.load_profile("joro")

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the repository."""
    return ROOT
