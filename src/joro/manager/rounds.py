"""What does a manager do when nobody asks it anything?

In:    the control store.
Out:   servers of silent robots move, journals are folded, and servers are shared out better.
Never: ends because the database did; it says so once and tries again. Does what only one may do alone without
       the store's leave: `failover` and `planning` see to that, in every manager alike.

After a start and after the store was away, leases may have ended for no fault of robots. Then servers stay
where they are for a grace, in which whoever lives calls again. When the store's clock has jumped, leases seem
to be over that are not, and a robot that is cut off cannot call: servers stay for a whole lease and a grace.
"""

from __future__ import annotations

import logging
import threading
import time

from joro.config.cooperate import Manager
from joro.errors import ControlError
from joro.manager.failover import failover_round
from joro.manager.journals import fold_round
from joro.manager.planning import planning_round
from joro.manager.splitting import splitting_round
from joro.store.control import Control

log = logging.getLogger(__name__)

#: Seconds between two looks at leases, at most; and between two looks at long journals.
LOOK_S = 1.0
FOLD_S = 30.0


class Rounds:
    """A thread that makes a manager's rounds from `start` to `stop`."""

    def __init__(self, control: Control, settings: Manager) -> None:
        self._control = control
        self._settings = settings
        self._every_s = min(LOOK_S, settings.grace_s / 2)
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rounds", daemon=True)
        self._folded_at = time.monotonic()
        self._is_lost = False
        self._calm_until = 0.0
        self._offset: float | None = None  # of the store's clock to that of this machine

    def start(self) -> None:
        self._keep_calm(self._settings.grace_s)
        self._thread.start()

    def stop(self) -> None:
        """End after the round that is under way."""
        self._ends.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ends.wait(self._every_s):
            try:
                self.once()
                self._is_lost = False
            except ControlError as error:
                if not self._is_lost:
                    log.warning("%s", error)
                self._is_lost = True
                self._keep_calm(self._settings.grace_s)
            except Exception:
                log.exception("a round failed; the next one follows")

    def once(self) -> None:
        """One round."""
        self._watch_clock()
        is_calm = time.monotonic() < self._calm_until
        moved = 0 if is_calm else failover_round(self._control, self._settings)
        if moved:
            log.info("%d servers of silent robots went to others", moved)
        wanted = planning_round(self._control, self._settings)
        if wanted:
            log.info("%d servers are to move", wanted)
        changed = splitting_round(self._control, self._settings)
        if changed:
            log.info("%d servers were split, or put together again", changed)
        if time.monotonic() - self._folded_at >= FOLD_S:
            fold_round(self._control)
            self._folded_at = time.monotonic()

    def _keep_calm(self, seconds: float) -> None:
        self._calm_until = max(self._calm_until, time.monotonic() + seconds)

    def _watch_clock(self) -> None:
        with self._control.reading() as transaction:
            offset = transaction.now - time.monotonic()
        if self._offset is not None and abs(offset - self._offset) > self._settings.grace_s / 2:
            log.warning("the clock of the control store has jumped by %.1f s", offset - self._offset)
            self._keep_calm(self._settings.lease_s + self._settings.grace_s)
        self._offset = offset
