"""Which languages and topics does the test web write about?

Out:   the codes that `Prose` takes; each language has word lists for each topic.
"""

from __future__ import annotations

#: BCP 47; Japanese and English are the rich ones.
LANGUAGES: tuple[str, ...] = ("ja", "en", "de", "fr", "es", "it", "pt", "nl", "ru", "zh", "ko")

TOPICS: tuple[str, ...] = (
    "travel",
    "cooking",
    "science",
    "shop",
    "local-news",
    "music",
    "gardening",
    "company",
    "research",
    "sports",
    "health",
    "computing",
    "education",
)

#: Japanese pages keep to one of these; the other languages know no difference.
STYLES: tuple[str, ...] = ("plain", "polite")
