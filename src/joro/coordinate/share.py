"""Which of several robots does a server belong to?

In:    a server key.
Out:   the number of its robot, the same on every machine and in every year.
Never: depends on anything but the name, so no one has to be asked.
Paper: S3 2.2, static assignment: all URLs of a server go to one unit.
"""

from __future__ import annotations

from dataclasses import dataclass

import xxhash

from joro.errors import UsageError


@dataclass(frozen=True, slots=True)
class Share:
    """Robot `number` of `count`."""

    number: int = 0
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> Share:
        """`0/2` is the first of two."""
        number, slash, count = text.partition("/")
        if slash and number.isdecimal() and count.isdecimal() and int(number) < int(count):
            return cls(int(number), int(count))
        raise UsageError(f"{text!r} is no share", remedy="write it like 0/2: the first of two")

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    @property
    def folder(self) -> str:
        """The name of this share's part of the frontier."""
        return f"{self.number}-of-{self.count}"

    def owner(self, server: str) -> int:
        """The robot that the server belongs to."""
        return int(xxhash.xxh3_64_intdigest(server.encode()) % self.count)

    def holds(self, server: str) -> bool:
        """Does the server belong to this robot?"""
        return self.owner(server) == self.number
