from __future__ import annotations

import itertools
from pathlib import Path

import msgspec
import pytest

from joro.coordinate.beat import Link
from joro.coordinate.exchange import Exchange
from joro.coordinate.mail import sound
from joro.coordinate.report import Report, is_quiet
from joro.coordinate.share import Share
from joro.store.frontier import Frontier


class Post:
    """One robot's frontier and letter boxes."""

    def __init__(self, directory: Path, number: int) -> None:
        share = Share(number, 2)
        self.frontier = Frontier(directory / share.folder)
        self.exchange = Exchange(directory / "exchange", share, self.frontier)

    def commit(self) -> list[str]:
        links = self.exchange.before_commit()
        self.frontier.commit(None)
        self.exchange.after_commit()
        return [link.url for link in links]


def link(name: str) -> Link:
    return Link(f"http://c.example/{name}", 1, 0, "http://b.example/")


def test_a_link_arrives_once(tmp_path: Path) -> None:
    sender, reader = Post(tmp_path, 0), Post(tmp_path, 1)
    sender.exchange.offer(link("x"))
    assert not sender.exchange.is_empty
    sender.commit()
    assert (reader.commit(), reader.commit()) == (["http://c.example/x"], [])
    assert (sender.exchange.sent[1], reader.exchange.read[0]) == (1, 1)


def test_mail_is_there_from_the_writers_commit_until_the_readers(tmp_path: Path) -> None:
    sender, reader = Post(tmp_path, 0), Post(tmp_path, 1)
    sender.exchange.offer(link("x"))
    assert not reader.exchange.has_mail()
    sender.commit()
    assert reader.exchange.has_mail()
    reader.commit()
    assert not reader.exchange.has_mail()


def test_what_was_never_committed_was_never_sent(tmp_path: Path) -> None:
    sender, reader = Post(tmp_path, 0), Post(tmp_path, 1)
    sender.exchange.offer(link("x"))
    sender.frontier.abandon()
    assert reader.commit() == []


def test_a_sender_killed_between_commit_and_file_sends_after_its_restart(tmp_path: Path) -> None:
    sender, reader = Post(tmp_path, 0), Post(tmp_path, 1)
    sender.exchange.offer(link("x"))
    sender.exchange.before_commit()
    sender.frontier.commit(None)
    sender.frontier.abandon()
    assert reader.commit() == []
    Post(tmp_path, 0)
    assert reader.commit() == ["http://c.example/x"]


def test_a_batch_that_comes_back_after_it_was_read_is_not_read_again(tmp_path: Path) -> None:
    sender, reader = Post(tmp_path, 0), Post(tmp_path, 1)
    sender.exchange.offer(link("x"))
    sender.commit()
    assert reader.commit() == ["http://c.example/x"]
    sender.frontier.abandon()  # before it could forget what it sent
    Post(tmp_path, 0)
    assert reader.commit() == []


def test_a_reader_killed_before_its_commit_reads_again(tmp_path: Path) -> None:
    sender, reader = Post(tmp_path, 0), Post(tmp_path, 1)
    sender.exchange.offer(link("x"))
    sender.commit()
    reader.exchange.before_commit()
    reader.frontier.abandon()
    assert Post(tmp_path, 1).commit() == ["http://c.example/x"]


def test_others_see_a_commit_only_when_the_disk_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a loss of power leaves: here the disk has it when RocksDB was told to see to it."""
    steps: list[str] = []
    secure = Frontier.secure

    def noted(frontier: Frontier) -> None:
        boxes = [path.name for path in (tmp_path / "exchange" / "0-1").iterdir()]
        steps.append(f"{'there' if boxes else 'not there'}")
        secure(frontier)

    sender, reader = Post(tmp_path, 0), Post(tmp_path, 1)
    monkeypatch.setattr(Frontier, "secure", noted)
    sender.exchange.offer(link("x"))
    sender.commit()
    assert reader.commit() == ["http://c.example/x"]
    assert (steps, reader.exchange.has_mail()) == (["not there", "there"], False)


def test_a_batch_that_is_damaged_is_told_once_kept_and_holds_nobody_up(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sender, reader = Post(tmp_path, 0), Post(tmp_path, 1)
    box = tmp_path / "exchange" / "0-1"
    for name in "xy":
        sender.exchange.offer(link(name))
        sender.commit()
    (box / "0000000001").write_bytes(b"cut")
    assert [reader.commit(), reader.commit()] == [["http://c.example/y"], []]
    (line,) = (record.message for record in caplog.records)  # as people see it
    assert f"the links in {box}/0000000001 are lost" in line
    assert [path.name for path in box.iterdir()] == ["0000000001.damaged"]


def test_after_a_damaged_batch_all_are_done(tmp_path: Path) -> None:
    sender, reader = Post(tmp_path, 0), Post(tmp_path, 1)
    sender.exchange.offer(link("x"))
    sender.commit()
    (tmp_path / "exchange" / "0-1" / "0000000001").write_bytes(b"")
    reader.exchange.before_commit()
    reader.frontier.abandon()  # killed before its commit
    reader = Post(tmp_path, 1)
    reader.commit()
    both = sender.exchange, reader.exchange
    assert is_quiet([Report(idle=True, sent=one.sent, read=one.read) for one in both])
    assert not reader.exchange.has_mail()


@pytest.mark.parametrize("sealed", [True, False])
def test_whatever_a_disk_does_to_a_batch_nobody_gets_a_link_that_was_not_sent_or_cannot_be_followed(
    tmp_path: Path, sealed: bool
) -> None:
    """Each byte in turn, in three ways. Without a checksum, as it once was, some of that passes unseen."""
    sender, reader = Post(tmp_path, 0), Post(tmp_path, 1)
    links = [link("x"), link("y")]
    for each in links:
        sender.exchange.offer(each)
    sender.commit()
    (path,) = (tmp_path / "exchange" / "0-1").iterdir()
    whole = path.read_bytes() if sealed else msgspec.msgpack.encode(links)
    path.unlink()
    for number, (place, change) in enumerate(itertools.product(range(len(whole)), (0x01, 0x80, 0xFF)), 1):
        path = path.with_name(f"{number:010d}")
        path.write_bytes(whole[:place] + bytes([whole[place] ^ change]) + whole[place + 1 :])
        found = reader.exchange.before_commit()
        assert reader.exchange.read[0] == number
        assert found == [] if sealed else sound(found) == found
        path.unlink()


def test_a_batch_without_a_checksum_is_read_and_a_link_in_it_that_nobody_can_follow_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As the version before wrote it; robots that took such links in ended at every start."""
    reader, odd = Post(tmp_path, 1), Link("http://c.exa", 1, 0, "http://b.example/")
    batch = msgspec.msgpack.encode([link("x"), odd, Link("http://c.example:99999999/y", 1), link("y")])
    (tmp_path / "exchange" / "0-1" / "0000000001").write_bytes(batch)
    assert [reader.commit(), reader.commit()] == [["http://c.example/x", "http://c.example/y"], []]
    (line,) = (record.message for record in caplog.records)
    assert line.startswith("2 links left out that nobody can follow, like Link(url='http://c.exa'")


def test_a_batch_that_is_no_utf8_is_told_once_and_holds_nobody_up(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    reader = Post(tmp_path, 1)
    path = tmp_path / "exchange" / "0-1" / "0000000001"
    path.write_bytes(msgspec.msgpack.encode([link("x")]).replace(b"example/x", b"ex\xe1mple/x"))
    assert [reader.commit(), reader.commit()] == [[], []]
    (line,) = (record.message for record in caplog.records)
    assert f"the links in {path} are lost" in line
