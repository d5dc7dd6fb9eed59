"""How do the portal's pages look?

In:    what they show.
Out:   the words that our templates know: addresses in the archive, languages, pages of results.
Never: asks the collection for anything; that has been done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from joro.portal.address import archive_path, calendar_path, compare_path, moment, raw_path, replay_path
from joro.serving import look
from joro.url import readable, server_of

#: Names of the languages most pages are in; others show their code.
LANGUAGES = {
    "ar": "Arabic",
    "cs": "Czech",
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fi": "Finnish",
    "fr": "French",
    "hi": "Hindi",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "ru": "Russian",
    "sv": "Swedish",
    "th": "Thai",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "vi": "Vietnamese",
    "zh": "Chinese",
}


class Look(look.Look):
    """The pages of the portal."""

    def __init__(self, collection_name: str) -> None:
        filters: dict[str, Callable[..., Any]] = {
            "archive_path": archive_path,
            "calendar_path": calendar_path,
            "compare_path": compare_path,
            "replay_path": replay_path,
            "raw_path": raw_path,
            "language": language,
            "moment": moment,
            "readable": readable,
            "server": server_of,
        }
        super().__init__("joro.portal", collection_name, filters, {"query": ""})


@dataclass(frozen=True)
class Paging:
    """Which pages of results there are around this one."""

    page: int
    total: int
    size: int

    @property
    def last(self) -> int:
        return max(1, -(-self.total // self.size))

    @property
    def first_shown(self) -> int:
        return (self.page - 1) * self.size + 1

    @property
    def around(self) -> range:
        """At most nine neighbours, this page among them."""
        start = max(1, min(self.page - 4, self.last - 8))
        return range(start, min(self.last, start + 8) + 1)


def language(tag: str) -> str:
    return LANGUAGES.get(tag.partition("-")[0].lower(), tag)
