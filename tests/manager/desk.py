"""A manager on loopback, and somebody who asks it."""

import asyncio
import http.client
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from joro.clock import FakeClock
from joro.config import Config
from joro.config.cooperate import Manager
from joro.manager.classic import Limits
from joro.manager.failover import failover_round
from joro.manager.service import application
from joro.store.collection import Collection
from joro.store.control import Control, open_control
from joro.store.control_postgres import PostgresControl
from tests.redistribute.stand import running

#: 2026-11-16 12:00 UTC.
NOON = 1_794_830_400.0


@dataclass
class Answer:
    """What came back."""

    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass
class Desk:
    """A manager that is being served."""

    url: str
    collection: Collection
    control: Control
    clock: FakeClock

    def ask(
        self,
        path: str,
        body: bytes | None = None,
        token: str = "",
        form: dict[str, Any] | None = None,
        method: str = "",
        **headers: str,
    ) -> Answer:
        """One request; redirects are not followed."""
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            fields["Authorization"] = f"Bearer {token}"
        if form is not None:
            body = urlencode(form, doseq=True).encode()
            fields["Content-Type"] = "application/x-www-form-urlencoded"
        place = urlsplit(self.url)
        line = http.client.HTTPConnection(place.hostname or "", place.port, timeout=30)
        try:
            line.request(method or ("GET" if body is None else "POST"), path, body, fields)
            answer = line.getresponse()
            return Answer(answer.status, answer.read(), {k.lower(): v for k, v in answer.getheaders()})
        finally:
            line.close()

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with self.control.reading() as transaction:
            return transaction.rows(sql, *values)

    def state(self) -> list[object]:
        """Everything in the control store, to see that nothing changed."""
        tables = ("robots", "servers", "letters", "efforts", "logs", "notes", "journal")
        return [self.rows(f"SELECT * FROM {table} ORDER BY 1, 2") for table in tables]

    def look_after(self) -> None:
        """What managers do every few seconds."""
        failover_round(self.control, self.collection.config.manager)

    def pass_s(self, seconds: float) -> None:
        asyncio.run(self.clock.advance(seconds))


def collection_at(path: Path, **manager: Any) -> Collection:
    return Collection.create(path, replace(Config(), manager=replace(Manager(), **manager)))


@contextmanager
def desk(path: Path, limits: Limits | None = None, database: str = "", **manager: Any) -> Iterator[Desk]:
    """A manager with these settings, in whose store it is noon."""
    collection, clock = collection_at(path / "hub", **manager), FakeClock(NOON)
    control = PostgresControl(database, clock) if database else open_control("", collection.path, clock)
    with running(lambda: application(collection, control, clock, limits)) as url:
        yield Desk(url, collection, control, clock)
    control.close()
