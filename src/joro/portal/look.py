"""How do the pages look?

In:    the name of a page and what it shows.
Out:   HTML, everything of the web escaped.
Never: asks the collection for anything; that has been done.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse

from joro.portal.address import archive_path, calendar_path, compare_path, moment, raw_path, replay_path
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


class Look:
    """Fills the templates."""

    def __init__(self, collection_name: str) -> None:
        self._pages = Environment(
            loader=PackageLoader("joro.portal", "pages"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._pages.filters |= {
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
        style = resources.files("joro.portal").joinpath("pages", "style.css").read_bytes()
        self._pages.globals |= {"collection": collection_name, "style_version": f"{zlib.crc32(style):08x}"}

    def page(self, name: str, status: int = 200, **shown: object) -> HTMLResponse:
        context = {"query": "", **shown}
        return HTMLResponse(self._pages.get_template(name).render(context), status)


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
