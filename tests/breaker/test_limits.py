import asyncio

from hypothesis import given
from hypothesis import strategies as st

from joro.breaker.limits import Access, Limiter, Refusal
from joro.clock import FakeClock
from joro.config import Breaker

A, B = "http://a.example", "http://b.example"
LOOSE = 1_000_000


def limiter(clock: FakeClock, **limits: float) -> Limiter:
    wanted: dict[str, float] = {
        "per_server_per_minute": LOOSE,
        "per_address_per_minute": LOOSE,
        "global_per_second": LOOSE,
        "concurrent_per_server": LOOSE,
        "concurrent_per_address": LOOSE,
        "quarantine_s": 0.0,
    }
    return Limiter(Breaker(**wanted | limits), clock)  # type: ignore[arg-type]


def wait(clock: FakeClock, seconds: float) -> None:
    asyncio.run(clock.advance(seconds))


def granted(limits: Limiter, server: str = A, address: str = "192.0.2.1") -> bool:
    """Ask, and be answered at once."""
    verdict = limits.ask(server, address)
    if isinstance(verdict, Access):
        verdict.end()
    return isinstance(verdict, Access)


def refusal(limits: Limiter, server: str = A, address: str = "192.0.2.1") -> Refusal:
    verdict = limits.ask(server, address)
    assert isinstance(verdict, Refusal)
    return verdict


def test_the_limit_is_granted_and_not_one_more() -> None:
    limits = limiter(FakeClock(), per_server_per_minute=3)
    assert [granted(limits) for _ in range(5)] == [True, True, True, False, False]
    assert granted(limits, B)


def test_a_minute_later_there_is_room_again() -> None:
    clock = FakeClock()
    limits = limiter(clock, per_server_per_minute=1)
    assert granted(limits)
    wait(clock, 59.9)
    assert not granted(limits)
    wait(clock, 0.1)
    assert granted(limits)


def test_the_minute_begins_when_the_answer_is_over() -> None:
    clock = FakeClock()
    limits = limiter(clock, per_server_per_minute=1)
    access = limits.ask(A, "192.0.2.1")
    assert isinstance(access, Access)
    wait(clock, 100)
    assert not granted(limits)
    access.end()
    wait(clock, 59)
    assert not granted(limits)
    wait(clock, 1)
    assert granted(limits)


def test_all_servers_of_an_address_share_its_limit() -> None:
    limits = limiter(FakeClock(), per_address_per_minute=2)
    assert granted(limits, A)
    assert granted(limits, B)
    assert refusal(limits, "http://c.example").who == "192.0.2.1"
    assert granted(limits, A, "192.0.2.2")


def test_so_many_at_once_and_no_more() -> None:
    limits = limiter(FakeClock(), concurrent_per_server=2)
    first, _ = limits.ask(A, "192.0.2.1"), limits.ask(A, "192.0.2.1")
    assert refusal(limits).why == "too many at once"
    assert isinstance(first, Access)
    first.end()
    first.end()  # again is harmless
    assert isinstance(limits.ask(A, "192.0.2.1"), Access)
    assert isinstance(limits.ask(A, "192.0.2.1"), Refusal)


def test_the_global_limit_quarantines_nobody() -> None:
    clock = FakeClock()
    limits = limiter(clock, global_per_second=2, quarantine_s=600.0)
    assert [granted(limits), granted(limits, B), granted(limits)] == [True, True, False]
    wait(clock, 1)
    assert granted(limits)


def test_a_quarantined_server_is_not_asked_even_when_the_window_is_empty() -> None:
    clock = FakeClock()
    limits = limiter(clock, per_server_per_minute=1, quarantine_s=600.0)
    assert granted(limits)
    assert refusal(limits).retry_s == 600.0
    wait(clock, 599)
    assert refusal(limits).retry_s == 1.0
    wait(clock, 1)
    assert granted(limits)


