from pathlib import Path

import pytest

from joro.errors import UsageError
from joro.trust import is_here, trusting


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_this_machine_is_here(host: str) -> None:
    assert is_here(host)


@pytest.mark.parametrize("host", ["10.0.0.1", "::2", "localhost.example.org", "0x7f000001", ""])
def test_no_other_is(host: str) -> None:
    assert not is_here(host)


def test_a_file_without_certificates_is_named_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("nothing")
    with pytest.raises(UsageError, match=r"ca\.pem holds no certificates"):
        trusting(tmp_path / "ca.pem")


def test_certificates_are_verified() -> None:
    assert trusting(None).check_hostname
