"""Which pages answer this query, best first?

In:    what a person typed: words (all must be there), "phrases", -not, site:host, lang:ja.
Out:   a page of results with snippets, and how many there are in all.
Never: fails because of what was typed; what cannot be understood is taken as words.

Of pages that say nearly the same, those that answer the query are one result (`index.folding`). Pages that
say they are none (soft 404) are no result, but counted. Whoever asks for `every` page gets all of them.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import tantivy

from joro.index.folding import DEPTH_LIMIT, SIMILAR_LIMIT, Hidden, Shown, Sought, exactly, soft_404s
from joro.index.segment import SOFT_404, Reader
from joro.index.snippet import Marked, Pattern, mark, pattern, snippet
from joro.index.terms import Wanted, legible, wanted
from joro.url import server_of, try_canonical

#: A word in the title says more about a page than one in its text.
TITLE_BOOST = 2.0
#: A longer query is cut: nobody typed it, and each clause costs.
QUERY_LIMIT_CHARS = 1_000
CLAUSE_LIMIT = 40
#: The word of an owner who wants no text of the page shown among results.
NO_SNIPPET = "nosnippet"

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
    copies: tuple[str, ...] = ()  # the URLs of some of them
    soft_404: bool = False


@dataclass(frozen=True, slots=True)
class Results:
    """One page of results."""

    query: str
    total: int = 0
    hits: tuple[Hit, ...] = ()
    offset: int = 0
    elapsed_s: float = 0.0
    left_out: int = 0  # soft 404s that match


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
    compiled = _compiled(reader.schema, clauses, every)
    sought = Sought(searcher, reader.schema, compiled, hidden, fold=not every)
    total, places = sought.places(offset, limit)
    patterns = [p for c in clauses if not c.field and not c.excluded and (p := pattern(c.text))]
    hits = tuple(_hit(sought.shown(place), patterns) for place in places)
    left_out = 0 if every else _left_out(searcher, reader.schema, clauses, hidden)
    return Results(query, total, hits, offset, time.perf_counter() - began, left_out)


def _left_out(
    searcher: tantivy.Searcher, schema: tantivy.Schema, clauses: list[Clause], hidden: Hidden | None
) -> int:
    """Soft 404s that every page would have been asked for to see; at most as many as are ever looked at."""
    if not searcher.doc_freq("mark", SOFT_404):
        return 0
    missing = _compiled(schema, clauses, every=True, only=soft_404s(schema))
    return len(Sought(searcher, schema, missing, hidden, fold=False).places(0, SIMILAR_LIMIT)[1])


def _hit(shown: Shown, patterns: list[Pattern]) -> Hit:
    entry = shown.entry
    return Hit(
        url=entry.url,
        title=mark(entry.title, patterns),
        snippet=snippet(entry.text, patterns) if NO_SNIPPET not in entry.rights.split() else Marked(""),
        time=entry.time,
        language=entry.language,
        charset=entry.charset,
        score=shown.score,
        similar=shown.similar,
        copies=shown.copies,
        soft_404=entry.soft_404,
    )


def plain(found: Results) -> dict[str, Any]:
    """Results as JSON has them; times are UTC, spans count characters."""
    return {
        "query": found.query,
        "total": found.total,
        "offset": found.offset,
        "left_out": found.left_out,
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
        "copies": list(hit.copies),
        "soft_404": hit.soft_404,
    }


def _compiled(
    schema: tantivy.Schema, clauses: list[Clause], every: bool, only: tantivy.Query | None = None
) -> tantivy.Query:
    parts = [
        (tantivy.Occur.MustNot if clause.excluded else tantivy.Occur.Must, _condition(schema, clause))
        for clause in clauses
    ]
    if all(clause.excluded for clause in clauses):
        parts.append((tantivy.Occur.Must, tantivy.Query.all_query()))
    if not every:
        parts.append((tantivy.Occur.MustNot, soft_404s(schema)))
    if only is not None:
        parts.append((tantivy.Occur.Must, only))
    return tantivy.Query.boolean_query(parts)


def _condition(schema: tantivy.Schema, clause: Clause) -> tantivy.Query:
    if clause.field == "site":
        return exactly(schema, "site", _host(clause.text))
    if clause.field == "lang":
        return exactly(schema, "lang", clause.text.lower())
    sought = wanted(clause.text)
    assert sought is not None
    in_title = tantivy.Query.boost_query(_sequence(schema, "title", sought), TITLE_BOOST)
    in_body = _sequence(schema, "body", sought)
    return tantivy.Query.boolean_query([(tantivy.Occur.Should, in_title), (tantivy.Occur.Should, in_body)])


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
