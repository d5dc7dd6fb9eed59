from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from joro.config import load, parse

COMMAND = [sys.executable, "-m", "joro", "testweb", "--hosts", "5", "--pages", "20"]


def test_it_says_where_it_is_and_ends_quietly_on_ctrl_c(tmp_path: Path) -> None:
    settings = tmp_path / "joro.toml"
    command = [*COMMAND, "--settings", str(settings)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(5)]
        child.send_signal(signal.SIGINT)
        rest = child.stdout.read()
    assert child.returncode == 0
    assert "Traceback" not in rest
    assert "5 hosts, 20 pages, seed 7" in lines[0]
    assert f":{load(settings).fetch.ports['80']}" in lines[1]


def test_the_lines_it_announces_are_settings_a_collection_takes() -> None:
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        said = [child.stdout.readline() for _ in range(6)]
        child.send_signal(signal.SIGINT)
        toml = child.stdout.read()
    assert said[5] == "a collection sees it with these lines in its joro.toml:\n"
    settings = parse(toml)
    assert f":{settings.fetch.ports['80']}\n" in said[1]
    assert (settings.politeness.per_address, settings.politeness.address_interval_s) == (64, 0.0)


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--port", "99999", "port = 99999 cannot be; give 0 (any free one) to 65535"),
        ("--port", "-1", "port = -1 cannot be"),
        (
            "--dns-port",
            "65536",
            "dns_port = 65536 cannot be; give -1 (none), 0 (any free one) or up to 65535",
        ),
        ("--pages", "-1", "pages = -1 cannot be; give at least one per host (5)"),
        ("--pages", "0", "pages = 0 cannot be"),
        ("--speed", "inf", "speed = inf cannot be; give 0 or more"),
        ("--network", "10.0.0.0/33", "network = '10.0.0.0/33' cannot be; give one in 10.0.0.0/8"),
        ("--network", "10.0.0.1/8", "network = '10.0.0.1/8' cannot be"),
        ("--network", "10.0.0.0/7", "network = '10.0.0.0/7' cannot be"),
        ("--memory", "-1", "memory = -1 MB cannot be; give 0 or more"),
    ],
)
def test_a_number_that_cannot_be_is_one_line(option: str, value: str, says: str) -> None:
    done = subprocess.run([*COMMAND, option, value], capture_output=True, text=True, check=False, timeout=20)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith(f"joro: test web: {says}")


def test_a_port_in_use_is_one_line_and_an_exit_code() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run([*COMMAND, "--port", str(port)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == f"joro: port {port} is taken; give another one, or 0 for any free one\n"


def test_an_unknown_role_is_one_line_that_names_the_known() -> None:
    done = subprocess.run([*COMMAND, "--roles", "nice"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("joro: no role 'nice' on the test web; known: normal, slow,")
