"""How fast, how small, how good? Every `bench/NAME.py` measures; `python -m bench.run` judges."""


class CannotRun(Exception):
    """A measurement that is impossible here, e.g. because a peer is not installed; says what is missing."""
