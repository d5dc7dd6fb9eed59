"""What did sharing servers cost so far, as a report reads it?

In:    the efforts of robots in the control store.
Out:   an experiment: distances, sizes, who has what and how long that took (`coordinate.experiment`).
Never: counts a server of which nobody received anything.
Paper: S1 5.2.2: its distance, document and cost files.
"""

from __future__ import annotations

import numpy as np

from joro.coordinate.assign import NOBODY
from joro.coordinate.distance import KB
from joro.coordinate.experiment import Experiment
from joro.errors import UsageError
from joro.store.control import Transaction

#: The name of the assignment that is in force.
PRESENT = "present"


def experiment_of(transaction: Transaction) -> Experiment:
    """Everything that robots measured, and who owns what now."""
    efforts = transaction.rows(
        "SELECT robot, server, pages, bytes, ms FROM efforts WHERE bytes > 0 ORDER BY robot, server"
    )
    if not efforts:
        raise UsageError("no robot has received anything yet", remedy="let robots collect for a while")
    robots = sorted({row[0] for row in efforts})
    servers = sorted({row[1] for row in efforts})
    row_of = {name: number for number, name in enumerate(robots)}
    column_of = {name: number for number, name in enumerate(servers)}
    distances = np.full((len(robots), len(servers)), np.inf)
    sizes_kb, spent_ms = np.zeros((2, len(servers)))
    urls = np.zeros(len(servers), np.int64)
    for robot, server, pages, received, elapsed_ms in efforts:
        column = column_of[server]
        distances[row_of[robot], column] = max(1, elapsed_ms) / (received / KB)  # 0 ms: less than one
        sizes_kb[column] += received / KB
        urls[column] += pages
        spent_ms[column] += elapsed_ms
    owners = np.full(len(servers), NOBODY, np.int64)
    for server, owner in transaction.rows("SELECT name, owner FROM servers WHERE owner IS NOT NULL"):
        if server in column_of and owner in row_of:
            owners[column_of[server]] = row_of[owner]
    return Experiment(
        tuple(robots), tuple(servers), sizes_kb, urls, distances, {PRESENT: owners}, {PRESENT: spent_ms}
    )
