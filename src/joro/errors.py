"""What did the operator, or we, do wrong?

Whatever the *web* does is a value (`model.Outcome`), never an exception. What is raised:

    JoroError                   every message names the thing, the value and the remedy
    ├── UsageError              the command line asks for something that cannot be (exit code 2)
    │   ├── BadUrl              a URL we cannot collect
    │   └── BadSeeds            a seed file with lines that are not URLs
    ├── ConfigError             joro.toml is unreadable, or a key or value in it is wrong
    ├── CollectionError         the directory is not a collection, or another process works in it
    ├── ArchiveError            a WARC or CDXJ file is not what it should be
    ├── BadMessage              what a robot or its manager sent is none of the messages M1 to M5
    ├── ControlError            the control store of a manager is not there, or not ours to read
    │   └── ControlAway         it does not answer, and may be back soon
    ├── DiskFull                no room left; what was committed before is whole
    ├── PortInUse               an address we should serve on is taken
    ├── ReleaseError            a release is not what it should be, or cannot run here
    └── TransferError           a partner of redistribution cannot be reached, refuses, or broke off
"""

from __future__ import annotations


class JoroError(Exception):
    """An error whose text is meant for the person at the keyboard, one line, with the remedy."""

    exit_code = 1

    def __init__(self, problem: str, *, remedy: str) -> None:
        super().__init__(" ".join(f"{problem}; {remedy}".splitlines()))
        self.problem = problem
        self.remedy = remedy


class UsageError(JoroError):
    """The command line asks for something that cannot be."""

    exit_code = 2


class BadUrl(UsageError):
    """A URL we cannot collect."""


class BadSeeds(UsageError):
    """A seed file with lines that are not URLs."""


class ConfigError(JoroError):
    """`joro.toml` is unreadable, or a key or value in it is wrong."""


class CollectionError(JoroError):
    """The directory is not a collection, or another process works in it."""


class ArchiveError(JoroError):
    """A WARC or CDXJ file is not what it should be."""


class BadMessage(JoroError):
    """What a robot or its manager sent is none of the messages M1 to M5."""


class ControlError(JoroError):
    """The control store of a manager cannot be reached, or not be read."""


class ControlAway(ControlError):
    """The control store of a manager does not answer; trying again is worth while."""


class DiskFull(JoroError):
    """No room left on the disk; everything committed before is whole."""


class PortInUse(JoroError):
    """An address we should serve on is taken."""


class ReleaseError(JoroError):
    """A release is not what it should be, or cannot run here; the one before goes on."""


class TransferError(JoroError):
    """A partner of redistribution cannot be reached, refuses, or broke off."""

    def __init__(self, problem: str, *, remedy: str, status: int = 0) -> None:
        super().__init__(problem, remedy=remedy)
        self.status = status  # of HTTP; 0: there was no answer, or only a part of one

    @property
    def passes(self) -> bool:
        """Might another attempt succeed right away?"""
        return self.status in (0, 408, 500, 502, 503, 504)
