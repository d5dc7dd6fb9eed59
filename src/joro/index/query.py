"""Which pages answer this query, best first?

In:    what a person typed: words (all must be there), "phrases", -not, site:host, lang:ja.
Out:   a page of results with snippets, and how many there are in all.
Never: fails because of what was typed; what cannot be understood is taken as words.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import tantivy

from joro.index.segment import Entry, Reader, entry_of
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
    reader: Reader, query: str, *, offset: int = 0, limit: int = 10, hidden: Hidden | None = None
) -> Results:
    """The results from `offset` on, at most `limit`; none at all while there is no index.

    Pages that are `hidden` are passed over.
    """
    began = time.perf_counter()
    clauses = parse(query)
    searcher = reader.searcher()
    if not clauses or searcher is None:
        return Results(query)
    offset = max(0, min(offset, DEPTH_LIMIT))
    compiled = _compiled(reader.schema, clauses)
    patterns = [p for c in clauses if not c.field and not c.excluded and (p := pattern(c.text))]
    if hidden is None:
        found: Any = searcher.search(compiled, max(1, limit), offset=offset)
        total, shown = (
            found.count,
            [(entry_of(searcher, where), score) for score, where in found.hits[:limit]],
        )
    else:
        total, shown = _passing_over(searcher, compiled, offset, limit, hidden)
    hits = tuple(_hit(entry, score, patterns) for entry, score in shown)
    return Results(query, total, hits, offset, time.perf_counter() - began)


def _passing_over(
    searcher: tantivy.Searcher, query: tantivy.Query, offset: int, limit: int, hidden: Hidden
) -> tuple[int, list[tuple[Entry, float]]]:
    """The results that are not hidden; those before `offset` have to be looked at, too."""
    shown: list[tuple[Entry, float]] = []
    start = passed = 0
    step = offset + limit + LOOKED_BEYOND
    while True:
        found: Any = searcher.search(query, step, offset=start)
        for score, where in found.hits:
            entry = entry_of(searcher, where)
            if hidden(entry.url, entry.time, entry.digest):
                passed += 1
            else:
                shown.append((entry, score))
        start += step
        if len(found.hits) < step or len(shown) >= offset + limit or start >= DEPTH_LIMIT:
            return found.count - passed, shown[offset : offset + limit]


def _hit(entry: Entry, score: float, patterns: list[Pattern]) -> Hit:
    return Hit(
        url=entry.url,
        title=mark(entry.title, patterns),
        snippet=snippet(entry.text, patterns) if NO_SNIPPET not in entry.rights.split() else Marked(""),
        time=entry.time,
        language=entry.language,
        charset=entry.charset,
        score=score,
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
    }


def _compiled(schema: tantivy.Schema, clauses: list[Clause]) -> tantivy.Query:
    parts = [
        (tantivy.Occur.MustNot if clause.excluded else tantivy.Occur.Must, _condition(schema, clause))
        for clause in clauses
    ]
    if all(clause.excluded for clause in clauses):
        parts.append((tantivy.Occur.Must, tantivy.Query.all_query()))
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
