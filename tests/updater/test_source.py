import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from joro.config import Cooperate, Update
from joro.errors import ReleaseError, TransferError, UsageError
from joro.updater.download import download
from joro.updater.release import Manifest
from joro.updater.source import Source
from tests.updater.stand import ID, PASSWORD, Shop, open_shop, settings
from tests.updater.wheels import tiny_wheel
from tests.web.proxies import http, proxy


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with open_shop(tmp_path / "shop") as shop:
        yield shop


@pytest.fixture
def manifest(shop: Shop, tmp_path: Path) -> Manifest:
    return shop.release(tiny_wheel(tmp_path, "0.2.0"))


def source(shop: Shop, base: Path, cooperate: Cooperate | None = None, **other: object) -> Source:
    return Source(settings(shop, **other), cooperate or Cooperate(), base, silence_s=10)


def fetched(source: Source, manifest: Manifest, tmp_path: Path) -> Path:
    folder = tmp_path / "downloads"
    folder.mkdir(exist_ok=True)
    return download(source, manifest, folder)


def test_a_wheel_arrives_to_the_byte(shop: Shop, manifest: Manifest, tmp_path: Path) -> None:
    path = fetched(source(shop, tmp_path), manifest, tmp_path)
    assert path.read_bytes() == (shop.channel.directory / manifest.file).read_bytes()


def test_a_cut_download_goes_on_where_it_ended(shop: Shop, manifest: Manifest, tmp_path: Path) -> None:
    shop.spoil = lambda _path, body: body[:100] if len(shop.asked) == 1 else body
    fetched(source(shop, tmp_path), manifest, tmp_path)
    assert [asked for _, asked in shop.asked] == ["", "bytes=100-"]


def test_a_server_without_ranges_is_asked_for_all_again(
    shop: Shop, manifest: Manifest, tmp_path: Path
) -> None:
    shop.knows_ranges = False
    shop.spoil = lambda _path, body: body[:100] if len(shop.asked) == 1 else body
    path = fetched(source(shop, tmp_path), manifest, tmp_path)
    assert path.stat().st_size == manifest.bytes


def test_a_file_that_stays_truncated_is_given_up_and_kept_for_the_next_time(
    shop: Shop, manifest: Manifest, tmp_path: Path
) -> None:
    shop.spoil = lambda _path, body: body[:100]
    with pytest.raises(TransferError):
        fetched(source(shop, tmp_path), manifest, tmp_path)
    assert [path.name for path in (tmp_path / "downloads").iterdir()] == [f"{manifest.file}.part"]
    assert len(shop.asked) == 6


def test_changed_bytes_are_thrown_away(shop: Shop, manifest: Manifest, tmp_path: Path) -> None:
    shop.spoil = lambda _path, body: b"X" + body[1:]
    with pytest.raises(ReleaseError, match="SHA-256"):
        fetched(source(shop, tmp_path), manifest, tmp_path)
    assert list((tmp_path / "downloads").iterdir()) == []


def test_no_more_bytes_are_taken_than_were_signed(shop: Shop, manifest: Manifest, tmp_path: Path) -> None:
    path = shop.channel.directory / manifest.file
    path.write_bytes(path.read_bytes() + b"x" * 10_000_000)
    with pytest.raises(ReleaseError, match="is larger than"):
        fetched(source(shop, tmp_path), manifest, tmp_path)
    assert (tmp_path / "downloads" / f"{manifest.file}.part").stat().st_size == 0


def test_what_an_older_release_left_is_removed(shop: Shop, manifest: Manifest, tmp_path: Path) -> None:
    (tmp_path / "downloads").mkdir()
    (tmp_path / "downloads" / "joro-0.1.5-py3-none-any.whl.part").write_text("half")
    path = fetched(source(shop, tmp_path), manifest, tmp_path)
    assert list((tmp_path / "downloads").iterdir()) == [path]


def test_id_and_password_are_shown(shop: Shop, manifest: Manifest, tmp_path: Path) -> None:
    shop.wants_password = True
    (tmp_path / "pass").write_text(f"{PASSWORD}\n")
    assert source(shop, tmp_path, id=ID, password_file="pass").newest()
    with pytest.raises(TransferError, match=r"401.*update\.password_file"):
        source(shop, tmp_path).newest()


def test_our_manager_is_shown_the_token_of_the_robot_and_nobody_else(tmp_path: Path) -> None:
    cooperate = Cooperate(managers=("https://one.example:8768",), token="secret")
    update = Update(source="https://one.example:8768/releases/stable")
    assert Source(update, cooperate, tmp_path)._secret == "Bearer secret"
    other = replace(update, source="https://other.example:8768/releases/stable")
    assert Source(other, cooperate, tmp_path)._secret == ""


@pytest.mark.parametrize("text", ["secret\n", "# ours\ntokyo-0 secret\ntokyo-1 other\n"])
def test_the_token_may_be_in_a_file_of_one_or_of_several(tmp_path: Path, text: str) -> None:
    (tmp_path / "token").write_text(text)
    cooperate = Cooperate(managers=("https://one.example",), token_file=str(tmp_path / "token"))
    update = Update(source="https://one.example/releases/stable")
    assert Source(update, cooperate, tmp_path)._secret == "Bearer secret"


def test_a_token_that_cannot_be_sent_is_refused_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "word").write_text("合言葉", encoding="utf-8")
    update = Update(source="https://one.example/stable", password_file="word")
    with pytest.raises(UsageError, match="the token in word has characters that no request can carry"):
        Source(update, Cooperate(), tmp_path)
    assert Source(replace(update, id="me"), Cooperate(), tmp_path)._secret  # Basic carries any password


def test_a_password_does_not_travel_in_plain_text(tmp_path: Path) -> None:
    (tmp_path / "pass").write_text("x")
    update = Update(source="http://far.example/stable", id="a", password_file="pass")
    with pytest.raises(UsageError, match=r"update\.plain"):
        Source(update, Cooperate(), tmp_path)
    Source(replace(update, plain=True), Cooperate(), tmp_path)


async def through_a_proxy(shop: Shop, tmp_path: Path) -> list[str]:
    goal = int(shop.url.split(":")[2].split("/")[0])
    async with proxy(http, goal) as line:
        far = replace(settings(shop, proxy=f"127.0.0.1:{line.port}"), source="http://far.example/stable")
        await asyncio.to_thread(Source(far, Cooperate(), tmp_path, silence_s=10).newest)
        return line.asked


def test_a_proxy_is_honoured(shop: Shop, manifest: Manifest, tmp_path: Path) -> None:
    asked = asyncio.run(through_a_proxy(shop, tmp_path))
    assert asked[0].startswith("GET http://far.example/stable/newest.json ")


def test_an_endless_answer_is_no_manifest(shop: Shop, tmp_path: Path) -> None:
    (shop.channel.directory / "newest.json").write_bytes(b"x" * 100_000)
    with pytest.raises(TransferError, match="65,536"):
        source(shop, tmp_path).newest()


def test_without_a_channel_one_is_told_where_to_set_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"update\.source"):
        Source(Update(), Cooperate(), tmp_path)


def test_a_password_file_that_is_not_there_is_named(shop: Shop, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"update\.password_file = '.*gone'"):
        source(shop, tmp_path, password_file="gone")
