"""The test web on a machine of its own, seen from another one."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from joro.errors import UsageError
from joro.scaling.network import Network
from joro.store.collection import Collection
from joro.testweb.plan import make
from joro.testweb.running import separate
from joro.testweb.settings import Settings
from tests.namespaces import network as network
from tests.scenarios.archived import responses

FAR = Settings(
    hosts=4, pages=20, roles=("normal",), network="10.98.0.0/16", addresses="own", memory_bytes=50_000_000
)


@pytest.mark.slow
def test_a_robot_on_another_machine_collects_it_and_is_known_by_its_address(
    network: Network, tmp_path: Path
) -> None:
    home, away = network.machine("web", also=FAR.network), network.machine("robot", delay_s=0.001)
    with separate(FAR, home.run, home.dial) as web:
        hurried = replace(web.config, politeness=replace(web.config.politeness, interval_s=0.0))
        collection = Collection.create(tmp_path / "collection", hurried).path
        crawl = [sys.executable, "-m", "joro", "crawl", "-q", "-C", str(collection), *web.seeds]
        assert away.run(crawl).wait() == 0
        assert {row["client"] for row in web.oracle.get("/log")} == {away.address}
        assert set(responses(collection)) == set(web.oracle.get("/reachable"))


def test_each_host_has_an_address_inside_the_network() -> None:
    addresses = {host.address for host in make(FAR).hosts}
    assert len(addresses) > 1
    assert all(address.startswith("10.98.") for address in addresses)


@pytest.mark.parametrize("network", ["192.168.0.0/16", "8.8.8.0/24"])
def test_no_network_of_others_is_taken(network: str) -> None:
    with pytest.raises(UsageError, match="network"):
        Settings(network=network)
