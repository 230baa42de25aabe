"""The order of candidates: score by words and nearness, raised by links, anchors and freshness. Pure numpy.

    score = (words + near + anchors) · (1 + links) · (1 + freshness)

Links raise a score by at most `LINKS_SHARE`: importance decides between pages that answer equally well, and never puts
one that does not answer before one that does. A page whose rank is not known is raised by nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

CANDIDATES_LIMIT = 1_000
NEAR_LIMIT = 100  # candidates that nearness is worked out for
ANCHORS_LIMIT = 50  # and anchors

RANK_SHARE, HOST_SHARE, OUTSIDE_SHARE = 0.15, 0.05, 0.10
LINKS_SHARE = RANK_SHARE + HOST_SHARE + OUTSIDE_SHARE
_LINKS_DOUBLINGS = 12.0  # a page with 2^12 times the usual rank is raised by all of it
ANCHORS_SHARE = 0.25  # of the best score by words, for a page that everybody calls by all words of the question
_ANCHOR_VOTES = 2.0  # with so many, half of it
FRESH_SHARE = 1.0
_FRESH_HALF_SECONDS = 30 * 86_400.0

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]


class RankValues(Protocol):
    """One value for each page asked for; zeros for pages that are not known."""

    @property
    def rank(self) -> NDArray[np.float32]: ...
    @property
    def host_rank(self) -> NDArray[np.float32]: ...
    @property
    def links_in(self) -> NDArray[np.uint32]: ...
    @property
    def links_outside(self) -> NDArray[np.uint32]: ...


class RankSource(Protocol):
    """What links say about pages, by the fingerprints of their URLs. The mean page has rank 1."""

    def of(self, fingerprints: U64) -> RankValues: ...

    def anchors(self, fingerprints: U64) -> Sequence[Sequence[tuple[str, int]]]:
        """How others call each page, with votes, best first."""
        ...


@dataclass(frozen=True, slots=True)
class Candidates:
    """Columns of the same length, best first. `index` says in which index, `place` where in its answer."""

    words: F64
    index: I64
    place: I64
    fingerprint: U64
    signature: U64
    site: U64
    dated: I64

    def take(self, order: I64) -> "Candidates":
        return Candidates(*(getattr(self, each.name)[order] for each in fields(self)))


class Scores(NamedTuple):
    """Every part of the score, so that it can be explained."""

    total: F64
    words: F64
    near: F64
    anchors: F64
    links: F64
    fresh: F64
    rank: F64
    meaning: F64  # 0 unless it was asked for


def join(parts: Sequence[Candidates]) -> Candidates:
    """The best of all. Scores of several indexes are compared as they are: each counts words by its own documents."""
    columns = [np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(Candidates)]
    joined = Candidates(*columns)
    order = np.lexsort((joined.fingerprint, -joined.words))
    return joined.take(order[:CANDIDATES_LIMIT].astype(np.int64))


def score(found: Candidates, near: F64, anchors: F64, ranks: RankValues | None, now: float | None) -> Scores:
    """`near` and `anchors` are one value for each candidate; `now` is given when fresh pages are wanted."""
    best = float(found.words.max(initial=0.0))
    by_anchors = ANCHORS_SHARE * best * anchors
    links, rank = _links(ranks, len(found.words))
    fresh = np.zeros(len(found.words)) if now is None else FRESH_SHARE * freshness(found.dated, now)
    total = (found.words + near + by_anchors) * (1.0 + links) * (1.0 + fresh)
    return Scores(total, found.words, near, by_anchors, links, fresh, rank, np.zeros(len(total)))


def _links(ranks: RankValues | None, count: int) -> tuple[F64, F64]:
    if ranks is None:
        return np.zeros(count), np.zeros(count)
    shares = ((ranks.rank, RANK_SHARE), (ranks.host_rank, HOST_SHARE), (ranks.links_outside, OUTSIDE_SHARE))
    raised = sum((share * _saturated(np.asarray(values, np.float64)) for values, share in shares), np.zeros(count))
    return raised, np.asarray(ranks.rank, np.float64)


def _saturated(values: F64) -> F64:
    """From 0 to 1, by doublings."""
    return np.minimum(np.log2(1.0 + np.maximum(values, 0.0)) / _LINKS_DOUBLINGS, 1.0)


def freshness(dated: I64, now: float) -> F64:
    """1 for now or later, half of it for every month before."""
    age_seconds = np.maximum(now - dated.astype(np.float64), 0.0)
    return np.exp2(-age_seconds / _FRESH_HALF_SECONDS)


def anchor_share(texts: Sequence[tuple[frozenset[str], int]], words: frozenset[str]) -> float:
    """From 0 to 1: how many of the words the best anchor text has, and how many votes it got."""
    shares = (
        len(text & words) / len(words) * (len(text & words) / len(text)) * votes / (votes + _ANCHOR_VOTES)
        for text, votes in texts
        if text
    )
    return max(shares, default=0.0) if words else 0.0


def fold_copies(signature: U64) -> list[list[int]]:
    """Places of documents with the same content, in the order of their best; 0 is no content."""
    values = signature.tolist()
    if len(set(values)) == len(values):
        return [[place] for place in range(len(values))]
    groups: list[list[int]] = []
    known: dict[int, list[int]] = {}
    for place, value in enumerate(values):
        group = known.get(value) if value else None
        if group is None:
            group = known[value] = []
            groups.append(group)
        group.append(place)
    return groups


def spread(groups: list[list[int]], site: U64, per_site: int) -> list[list[int]]:
    """`per_site` results of each site first, then as many more of each, and so on: nothing is lost, none is alone."""
    if per_site < 1 or not groups:
        return groups
    sites = site[[group[0] for group in groups]]
    order = np.argsort(sites, kind="stable")
    starts = np.flatnonzero(np.r_[True, sites[order][1:] != sites[order][:-1]])
    before = np.empty(len(groups), np.int64)  # how many of its site stand before each
    before[order] = np.arange(len(groups)) - np.repeat(starts, np.diff(np.r_[starts, len(groups)]))
    return [groups[place] for place in np.argsort(before // per_site, kind="stable").tolist()]
