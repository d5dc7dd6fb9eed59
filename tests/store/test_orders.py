import errno
import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.clock import FakeClock
from joro.errors import CollectionError
from joro.model import Capture
from joro.store.orders import EMBARGO, EXCLUSION, LIFT, TAKEDOWN, Order, OrderBook, Orders

NOW = 1_000_000.0


def order(target: str, value: str, act: str = TAKEDOWN, number: int = 1, **other: float) -> Order:
    return Order(number, act, target, value, NOW, **other)  # type: ignore[arg-type]


def hidden(orders: Orders, url: str, time: float = 5.0, digest: str = "sha1:A", now: float = NOW) -> bool:
    return orders.withholds(url, time, digest, now) is not None


def test_without_orders_nothing_is_withheld() -> None:
    assert not Orders()
    assert not hidden(Orders(), "http://a.example/")


def test_a_url_is_withheld_in_both_schemes_and_no_other_page() -> None:
    orders = Orders([order("url", "http://a.example/x?y=1")])
    assert hidden(orders, "http://a.example/x?y=1")
    assert hidden(orders, "https://a.example/x?y=1")
    assert not hidden(orders, "http://a.example/x?y=12")
    assert not hidden(orders, "http://a.example/x")


def test_a_host_is_withheld_at_every_port_and_not_below() -> None:
    orders = Orders([order("host", "a.example")])
    assert hidden(orders, "https://a.example:8443/x")
    assert not hidden(orders, "http://www.a.example/")
    assert not hidden(orders, "http://b.example/a.example/")


def test_a_domain_is_withheld_with_all_names_below_it() -> None:
    orders = Orders([order("host", "*.a.example")])
    assert hidden(orders, "http://a.example/")
    assert hidden(orders, "http://x.y.a.example/")
    assert not hidden(orders, "http://ba.example/")


def test_of_nested_prefixes_each_is_found() -> None:
    orders = Orders(
        [
            order("prefix", "http://a.example/p/", number=1, until=3.0),
            order("prefix", "http://a.example/p/q/", number=2, until=2.0),
            order("prefix", "http://a.example/p/q/r", number=3, until=1.0),
            order("prefix", "http://a.example/p/o", number=4),
        ]
    )
    assert [each.number for each in orders.about("http://a.example/p/q/s")] == [2, 1]
    assert [each.number for each in orders.about("https://a.example/p/q/rs")] == [3, 2, 1]
    assert [each.number for each in orders.about("http://a.example/p/n")] == [1]
    assert list(orders.about("http://a.example/p")) == []


@given(st.lists(st.text("ab/", max_size=5)), st.text("ab/", max_size=8))
def test_prefixes_are_found_as_by_looking_at_each(ends: list[str], path: str) -> None:
    orders = Orders([order("prefix", f"http://h.jp/{end}", number=n) for n, end in enumerate(ends)])
    url = f"http://h.jp/{path}"
    found = {each.number for each in orders.about(url)}
    assert found == {n for n, end in enumerate(ends) if url.startswith(f"http://h.jp/{end}")}


def test_a_payload_is_withheld_wherever_it_is() -> None:
    orders = Orders([order("digest", "sha1:A")])
    assert hidden(orders, "http://a.example/")
    assert hidden(orders, "http://b.example/")
    assert not hidden(orders, "http://b.example/", digest="sha1:B")


def test_dates_limit_an_order_to_captures_between_them() -> None:
    orders = Orders([order("all", "", since=10.0, until=20.0)])
    assert [hidden(orders, "http://a.example/", time) for time in (9.9, 10.0, 19.9, 20.0)] == [
        False,
        True,
        True,
        False,
    ]


def test_an_embargo_opens_by_itself() -> None:
    orders = Orders([order("host", "a.example", EMBARGO, opens=NOW + 1)])
    assert hidden(orders, "http://a.example/", now=NOW)
    assert not hidden(orders, "http://a.example/", now=NOW + 1)


def test_an_embargo_may_count_from_each_capture() -> None:
    orders = Orders([order("host", "a.example", EMBARGO, after_s=100.0)])
    assert hidden(orders, "http://a.example/", time=NOW - 99)
    assert not hidden(orders, "http://a.example/", time=NOW - 100)


def test_only_takedowns_erase_and_only_embargoes_let_visits_pass() -> None:
    assert Orders([order("host", "a.example")]).erases("http://a.example/", 0, "")
    assert not Orders([order("host", "a.example", EMBARGO)]).erases("http://a.example/", 0, "")
    assert not Orders([order("host", "a.example", EXCLUSION)]).erases("http://a.example/", 0, "")
    assert not Orders([order("host", "a.example", EMBARGO)]).forbids("http://a.example/", NOW)
    assert Orders([order("host", "a.example", EXCLUSION)]).forbids("http://a.example/", NOW)


