"""Which pages among the results are one result?

In:    a query on its way through an index.
Out:   its results, best first; of pages that say nearly the same one, with the number of the others.
Never: folds a page into one that does not answer the query itself: a word that stands only in a copy finds
       the copy.

Of near copies that answer a query about equally well, the page known first stands for all; who answers it
clearly better than that one stands for itself and the others.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import tantivy

from joro.index.segment import SOFT_404, Entry, Reader, entry_at, entry_of, group_name

#: Must a page (URL, time of its capture, digest) not be shown?
Hidden = Callable[[str, float, str], bool]

#: The engine keeps all results up to the last one shown in memory.
DEPTH_LIMIT = 10_000
#: Where pages are hidden or folded, so many results more are fetched at once, that one round may do.
LOOKED_BEYOND = 50
#: Of more pages that say nearly the same, only so many are looked at, and so many of those are named.
SIMILAR_LIMIT, SIMILAR_NAMED = 1_000, 5
#: A page answers a query as well as the best of its copies when its score reaches this part of theirs:
#: lengths, and what stands in the frame, make such a difference.
AS_GOOD = 0.9
#: Pages of which the groups are counted at a time: the engine counts 65,000 groups of two and more.
COUNTED_AT_ONCE = 100_000


class Place(NamedTuple):
    """Where a result lies, and which group of near copies it stands for (0: none)."""

    score: float
    address: tantivy.DocAddress
    group: int


class Shown(NamedTuple):
    """What is shown of a result."""

    entry: Entry
    score: float
    similar: int = 0  # other pages that answer the query, and say nearly the same
    copies: tuple[str, ...] = ()  # some of them


class Family(NamedTuple):
    """The pages that say nearly the same as one."""

    first: Entry  # known before the others
    pages: int


class Marks(NamedTuple):
    """How many of the searchable pages are marked."""

    searchable: int = 0
    near_copies: int = 0  # not counting the first of each group
    soft_404: int = 0


class Sought:
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

    def places(self, offset: int, limit: int) -> tuple[int, list[Place]]:
        """How many results there are, and those asked for.

        Where any may be hidden or folded, those before `offset` are looked at, too, and the number is one of
        results at most: those behind, which nobody looked at, may be fewer.
        """
        if not self._fold and self._hidden is None:
            found: Any = self._searcher.search(self._query, max(1, limit), offset=offset)
            return found.count, [Place(score, address, 0) for score, address in found.hits[:limit]]
        shown: list[Place] = []
        groups: set[int] = set()
        start, step, passed = 0, offset + limit + LOOKED_BEYOND, 0
        while True:
            found = self._searcher.search(self._query, step, offset=start)
            for place in self._grouped(found.hits):
                if place.group in groups or self._is_hidden(place.address):
                    passed += 1
                    continue
                shown.append(place)
                if place.group:
                    groups.add(place.group)
            start += step
            if len(found.hits) < step or len(shown) >= offset + limit or start >= DEPTH_LIMIT:
                return found.count - passed, shown[offset : offset + limit]
            step *= 2

    def shown(self, place: Place) -> Shown:
        """What is shown of a result: of near copies the first among those that answer the query best."""
        if not place.group or self._searcher.doc_freq("group", group_name(place.group)) < 2:
            return Shown(entry_of(self._searcher, place.address), place.score)
        both = _both(self._query, _of_group(self._schema, place.group))
        found: Any = self._searcher.search(both, SIMILAR_LIMIT)
        left = [(score, address) for score, address in found.hits if not self._is_hidden(address)]
        ages: list[Any] = self._searcher.fast_field_values("since", [address for _, address in left])
        good = [number for number, (score, _) in enumerate(left) if score >= AS_GOOD * place.score]
        first = min(good, key=lambda number: ages[number])
        others = [address for number, (_, address) in enumerate(left) if number != first]
        names = tuple(entry_of(self._searcher, address).url for address in others[:SIMILAR_NAMED])
        similar = found.count - (len(found.hits) - len(left)) - 1
        return Shown(entry_of(self._searcher, left[first][1]), place.score, similar, names)

    def _grouped(self, hits: list[Any]) -> list[Place]:
        if not self._fold:
            return [Place(score, address, 0) for score, address in hits]
        groups: list[Any] = self._searcher.fast_field_values("alike", [address for _, address in hits])
        return [Place(score, address, group) for (score, address), group in zip(hits, groups, strict=True)]

    def _is_hidden(self, address: tantivy.DocAddress) -> bool:
        if self._hidden is None:
            return False
        entry = entry_of(self._searcher, address)
        return self._hidden(entry.url, entry.time, entry.digest)


def soft_404s(schema: tantivy.Schema) -> tantivy.Query:
    """Pages that say that there is no such page."""
    return exactly(schema, "mark", SOFT_404)


def exactly(schema: tantivy.Schema, field: str, key: str) -> tantivy.Query:
    """Pages with this key; it filters and leaves the order to the words."""
    query = tantivy.Query.term_query(schema, field, key, index_option="basic")
    return tantivy.Query.const_score_query(query, 0.0)


def entry_with_family(
    reader: Reader, url: str, hidden: Hidden | None = None
) -> tuple[Entry | None, Family | None]:
    """What the index has of a page, and of the pages that say nearly the same, where there are any."""
    searcher = reader.searcher()
    entry = entry_at(searcher, reader.schema, url) if searcher else None
    if searcher is None or entry is None or not entry.group:
        return entry, None
    alike = _of_group(reader.schema, entry.group)
    found: Any = searcher.search(alike, SIMILAR_LIMIT, order_by_field="since", order=tantivy.Order.Asc)
    members = [entry_of(searcher, address) for _, address in found.hits]
    left = [one for one in members if hidden is None or not hidden(one.url, one.time, one.digest)]
    pages = found.count - (len(members) - len(left))
    return entry, Family(left[0], pages) if len(left) > 1 else None


def marks(reader: Reader) -> Marks:
    """How many searchable pages are near copies of others, or soft 404s."""
    searcher = reader.searcher()
    if searcher is None:
        return Marks()
    missing: Any = searcher.search(soft_404s(reader.schema), 1)
    return Marks(searcher.num_docs, _near_copies(searcher, reader.schema), missing.count)


def _near_copies(searcher: tantivy.Searcher, schema: tantivy.Schema) -> int:
    """Pages beyond the first of each group. Groups are counted in portions, by their number."""
    portions = 1 + searcher.num_docs // COUNTED_AT_ONCE
    limits = [(1 << 64) * number // portions for number in range(portions + 1)]
    largest = {"field": "alike", "size": COUNTED_AT_ONCE, "min_doc_count": 2}
    copies = 0
    for low, high in pairwise(limits):
        portion = tantivy.Query.range_query(
            schema, "alike", tantivy.FieldType.Unsigned, max(1, low), high - 1, True, True
        )
        found: Any = searcher.aggregate(portion, {"groups": {"terms": largest}})
        copies += sum(bucket["doc_count"] - 1 for bucket in found["groups"]["buckets"])
    return copies


def _of_group(schema: tantivy.Schema, group: int) -> tantivy.Query:
    return exactly(schema, "group", group_name(group))


def _both(one: tantivy.Query, other: tantivy.Query) -> tantivy.Query:
    return tantivy.Query.boolean_query([(tantivy.Occur.Must, one), (tantivy.Occur.Must, other)])
