from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.errors import ConfigError
from joro.fetch.guard import Guard

REFUSED = """
127.0.0.1 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 255.255.255.255
224.0.0.1 192.0.2.1 198.18.0.1 198.51.100.7 203.0.113.9 240.0.0.1 192.0.0.8 192.88.99.1 168.63.129.16
::1 :: fe80::1 fe80::1%eth0 fc00::1 fd12::1 ff02::1 fec0::1 2001:db8::1 2001:0::1 100::1
::ffff:127.0.0.1 ::ffff:10.0.0.1 ::127.0.0.1 64:ff9b::a00:1 2002:7f00:1:: 2002:a00:1::
::ffff:0:127.0.0.1 64:ff9b:1::808:808 2606:4700::5efe:10.0.0.1 2606:4700::200:5efe:10.0.0.1 3fff::1
5f00::1 4000::1
""".split()


@pytest.mark.parametrize("address", REFUSED)
def test_private_and_special_addresses_are_refused(address: str) -> None:
    assert Guard().refusal(address) is not None


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "93.184.216.34", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_public_addresses_pass(address: str) -> None:
    assert Guard().refusal(address) is None


def test_the_operator_may_open_a_network_and_no_more() -> None:
    guard = Guard(["127.0.0.0/8"])
    assert guard.refusal("127.3.4.5") is None
    assert guard.refusal("::ffff:127.0.0.1") is None
    assert guard.refusal("64:ff9b::127.0.0.1") is None
    assert guard.refusal("10.0.0.1") is not None
    assert Guard(["::1/128"]).refusal("::1") is None


@pytest.mark.parametrize(
    ("opened", "address"),
    [
        ("127.0.0.0/8", "fd12:3456::5efe:127.0.0.1"),
        ("127.0.0.0/8", "fe80::5efe:127.0.0.1"),
        ("fd00::/8", "fd00::5efe:127.0.0.1"),
    ],
)
def test_an_address_that_only_contains_an_opened_one_stays_refused(opened: str, address: str) -> None:
    assert Guard([opened]).refusal(address) is not None
    assert Guard(["127.0.0.0/8", "fc00::/7", "fe80::/10"]).refusal(address) is None


def test_a_mistyped_network_is_named() -> None:
    with pytest.raises(ConfigError, match=r"127\.0\.0\.0/99.*write it like"):
        Guard(["127.0.0.0/99"])


@given(st.integers(0, 2**32 - 1))
def test_an_address_hidden_in_ipv6_gets_the_same_verdict(number: int) -> None:
    plain = ipaddress.IPv4Address(number)
    hidden = ipaddress.IPv6Address(f"::ffff:{plain}")
    guard = Guard()
    assert (guard.refusal(str(plain)) is None) == (guard.refusal(str(hidden)) is None)
