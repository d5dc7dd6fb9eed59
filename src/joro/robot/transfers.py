"""What did this robot transfer, and has its manager been told?

In:    visits, as they end.
Out:   `logs/transfer.log`, a line for each as S1 prints them; once a day it is closed, sent (M3), and kept.
Never: loses a line that a commit stands for, but in a crash; sends one twice under two names: a log that was
       refused or not answered goes again as it is.
Paper: S1 5.1.2 (M3), S1-11: about 09:00, renamed when accepted, kept for a week, sent again after a failure.

    transfer.log                    what is being written
    ROBOT.yyyymmddhhMMSS.log        closed, to be sent
    ROBOT.yyyymmddhhMMSS.sent.gz    accepted; a tenth as long
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from joro.clock import Clock
from joro.config.cooperate import Cooperate
from joro.coordinate.messages import LogLine, log_line, submission
from joro.errors import BadMessage, ConfigError
from joro.model import DAY_S, Visit

#: A log is closed before its time when it has grown so long: a manager takes no more in one message.
LONGEST_BYTES = 64_000_000


class Transfers:
    """The transfer log of one robot."""

    def __init__(self, directory: Path, robot: str, settings: Cooperate, clock: Clock, *, number: int = 0):
        self._directory = directory
        self._robot = robot
        self._keep_s = settings.keep_logs_days * DAY_S
        self._at = _time_of_day(settings.log_at)
        self._clock = clock
        self._path = directory / ("transfer.log" if not number else f"transfer-{number}.log")
        self._lines: list[str] = []
        self._since = self._path.stat().st_mtime if self._path.exists() else clock.now()

    def note(self, visit: Visit) -> None:
        """Write down a visit, with the next commit."""
        response = visit.response
        head = response.head.decode("latin-1") if response is not None else ""
        size = len(response.head) + len(response.body) if response is not None else 0
        line = LogLine(visit.page.url, len(visit.request), size, round(visit.elapsed_s * 1_000), head)
        with suppress(BadMessage):  # a URL that M3 has no spelling for
            self._lines.append(log_line(line))

    def flush(self) -> None:
        """Put what was noted into the file."""
        if not self._lines:
            return
        if not self._path.exists():
            self._since = self._clock.now()
        with self._path.open("a", encoding="utf-8") as file:
            file.writelines(self._lines)
        self._lines.clear()
        if self._path.stat().st_size > LONGEST_BYTES:
            self._close()

    def pending(self) -> list[Path]:
        """Logs to be sent, oldest first; the one being written is closed when its time has come."""
        if self._since < self._last_time() and self._path.exists():
            self._close()
        return sorted(self._directory.glob(f"{self._robot}.{'[0-9]' * 14}.log"))

    def message(self, path: Path) -> bytes:
        """M3."""
        return submission(path.stem, path.read_bytes())

    def accepted(self, path: Path, message: bytes) -> None:
        """The manager has it."""
        sent = path.with_suffix(".sent.gz")
        draft = path.with_suffix(".new")
        draft.write_bytes(message.partition(b"\n")[2])
        draft.rename(sent)
        path.unlink()

    def tidy(self) -> None:
        """Remove logs that were sent long enough ago."""
        for path in self._directory.glob(f"{self._robot}.{'[0-9]' * 14}.sent.gz"):
            if path.stat().st_mtime < self._clock.now() - self._keep_s:
                path.unlink()

    def _close(self) -> None:
        moment = datetime.fromtimestamp(self._clock.now())
        while (path := self._directory / f"{self._robot}.{moment:%Y%m%d%H%M%S}.log").exists():
            moment += timedelta(seconds=1)
        self._path.rename(path)
        self._since = self._clock.now()

    def _last_time(self) -> float:
        """When logs were to be sent last."""
        now = datetime.fromtimestamp(self._clock.now())
        today = now.replace(hour=self._at[0], minute=self._at[1], second=0, microsecond=0)
        return (today if today <= now else today - timedelta(days=1)).timestamp()


def _time_of_day(text: str) -> tuple[int, int]:
    try:
        moment = datetime.strptime(text, "%H:%M")
    except ValueError:
        raise ConfigError(
            f"cooperate.log_at is {text!r}", remedy="write a time of the day like 09:00"
        ) from None
    return moment.hour, moment.minute
