"""Where do the words on the pages come from?

In:    a language and a topic.
Out:   a pool of ready sentences to pick from, titles, and for each page one needle: a word that stands
       on no other page.
Never: makes a sentence twice for the same purpose: pools are filled once, which is what makes two
       thousand pages a second possible.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

LANGUAGES = ("ja", "en", "de")
TOPICS = ("travel", "food", "science")


def rare_word(language: str, number: int) -> str:
    return f"zq{number:x}x"


class Prose:
    def __init__(self, language: str, seed: int) -> None:
        self.language = language

    def title(self, rng: Random, topic: str) -> str:
        return self.sentence(rng, topic)[:20]

    def sentence(self, rng: Random, topic: str) -> str:
        if self.language == "ja":
            return f"私は{rng.randrange(1000)}回、{topic}の本を図書館で読みました。"
        return f"I have read {rng.randrange(1000)} books about {topic} in the library. "

    def name(self, rng: Random) -> str:
        return f"Name {rng.randrange(1000)}"

    def pool(self, topic: str, size: int = 400) -> list[str]:
        rng = Random(1)
        return [self.sentence(rng, topic) for _ in range(size)]


@dataclass(frozen=True)
class Pool:
    """Sentences on one topic in one language."""

    sentences: list[str]
    chars: float  # mean length


class Texts:
    """All pools of one web, filled when first asked for."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._prose: dict[str, Prose] = {}
        self._pools: dict[tuple[str, str], Pool] = {}

    def prose(self, language: str) -> Prose:
        """The writer of one language."""
        if language not in self._prose:
            self._prose[language] = Prose(language, self._seed)
        return self._prose[language]

    def pool(self, language: str, topic: str) -> Pool:
        """The sentences of one topic."""
        found = self._pools.get((language, topic))
        if found is None:
            sentences = self.prose(language).pool(topic)
            found = Pool(sentences, sum(map(len, sentences)) / len(sentences))
            self._pools[language, topic] = found
        return found
