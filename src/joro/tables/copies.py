"""Which pages in the tables say nearly the same as another?

In:    the view `captures`.
Out:   a view `near_copies`, which is worked out when it is asked for.
Never: marks a page that `parse.copies` would not; compares each page with all others.

Rows of the tables know nothing of each other, for each WARC has its own. So the sketches stand there, and the
view brings pages together that have four bytes of them in common, as `index.founders` does.
"""

from __future__ import annotations

from joro.parse.copies import BINS, JUDGED_CHARS, LENGTH_RATIO, NEAR_SHARE, SURE_SHARE

NEAR_COPIES = "near_copies"
#: name → what it is
VIEW_COLUMNS = {
    "url": "of a page, in its newest version",
    "copy_of": "URL of the page known first of those that it says nearly the same as",
    "share": "part of their sentences that the two have in common, estimated: 0.55 to 1",
}
BANDS = 16

_BAND = " || ".join(f"substr(sketch, 2 * (band + {BANDS * row}) + 1, 2)" for row in range(BINS // BANDS))
_BIN = "substr({}.sketch, 2 * i + 1, 2)"
_EQUAL = f"list_sum([({_BIN.format('a')} = {_BIN.format('b')})::int for i in range({BINS})])"
_SEEN = "{'title': title, 'chars': text_chars, 'sketch': text_sketch, 'missing': soft_404}"

VIEW = f"""
create view {NEAR_COPIES} as
with newest as (
    select url, min(time) as since, arg_max({_SEEN}, time) as seen
    from captures where status between 200 and 299 and not revisit group by url
), pages as (
    select url, since, seen.title as title, seen.chars as chars, seen.sketch as sketch
    from newest where seen.chars >= {JUDGED_CHARS} and seen.sketch <> '' and not seen.missing
), bands as (
    select url, since, band, {_BAND} as digits
    from (select url, since, sketch, unnest(range({BANDS})) as band from pages)
), firsts as (
    select band, digits, min({{'since': since, 'url': url}}).url as first from bands group by band, digits
), met as (
    select distinct bands.url as url, first
    from bands join firsts using (band, digits) where first <> bands.url
), compared as (
    select a.url as url, b.url as first, b.since as since, a.title = b.title as same_title,
        greatest(0.0, (256.0 * {_EQUAL} / {BINS} - 1.0) / 255.0) as share
    from met join pages a on a.url = met.url join pages b on b.url = met.first
    where greatest(a.chars, b.chars) <= {LENGTH_RATIO} * least(a.chars, b.chars)
)
select url, arg_min(first, (since, first)) as copy_of, round(arg_min(share, (since, first)), 3) as share
from compared where share >= case when same_title then {NEAR_SHARE} else {SURE_SHARE} end group by url
"""
