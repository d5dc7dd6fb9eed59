from __future__ import annotations

from pathlib import Path

from joro.coordinate.beat import Link
from joro.coordinate.exchange import Exchange
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
