from __future__ import annotations

import socket
import struct
from dataclasses import replace

import pytest

from joro.testweb.dns import NOERROR, NXDOMAIN, SERVFAIL, Resolver
from joro.testweb.plan import Plan, make
from joro.testweb.running import Running
from tests.testweb.conftest import SETTINGS, a_host


def query(name: str, kind: int = 1) -> bytes:
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack("!6H", 77, 0x0100, 1, 0, 0, 0) + labels + struct.pack("!BHH", 0, kind, 1)


def code(reply: bytes) -> int:
    return reply[3] & 15


@pytest.fixture(scope="module")
def own() -> Plan:
    return make(replace(SETTINGS, addresses="own"))


def test_a_name_has_its_address(own: Plan) -> None:
    host = a_host(own, "normal")
    reply = Resolver(own).reply(query(host.name.upper()))
    assert reply[:2] == struct.pack("!H", 77)
    assert socket.inet_ntoa(reply[-4:]) == host.address
    assert struct.unpack("!I", reply[-10:-6])[0] == 300


def test_strangers_do_not_exist(own: Plan) -> None:
    assert code(Resolver(own).reply(query("www.example.com"))) == NXDOMAIN
    assert code(Resolver(own).reply(query(a_host(own, "dead", "nxdomain").name))) == NXDOMAIN


def test_a_dead_name_server_fails(own: Plan) -> None:
    assert code(Resolver(own).reply(query(a_host(own, "dead", "servfail").name))) == SERVFAIL


def test_there_are_no_ipv6_addresses(own: Plan) -> None:
    reply = Resolver(own).reply(query(own.hosts[0].name, kind=28))
    assert code(reply) == NOERROR
    assert struct.unpack("!H", reply[6:8])[0] == 0


def test_a_rebinding_host_turns_private_at_the_second_question(own: Plan) -> None:
    resolver, host = Resolver(own), a_host(own, "hostile", "rebinding")
    addresses = [socket.inet_ntoa(resolver.reply(query(host.name))[-4:]) for _ in range(3)]
    assert addresses == [host.address, "10.0.0.1", "10.0.0.1"]


@pytest.mark.parametrize("junk", [b"", b"short", b"\0" * 12, query("a")[:-3], b"\0\0\x80" + b"\0" * 20])
def test_junk_never_raises(own: Plan, junk: bytes) -> None:
    reply = Resolver(own).reply(junk)
    assert reply == b"" or code(reply) == 1


def test_it_answers_over_udp(web: Running) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(5)
        asking.sendto(query("oracle.testweb"), ("127.0.0.1", web.dns_port))
        assert asking.recv(512)[-4:] == bytes([127, 0, 0, 1])
