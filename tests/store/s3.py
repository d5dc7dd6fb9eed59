"""A real S3 server on loopback, in a process of its own."""

import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Bucket:
    """Where it is."""

    url: str  # s3://…
    endpoint: str


@contextmanager
def s3_server(bucket: str = "captures") -> Iterator[Bucket]:
    """Run moto's server with one bucket; obstore finds it by the environment, as it would any other."""
    command = [sys.executable, "-W", "ignore", "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            endpoint = _endpoint(server)
            request = urllib.request.Request(f"{endpoint}/{bucket}", method="PUT")
            request.add_header(
                "Authorization", "AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/s3/aws4_request"
            )
            urllib.request.urlopen(request, timeout=10).close()
            with environment(endpoint):
                yield Bucket(f"s3://{bucket}", endpoint)
        finally:
            server.kill()


def _endpoint(server: subprocess.Popen[str]) -> str:
    assert server.stderr is not None
    for line in server.stderr:
        if found := re.search(r"http://127\.0\.0\.1:\d+", line):
            return found[0]
    raise AssertionError("moto did not start")


@contextmanager
def environment(endpoint: str) -> Iterator[None]:
    """Let obstore find an object store there."""
    settings = {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": endpoint,
    }
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
