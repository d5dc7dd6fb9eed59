"""A source tells each new thing once: at once if it is news, as a signal if we know the page."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.discover.trust import Trust
from joro.discover.watch import (
    FEED,
    FRONT,
    INDEX,
    SITEMAP,
    UNTRIED,
    Findings,
    Reading,
    Signal,
    Watched,
    failed,
    portions,
    told_nothing,
    unchanged,
    watch,
)
from joro.model import Entry, PollHints

NOW = 1_794_816_000.0
HOUR_S, DAY_S = 3_600.0, 86_400.0
HOME = "http://www.a.example/"
A, B, C = (f"http://news.a.example/{name}" for name in "abc")
FOREIGN = "http://b.example/x"
LIAR = Trust(true_calls=0, false_calls=20)
HONEST = Trust(true_calls=20, quiet=20)


class Collection:
    """What we know of pages: when each was visited last."""

    def __init__(self, **visited: float) -> None:
        self.visited = {f"http://news.a.example/{name}": time for name, time in visited.items()}
        self.asked: list[str] = []

    def __call__(self, urls: list[str]) -> list[float | None]:
        self.asked += urls
        return [self.visited.get(url) for url in urls]


def read(
    watched: Watched,
    now: float,
    entries: list[Entry],
    known: Collection | None = None,
    trust: Trust = UNTRIED,
) -> tuple[Findings, Watched]:
    reading = Reading(watched, now, known or Collection(), trust)
    return reading.sift(entries), reading.close()


def source(kind: str, *entries: Entry) -> Watched:
    """A source that was read a day ago, with these entries."""
    return read(watch(kind, HOME, 0.0), NOW - DAY_S, list(entries))[1]


def test_what_a_feed_lists_newly_is_urgent() -> None:
    findings, _ = read(source(FEED, Entry(A)), NOW, [Entry(B, NOW - HOUR_S), Entry(C), Entry(A)])
    assert findings == Findings(urgent=[B, C])


def test_of_a_first_reading_only_fresh_dates_are_urgent() -> None:
    entries = [Entry(A, NOW - HOUR_S), Entry(B, NOW - 30 * DAY_S), Entry(C)]
    assert read(watch(FEED, HOME, NOW), NOW, entries)[0] == Findings(urgent=[A], new=[B, C])


def test_a_page_that_waits_is_still_to_be_hurried_and_a_visited_one_is_not() -> None:
    known = Collection(a=0.0, b=NOW - 60)
    findings, _ = read(source(FEED), NOW, [Entry(A, NOW - HOUR_S), Entry(B, NOW - HOUR_S)], known)
    assert findings == Findings(urgent=[A])


def test_a_later_date_on_a_visited_page_is_a_signal_told_once() -> None:
    known = Collection(a=NOW - 5 * HOUR_S)
    findings, watched = read(source(FEED, Entry(A, NOW - 9 * HOUR_S)), NOW, [Entry(A, NOW - HOUR_S)], known)
    assert findings == Findings(signals=[Signal(A, NOW - HOUR_S)])
    assert read(watched, NOW + 60, [Entry(A, NOW - HOUR_S)], known)[0] == Findings()


def test_an_entry_that_stands_as_it_stood_is_not_even_looked_up() -> None:
    known = Collection()
    read(source(SITEMAP, Entry(A, 1e9), Entry(B)), NOW, [Entry(A, 1e9), Entry(B), Entry(C)], known)
    assert known.asked == [C]


def test_a_bare_date_of_the_day_of_the_visit_may_be_a_change() -> None:
    midnight = NOW - 8 * HOUR_S
    known = Collection(a=midnight + HOUR_S, b=midnight - DAY_S)
    entries = [Entry(A, midnight, span_s=DAY_S), Entry(B, midnight - 2 * DAY_S, span_s=DAY_S)]
    assert read(source(SITEMAP), NOW, entries, known)[0] == Findings(signals=[Signal(A, midnight)])


def test_a_sitemap_brings_pages_and_signals_but_nothing_urgent_except_news() -> None:
    known = Collection(a=NOW - 5 * HOUR_S)
    entries = [Entry(A, NOW - HOUR_S), Entry(B, NOW - HOUR_S), Entry(C, NOW - HOUR_S, news=True)]
    findings, _ = read(source(SITEMAP), NOW, entries, known)
    assert findings == Findings(urgent=[C], new=[B], signals=[Signal(A, NOW - HOUR_S)])


def test_an_index_tells_which_sitemaps_to_read() -> None:
    one, two = "http://a.example/1.xml", "http://a.example/2.xml"
    index = source(INDEX, Entry(one, 1e9), Entry(two, 1e9))
    assert read(index, NOW, [Entry(one, 1e9), Entry(two, NOW)])[0] == Findings(sitemaps=[two])


def test_nobody_speaks_for_pages_of_another_domain() -> None:
    entries = [Entry(FOREIGN, NOW - HOUR_S)]
    assert read(source(FEED), NOW, entries)[0] == Findings(new=[FOREIGN])
    reading = Reading(source(SITEMAP), NOW, lambda urls: [1.0 for _ in urls])
    assert reading.sift(entries) == Findings()


def test_a_feed_kept_elsewhere_speaks_for_the_page_that_named_it() -> None:
    assert watch(FEED, "http://www.a.example/x", NOW).home == "a.example"


def test_the_dates_of_a_liar_are_not_heard() -> None:
    known = Collection(a=NOW - 5 * HOUR_S)
    watched = read(watch(SITEMAP, HOME, 0.0), NOW - DAY_S, [Entry(A, NOW - DAY_S)], known, LIAR)[1]
    known.asked.clear()
    assert read(watched, NOW, [Entry(A, NOW)], known, LIAR)[0] == Findings()
    assert known.asked == []


@pytest.mark.parametrize("time", [NOW + 2 * DAY_S, NOW + 1e9])
def test_a_date_of_the_future_is_no_change(time: float) -> None:
    known = Collection(a=NOW - 5 * HOUR_S)
    assert read(source(SITEMAP), NOW, [Entry(A, time)], known)[0] == Findings()


@pytest.mark.parametrize("time", [NOW + 2 * DAY_S, NOW + 1e9])
def test_news_with_a_date_of_the_future_is_news_without_a_date(time: float) -> None:
    assert read(source(FEED, Entry(A)), NOW, [Entry(A), Entry(B, time)])[0] == Findings(urgent=[B])
    assert read(watch(FEED, HOME, NOW), NOW, [Entry(B, time)])[0] == Findings(new=[B])


def test_a_day_that_has_begun_further_east_is_today() -> None:
    evening, tomorrow = NOW + 12 * HOUR_S, NOW + 16 * HOUR_S  # 20:00 and 24:00 in Greenwich
    entries = [Entry(A, tomorrow, span_s=DAY_S)]
    assert read(watch(FEED, HOME, evening), evening, entries)[0] == Findings(urgent=[A])


def test_a_clock_that_runs_a_little_ahead_is_forgiven() -> None:
    known = Collection(a=NOW - 5 * HOUR_S)
    assert read(source(SITEMAP), NOW, [Entry(A, NOW + 60)], known)[0].signals == [Signal(A, NOW)]


def test_a_link_that_comes_back_is_not_new() -> None:
    watched = read(source(FRONT, Entry(A), Entry(B)), NOW, [Entry(B), Entry(C)])[1]
    assert read(watched, NOW + HOUR_S, [Entry(A), Entry(C)])[0] == Findings()


def test_a_page_whose_links_are_all_new_every_time_is_restless_and_hurries_nobody() -> None:
    watched = watch(FRONT, HOME, 0.0)
    for hour in range(6):
        links = [Entry(f"http://a.example/?session={hour}-{n}") for n in range(10)]
        findings, watched = read(watched, NOW + hour * HOUR_S, links)
    assert watched.is_restless
    assert findings.urgent == []


def test_a_lively_source_is_read_sooner_than_a_quiet_one() -> None:
    lively = quiet = source(FEED, Entry(A))
    for hour in range(1, 10):
        _, lively = read(lively, NOW + hour * HOUR_S, [Entry(f"http://a.example/{hour}"), Entry(A)])
        _, quiet = read(quiet, NOW + hour * HOUR_S, [Entry(A)])
    last = NOW + 9 * HOUR_S
    assert lively.due_at - last < 2 * HOUR_S < 8 * HOUR_S < quiet.due_at - last


def test_changes_count_as_arrivals_where_dates_are_good() -> None:
    known = Collection(a=NOW - 5 * HOUR_S)
    due = [
        read(source(SITEMAP), NOW, [Entry(A, NOW - HOUR_S)], known, trust)[1].due_at
        for trust in (HONEST, Trust())
    ]
    assert due[0] < due[1]


def test_nothing_changed_means_nothing_came() -> None:
    watched = source(FEED, Entry(A))
    later = unchanged(watched, NOW)
    assert later.due_at - NOW > watched.due_at - (NOW - DAY_S)
    assert later.marks == watched.marks


def test_a_reading_tells_nothing_when_the_list_stays_or_changes_for_no_page_every_time() -> None:
    known, honest = Collection(a=NOW, b=NOW, c=NOW), source(SITEMAP, Entry(A, 1.0), Entry(B, 1.0))
    assert told_nothing(honest, failed(honest, NOW))
    assert told_nothing(honest, unchanged(honest, NOW))
    assert told_nothing(honest, read(honest, NOW, [Entry(A, 1.0), Entry(B, 1.0)], known)[1])
    assert not told_nothing(honest, read(honest, NOW, [Entry(A, NOW), Entry(B, 1.0)], known)[1])
    assert not told_nothing(honest, read(honest, NOW, [Entry(A, 1.0), Entry(FOREIGN)], known)[1])
    restless = honest
    for hour in range(4):
        before, now = restless, NOW + hour * HOUR_S
        restless = read(before, now, [Entry(A, now), Entry(B, now)], known)[1]
    assert told_nothing(before, restless)
    assert not told_nothing(before, read(before, now, [Entry(A, now), Entry(B, now)], known, HONEST)[1])


def test_a_source_that_fails_is_asked_ever_more_rarely_and_never_given_up() -> None:
    watched = watch(FEED, HOME, NOW)
    pauses = []
    for _ in range(40):
        watched = failed(watched, watched.due_at)
        pauses.append(failed(watched, watched.due_at).due_at - watched.due_at)
    assert pauses[1] == pytest.approx(2 * pauses[0])
    assert pauses[-1] == DAY_S
    assert read(watched, watched.due_at, [Entry(A)])[1].failures == 0


def test_hints_hold_until_the_source_says_otherwise() -> None:
    reading = Reading(watch(FEED, HOME, NOW), NOW, Collection())
    reading.sift([Entry(A, NOW - n) for n in range(50)])
    watched = reading.close(PollHints(least_s=7_200))
    assert watched.due_at == NOW + 7_200
    assert unchanged(watched, NOW + 7_200).due_at >= NOW + 2 * 7_200


def test_what_is_remembered_fits_in_eight_bytes_an_entry_and_packs() -> None:
    watched = source(SITEMAP, *(Entry(f"http://a.example/{n}", 1e9) for n in range(1_000)))
    assert len(watched.marks) == 8_000
    packed = msgspec.msgpack.encode(watched)
    assert len(packed) < 8_300
    assert msgspec.msgpack.decode(packed, type=Watched) == watched


ENTRIES = st.lists(
    st.builds(
        Entry,
        st.sampled_from([A, B, C, FOREIGN]),
        st.none() | st.floats(0, 2 * NOW),
        st.sampled_from([0.0, DAY_S]),
        news=st.booleans(),
    ),
    max_size=8,
)


@given(
    st.sampled_from([FEED, FRONT, SITEMAP]),
    st.lists(ENTRIES, max_size=4),
    st.floats(0, 3 * NOW),
    st.integers(1, 3),
)
def test_every_entry_leads_to_one_thing_at_most_and_only_once(
    kind: str, readings: list[list[Entry]], visited_at: float, size: int
) -> None:
    watched = watch(kind, HOME, 0.0)
    for number, entries in enumerate(readings):
        now = NOW + number * HOUR_S
        reading = Reading(watched, now, Collection(a=visited_at, b=0.0))
        for portion in portions(entries, size):
            found = reading.sift(portion)
            told = found.urgent + found.new + [signal.url for signal in found.signals]
            assert len(told) <= len(portion)
            assert A not in found.urgent + found.new or visited_at == 0
            assert all(url == A for url in (signal.url for signal in found.signals))
        watched = reading.close()
        assert watched.due_at > now
        assert Reading(watched, now + 1, Collection()).sift(entries) == Findings()