def test_a_quarantined_address_stops_servers_never_asked_before() -> None:
    limits = limiter(FakeClock(), per_address_per_minute=1, quarantine_s=600.0)
    assert granted(limits, A)
    assert not granted(limits, A)
    assert not granted(limits, B)
    assert list(limits.servers.accounts) == [A]


def test_one_alert_per_quarantine() -> None:
    clock = FakeClock()
    limits = limiter(clock, per_server_per_minute=1, quarantine_s=600.0)
    granted(limits)
    assert [refusal(limits).is_news for _ in range(3)] == [True, False, False]
    wait(clock, 600)
    granted(limits)
    assert refusal(limits).is_news


def test_without_quarantine_there_is_still_but_one_alert_a_minute() -> None:
    clock = FakeClock()
    limits = limiter(clock, concurrent_per_server=1)
    limits.ask(A, "192.0.2.1")
    assert [refusal(limits).is_news for _ in range(3)] == [True, False, False]
    wait(clock, 60)
    assert refusal(limits).is_news


def test_servers_nobody_asks_any_more_are_forgotten() -> None:
    clock = FakeClock()
    limits = limiter(clock)
    for number in range(1_000):
        granted(limits, f"http://{number}.example", f"192.0.2.{number % 250}")
    wait(clock, 60)
    for number in range(600):
        granted(limits, f"http://new-{number}.example", f"198.51.100.{number % 250}")
    assert len(limits.servers.accounts) == 600
    assert len(limits.addresses.accounts) <= 250


def test_who_is_busy_or_in_quarantine_is_not_forgotten() -> None:
    clock = FakeClock()
    limits = limiter(clock, per_server_per_minute=1, quarantine_s=600.0)
    busy = limits.ask(A, "192.0.2.1")
    granted(limits, B)
    refusal(limits, B)
    wait(clock, 300)
    for number in range(10):
        granted(limits, f"http://{number}.example")
    assert {A, B} <= set(limits.servers.accounts)
    assert isinstance(busy, Access)
    busy.end()


MOVES = st.lists(
    st.tuples(
        st.sampled_from([A, B]), st.sampled_from(["192.0.2.1", "192.0.2.2"]), st.floats(0, 40), st.booleans()
    ),
    max_size=120,
)


@given(MOVES, st.integers(1, 4), st.integers(1, 3), st.sampled_from([0.0, 5.0, 600.0]))
def test_no_window_of_a_minute_ever_sees_more_than_the_limit(
    moves: list[tuple[str, str, float, bool]], per_minute: int, concurrent: int, quarantine_s: float
) -> None:
    clock = FakeClock()
    limits = limiter(
        clock,
        per_server_per_minute=per_minute,
        per_address_per_minute=per_minute + 1,
        concurrent_per_server=concurrent,
        concurrent_per_address=concurrent,
        quarantine_s=quarantine_s,
    )
    starts: dict[str, list[float]] = {}
    busy: list[Access] = []
    for server, address, pause_s, ends in moves:
        wait(clock, pause_s)
        if ends and busy:
            busy.pop(0).end()
        verdict = limits.ask(server, address)
        if isinstance(verdict, Access):
            busy.append(verdict)
            starts.setdefault(server, []).append(clock.now())
            starts.setdefault(address, []).append(clock.now())
        for who in (server, address):
            assert sum(who in (each.server, each.address) for each in busy) <= concurrent
    for who, times in starts.items():
        allowed = per_minute if who in (A, B) else per_minute + 1
        assert all(late - early >= 60 for early, late in zip(times, times[allowed:], strict=False))


@given(st.lists(st.floats(0, 0.6), max_size=100), st.integers(1, 5))
def test_no_second_ever_sees_more_than_the_global_limit(pauses: list[float], per_second: int) -> None:
    clock = FakeClock()
    limits = limiter(clock, global_per_second=per_second)
    times = []
    for pause_s in pauses:
        wait(clock, pause_s)
        if granted(limits):
            times.append(clock.now())
    assert all(late - early >= 1 for early, late in zip(times, times[per_second:], strict=False))
