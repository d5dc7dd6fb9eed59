"""What is written down of robots that shared servers, so that the sharing can be judged afterwards?

In:    servers and their sizes, distances, who had which server under which assignment, and how long it took.
Out:   three CSV files in a directory, and the same back.
Never: holds a page, or more of a server than its name and two numbers.
Paper: S1 5.2.2 (its distance, document and cost files), 6 (what they were used for).

`servers.csv`    server, kb, urls
`distances.csv`  robot, server, ms_per_kb     from the probes; a pair that was not measured is left out
`shares.csv`     assignment, server, robot, spent_ms     spent_ms is empty until the server has been collected
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from joro.coordinate.assign import NOBODY, Floats, Owners
from joro.errors import UsageError

#: No server has so many KB, and nobody spends so many milliseconds at one: thirty thousand years.
MOST = 1e15

COLUMNS = {
    "servers.csv": ["server", "kb", "urls"],
    "distances.csv": ["robot", "server", "ms_per_kb"],
    "shares.csv": ["assignment", "server", "robot", "spent_ms"],
}


@dataclass(frozen=True)
class Experiment:
    """Robots, servers, and the assignments that were tried, each by its name."""

    robots: tuple[str, ...]
    servers: tuple[str, ...]
    sizes_kb: Floats
    urls: npt.NDArray[np.int64]
    distances: Floats  # of a robot (row) to a server (column); inf where it was not measured
    owners: dict[str, Owners] = field(default_factory=dict)
    spent_ms: dict[str, Floats] = field(default_factory=dict)  # for each server, nan where it is not known

    @property
    def costs_ms(self) -> Floats:
        """What each server would cost each robot, by the probes."""
        far = np.full(self.distances.shape, np.inf)  # also of a server with 0 KB
        measured = np.isfinite(self.distances)
        far[measured] = (self.distances * np.where(measured, self.sizes_kb, 1.0))[measured]
        return far


def write(one: Experiment, folder: Path) -> None:
    """Write the three files."""
    folder.mkdir(parents=True, exist_ok=True)
    servers = zip(one.servers, one.sizes_kb.tolist(), one.urls.tolist(), strict=True)
    _write(folder / "servers.csv", servers)
    _write(folder / "distances.csv", _distance_rows(one))
    _write(folder / "shares.csv", _share_rows(one))


def _distance_rows(one: Experiment) -> Iterator[tuple[str, str, float]]:
    for robot, row in zip(one.robots, one.distances.tolist(), strict=True):
        yield from (
            (robot, server, distance)
            for server, distance in zip(one.servers, row, strict=True)
            if math.isfinite(distance)
        )


def _share_rows(one: Experiment) -> Iterator[tuple[str, str, str, float | str]]:
    for name, owners in one.owners.items():
        spent_ms = one.spent_ms.get(name, np.full(len(one.servers), np.nan)).tolist()
        for server, owner, spent in zip(one.servers, owners.tolist(), spent_ms, strict=True):
            if owner != NOBODY:
                yield name, server, one.robots[owner], "" if math.isnan(spent) else spent


def _write(file: Path, rows: Iterator[tuple[object, ...]]) -> None:
    with file.open("w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream)
        table.writerow(COLUMNS[file.name])
        table.writerows(rows)


def read(folder: Path) -> Experiment:
    """Read the three files; the order of robots and servers is that of the files."""
    servers, distances, shares = (list(_rows(folder / name)) for name in COLUMNS)
    names = _names(folder / "servers.csv", servers)
    robots = {name: place for place, name in enumerate(dict.fromkeys(row[0] for _, row in distances))}
    one = Experiment(
        tuple(robots),
        tuple(names),
        np.array([_number(folder / "servers.csv", *each, column=1) for each in servers]),
        np.array([_number(folder / "servers.csv", *each, column=2) for each in servers]).astype(np.int64),
        np.full((len(robots), len(names)), np.inf),
    )
    if not robots or not names:
        raise UsageError(f"{folder} tells of no robot or no server", remedy="give the directory of a run")
    for line, row in distances:
        place = _place(folder / "distances.csv", line, row[1], names)
        one.distances[robots[row[0]], place] = _distance(folder / "distances.csv", line, row)
    for line, row in shares:
        _take_share(one, folder / "shares.csv", line, row, names, robots)
    return one


def _names(file: Path, servers: Sequence[tuple[int, Sequence[str]]]) -> dict[str, int]:
    names: dict[str, int] = {}
    for place, (line, row) in enumerate(servers):
        if names.setdefault(row[0], place) != place:
            raise UsageError(f"{file}, line {line}: {row[0]} is listed twice", remedy="leave one of them")
    return names


def _take_share(
    one: Experiment, file: Path, line: int, row: Sequence[str], names: dict[str, int], robots: dict[str, int]
) -> None:
    owners = one.owners.setdefault(row[0], np.full(len(names), NOBODY, np.int64))
    spent_ms = one.spent_ms.setdefault(row[0], np.full(len(names), np.nan))
    server, robot = _place(file, line, row[1], names), _place(file, line, row[2], robots)
    if owners[server] != NOBODY:
        raise UsageError(f"{file}, line {line}: {row[1]} is owned twice", remedy="leave one of them")
    owners[server] = robot
    if row[3]:
        spent_ms[server] = _number(file, line, row, column=3)


def _rows(file: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows with their line numbers, after the head."""
    columns = COLUMNS[file.name]
    try:
        with file.open(newline="", encoding="utf-8") as stream:
            table = csv.reader(stream)
            if next(table, None) != columns:
                raise UsageError(f"{file} has other columns", remedy=f"head it {','.join(columns)}")
            for row in table:
                if len(row) != len(columns):
                    raise UsageError(
                        f"{file}, line {table.line_num} has {len(row)} columns", remedy=f"give {len(columns)}"
                    )
                yield table.line_num, row
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{file} cannot be read: {error}", remedy="give the directory of a run") from None


def _number(file: Path, line: int, row: Sequence[str], column: int) -> float:
    try:
        number = float(row[column])
    except ValueError:
        number = math.nan
    if not 0.0 <= number < MOST:
        raise UsageError(
            f"{file}, line {line}: {row[column]!r} is no {COLUMNS[file.name][column]}", remedy="mend it"
        )
    return number


def _distance(file: Path, line: int, row: Sequence[str]) -> float:
    distance = _number(file, line, row, column=2)
    if not distance:
        raise UsageError(
            f"{file}, line {line}: nobody is at no distance from {row[1]}",
            remedy="leave the line out where nothing was measured",
        )
    return distance


def _place(file: Path, line: int, name: str, places: dict[str, int]) -> int:
    if name not in places:
        raise UsageError(
            f"{file}, line {line}: {name!r} is not known", remedy="list it in the other files first"
        )
    return places[name]
