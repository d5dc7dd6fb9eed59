"""One web with every kind of host, shared by all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from joro.testweb.plan import Host, Plan, make
from joro.testweb.running import Running, running
from joro.testweb.settings import Settings
from joro.testweb.site import Site

SETTINGS = Settings(seed=7, hosts=200, pages=3_000)


@pytest.fixture(scope="session")
def web() -> Iterator[Running]:
    with running(SETTINGS) as web:
        yield web


@pytest.fixture(scope="session")
def plan() -> Plan:
    return make(SETTINGS)


@pytest.fixture(scope="session")
def site(plan: Plan) -> Site:
    return Site(plan)


def a_host(plan: Plan, role: str, kind: str = "") -> Host:
    """The first host of that role and kind."""
    return next(host for host in plan.hosts if host.role == role and kind in ("", host.kind))