def test_an_exclusion_hides_nothing() -> None:
    assert not hidden(Orders([order("host", "a.example", EXCLUSION)]), "http://a.example/")


def test_a_takedown_of_past_captures_lets_the_page_be_visited() -> None:
    assert not Orders([order("host", "a.example", until=NOW - 1)]).forbids("http://a.example/", NOW)
    assert Orders([order("host", "a.example", since=NOW - 1)]).forbids("http://a.example/", NOW)


def test_a_lifted_order_is_as_if_never_given() -> None:
    assert not Orders([order("host", "a.example"), order("order", "1", LIFT, number=2)])


def test_an_order_is_seen_at_once_by_a_book_opened_before(tmp_path: Path) -> None:
    clock = FakeClock(NOW)
    reading, writing = OrderBook(tmp_path, clock.now), OrderBook(tmp_path, clock.now)
    capture = Capture("http://a.example/", 5.0, 200, "text/html", "sha1:A", "x.warc.gz", 0, 1)
    assert not reading.is_withheld(capture)
    assert writing.give(order("url", "http://a.example/", number=0)).number == 1
    assert reading.is_withheld(capture)
    writing.give(order("order", "1", LIFT, number=0))
    assert not reading.is_withheld(capture)
    assert [each.number for each in reading.history()] == [1, 2]


def test_a_line_cut_off_by_a_kill_is_as_if_never_written(tmp_path: Path) -> None:
    book = OrderBook(tmp_path, FakeClock(NOW).now)
    book.give(order("host", "a.example"))
    with book.path.open("ab") as file:
        file.write(b'{"number":2,"act":"take')
    assert len(book.latest().all) == 1
    assert book.give(order("host", "b.example")).number == 2
    assert [each.value for each in book.latest().all] == ["a.example", "b.example"]


def test_orders_that_cannot_be_read_are_no_leave(tmp_path: Path) -> None:
    book = OrderBook(tmp_path, FakeClock(NOW).now)
    book.give(order("host", "a.example"))
    book.path.write_bytes(b"nonsense\n" + book.path.read_bytes())
    with pytest.raises(CollectionError, match="line 1 is no order"):
        book.latest()


def test_a_folder_that_may_not_be_entered_is_no_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(path: str, **_: object) -> os.stat_result:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    book = OrderBook(tmp_path, FakeClock(NOW).now)
    with monkeypatch.context() as within:
        within.setattr(os, "stat", locked)
        within.setattr(os, "access", lambda *_: False)
        with pytest.raises(CollectionError, match=r"cannot be read \(Permission denied\)"):
            book.latest()


def test_only_orders_that_do_not_exist_are_none(tmp_path: Path) -> None:
    assert not OrderBook(tmp_path / "nowhere", FakeClock(NOW).now).latest()
    (tmp_path / "file").touch()
    (tmp_path / "folder" / "orders.jsonl").mkdir(parents=True)
    for place in ("file", "folder"):
        book = OrderBook(tmp_path / place, FakeClock(NOW).now)
        with pytest.raises(CollectionError, match=r"orders\.jsonl cannot be read"):
            book.latest()
        with pytest.raises(CollectionError, match=r"orders\.jsonl cannot be read"):
            book.history()
        with pytest.raises(CollectionError, match=r"orders\.jsonl cannot be read"):
            book.give(order("host", "a.example"))


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        (order("planet", "mars"), "its target 'planet' is not known"),
        (order("host", "a.example", "praise"), "its act 'praise' is not known"),
        (order("order", "one", LIFT), "it lifts 'one', which is no number of an order"),
        (order("order", "9" * 5_000, LIFT), "which is no number of an order"),
    ],
)
def test_an_order_that_nobody_can_follow_is_named_by_its_line(
    tmp_path: Path, given: Order, fault: str
) -> None:
    book = OrderBook(tmp_path, FakeClock(NOW).now)
    book.give(order("host", "a.example"))
    with book.path.open("ab") as file:
        file.write(msgspec.json.encode(given) + b"\n")
    with pytest.raises(CollectionError, match=f"line 2 is no order .*{fault}"):
        book.latest()


def test_an_order_that_could_not_be_read_again_is_not_given(tmp_path: Path) -> None:
    book = OrderBook(tmp_path, FakeClock(NOW).now)
    with pytest.raises(CollectionError, match="is no order"):
        book.give(order("host", "a.example", EMBARGO, after_s=float("nan")))
    assert book.history() == []


def test_two_processes_never_give_one_number_twice(tmp_path: Path) -> None:
    book = OrderBook(tmp_path, FakeClock(NOW).now)
    child = os.fork()
    for n in range(20):
        book.give(order("host", f"{n}.example"))
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    assert sorted(each.number for each in book.history()) == list(range(1, 41))
