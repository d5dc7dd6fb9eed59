from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request

from joro.config import Cooperate, Update
from joro.errors import TransferError
from joro.manager.releases import routes
from joro.updater.download import download
from joro.updater.release import Manifest, verified
from joro.updater.source import Source
from tests.redistribute.stand import running
from tests.updater.stand import Shop
from tests.updater.wheels import tiny_wheel


def who(request: Request) -> str:
    if request.headers.get("authorization") != "Bearer secret":
        raise HTTPException(403, "not a robot of ours")
    return "tokyo"


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "channels")


@pytest.fixture
def manifest(shop: Shop, tmp_path: Path) -> Manifest:
    return shop.release(tiny_wheel(tmp_path, "0.2.0"))


@pytest.fixture
def address(shop: Shop) -> Iterator[str]:
    with running(lambda: Starlette(routes=routes(shop.folder, who))) as address:
        yield address


def source(address: str, channel: str = "stable", token: str = "secret") -> Source:
    cooperate = Cooperate(managers=(address,), token=token)
    return Source(Update(source=f"{address}/releases/{channel}"), cooperate, Path(), silence_s=10)


def test_a_robot_gets_the_newest_manifest_and_its_wheel(
    address: str, shop: Shop, manifest: Manifest, tmp_path: Path
) -> None:
    assert verified(source(address).newest(), (shop.public,)) == manifest
    folder = tmp_path / "downloads"
    folder.mkdir()
    whole = (shop.channel.directory / manifest.file).read_bytes()
    (folder / f"{manifest.file}.part").write_bytes(whole[:100])
    assert download(source(address), manifest, folder).read_bytes() == whole


def test_a_cut_download_goes_on(address: str, manifest: Manifest) -> None:
    start, pieces = source(address).pieces(manifest.file, 100)
    assert (start, len(b"".join(pieces))) == (100, manifest.bytes - 100)


def test_the_channel_itself_answers_as_its_newest_manifest_does(address: str, manifest: Manifest) -> None:
    _, pieces = source(address, channel="").pieces("stable", 0)
    assert b"".join(pieces) == source(address).newest()


@pytest.mark.usefixtures("manifest")
def test_nobody_else_gets_anything(address: str) -> None:
    with pytest.raises(TransferError, match="403"):
        source(address, token="wrong").newest()


@pytest.mark.parametrize("name", ["..%2Frelease.key", "release.key", ".newest.json.new", "gone.whl"])
def test_nothing_but_manifests_and_wheels_is_handed_out(
    address: str, manifest: Manifest, shop: Shop, name: str
) -> None:
    (shop.channel.directory / ".newest.json.new").write_text("half")
    (shop.channel.directory / "release.key").write_text("secret")
    with pytest.raises(TransferError, match="404"):
        source(address).pieces(name, 0)
