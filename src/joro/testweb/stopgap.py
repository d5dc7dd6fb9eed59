"""Which prose is there until the real one is?"""

from __future__ import annotations

from random import Random

LANGUAGES = ("ja", "en", "de")
TOPICS = ("travel", "food", "science")
STYLES = ("plain", "polite")


def rare_word(language: str, number: int) -> str:
    return f"zq{number:x}x"


class Prose:
    def __init__(self, language: str, seed: int, *, style: str | None = None) -> None:
        self.language = language

    def title(self, rng: Random, topic: str) -> str:
        return self.sentence(rng, topic)[:20]

    def name(self, rng: Random) -> str:
        return f"Name {rng.randrange(1000)}"

    def sentence(self, rng: Random, topic: str) -> str:
        if self.language == "ja":
            return f"私は{rng.randrange(100000)}回、{topic}の本を図書館で読みました。"
        return f"I have read {rng.randrange(100000)} books about {topic} in the library."

    def pool(self, topic: str, size: int = 400) -> list[str]:
        rng = Random(1)
        return [self.sentence(rng, topic) for _ in range(size)]
