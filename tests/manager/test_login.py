from joro.clock import FakeClock
from joro.manager.login import LASTS_S, Logins, opens, sealed


def test_only_the_password_itself_opens_its_seal() -> None:
    seal = sealed("correct horse 木")
    assert "correct" not in seal
    assert opens("correct horse 木", seal)
    assert not opens("correct horse", seal)
    assert not opens("", seal)


def test_a_seal_that_is_none_opens_to_nobody() -> None:
    assert not opens("", "")
    assert not opens("", "scrypt:00:")


def test_two_seals_of_one_password_differ() -> None:
    assert sealed("x" * 12) != sealed("x" * 12)


def test_a_login_ends_after_a_working_day() -> None:
    clock = FakeClock(1_000.0)
    logins = Logins("key", clock.now)
    cookie = logins.new()
    assert logins.is_valid(cookie)
    assert not Logins("key", FakeClock(1_000.0 + LASTS_S + 1).now).is_valid(cookie)


def test_a_cookie_of_another_key_or_with_a_later_end_is_no_login() -> None:
    clock = FakeClock(1_000.0)
    cookie = Logins("key", clock.now).new()
    until, rest = cookie.split(".", 1)
    assert not Logins("other", clock.now).is_valid(cookie)
    assert not Logins("key", clock.now).is_valid(f"{int(until) + 9_999}.{rest}")
    assert not Logins("key", clock.now).is_valid("木..")


def test_a_form_belongs_to_one_login() -> None:
    logins = Logins("key", FakeClock(0.0).now)
    mine, yours = logins.new(), logins.new()
    assert logins.form(mine) == logins.form(mine) != logins.form(yours)
    assert Logins("other", FakeClock(0.0).now).form(mine) != logins.form(mine)


def test_a_cookie_is_no_form_token() -> None:
    logins = Logins("key", FakeClock(0.0).now)
    cookie = logins.new()
    assert logins.form(cookie) != cookie.rpartition(".")[2]
