from __future__ import annotations

from joro.discover.aliases import Aliases

TEXTS = [0x0123_4567_89AB_CDEF * number % 2**64 for number in range(3, 40)]


def seen(aliases: Aliases, *visits: tuple[str, int]) -> None:
    """Visits of pages, given by path and by the number of the text that stands there."""
    known: set[int] = set()
    for path, text in visits:
        aliases.learn(f"http://a{path}", TEXTS[text], new=text not in known)
        known.add(text)


def test_a_session_id_is_found_out_and_left_out() -> None:
    aliases = Aliases()
    seen(aliases, *((f"/p{page}", page) for page in range(5)))
    seen(aliases, *((f"/p{page}?sid=a{page}", page) for page in range(5)))
    assert aliases.proper("http://a/p9?sid=77&x=1") == "http://a/p9?x=1"


def test_where_no_page_is_without_it_one_session_id_is_kept() -> None:
    aliases = Aliases()
    seen(aliases, *((f"/p{page}?sid=a{page}", page) for page in range(5)))
    seen(aliases, *((f"/p{page}?sid=b{page}", page) for page in range(5)))
    assert aliases.proper("http://a/p9?sid=77") == "http://a/p9?sid=a0"


def test_a_session_id_in_the_path_is_found_out() -> None:
    aliases = Aliases()
    for session in ("0e821ca7113f", "1b2c3d4e5f60", "77aa88bb99cc"):
        seen(aliases, *((f"/s/{session[::-1]}{page}/p{page}", page) for page in range(5)))
    assert aliases.proper("http://a/s/9f9f9f9f1234/p9").startswith("http://a/s/f3117ac128e0")


def test_a_number_that_selects_a_page_matters() -> None:
    aliases = Aliases()
    seen(aliases, *((f"/list?id={page}", page) for page in range(30)))
    seen(aliases, *((f"/show?id={page}", page) for page in range(30)))
    assert aliases.idle == {}


def test_that_the_first_page_needs_no_number_does_not_make_numbers_idle() -> None:
    aliases = Aliases()
    seen(aliases, *((f"/list{page}", page) for page in range(9)))
    seen(aliases, *((f"/list{page}?page=1", page) for page in range(9)))
    assert aliases.proper("http://a/list3?page=2") == "http://a/list3?page=2"


def test_one_list_that_ignores_its_number_proves_nothing() -> None:
    aliases = Aliases()
    seen(aliases, *((f"/list?page={page}", 1) for page in range(30)))
    assert aliases.idle == {}


def test_the_same_page_visited_again_proves_nothing() -> None:
    aliases = Aliases()
    for _ in range(5):
        seen(aliases, *((f"/p{page}?id=x{page}", page) for page in range(5)))
    assert aliases.idle == {}
