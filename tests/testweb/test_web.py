from __future__ import annotations

import hashlib
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from joro.config import parse, render
from joro.errors import PortInUse
from joro.testweb.ready import Ready
from joro.testweb.running import Running, running, separate
from joro.testweb.settings import EPOCH, Settings
from joro.testweb.web import TestWeb, config
from tests.testweb.ask import ask
from tests.testweb.conftest import SETTINGS

FINGERPRINT = """
import hashlib
from joro.testweb.settings import EPOCH, Settings
from joro.testweb.site import Site
from joro.testweb.plan import make
site = Site(make(Settings(seed=7, hosts=200, pages=3000)))
digest = hashlib.sha256()
for host in site.plan.hosts[::5]:
    for target in (b"/", b"/robots.txt", b"/sitemap.xml", b"/feed.xml", b"/shop"):
        digest.update(site.answer(host, target, True, EPOCH + 1e6).wire)
print(digest.hexdigest())
"""


def fingerprint(hash_seed: str) -> str:
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    return subprocess.check_output([sys.executable, "-c", FINGERPRINT], env=environment, text=True)


@pytest.mark.slow
def test_two_runs_give_identical_bytes_whatever_pythons_hash_seed() -> None:
    assert fingerprint("1") == fingerprint("2")


def test_another_seed_gives_other_bytes() -> None:
    first, second = (TestWeb(Settings(seed=seed, hosts=5, pages=5)) for seed in (1, 2))
    pages = [web.site.page(web.plan.hosts[0], 0, False, EPOCH).wire for web in (first, second)]
    assert hashlib.sha256(pages[0]).digest() != hashlib.sha256(pages[1]).digest()


def test_bytes_over_the_wire_are_the_same_in_two_runs() -> None:
    bodies = []
    for _ in range(2):
        with running(Settings(seed=3, hosts=10, pages=50)) as web:
            bodies.append([ask(web.port, page["url"]).body for page in web.oracle.get("/pages")[:20]])
    assert bodies[0] == bodies[1]


def test_a_port_in_use_is_said_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortInUse, match=str(port)), running(Settings(hosts=2, pages=2, port=port)):
            pass


def test_the_settings_for_a_collection_can_be_read_back(web: Running) -> None:
    fetch = parse(render(web.config)).fetch
    assert fetch.ports == {"80": web.port}
    assert fetch.nameservers == (f"127.0.0.1:{web.dns_port}",)
    assert fetch.allow_addresses == ("127.0.0.0/8",)


def test_without_a_name_server_all_names_mean_this_machine() -> None:
    assert config(8080, 0).fetch.hosts == {"*": "127.0.0.1"}


def test_a_warm_web_has_every_page_ready() -> None:
    web = TestWeb(Settings(hosts=10, pages=100, roles=("normal",)))
    web.warm()
    assert len(web.ready) == web.plan.pages


def test_ready_answers_stay_below_their_limit() -> None:
    web = TestWeb(Settings(hosts=10, pages=100, roles=("normal",), memory_bytes=300_000))
    web.warm()
    assert 0 < web.ready.bytes <= 300_000
    assert Ready(10).get((0, b"/", False), EPOCH) is None


def test_a_web_in_its_own_process_serves_and_ends(tmp_path: Path) -> None:
    log = tmp_path / "log.tsv"
    with separate(Settings(hosts=5, pages=20, log=log)) as web:
        assert ask(web.port, web.seeds[0]).status == 200
        assert web.pid > 0
    assert len(log.read_text().splitlines()) == 2
    assert SETTINGS.seed == 7
