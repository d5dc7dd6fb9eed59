"""Fixtures that tests of several rooms share; keep it tiny."""

import signal
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("joro", deadline=None)  # a busy machine breaks no law
settings.register_profile("check", deadline=None, max_examples=25)  # `make check`: two minutes are for all
settings.load_profile("joro")

# Whoever runs the suite in the background has Ctrl-C ignored, and so would every program that is tested.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the repository."""
    return ROOT
