"""Where does an entry of a feed lead, and of which moment is it?

In:    the fields of an entry, by the names that feeds give them, and what relative links are joined to.
Out:   an `Entry`, or nothing when it leads nowhere.
Never: raises.
"""

from __future__ import annotations

import re

from joro.model import DAY_S, Entry
from joro.parse.dates import is_day, moment
from joro.parse.markup import resolved
from joro.url import Joiner, try_canonical

TITLE_LIMIT_CHARS = 500
ID_LIMIT_CHARS = 1_000

#: Fields that hold a date, the best first: what tells of the last change before what tells of the first.
TIMES = (
    "updated modified dcterms:modified pubdate published atom:updated atom:published dc:date date issued "
    "dcterms:issued dcterms:created created"
).split()
_TAGS = re.compile(r"<[^<>]{0,500}>")


def entry_from(fields: dict[str, str], join: Joiner) -> Entry | None:
    """An entry from its fields, None when it leads nowhere."""
    if fields.get("base"):
        join = Joiner(join(fields["base"]) or join.base)
    url = _url(fields, join)
    if url is None:
        return None
    time, span_s = _time(fields)
    name = fields.get("guid") or fields.get("id") or fields.get("about") or ""
    return Entry(url, time, span_s, title_from(fields.get("title", "")), name[:ID_LIMIT_CHARS])


def _url(fields: dict[str, str], join: Joiner) -> str | None:
    """Where an entry leads. A name is an address too if it looks like one, unless it says it is not."""
    for key in ("feedburner:origlink", "link", "other"):
        if (ref := fields.get(key)) and (url := join(ref)):
            return url
    for key in ("guid", "id", "about"):
        ref = fields.get(key, "")
        if ref.startswith(("http://", "https://")) and key != fields.get("opaque"):
            return try_canonical(ref)
    return None


def _time(fields: dict[str, str]) -> tuple[float | None, float]:
    for name in TIMES:
        written = fields.get(name)
        if written and (time := moment(written)) is not None:
            return time, DAY_S if is_day(written) else 0.0
    return None, 0.0


def title_from(written: str) -> str:
    """A title on one line. Many hold HTML, escaped once more."""
    text = _TAGS.sub("", resolved(written)) if "<" in written or "&" in written else written
    return " ".join(text[: 2 * TITLE_LIMIT_CHARS].split())[:TITLE_LIMIT_CHARS]
