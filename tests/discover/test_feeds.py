"""A site's feeds are watched, the feed of a single article is not."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from joro.discover.feeds import NAMED_LIMIT, WATCHED_LIMIT, Declared

SITE = "http://a.example"


def test_what_the_front_page_names_is_watched_at_once() -> None:
    assert Declared().add(f"{SITE}/", [f"{SITE}/feed", f"{SITE}/feed"]) == [f"{SITE}/feed"]


def test_what_two_pages_name_is_watched_once() -> None:
    declared = Declared()
    assert declared.add(f"{SITE}/1", [f"{SITE}/feed"]) == []
    assert declared.add(f"{SITE}/1", [f"{SITE}/feed"]) == []
    assert declared.add(f"{SITE}/2", [f"{SITE}/feed"]) == [f"{SITE}/feed"]
    assert declared.add(f"{SITE}/3", [f"{SITE}/feed"]) == []


def test_a_blog_with_a_comment_feed_for_every_article_has_one_feed() -> None:
    declared = Declared()
    chosen = [
        feed
        for n in range(1_000)
        for feed in declared.add(f"{SITE}/{n}", [f"{SITE}/feed", f"{SITE}/{n}/comments/feed"])
    ]
    assert chosen == [f"{SITE}/feed"]
    assert len(declared.named) <= NAMED_LIMIT


def test_a_feed_that_pages_keep_naming_is_not_forgotten_among_many() -> None:
    declared = Declared()
    declared.add(f"{SITE}/0", [f"{SITE}/feed"])
    for n in range(1, 40):
        declared.add(f"{SITE}/0", [f"{SITE}/feed"])
        declared.add(f"{SITE}/{n}", [f"{SITE}/{n}/{m}" for m in range(50)])
    assert declared.add(f"{SITE}/99", [f"{SITE}/feed"]) == [f"{SITE}/feed"]


def test_no_server_has_more_feeds_than_the_limit() -> None:
    assert len(Declared().add(f"{SITE}/", [f"{SITE}/{n}" for n in range(100)])) == WATCHED_LIMIT


URLS = st.sampled_from([f"{SITE}/{path}" for path in ("", "a", "b", "c", "feed")])


@given(st.lists(st.tuples(URLS, st.lists(URLS))))
def test_no_feed_is_chosen_twice_and_all_of_it_packs(pages: list[tuple[str, list[str]]]) -> None:
    declared = Declared()
    chosen = [feed for page, feeds in pages for feed in declared.add(page, feeds)]
    assert chosen == declared.watched == list(dict.fromkeys(chosen))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(declared), type=Declared) == declared
