"""How many pages has each host?

In:    the roles and the number of pages of the whole web.
Out:   a power law: the top 1 % of the servers hold about 40 % of the pages, as in S1-23.
Never: makes a host without a page, or a big one of a host that misbehaves.
"""

from __future__ import annotations

import numpy as np

from joro.testweb.chance import Stream, source

TOP_SHARE = 0.40
#: Roles whose behaviour is the point keep few honest pages.
SMALL_ROLES = frozenset(
    {"slow", "flaky", "dead", "huge", "redirecting", "throttling", "trap", "hostile", "copy"}
)
SMALL_PAGES = (3, 20)


def sizes(seed: int, roles: list[str], pages: int, *, even: bool = False) -> list[int]:
    """Pages of every host; they add up to about `pages`."""
    if even:
        return [pages // len(roles) + (number < pages % len(roles)) for number in range(len(roles))]
    rng = source(seed, Stream.SIZES, len(roles))
    small = min(SMALL_PAGES[1], max(1, pages // len(roles)))
    counts = [rng.randint(min(SMALL_PAGES[0], small), small) if role in SMALL_ROLES else 0 for role in roles]
    regular = [number for number, role in enumerate(roles) if role not in SMALL_ROLES]
    shares = power_law(len(regular), max(len(regular), pages - sum(counts)))
    order = regular[1:]
    rng.shuffle(order)
    # Host 0 is the portal: of middling size, so that the tree of hosts does not hang on a giant.
    order.insert(len(order) // 2, regular[0])
    for number, count in zip(order, shares, strict=True):
        counts[number] = count
    return counts


def power_law(hosts: int, pages: int) -> list[int]:
    """Descending sizes rank^-s whose top hundredth holds `TOP_SHARE`, at least 1 each, summing to `pages`."""
    ranks = np.arange(1, hosts + 1, dtype=np.float64)
    weights = ranks ** -_exponent(ranks)
    counts = np.maximum(1, np.floor(weights / weights.sum() * pages)).astype(np.int64)
    rest = pages - int(counts.sum())
    if rest > 0:
        counts[: rest % hosts] += 1
        counts += rest // hosts
    while rest < 0:  # the floor of one page a host took more than there was: the biggest give
        give = min(-rest, int(counts[0] - counts[-1]) // 2 + 1)
        counts[0] -= give
        rest += give
        counts[::-1].sort()
    return [int(count) for count in counts]


def _exponent(ranks: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    top = max(1, round(len(ranks) / 100))
    low, high = 0.0, 3.0
    for _ in range(40):
        middle = (low + high) / 2
        weights = ranks**-middle
        if weights[:top].sum() / weights.sum() < TOP_SHARE:
            low = middle
        else:
            high = middle
    return low
