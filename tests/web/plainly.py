"""Somebody who speaks http to whoever comes by https, as a manager does that was given no certificate."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def speaking_plainly() -> Iterator[int]:
    """The port on which one caller is answered."""

    def answer() -> None:
        with suppress(OSError), server.accept()[0] as line:
            line.recv(65_536)
            line.sendall(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")
            line.recv(65_536)  # until it hangs up

    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10.0)
        thread = threading.Thread(target=answer)
        thread.start()
        yield server.getsockname()[1]
        thread.join()
