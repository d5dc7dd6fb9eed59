from __future__ import annotations

import ipaddress
from collections import Counter, deque
from dataclasses import asdict, replace

import pytest

from joro.errors import UsageError
from joro.testweb.plan import Plan, make
from joro.testweb.settings import Settings
from tests.testweb.conftest import SETTINGS, a_host


@pytest.fixture(scope="module")
def big() -> Plan:
    return make(Settings(addresses="own"))


def test_the_same_seed_plans_the_same_web() -> None:
    assert [asdict(host) for host in make(SETTINGS).hosts] == [asdict(host) for host in make(SETTINGS).hosts]


def test_another_seed_plans_another() -> None:
    assert make(SETTINGS).hosts[1].name != make(replace(SETTINGS, seed=8)).hosts[1].name


def test_names_are_unique_and_marked_as_ours(big: Plan) -> None:
    assert len(big.by_name) == 1_000
    assert all("-tw" in host.name or host.name.startswith("xn--") for host in big.hosts)


def test_almost_half_the_hosts_write_japanese(big: Plan) -> None:
    languages = Counter(host.language for host in big.hosts)
    assert 400 < languages["ja"] < 500
    assert 250 < languages["en"] < 350
    assert len(languages) >= 8


def test_japanese_comes_in_four_character_sets(big: Plan) -> None:
    charsets = {host.charset for host in big.hosts if host.language == "ja"}
    assert charsets == {"utf-8", "shift_jis", "euc-jp", "iso-2022-jp"}


def test_some_hosts_do_not_say_their_character_set(big: Plan) -> None:
    assert {host.declared for host in big.hosts} == {"header", "meta", "both", "nowhere"}


def test_own_addresses_are_loopback_and_some_are_shared(big: Plan) -> None:
    addresses = Counter(host.address for host in big.hosts)
    assert all(ipaddress.ip_address(address).is_loopback for address in addresses)
    assert 850 < len(addresses) < 990
    assert "127.0.0.1" not in addresses


def test_one_address_means_one_address() -> None:
    assert {host.address for host in make(SETTINGS).hosts} == {"127.0.0.1"}


def test_pages_are_numbered_through_without_gaps(big: Plan) -> None:
    ends = [host.first + host.pages for host in big.hosts]
    assert [host.first for host in big.hosts] == [0, *ends[:-1]]
    assert abs(big.pages - 20_000) < 500


def test_a_page_knows_its_host(plan: Plan) -> None:
    host = plan.hosts[17]
    assert plan.host_of(host.first) is host
    assert plan.host_of(host.first + host.pages - 1) is host


def test_every_host_hangs_on_the_first_by_normal_ones(plan: Plan) -> None:
    reached, queue = {0}, deque([0])
    while queue:
        for child in plan.children.get(queue.popleft(), []):
            reached.add(child)
            if plan.hosts[child].role == "normal":
                queue.append(child)
    assert len(reached) == len(plan.hosts)


def test_a_copy_has_the_size_and_the_speech_of_its_original(plan: Plan) -> None:
    copy = a_host(plan, "copy", "exact")
    original = plan.hosts[copy.copy_of]
    assert (copy.pages, copy.language, copy.charset) == (original.pages, original.language, original.charset)
    assert original.role == "normal"


def test_the_bench_profile_has_only_plain_hosts() -> None:
    hosts = make(replace(SETTINGS, profile="bench")).hosts
    assert {(host.role, host.connection, host.transfer) for host in hosts} == {
        ("normal", "keep-alive", "length")
    }


@pytest.mark.parametrize(
    "wrong",
    [{"hosts": 0}, {"pages": 10}, {"speed": -1.0}, {"profile": "x"}, {"addresses": "own", "dns_port": -1}],
)
def test_impossible_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        replace(SETTINGS, **wrong)  # type: ignore[arg-type]
