import pytest
from msgspec.structs import replace

from joro.archive.payload import digest
from joro.model import Known
from joro.portal import find
from joro.portal.find import Finder, closest
from joro.portal.memento import link_field
from tests.index.archived import START, answer, archive, collection_in

DAY = 86_400.0
URL = "http://a.jp/"
#: Days before START: years apart, months apart, several a day, within a second.
AGES = [4_000, 2_500, 2_499, 900, 400, 200, 100, 31, 30, 3, 2.5, 2, 1, 0.5, 5e-6, 0]


@pytest.fixture(scope="module")
def finder(tmp_path_factory: pytest.TempPathFactory) -> Finder:
    made = collection_in(tmp_path_factory.mktemp("many"))
    pages = [answer(URL, f"<p>{age}", time=START - age * DAY) for age in AGES]
    known = Known(START - 4_000 * DAY, digest(b"<p>4000"))
    again = replace(answer(URL, "<p>4000", time=START + DAY), known=known)
    archive(made, *pages, again, answer("https://a.jp/", "other"), answer("http://a.jp/b/c", "near"))
    return Finder(made.archive, now=lambda: START + 2 * DAY)


@pytest.mark.parametrize(
    "age", [9_999, 4_000, 3_000, 2_499.6, 650, 250, 33, 30.4, 12, 2.2, 1.5, 0.1, 0, -9_999]
)
def test_among_many_versions_the_same_neighbours_are_found(
    finder: Finder, monkeypatch: pytest.MonkeyPatch, age: float
) -> None:
    time = START - age * DAY
    everything = finder.near(URL, time)
    assert len(everything) == 17
    monkeypatch.setattr(find, "FEW", 5)
    some = finder.near(URL, time)
    assert len(some) <= 6
    capture = closest(everything, time)
    assert closest(some, time) == capture
    assert link_field("http://x", some, capture) == link_field("http://x", everything, capture)


def test_a_revisit_finds_its_original_however_long_ago(finder: Finder) -> None:
    *_, again = finder.versions(URL)
    original = finder.original(again)
    assert again.mime == "warc/revisit"
    assert original is not None
    assert original.time == START - 4_000 * DAY


def test_a_capture_is_found_under_its_own_second(finder: Finder) -> None:
    versions = finder.versions(URL)
    by_second = {int(capture.time): capture for capture in reversed(versions)}
    assert len(by_second) == 17
    assert all(closest(versions, second) == capture for second, capture in by_second.items())


def test_other_spellings_and_neighbours_are_found(finder: Finder) -> None:
    assert [capture.url for capture in finder.spellings("http://www.a.jp/")] == [URL, "https://a.jp/"]
    assert [capture.url for capture in finder.beside("http://a.jp/b/x", 9)] == ["http://a.jp/b/c"]
    assert finder.beside("http://b.jp/", 9) == []
