from joro.model import Capture
from joro.portal.calendar import months_of, versions_of, years_of

DAY = 86_400.0
LEAP_DAY = 1_709_208_000.0  # 2024-02-29 12:00


def captures(*told: tuple[float, str]) -> list[Capture]:
    return [Capture("http://a.jp/", time, 200, "text/html", digest, "w", 0, 1) for time, digest in told]


def test_a_version_is_new_changed_or_identical() -> None:
    found = versions_of(captures((0, "a"), (1, "a"), (2, "b"), (3, "a")))
    assert [version.kind for version in found] == ["new", "identical", "changed", "changed"]


def test_a_revisit_is_identical_whatever_its_digest() -> None:
    first, second = captures((0, "a"), (1, ""))
    revisit = Capture("http://a.jp/", 1, 304, "warc/revisit", "", "w", 0, 1)
    assert versions_of([first, revisit])[1].kind == "identical"
    assert versions_of([first, second])[1].kind == "changed"


def test_years_are_counted_newest_first() -> None:
    found = versions_of(captures((LEAP_DAY - 400 * DAY, "a"), (LEAP_DAY, "b"), (LEAP_DAY + 1, "c")))
    assert list(years_of(found).items()) == [(2024, 2), (2023, 1)]
    assert years_of([]) == {}


def test_a_day_stands_where_the_calendar_has_it() -> None:
    months = list(months_of(2024, versions_of(captures((LEAP_DAY, "a"), (LEAP_DAY + 60, "b")))))
    february = months[1]
    assert (february.name, february.count, len(months)) == ("February", 2, 12)
    thursday = february.weeks[4][3]
    assert (thursday.number, thursday.date, len(thursday.versions)) == (29, "20240229", 2)
    assert february.weeks[0][0].number == 0


def test_a_day_is_changed_when_one_of_its_versions_is() -> None:
    months = list(months_of(2024, versions_of(captures((0, "a"), (LEAP_DAY, "a"), (LEAP_DAY + DAY, "b")))))
    assert not months[1].weeks[4][3].is_changed
    assert months[2].weeks[0][4].is_changed
