from __future__ import annotations

import re
from email.utils import parsedate_to_datetime

import pytest

from joro.testweb.answer import Answer, Stop
from joro.testweb.moods import FLAKY_SHARE, Moods, delay_s, pause_s
from joro.testweb.plan import Plan
from joro.testweb.running import Running
from joro.testweb.server import Booth
from joro.testweb.settings import EPOCH
from joro.testweb.site import Site
from tests.testweb.ask import ask, converse, request
from tests.testweb.conftest import a_host

MOODS = Moods(7, date=lambda: EPOCH)


def moody(site: Site, booth: Booth, now: float = EPOCH) -> Answer:
    booth.asked += 1
    return MOODS.mood(booth, site.page(booth.host, booth.host.first, False, now), now)


def steps(answer: Answer) -> list[bytes | float | Stop]:
    assert answer.play is not None
    return list(answer.play)


def test_a_slow_host_thinks_first(site: Site, plan: Plan) -> None:
    host = a_host(plan, "slow", "delay")
    answer = moody(site, Booth(host))
    assert steps(answer) == [delay_s(host), answer.wire]


def test_a_dribbling_host_sends_everything_in_twenty_pieces(site: Site, plan: Plan) -> None:
    answer = moody(site, Booth(a_host(plan, "slow", "dribble")))
    pieces = [step for step in steps(answer) if isinstance(step, bytes)]
    assert b"".join(pieces) == answer.wire
    assert len(pieces) == 20


def test_a_stalling_host_falls_silent_half_way(site: Site, plan: Plan) -> None:
    answer = moody(site, Booth(a_host(plan, "slow", "stall")))
    half, end = steps(answer)
    assert half == answer.wire[: len(answer.wire) // 2]
    assert end is Stop.HANG


@pytest.mark.parametrize("kind", ["reset", "error", "cut"])
def test_three_in_ten_requests_to_a_flaky_host_fail_and_always_the_same_ones(
    site: Site, plan: Plan, kind: str
) -> None:
    host = a_host(plan, "flaky", kind)
    good = site.page(host, host.first, False, EPOCH)

    def troubles() -> list[bool]:
        answers = [MOODS.mood(Booth(host, asked=number), good, EPOCH) for number in range(500)]
        return [answer.play is not None or answer.status == 500 for answer in answers]

    assert troubles() == troubles()
    assert sum(troubles()) / 500 == pytest.approx(FLAKY_SHARE, abs=0.06)


def test_a_throttling_host_insists_on_its_pause(site: Site, plan: Plan) -> None:
    host = a_host(plan, "throttling", "429-seconds")
    booth, pause = Booth(host), pause_s(host)
    assert moody(site, booth, EPOCH).status == 200
    early = moody(site, booth, EPOCH + pause / 2)
    assert early.status == 429
    assert f"Retry-After: {pause:.0f}\r\n".encode() in early.wire
    assert moody(site, booth, EPOCH + pause).status == 200


def test_retry_after_can_be_a_date_or_missing(site: Site, plan: Plan) -> None:
    dated, bare = Booth(a_host(plan, "throttling", "429-date")), Booth(a_host(plan, "throttling", "503-bare"))
    moody(site, dated), moody(site, bare)
    field = re.search(rb"Retry-After: (.*)\r\n", moody(site, dated).wire)
    assert field is not None
    assert parsedate_to_datetime(field[1].decode()).timestamp() == EPOCH + pause_s(dated.host) + 1
    refusal = moody(site, bare)
    assert refusal.status == 503
    assert b"Retry-After" not in refusal.wire


def test_a_dead_host_never_says_a_word(web: Running, plan: Plan) -> None:
    silent, hangup = a_host(plan, "dead", "silent"), a_host(plan, "dead", "hangup")
    assert converse(web.port, request(silent.name), timeout_s=0.3) == b""
    with pytest.raises(ConnectionResetError):
        converse(web.port, request(hangup.name))


def test_a_refusing_host_lives_on_a_port_where_nobody_listens(plan: Plan) -> None:
    host = a_host(plan, "dead", "refused")
    assert host.url == f"http://{host.name}:9/"


def test_a_cut_answer_is_shorter_than_promised(web: Running, plan: Plan) -> None:
    wire = request(a_host(plan, "flaky", "cut").name, "/", "Connection: close")
    cut, whole = sorted({len(converse(web.port, wire)) for _ in range(20)})
    assert 0.4 * whole < cut < 0.6 * whole


def test_a_moody_host_still_answers_head(web: Running, plan: Plan) -> None:
    reply = ask(web.port, a_host(plan, "slow", "stall").url, method="HEAD")
    assert reply.status == 200


def test_huge_pages_have_the_length_they_say(web: Running, plan: Plan) -> None:
    host = a_host(plan, "huge", "large")
    reply = ask(web.port, f"{host.url}big/0.html")
    assert len(reply.body) == 1_500_000 == int(reply.headers["content-length"])


def test_a_soft_404_is_a_page_or_the_front(web: Running, plan: Plan) -> None:
    page = ask(web.port, a_host(plan, "soft404", "page").url + "missing/old.html")
    front = ask(web.port, a_host(plan, "soft404", "front").url + "missing/old.html")
    assert page.status == 200
    assert b"missing/old.html" in page.body
    assert (front.status, front.headers["location"]) == (302, "/")


def test_aliases_are_one_page_under_many_addresses(site: Site, plan: Plan) -> None:
    host = a_host(plan, "copy", "aliases")
    answers = {site.answer(host, target, False, EPOCH).wire for target in (b"/", b"/?from=1", b"/?from=2")}
    assert len(answers) == 1
