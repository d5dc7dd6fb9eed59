from pathlib import Path

import pytest

from joro.clock import FakeClock
from joro.errors import UsageError
from joro.store.claims import MOST_OF_HOST, ClaimBook

NOW = 1_000_000.0
DAY_S = 86_400.0


def book(directory: Path, now: float = NOW) -> ClaimBook:
    return ClaimBook(directory, FakeClock(now).now)


def test_a_claim_is_found_by_its_secret_only(tmp_path: Path) -> None:
    claim, secret = book(tmp_path).open("a.example", "me@a.example")
    assert book(tmp_path).behind(secret) == claim
    assert book(tmp_path).behind(claim.id) is None
    assert book(tmp_path).behind(claim.token) is None
    assert secret not in (tmp_path / "claims.jsonl").read_text()


def test_two_claims_never_share_secret_or_token(tmp_path: Path) -> None:
    (one, first), (two, second) = (book(tmp_path).open("a.example", "") for _ in range(2))
    assert (first, one.token) != (second, two.token)


def test_a_proof_is_believed_for_a_month(tmp_path: Path) -> None:
    claim, _ = book(tmp_path).open("a.example", "")
    assert not claim.is_proved(NOW)
    proved = book(tmp_path).looked(claim, "there", "")
    assert proved.is_proved(NOW)
    assert proved.is_proved(NOW + 29 * DAY_S)
    assert not proved.is_proved(NOW + 31 * DAY_S)


def test_a_claim_is_looked_at_ten_times_in_a_week_and_no_more(tmp_path: Path) -> None:
    book(tmp_path).open("a.example", "")
    looks, now = 0, NOW
    while now < NOW + 30 * DAY_S:
        for claim in book(tmp_path, now).due():
            book(tmp_path, now).looked(claim, "", "not there")
            looks += 1
        now += 60.0 if looks < 5 else 3_600.0
    assert looks == 10


def test_strangers_cannot_open_claims_without_end(tmp_path: Path) -> None:
    for _ in range(MOST_OF_HOST):
        book(tmp_path).open("a.example", "")
    with pytest.raises(UsageError, match=r"too many claims of a\.example"):
        book(tmp_path).open("a.example", "")
    book(tmp_path).open("b.example", "")
    book(tmp_path, NOW + 8 * DAY_S).open("a.example", "")


def test_a_line_cut_off_by_a_kill_does_no_harm(tmp_path: Path) -> None:
    claim, _ = book(tmp_path).open("a.example", "")
    with (tmp_path / "claims.jsonl").open("ab") as file:
        file.write(b'{"id":"')
    assert book(tmp_path).all() == [claim]
    book(tmp_path).looked(claim, "", "no")
    assert [each.looks for each in book(tmp_path).all()] == [1]
