"""Which shape of a particle follows a Korean word?

In:    an entry and a form, the name of a particle: topic, subject, object, with.
Out:   the word with 은/는, 이/가, 을/를 or 과/와, by whether it ends in a consonant; other forms are
       columns of the entry: dict, past, mod.
Never: bends verbs; the word file spells their forms out.
"""

from __future__ import annotations

from joro.testweb.prose.columns import fill

#: After a final consonant, after a vowel.
_PARTICLES = {"topic": ("은", "는"), "subject": ("이", "가"), "object": ("을", "를"), "with": ("과", "와")}
#: Columns of a deed: 책을 읽습니다/책을 읽었습니다/책을 읽는.
_COLUMNS = {"pres": "$1", "past": "$2", "mod": "$3"}
_FIRST_SYLLABLE = 0xAC00
_FINALS = 28


def inflect(symbol: str, entry: str, form: str) -> str:
    """The entry with the particle, or its column."""
    if form in _COLUMNS:
        return fill(_COLUMNS[form], entry)
    closed = (ord(entry[-1]) - _FIRST_SYLLABLE) % _FINALS > 0
    return entry + _PARTICLES[form][0 if closed else 1]
