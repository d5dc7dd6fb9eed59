"""Who asked for what, when, and who else was asking at that moment?

In:    one call at the end of every request.
Out:   the access log as columns (NumPy), 60 bytes a request, and as TSV.
Never: looks at the request twice: cheap enough to be always on.

Time is real (seconds since 1970); virtual time is a linear function of it, see `virtual`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

import numpy as np

ROW = struct.Struct("<ddiiiQIIHHHHiI")

#: One row of the log. `concurrent` and `sharing` count the requests in progress at its start on the host
#: and on the address, itself included; `connections` those open to the host. `client` asked, from
#: `port`.
DTYPE = np.dtype(
    [
        ("start", "<f8"),
        ("end", "<f8"),
        ("host", "<i4"),
        ("page", "<i4"),
        ("target", "<i4"),
        ("bytes", "<u8"),
        ("address", "<u4"),
        ("connection", "<u4"),
        ("status", "<u2"),
        ("concurrent", "<u2"),
        ("sharing", "<u2"),
        ("connections", "<u2"),
        ("port", "<i4"),
        ("client", "<u4"),
    ]
)
COLUMNS = DTYPE.names or ()
Rows = np.ndarray[Any, np.dtype[Any]]


class AccessLog:
    """Every request since the start or the last `reset`."""

    def __init__(self, file: Path | None = None) -> None:
        self.targets: list[str] = []
        self._numbers: dict[str, int] = {}
        self._buffer = bytearray()
        self._written = 0
        self._file: TextIO | None = None
        if file is not None:
            self._file = file.open("a", encoding="utf-8")
            if self._file.tell() == 0:
                self._file.write("\t".join(("start", "end", "host", "path", *COLUMNS[5:])) + "\n")

    def __len__(self) -> int:
        return len(self._buffer) // ROW.size

    def target(self, path: str) -> int:
        """The number that stands for a path."""
        number = self._numbers.get(path)
        if number is None:
            number = self._numbers[path] = len(self.targets)
            self.targets.append(path)
        return number

    def add(self, *row: float) -> None:
        """One finished request: the columns of `DTYPE` in order."""
        self._buffer += ROW.pack(*row)

    def rows(self) -> Rows:
        """A copy of the whole log, in the order in which requests began."""
        rows = np.frombuffer(bytes(self._buffer), dtype=DTYPE)
        return rows[np.argsort(rows["start"], kind="stable")]

    def reset(self) -> None:
        """Forget everything (what was written to the file stays there)."""
        self._buffer = bytearray()
        self._written = 0

    def flush(self, names: list[str]) -> None:
        """Append what is new to the file; `names` are the hosts' names by number."""
        if self._file is None:
            return
        fresh = np.frombuffer(bytes(self._buffer[self._written * ROW.size :]), dtype=DTYPE)
        self._file.writelines(lines(fresh, self.targets, names))
        self._file.flush()
        self._written += len(fresh)

    def close(self, names: list[str]) -> None:
        """Write the rest and let go of the file."""
        self.flush(names)
        if self._file is not None:
            self._file.close()
            self._file = None


def lines(rows: Rows, targets: list[str], names: list[str]) -> Iterable[str]:
    """The log as TSV: start, end, host, path, then the numbers."""
    for row in rows.tolist():
        start, end, host, _, target, *numbers = row
        name = names[host] if host >= 0 else "-"
        yield "\t".join((f"{start:.6f}", f"{end:.6f}", name, targets[target], *map(str, numbers))) + "\n"
