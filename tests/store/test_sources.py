from __future__ import annotations

from pathlib import Path

from joro.store.frontier import Frontier
from joro.store.layout import reshare, set_share_count, shares

PAGE, SERVER = "http://a.example/feed.xml", "http://a.example"


def test_what_is_kept_is_known_at_once_and_after_a_commit(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path)
    frontier.sources.keep_page(PAGE, b"page")
    frontier.sources.keep_server(SERVER, b"server")
    assert (frontier.sources.of_page(PAGE), frontier.sources.of_server(SERVER)) == (b"page", b"server")
    frontier.commit(None)
    assert (frontier.sources.of_page(PAGE), frontier.sources.of_server(SERVER)) == (b"page", b"server")


def test_what_was_not_committed_is_gone_after_a_crash(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path)
    frontier.sources.keep_page(PAGE, b"old")
    frontier.commit(None)
    frontier.sources.keep_page(PAGE, b"new")
    frontier.abandon()
    assert Frontier(tmp_path).sources.of_page(PAGE) == b"old"


def test_a_state_can_be_forgotten(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path)
    frontier.sources.keep_page(PAGE, b"x")
    frontier.commit(None)
    frontier.sources.keep_page(PAGE, None)
    assert frontier.sources.of_page(PAGE) is None
    frontier.commit(None)
    assert frontier.sources.of_page(PAGE) is None


def test_states_go_along_to_the_share_of_their_server(tmp_path: Path) -> None:
    set_share_count(tmp_path, 1)
    frontier = Frontier(tmp_path / "0-of-1")
    frontier.sources.keep_page(PAGE, b"page")
    frontier.sources.keep_server(SERVER, b"server")
    frontier.commit(None)
    frontier.close()
    reshare(tmp_path, 2, lambda server: int(server == SERVER))
    found = [Frontier(folder, read_only=True).sources for folder in shares(tmp_path, 2)]
    assert [each.of_page(PAGE) for each in found] == [None, b"page"]
    assert [each.of_server(SERVER) for each in found] == [None, b"server"]
