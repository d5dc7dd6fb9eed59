"""What do packages still know of pages that were taken down?

In:    a collection whose archive has forgotten them.
Out:   no package, made or on its way, that names or holds any of them.
Never: touches a package that is about other pages, once its index tells so; pulls one away from a collector
       that is fetching it: that is told, and done by the next run.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from joro.clock import RealClock
from joro.errors import ArchiveError
from joro.redistribute.package import INDEX
from joro.redistribute.receive import arriving, is_placed, listed_in
from joro.store.collection import Collection
from joro.store.orders import OrderBook, Orders


def forget(collection: Collection) -> int:
    """Throw packages away that name pages which are taken down; how many."""
    orders = OrderBook(collection.orders, RealClock().now).latest()
    made = collection.part("redistribution") / "packages"
    count = sum(_drop(folder, orders) for folder in (made.iterdir() if made.exists() else ()))
    for folder in arriving(collection):
        with collection.lock(f"collect-{folder.parent.name}"):
            count += not is_placed(folder) and _drop(folder, orders)
    return count


def _drop(folder: Path, orders: Orders) -> bool:
    if not _may_hold(folder, orders):
        return False
    shutil.rmtree(folder, ignore_errors=True)
    return True


def _may_hold(folder: Path, orders: Orders) -> bool:
    """Is a page taken down in it, or is that not known?"""
    try:
        return any(
            orders.erases(each.url, each.time, each.digest) is not None for each in listed_in(folder / INDEX)
        )
    except (ArchiveError, OSError):
        return True
