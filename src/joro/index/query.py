"""Which pages answer this query, best first?

In:    what a person typed: words (all must be there), "phrases", -not, site:host, lang:ja.
Out:   a page of results with snippets, and how many there are in all.
Never: fails because of what was typed; what cannot be understood is taken as words.

Of pages that say nearly the same, those that answer the query are one result: the page that was known first.
Pages that say they are none (soft 404) are no result. Whoever asks for `every` page gets all of them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

import tantivy

from joro.index.segment import SOFT_404, Entry, Reader, entry_of
from joro.index.snippet import Marked, Pattern, mark, pattern, snippet
from joro.index.terms import Wanted, legible, wanted
from joro.url import server_of, try_canonical

#: A word in the title says more about a page than one in its text.
TITLE_BOOST = 2.0
#: A longer query is cut: nobody typed it, and each clause costs.
QUERY_LIMIT_CHARS = 1_000
CLAUSE_LIMIT = 40
#: The engine keeps all results up to the last one shown in memory.
DEPTH_LIMIT = 10_000
#: Where pages are hidden, so many results more are fetched at once, that one round may do.
LOOKED_BEYOND = 50
#: Of more pages that say nearly the same, only so many are looked at.
SIMILAR_LIMIT = 1_000
#: The word of an owner who wants no text of the page shown among results.
NO_SNIPPET = "nosnippet"

#: Must a page (URL, time of its capture, digest) not be shown?
Hidden = Callable[[str, float, str], bool]

#: Quotes, spaces, colon and minus as a Japanese keyboard or a word processor writes them.
_TYPED = str.maketrans({"“": '"', "”": '"', "„": '"', "＂": '"', "：": ":", "－": "-", "−": "-"})
_CLAUSE = re.compile(r'(-?)(?:(site|lang):)?(?:"([^"]*)"?|([^\s"]+))', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Clause:
    """One condition on a page."""

    field: str  # "" for words; site, lang
    text: str
    excluded: bool = False


@dataclass(frozen=True, slots=True)
class Hit:
    """One result."""

    url: str
    title: Marked
    snippet: Marked
    time: float
    language: str
    charset: str
    score: float
    similar: int = 0  # other pages that match, folded into this one
    soft_404: bool = False


@dataclass(frozen=True, slots=True)
class Results:
    """One page of results."""

    query: str
    total: int = 0
    hits: tuple[Hit, ...] = ()
    offset: int = 0
    elapsed_s: float = 0.0


def parse(query: str) -> list[Clause]:
    """The conditions in a query, in order."""
    typed = legible(query[:QUERY_LIMIT_CHARS]).translate(_TYPED)
    clauses = []
    for minus, field, quoted, plain in _CLAUSE.findall(typed):
        text = quoted or plain
        if field or wanted(text):
            clauses.append(Clause(field.lower(), text, excluded=bool(minus)))
    return clauses[:CLAUSE_LIMIT]


def search(
    reader: Reader,
    query: str,
    *,
    offset: int = 0,
    limit: int = 10,
    hidden: Hidden | None = None,
    every: bool = False,
) -> Results:
    """The results from `offset` on, at most `limit`; none at all while there is no index.

    Pages that are `hidden` are passed over; near copies are folded, and soft 404s left out, unless `every`
    page is wanted.
    """
    began = time.perf_counter()
    clauses = parse(query)
    searcher = reader.searcher()
    if not clauses or searcher is None:
        return Results(query)
    offset = max(0, min(offset, DEPTH_LIMIT))
    sought = _Sought(
        searcher, reader.schema, _compiled(reader.schema, clauses, every), hidden, fold=not every
    )
    total, places = sought.places(offset, limit)
    patterns = [p for c in clauses if not c.field and not c.excluded and (p := pattern(c.text))]
    hits = tuple(_hit(*sought.shown(place), patterns) for place in places)
    return Results(query, total, hits, offset, time.perf_counter() - began)


class _Place(NamedTuple):
    """Where a result lies, and which group of near copies it stands for."""

    score: float
    address: tantivy.DocAddress
    group: int | None


class _Sought:
    """One query on its way through an index."""

    def __init__(
        self,
        searcher: tantivy.Searcher,
        schema: tantivy.Schema,
        query: tantivy.Query,
        hidden: Hidden | None,
        *,
        fold: bool,
    ) -> None:
        self._searcher = searcher
        self._schema = schema
        self._query = query
        self._hidden = hidden
        self._fold = fold

    def places(self, offset: int, limit: int) -> tuple[int, list[_Place]]:
        """How many results there are, and those asked for; those before `offset` are looked at, too, where
        any may be hidden or folded."""
        if not self._fold and self._hidden is None:
            found: Any = self._searcher.search(self._query, max(1, limit), offset=offset)
            return found.count, [_Place(score, address, None) for score, address in found.hits[:limit]]
        shown: list[_Place] = []
        groups: set[int] = set()
        start, step, passed = 0, offset + limit + LOOKED_BEYOND, 0
        while True:
            found = self._searcher.search(self._query, step, offset=start)
            for place in self._grouped(found.hits):
                if place.group in groups or self._is_hidden(place.address):
                    passed += 1
                    continue
                shown.append(place)
                if place.group is not None:
                    groups.add(place.group)
            start += step
            if len(found.hits) < step or len(shown) >= offset + limit or start >= DEPTH_LIMIT:
                return found.count - passed, shown[offset : offset + limit]
            step *= 2

    def shown(self, place: _Place) -> tuple[Entry, float, int]:
        """What is shown of a result: of near copies the first, and how many others there are."""
        group = f"{place.group:016x}" if place.group is not None else ""
        if not group or self._searcher.doc_freq("group", group) < 2:
            return entry_of(self._searcher, place.address), place.score, 0
        alike = tantivy.Query.term_query(self._schema, "group", group, index_option="basic")
        both = tantivy.Query.boolean_query([(tantivy.Occur.Must, self._query), (tantivy.Occur.Must, alike)])
        found = self._searcher.search(both, SIMILAR_LIMIT, order_by_field="since", order=tantivy.Order.Asc)
        left = [address for _, address in found.hits if not self._is_hidden(address)]
        return entry_of(self._searcher, left[0]), place.score, len(left) - 1

    def _grouped(self, hits: list[Any]) -> list[_Place]:
        if not self._fold:
            return [_Place(score, address, None) for score, address in hits]
        groups: list[Any] = self._searcher.fast_field_values("alike", [address for _, address in hits])
        return [_Place(score, address, group) for (score, address), group in zip(hits, groups, strict=True)]

    def _is_hidden(self, address: tantivy.DocAddress) -> bool:
        if self._hidden is None:
            return False
        entry = entry_of(self._searcher, address)
        return self._hidden(entry.url, entry.time, entry.digest)


def _hit(entry: Entry, score: float, similar: int, patterns: list[Pattern]) -> Hit:
    return Hit(
        url=entry.url,
        title=mark(entry.title, patterns),
        snippet=snippet(entry.text, patterns) if NO_SNIPPET not in entry.rights.split() else Marked(""),
        time=entry.time,
        language=entry.language,
        charset=entry.charset,
        score=score,
        similar=similar,
        soft_404=entry.soft_404,
    )


def plain(found: Results) -> dict[str, Any]:
    """Results as JSON has them; times are UTC, spans count characters."""
    return {
        "query": found.query,
        "total": found.total,
        "offset": found.offset,
        "elapsed_ms": round(found.elapsed_s * 1000, 3),
        "results": [_plain_hit(hit) for hit in found.hits],
    }


def _plain_hit(hit: Hit) -> dict[str, Any]:
    return {
        "url": hit.url,
        "title": hit.title.text,
        "title_spans": hit.title.spans,
        "snippet": hit.snippet.text,
        "snippet_spans": hit.snippet.spans,
        "time": datetime.fromtimestamp(hit.time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "language": hit.language,
        "charset": hit.charset,
        "score": hit.score,
        "similar": hit.similar,
        "soft_404": hit.soft_404,
    }


def _compiled(schema: tantivy.Schema, clauses: list[Clause], every: bool) -> tantivy.Query:
    parts = [
        (tantivy.Occur.MustNot if clause.excluded else tantivy.Occur.Must, _condition(schema, clause))
        for clause in clauses
    ]
    if all(clause.excluded for clause in clauses):
        parts.append((tantivy.Occur.Must, tantivy.Query.all_query()))
    if not every:
        parts.append((tantivy.Occur.MustNot, _exactly(schema, "mark", SOFT_404)))
    return tantivy.Query.boolean_query(parts)


def _condition(schema: tantivy.Schema, clause: Clause) -> tantivy.Query:
    if clause.field == "site":
        return _exactly(schema, "site", _host(clause.text))
    if clause.field == "lang":
        return _exactly(schema, "lang", clause.text.lower())
    sought = wanted(clause.text)
    assert sought is not None
    in_title = tantivy.Query.boost_query(_sequence(schema, "title", sought), TITLE_BOOST)
    in_body = _sequence(schema, "body", sought)
    return tantivy.Query.boolean_query([(tantivy.Occur.Should, in_title), (tantivy.Occur.Should, in_body)])


def _exactly(schema: tantivy.Schema, field: str, key: str) -> tantivy.Query:
    """Pages with this key; it filters and leaves the order to the words."""
    query = tantivy.Query.term_query(schema, field, key, index_option="basic")
    return tantivy.Query.const_score_query(query, 0.0)


def _host(text: str) -> str:
    """The host a person means: a URL will do, and so will 日本.jp."""
    url = try_canonical(text if "://" in text else f"http://{text}/")
    return server_of(url).partition("://")[2] if url else text


def _sequence(schema: tantivy.Schema, field: str, sought: Wanted) -> tantivy.Query:
    terms = list(sought.terms)
    if sought.open:
        # A term is letters and digits only, hence a regular expression that means itself.
        terms[-1] += ".?"
        if len(terms) == 1:
            return tantivy.Query.regex_query(schema, field, terms[0])
        return tantivy.Query.regex_phrase_query(schema, field, list(terms))
    if len(terms) == 1:
        return tantivy.Query.term_query(schema, field, terms[0])
    return tantivy.Query.phrase_query(schema, field, list(terms))
