from pathlib import Path

import pytest

from joro.errors import UsageError
from joro.trust import is_here, place_of, sendable, trusting


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


def test_a_token_of_printable_ascii_can_be_sent() -> None:
    assert sendable("correct horse: ~battery!", "the token", remedy="") == "correct horse: ~battery!"


@pytest.mark.parametrize("secret", ["合言葉", "pass\nword", "caf\u00e9", "\ufefftoken", "nul\0"])
def test_a_token_that_no_request_can_carry_is_refused_and_not_repeated(secret: str) -> None:
    with pytest.raises(UsageError, match=r"^the token in F has characters .*; ask for another$") as caught:
        sendable(secret, "the token in F", remedy="ask for another")
    assert secret not in str(caught.value)


def test_an_address_that_no_request_can_carry_is_refused() -> None:
    with pytest.raises(UsageError, match="is no address of a manager"):
        place_of("https://hub.example/管理", "manager", plain=False, plainly="")
    assert place_of("https://管理.example/", "manager", plain=False, plainly="").hostname == "管理.example"
