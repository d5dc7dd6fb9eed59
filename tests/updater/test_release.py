import base64
import stat
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.errors import ReleaseError, UsageError
from joro.updater.channel import Channel
from joro.updater.release import (
    NEWEST,
    Manifest,
    Signed,
    check_keys,
    described,
    is_newer,
    new_key,
    public_of,
    signed,
    verified,
)
from tests.updater.stand import NOON
from tests.updater.wheels import tiny_wheel


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "release.key"
    new_key(path)
    return path


def manifest(**other: object) -> Manifest:
    usual = Manifest("0.2.0", "joro-0.2.0-py3-none-any.whl", 10, "0" * 64, ">=3.11", NOON)
    return msgspec.structs.replace(usual, **other)


def answer(key: Path, **other: object) -> bytes:
    return msgspec.json.encode(signed(manifest(**other), key))


def test_a_signed_manifest_is_read_as_it_was_written(key: Path) -> None:
    assert verified(answer(key), (public_of(key),)) == manifest()


def test_any_of_several_keys_may_have_signed(key: Path, tmp_path: Path) -> None:
    assert verified(answer(key), (new_key(tmp_path / "new"), public_of(key))) == manifest()


def test_another_key_is_not_believed(key: Path, tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="signature of the manifest is wrong"):
        verified(answer(key), (new_key(tmp_path / "other"),))


@given(place=st.integers(min_value=0), bit=st.integers(0, 7))
def test_no_bit_of_a_manifest_or_its_signature_can_be_changed(key: Path, place: int, bit: int) -> None:
    parcel = signed(manifest(), key)
    text, signature = parcel.manifest.encode(), base64.b64decode(parcel.signature)
    content = bytearray(text + signature)
    content[place % len(content)] ^= 1 << bit
    forged = Signed(
        bytes(content[: len(text)]).decode("latin-1"), base64.b64encode(content[len(text) :]).decode()
    )
    with pytest.raises(ReleaseError):
        verified(msgspec.json.encode(forged), (public_of(key),))


@pytest.mark.parametrize("content", [b"", b"<html>", b"{}", b'{"manifest": "{}", "signature": "?"}'])
def test_what_is_no_manifest_is_called_so(key: Path, content: bytes) -> None:
    with pytest.raises(ReleaseError, match="no signed manifest"):
        verified(content, (public_of(key),))


@pytest.mark.parametrize(
    "other",
    [
        {"file": "../../joro-0.2.0-py3-none-any.whl"},
        {"file": "joro-0.3.0-py3-none-any.whl"},
        {"file": "evil-0.2.0-py3-none-any.whl"},
        {"version": "../0.2.0"},
        {"version": "0.2.0.0/.."},
        {"bytes": -1},
        {"sha256": "x"},
    ],
)
def test_a_careless_signer_leads_nobody_astray(key: Path, other: dict[str, object]) -> None:
    with pytest.raises(ReleaseError):
        verified(answer(key, **other), (public_of(key),))


def test_versions_are_compared_as_numbers() -> None:
    assert is_newer("0.10.0", "0.9.0")
    assert is_newer("1.0", "1.0rc1")
    assert not is_newer("1.0", "1.0.0")


def test_a_secret_key_is_for_its_owner_only_and_never_overwritten(tmp_path: Path) -> None:
    public = new_key(tmp_path / "key")
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    with pytest.raises(UsageError, match="exists"):
        new_key(tmp_path / "key")
    assert public_of(tmp_path / "key") == public


@pytest.mark.parametrize("keys", [(), ("",), ("abc",), ("x" * 44,)])
def test_a_robot_without_a_proper_key_is_told_so(keys: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match=r"update\.public_keys"):
        check_keys(keys)


def test_a_file_that_is_no_wheel_cannot_be_released(tmp_path: Path) -> None:
    path = tmp_path / "joro-0.2.0-py3-none-any.whl"
    path.write_text("no zip")
    with pytest.raises(UsageError, match="is no wheel"):
        described(path, NOON)


def test_a_wheel_under_a_wrong_name_cannot_be_released(tmp_path: Path) -> None:
    wheel = tiny_wheel(tmp_path, "0.2.0")
    with pytest.raises(ReleaseError, match=r"is no wheel of joro 0\.2\.0"):
        described(wheel.rename(tmp_path / "joro-0.9.0-py3-none-any.whl"), NOON)


def test_a_channel_names_the_newest_and_keeps_the_older(tmp_path: Path, key: Path) -> None:
    channel = Channel(tmp_path / "stable")
    for version in ("0.2.0", "0.10.0"):
        channel.add(tiny_wheel(tmp_path, version), key, NOON)
    assert [each.version for each in channel.all()] == ["0.2.0", "0.10.0"]
    newest = verified((tmp_path / "stable" / NEWEST).read_bytes(), (public_of(key),))
    assert newest.version == "0.10.0"
    assert (tmp_path / "stable" / newest.file).stat().st_size == newest.bytes
    assert not list((tmp_path / "stable").glob(".*"))


def test_a_clock_that_was_wrong_once_spoils_no_later_release(tmp_path: Path, key: Path) -> None:
    channel = Channel(tmp_path / "stable")
    moments = [
        channel.add(tiny_wheel(tmp_path, version), key, now).created
        for version, now in (("0.2.0", NOON + 1e9), ("0.3.0", NOON))
    ]
    assert moments == [NOON + 1e9, NOON + 1e9 + 1]


@pytest.mark.parametrize("version", ["0.2.0", "0.1.9"])
def test_a_channel_never_goes_back(tmp_path: Path, key: Path, version: str) -> None:
    channel = Channel(tmp_path / "stable")
    channel.add(tiny_wheel(tmp_path, "0.2.0"), key, NOON)
    with pytest.raises(UsageError, match=r"is not newer than 0\.2\.0"):
        channel.add(tiny_wheel(tmp_path / "again", version), key, NOON)
