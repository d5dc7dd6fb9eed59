import math
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

from joro.cli import joro
from joro.importer.foreign import Sighting
from joro.importer.learning import Lore, histories_of, learn
from joro.schedule import change, prior
from joro.store.collection import Collection
from joro.store.frontier import Frontier
from joro.store.layout import shares
from joro.store.orders import EXCLUSION, Order, OrderBook
from joro.url import fingerprint
from tests.importer.test_foreign import written_by_others
from tests.index.archived import START, collection_in

DAY_S = 86_400.0
URL = "http://a.example/"


def lore_of(*digests: str, url: str = URL, status: int = 200) -> Lore:
    """A page seen every day, each time with one of these digests."""
    lore = Lore()
    for day, digest in enumerate(digests):
        lore.add(Sighting(url, START + day * DAY_S, status, digest))
    return lore


def rate_per_day(digests: str) -> float:
    visits = [[(START + day * DAY_S, digest) for day, digest in enumerate(digests)]]
    chances = change.posterior(histories_of(visits), prior.BROAD.expected(prior.said(change.blank())))
    return float(change.rate_per_s(chances)[0]) * DAY_S


def test_a_page_that_always_changed_is_expected_to_change_often() -> None:
    assert rate_per_day("abcdefghij") > 1.0
    assert rate_per_day("aaaaaaaaaa") < 0.1
    assert 0.1 < rate_per_day("aaaabbbbcc") < 0.6


def test_histories_count_visits_and_changes_as_a_robot_would() -> None:
    two, one = histories_of([[(0.0, "a"), (10.0, "b"), (30.0, "b")], [(0.0, "a")]])
    assert (two["visits"], two["changes"], two["changed_s"]) == (2, 1, 10.0)
    assert one["visits"] == 0


def frontier_of(collection: Collection) -> Frontier:
    return Frontier(shares(collection.frontier, 1)[0], read_only=True)


def test_a_page_seen_once_is_not_said_to_have_been_found_unchanged(tmp_path: Path) -> None:
    collection = collection_in(tmp_path)
    learn(collection, lore_of("a"), START, has_bytes=True)
    told = CliRunner().invoke(joro, ["explain", "-C", str(collection.path), URL]).output
    assert "Its change interval is not estimated yet." in told


def test_robots_txt_is_no_page(tmp_path: Path) -> None:
    collection = collection_in(tmp_path)
    lore = lore_of("a", url="http://a.example/robots.txt")
    assert learn(collection, lore, START, has_bytes=True) == 0
    assert learn(collection, lore_of("a", url="http://a.example/doc/robots.txt"), START, has_bytes=True) == 1


def test_a_page_becomes_known_with_its_history_and_a_date(tmp_path: Path) -> None:
    collection = collection_in(tmp_path)
    assert learn(collection, lore_of("a", "b", "b"), START, has_bytes=True) == 1
    frontier = frontier_of(collection)
    record = frontier.visited(fingerprint(URL))
    assert record is not None
    assert record.upkeep is not None
    assert (record.time, record.outcome, record.upkeep.body) == (START + 2 * DAY_S, "ok", "b")
    assert record.upkeep.captured_at == START + 2 * DAY_S
    assert change.unpack([record.upkeep.history])["visits"][0] == 2
    assert (frontier.counts.found, frontier.counts.visited) == (1, 1)
    (due,) = frontier.calendar.pop(math.inf, 9)["due"].tolist()
    assert START <= due == record.upkeep.due < START + DAY_S


def test_without_bytes_nothing_is_said_to_be_archived(tmp_path: Path) -> None:
    collection = collection_in(tmp_path)
    learn(collection, lore_of("a", "b"), START, has_bytes=False)
    record = frontier_of(collection).visited(fingerprint(URL))
    assert record is not None
    assert record.upkeep is not None
    assert (record.upkeep.body, record.upkeep.captured_at) == ("", 0.0)


def test_errors_say_nothing_and_forbidden_pages_stay_unknown(tmp_path: Path) -> None:
    collection = collection_in(tmp_path)
    assert learn(collection, lore_of("a", "b", status=500), START, has_bytes=True) == 0
    OrderBook(collection.orders, lambda: START).give(Order(0, EXCLUSION, "host", "a.example", 0.0))
    assert learn(collection, lore_of("a", "b"), START, has_bytes=True) == 0


def test_what_a_robot_knows_is_not_overruled(tmp_path: Path) -> None:
    collection = collection_in(tmp_path)
    learn(collection, lore_of("a", "b"), START, has_bytes=True)
    assert learn(collection, lore_of("c", "d", "e"), START, has_bytes=True) == 0


def test_the_command_archives_and_learns(tmp_path: Path) -> None:
    collection = collection_in(tmp_path)
    words = ["import", "-C", str(collection.path), str(written_by_others(tmp_path / "x.warc.gz"))]
    run = subprocess.run([sys.executable, "-m", "joro", *words], capture_output=True, text=True, check=False)
    assert run.stderr == ""
    assert "captures taken in: 3\npages with a history of their own: 3\n" in run.stdout
    (tmp_path / "x.txt").write_text("?")
    wrong = subprocess.run(
        [sys.executable, "-m", "joro", *words[:3], str(tmp_path / "x.txt")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert wrong.returncode == 2
    assert "is no WARC, WACZ or CDXJ file" in wrong.stderr


def test_the_command_tells_of_lines_it_cannot_read_and_fails_where_that_is_all(tmp_path: Path) -> None:
    collection = collection_in(tmp_path)
    path = tmp_path / "x.cdxj"
    command = [sys.executable, "-m", "joro", "import", "-q", "-C", str(collection.path), str(path)]
    path.write_text("nonsense\nmore of it\n")
    garbage = subprocess.run(command, capture_output=True, text=True, check=False)
    assert garbage.returncode == 2
    assert garbage.stderr.startswith(f"joro: {path}: no line can be read as CDXJ; check the file")
    path.write_text(
        'a) 20200101000000 {"url": "http://a.example/", "status": "200", "digest": "A"}\nnonsense\n'
    )
    torn = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (torn.returncode, torn.stderr) == (0, f"{path}: lines that could not be read: 1\n")
