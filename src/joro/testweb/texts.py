"""Where do the words on the pages come from?

In:    a host's language, topic and style.
Out:   a pool of ready sentences to pick from, titles, and for each page one needle: a word that stands
       on no other page.
Never: writes a sentence twice: pools are filled once, which is what makes two thousand pages a second
       possible.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from random import Random

from joro.testweb.plan import Host
from joro.testweb.prose import Prose, rare_word

#: Sentences in a pool: two pages of one topic then share few of them.
POOL_SIZE = 1_000
LEAD_SENTENCES = 3
UNSPACED = frozenset({"ja", "zh"})

#: The sentence around a needle; other languages write the bare word.
AROUND = {
    "ja": "ここには{}という言葉があります。",
    "en": "The word {} stands here. ",
    "zh": "这里有一个词叫{}。",
}


@dataclass(frozen=True)
class Pool:
    """Sentences on one topic in one language, escaped, each with the space that follows it."""

    sentences: list[str]
    chars: float  # mean length
    language: str

    def about(self, needle: str) -> str:
        """A sentence that holds the needle."""
        return AROUND.get(self.language, "{}. ").format(needle)


class Texts:
    """All pools of one web, filled when first asked for."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._prose: dict[tuple[str, str, bool], Prose] = {}
        self._pools: dict[tuple[str, str, str, bool], Pool] = {}

    def title(self, rng: Random, host: Host) -> str:
        """A title, not escaped."""
        return self._writer(host).title(rng, host.topic)

    def name(self, rng: Random, host: Host) -> str:
        """Who owns the site."""
        return self._writer(host).name(rng)

    def lead(self, rng: Random, host: Host) -> str:
        """An opening paragraph written for one page alone, escaped."""
        return escape(self._writer(host).paragraph(rng, host.topic, LEAD_SENTENCES), quote=False)

    def needle(self, host: Host, number: int) -> str:
        """The word that belongs to page `number` alone."""
        return rare_word(host.language, number)

    def pool(self, host: Host) -> Pool:
        """The sentences a host writes with."""
        key = (host.language, host.topic, host.prose, host.vendor)
        found = self._pools.get(key)
        if found is None:
            found = self._pools[key] = self._fill(host)
        return found

    def _fill(self, host: Host) -> Pool:
        space = "" if host.language in UNSPACED else " "
        sentences = [
            escape(one, quote=False) + space for one in self._writer(host).pool(host.topic, POOL_SIZE)
        ]
        return Pool(sentences, sum(map(len, sentences)) / len(sentences), host.language)

    def _writer(self, host: Host) -> Prose:
        key = (host.language, host.prose, host.vendor)
        if key not in self._prose:
            self._prose[key] = Prose(host.language, self._seed, style=host.prose, vendor=host.vendor)
        return self._prose[key]
