from __future__ import annotations

import msgspec

from joro.discover.novelty import MOST_BYTES, novelty_of
from joro.discover.trap_records import Memory

LONG = b"a sentence that is long enough to be worth something and then a little more, which makes eighty"


def test_what_was_never_said_is_new_and_what_was_is_not() -> None:
    memory = Memory()
    assert novelty_of(memory, "http://a/1", [LONG]) == 1.0
    assert novelty_of(memory, "http://a/2", [LONG]) == 0.0


def test_a_few_new_words_make_a_page_a_little_new() -> None:
    memory = Memory()
    assert 0.2 < novelty_of(memory, "http://a/1", [b"twenty bytes of text"]) < 0.3


def test_a_new_line_on_a_long_old_page_is_next_to_nothing() -> None:
    memory = Memory()
    old = [b"%d " % number + LONG for number in range(20)]
    novelty_of(memory, "http://a/1", old)
    assert novelty_of(memory, "http://a/2", [*old, b"twenty bytes of text"]) < 0.3


def test_an_echo_of_the_url_is_not_new() -> None:
    memory = Memory()
    novelty_of(memory, "http://a/shop?color=red", [b"All results for color red in this shop of ours"])
    assert (
        novelty_of(memory, "http://a/shop?color=blue", [b"All results for color blue in this shop of ours"])
        == 0
    )


def test_memory_is_bounded_and_forgets_the_oldest() -> None:
    memory = Memory()
    for number in range(40_000):
        novelty_of(memory, "http://a/", [b"%d " % number + LONG * 3])
    assert len(memory.recent) == len(memory.older) == MOST_BYTES
    assert novelty_of(memory, "http://a/", [b"39999 " + LONG * 3]) == 0.0
    again = sum(novelty_of(memory, "http://a/", [b"%d " % number + LONG * 3]) for number in range(50))
    assert again > 35


def test_memory_survives_packing() -> None:
    memory = Memory()
    novelty_of(memory, "http://a/1", [LONG])
    again = msgspec.msgpack.decode(msgspec.msgpack.encode(memory), type=Memory)
    assert novelty_of(again, "http://a/2", [LONG]) == 0.0
