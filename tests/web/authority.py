"""Certificates of an authority that only the tests know."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

import trustme


@dataclass
class Authority:
    """`ca_file` is what a client must trust; `server` makes one side of TLS."""

    ca: trustme.CA
    ca_file: Path

    def server(self, *names: str, alpn: tuple[str, ...] = ()) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.ca.issue_cert(*names).configure_cert(context)
        if alpn:
            context.set_alpn_protocols(list(alpn))
        return context


def authority(folder: Path) -> Authority:
    ca = trustme.CA()
    ca_file = folder / "ca.pem"
    ca.cert_pem.write_to_path(str(ca_file))
    return Authority(ca, ca_file)
