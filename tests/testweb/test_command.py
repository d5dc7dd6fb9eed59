from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

from joro.config import load

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
