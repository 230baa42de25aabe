"""The scores of candidates, and the order of results. Pure numpy.

    score = (words + near + anchors) · (1 + links) · (1 + freshness)

Links raise a score by at most `LINKS_SHARE`, so that importance decides between pages that match equally well, and
never puts a bad match before a good one. A page of unknown rank is not raised.
"""

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

CANDIDATES_LIMIT = 1_000
NEAR_LIMIT = 100  # best candidates that are scored by proximity
ANCHORS_LIMIT = 50  # best candidates that are scored by anchors

RANK_SHARE, HOST_SHARE, OUTSIDE_SHARE = 0.15, 0.05, 0.10
LINKS_SHARE = RANK_SHARE + HOST_SHARE + OUTSIDE_SHARE
_LINKS_DOUBLINGS = 12.0  # a page with 2^12 times the mean rank is raised by the whole share
ANCHORS_SHARE = 0.25  # of the best score by words, for a page whose anchors are the words of the query
_ANCHOR_VOTES = 2.0  # an anchor with so many votes counts half
FRESH_SHARE = 1.0
_FRESH_HALF_SECONDS = 30 * 86_400.0
# A result of another site comes before a better one only if it has at least this share of its score.
NEAR_SHARE = 0.9

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]


class RankValues(Protocol):
    """A value for each page that was asked for; 0 if the page is unknown."""

    @property
    def rank(self) -> NDArray[np.float32]: ...
    @property
    def host_rank(self) -> NDArray[np.float32]: ...
    @property
    def links_in(self) -> NDArray[np.uint32]: ...
    @property
    def links_outside(self) -> NDArray[np.uint32]: ...


class RankSource(Protocol):
    """What links say about pages, by the fingerprints of their URLs. The mean rank is 1."""

    def of(self, fingerprints: U64) -> RankValues: ...

    def anchors(self, fingerprints: U64) -> Sequence[Sequence[tuple[str, int]]]:
        """Return the anchor texts of each page with their votes, best first."""
        ...


@dataclass(frozen=True, slots=True)
class Candidates:
    """Columns of the same length, best first."""

    words: F64  # scores by words alone
    index: I64  # number of the `IndexMatches` that have the candidate
    place: I64  # its place there
    fingerprint: U64
    signature: U64
    site: U64
    date: I64

    def take(self, order: I64) -> "Candidates":
        """Return the candidates at these places."""
        return Candidates(*(getattr(self, each.name)[order] for each in fields(self)))


class Scores(NamedTuple):
    """All parts of the score, to explain it."""

    total: F64
    words: F64
    near: F64
    anchors: F64
    links: F64
    fresh: F64
    rank: F64
    meaning: F64  # 0 unless the search is semantic


def join(parts: Sequence[Candidates]) -> Candidates:
    """Return the best candidates of several indexes.

    Their scores are compared as they are, although each index weighs words by its own documents.
    """
    columns = [np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(Candidates)]
    joined = Candidates(*columns)
    order = np.lexsort((joined.fingerprint, -joined.words))
    return joined.take(order[:CANDIDATES_LIMIT].astype(np.int64))


def score(found: Candidates, near: F64, anchors: F64, ranks: RankValues | None, now: float | None) -> Scores:
    """Return the scores of candidates.

    `near` and `anchors` have a value for each candidate; `now` is given if fresh pages are to come first.
    """
    best = float(found.words.max(initial=0.0))
    by_anchors = ANCHORS_SHARE * best * anchors
    links, rank = _links(ranks, len(found.words))
    fresh = np.zeros(len(found.words)) if now is None else FRESH_SHARE * freshness(found.date, now)
    total = (found.words + near + by_anchors) * (1.0 + links) * (1.0 + fresh)
    return Scores(total, found.words, near, by_anchors, links, fresh, rank, np.zeros(len(total)))


def _links(ranks: RankValues | None, count: int) -> tuple[F64, F64]:
    if ranks is None:
        return np.zeros(count), np.zeros(count)
    shares = ((ranks.rank, RANK_SHARE), (ranks.host_rank, HOST_SHARE), (ranks.links_outside, OUTSIDE_SHARE))
    raised = sum((share * _saturated(np.asarray(values, np.float64)) for values, share in shares), np.zeros(count))
    return raised, np.asarray(ranks.rank, np.float64)


def _saturated(values: F64) -> F64:
    """Map values to 0 to 1 by their logarithms."""
    return np.minimum(np.log2(1.0 + np.maximum(values, 0.0)) / _LINKS_DOUBLINGS, 1.0)


def freshness(date: I64, now: float) -> F64:
    """Return 1 for now or later, halved for every month before."""
    age_seconds = np.maximum(now - date.astype(np.float64), 0.0)
    return np.exp2(-age_seconds / _FRESH_HALF_SECONDS)


def anchor_share(texts: Sequence[tuple[frozenset[str], int]], words: frozenset[str]) -> float:
    """Return 0 to 1 by how well the best anchor text matches the words, and by its votes."""
    shares = (
        len(text & words) / len(words) * (len(text & words) / len(text)) * votes / (votes + _ANCHOR_VOTES)
        for text, votes in texts
        if text
    )
    return max(shares, default=0.0) if words else 0.0


def fold_copies(signature: U64) -> list[list[int]]:
    """Group the places of documents with the same content, in the order of their best; signature 0 is never shared."""
    groups: list[list[int]] = []
    known: dict[int, list[int]] = {}
    for place, value in enumerate(signature.tolist()):
        group = known.get(value) if value else None
        if group is None:
            group = known[value] = []
            groups.append(group)
        group.append(place)
    return groups


def spread_sites(groups: list[list[int]], site: U64, scores: F64, per_site: int) -> list[list[int]]:
    """Let sites take turns among results that are nearly equally good.

    A result of a site that has had `per_site` results in this round gives way to one of another site, but only if the
    score of that one is at least `NEAR_SHARE` of its own. `groups` are in the order of their scores.
    """
    if per_site < 1 or not groups:
        return groups
    queues: dict[int, deque[int]] = {}  # numbers of groups by site, the best first
    for number, group in enumerate(groups):
        queues.setdefault(int(site[group[0]]), deque()).append(number)
    shown = dict.fromkeys(queues, 0)
    # The best group that is left of each site, by the rounds that the site has had. Filled and emptied by this loop.
    rounds: dict[int, list[tuple[int, int]]] = {0: sorted((queue[0], name) for name, queue in queues.items())}
    spread: list[list[int]] = []
    while rounds:
        best = min(heads[0][0] for heads in rounds.values())
        least = NEAR_SHARE * scores[groups[best][0]]
        turn = next(turn for turn in sorted(rounds) if scores[groups[rounds[turn][0][0]][0]] >= least)
        number, name = heapq.heappop(rounds[turn])
        if not rounds[turn]:
            del rounds[turn]
        spread.append(groups[number])
        queues[name].popleft()
        shown[name] += 1
        if queues[name]:
            heapq.heappush(rounds.setdefault(shown[name] // per_site, []), (queues[name][0], name))
    return spread
