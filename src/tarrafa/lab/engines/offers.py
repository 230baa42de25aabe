"""The distinct URLs of a batch, and how a cycle changes what is known of them. All engines share this.

An `Offer` holds each URL of a batch once, in order of first appearance: its lowest priority, the sum of its links, its
last visit. Given what a repository knows of these URLs, `updated_records` returns what it knows afterwards, and
`cycle_result` the set that each belongs to.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tarrafa.records import DEPTH_MAX
from tarrafa.verify.contract import LINKS_MAX, PRIORITY_MAX, Batch, Cycle, Known
from tarrafa.verify.keys import keys_of, texts_of

Rows = NDArray[np.void]
U64 = NDArray[np.uint64]
Bits = NDArray[np.bool_]
Places = NDArray[np.intp]

_VISIT = [("at_seconds", "<f8"), ("offset", "<u8"), ("file", "<u4"), ("status", "<u2")]
VISIT_NAMES = tuple(name for name, _ in _VISIT)
# The visit of a URL; `cycle` is that of the batch.
VISIT = np.dtype([*_VISIT, ("cycle", "<u4")])
# What is known of a URL beside its visit.
FOUND = [("priority", "<u2"), ("links", "<u2"), ("outside", "<u2"), ("depth", "<u4"), ("kind", "u1")]
FOUND_NAMES = tuple(name for name, _ in FOUND)
# The record of a URL; `cycle` is that of its admission.
RECORD = np.dtype([*VISIT.descr, *FOUND, ("collected", "u1")])
# The record of a URL that is not known yet.
UNKNOWN = np.array((0, 0, 0, 0, 0, PRIORITY_MAX, 0, 0, DEPTH_MAX, 0, 0), RECORD)


class Offer(NamedTuple):
    """Distinct URLs of a batch, as columns."""

    urls: list[str]
    hosts: U64
    fingerprints: U64
    priority: NDArray[np.uint16]
    links: NDArray[np.uint16]
    outside: NDArray[np.uint16]
    depth: NDArray[np.uint32]
    kind: NDArray[np.uint8]
    visit: NDArray[np.int64]  # index into `visits`, -1 if it was not collected
    visits: Rows

    def take(self, places: Places) -> "Offer":
        urls = self.urls
        return Offer(
            [urls[place] for place in places.tolist()],
            self.hosts[places],
            self.fingerprints[places],
            self.priority[places],
            self.links[places],
            self.outside[places],
            self.depth[places],
            self.kind[places],
            self.visit[places],
            self.visits,
        )

    def part(self, first: int, end: int) -> "Offer":
        return self.take(np.arange(first, end))

    def by_url(self) -> "Offer":
        """Return the offer in the lexicographical order of its URLs."""
        return self.take(np.array(sorted(range(len(self.urls)), key=self.urls.__getitem__), np.intp))

    def collected(self) -> Bits:
        return self.visit >= 0


def offer_of(batch: Batch, seed: int, cycle: int) -> Offer:
    """Return each URL of the batch once."""
    collected, extracted = batch.collected, batch.extracted
    texts = pa.concat_arrays([texts_of(collected.urls), texts_of(extracted.urls)])
    urls, count = texts.to_pylist(), len(collected.urls)
    visits = np.empty(count, VISIT)
    visits["cycle"] = cycle
    for name in VISIT_NAMES:
        visits[name] = getattr(collected, name)
    # A collected URL is not found by that.
    found: dict[str, Any] = {
        name: np.concatenate((np.full(count, UNKNOWN[name], RECORD[name]), getattr(extracted, name)))
        for name in FOUND_NAMES
    }
    visit = np.full(len(urls), -1, np.int64)
    visit[:count] = np.arange(count)
    hosts, fingerprints = keys_of(texts, seed)
    return distinct(Offer(urls, hosts, fingerprints, **found, visit=visit, visits=visits))


def distinct(offer: Offer) -> Offer:
    """Merge equal URLs; the last visit of the last batch counts."""
    if not offer.urls:
        return offer
    order = np.argsort(offer.fingerprints)
    ordered = offer.fingerprints[order]
    firsts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    places = np.minimum.reduceat(order, firsts)
    priority, depth = (np.minimum.reduceat(column[order], firsts) for column in (offer.priority, offer.depth))
    kind = np.maximum.reduceat(offer.kind[order], firsts)
    links, outside = (_sums(column[order], firsts) for column in (offer.links, offer.outside))
    visit = _last_visits(offer, ordered[firsts])
    is_first = np.zeros(len(order), np.bool_)
    is_first[places] = True
    found = offer.take(np.flatnonzero(is_first))
    ranks = (np.cumsum(is_first) - 1)[places]
    columns: list[NDArray[Any]] = [getattr(found, name) for name in (*FOUND_NAMES, "visit")]
    for column, values in zip(columns, (priority, links, outside, depth, kind, visit), strict=True):
        column[ranks] = values
    return found


def _sums(counts: NDArray[np.uint16], firsts: Places) -> NDArray[np.uint16]:
    """Sum each run of counts, up to the limit of the column."""
    return np.minimum(np.add.reduceat(counts, firsts, dtype=np.uint32), LINKS_MAX).astype(np.uint16)


def _last_visits(offer: Offer, fingerprints: U64) -> NDArray[np.int64]:
    """Return the index of the last visit of each sorted fingerprint, or -1."""
    visited = np.flatnonzero(offer.visit >= 0)
    keys, places = offer.fingerprints[visited], offer.visit[visited]
    visits = offer.visits[places]
    order = np.lexsort((visits["at_seconds"], visits["cycle"], keys))
    found = np.full(len(fingerprints), -1, np.int64)
    found[np.searchsorted(fingerprints, keys[order])] = places[order]  # the last of several wins
    return found


def updated_records(before: Rows, known: Bits, offer: Offer, cycle: int) -> Rows:
    """Return the records after the cycle; `before` is UNKNOWN for URLs that are not known."""
    after = before.copy()
    after["cycle"][~known] = cycle
    after["priority"] = np.minimum(before["priority"], offer.priority)
    after["depth"] = np.minimum(before["depth"], offer.depth)
    after["kind"] = np.maximum(before["kind"], offer.kind)
    after["links"] = np.minimum(before["links"].astype(np.uint32) + offer.links, LINKS_MAX)
    after["outside"] = np.minimum(before["outside"].astype(np.uint32) + offer.outside, LINKS_MAX)
    now = np.flatnonzero(offer.visit >= 0)
    visits = offer.visits[offer.visit[now]]
    for name in VISIT_NAMES:
        after[name][now] = visits[name]
    after["collected"][now] = 1
    return after


def cycle_result(known: Bits, before: Bits, offer: Offer) -> Cycle:
    """Return the four sets of the cycle; `before` flags the URLs that were collected before."""
    now = offer.collected()
    urls = offer.urls
    return Cycle(
        block=0,
        collected_before=int((before & ~now).sum()),
        known=int((known & ~before & ~now).sum()),
        collected_now=int(now.sum()),
        fresh=[urls[place] for place in np.flatnonzero(~known & ~now).tolist()],
    )


def known_of(url: str, record: Rows) -> Known:
    at_seconds, offset, file, status, _cycle, *found, collected = record.tolist()
    visit = (at_seconds, status, file, offset) if collected else ()
    return Known(url, bool(collected), *found, *visit)


def is_url(text: str) -> bool:
    """Return True if keys can be computed for the text; anything else was never offered."""
    return text.isascii() and text.count("/") >= 3


def host_text(url: str) -> str:
    """Return everything before the path, including credentials: the text that the host's hash is computed from."""
    return url[: url.index("/", len("http://x"))]
