"""A block: the known URLs of the hosts whose hashes lie in a range.

    runs      sorted fingerprints, each with its row; few, the older at least four times the newer
    places    for each row its host and its origin; written once
    marks     for each row its priority, its links and its state; written anew in each cycle
    hosts     hash and text of each host; a row's host is a position here
    texts     the URLs themselves, by origin; written once, shared by the halves when a block is split
    visits    what became of collected URLs, by origin; shared in the same way

`judge` and `updated` decide what a cycle does to a block, without a file; `shelf` is the way to the disk.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarrafa.verify.contract import LINKS_MAX
from tarrafa.verify.veuniq.disk import Stored
from tarrafa.verify.veuniq.spill import Waiting

HASHES = 2**64  # of hosts, over which the blocks are laid
# States of a URL.
REMAINING, SCHEDULED, COLLECTED = 0, 1, 2

U64 = NDArray[np.uint64]
U32 = NDArray[np.uint32]
U16 = NDArray[np.uint16]


class Texts(NamedTuple):
    first_origin: int
    stored: Stored


@dataclass(slots=True)
class Block:
    """A block as the manifest holds it."""

    number: int
    first: int  # hash of the first host that could stand here
    end: int  # hash after the last
    rows: int = 0
    scheduled: int = 0
    collected: int = 0
    hosts_count: int = 0
    origins: int = 0  # the next origin
    since: int = 0  # the last cycle whose spill was taken in
    waiting: int = 0
    runs: list[Stored] = field(default_factory=list)
    places: list[Stored] = field(default_factory=list)
    marks: list[Stored] = field(default_factory=list)  # one, or none yet
    hosts: list[Stored] = field(default_factory=list)
    texts: list[Texts] = field(default_factory=list)
    visits: list[Stored] = field(default_factory=list)

    def files(self) -> list[Stored]:
        texts = (texts.stored for texts in self.texts)
        return [*self.runs, *self.places, *self.marks, *self.hosts, *texts, *self.visits]


class Run(NamedTuple):
    fingerprints: U64
    rows: U32


class Columns(NamedTuple):
    """By row."""

    host: U32
    origin: U32
    priority: U16
    links: U16
    outside: U16  # of the links, those from other hosts
    state: NDArray[np.uint8]


PLACES = (np.dtype("<u4"), np.dtype("<u4"))
MARKS = (np.dtype("<u2"), np.dtype("<u2"), np.dtype("<u2"), np.dtype("u1"))


class Hosts(NamedTuple):
    """By position: the number that columns use."""

    hashes: U64
    names: list[str]

    def positions(self, hashes: U64) -> NDArray[np.int64]:
        """The position of each host, -1 for unknown ones."""
        if not self.names:
            return np.full(len(hashes), -1, np.int64)
        order = np.argsort(self.hashes)
        places = order[np.minimum(np.searchsorted(self.hashes, hashes, sorter=order), len(order) - 1)]
        return np.where(self.hashes[places] == hashes, places, -1)


class Content(NamedTuple):
    """A block in memory, for the time of a cycle."""

    runs: list[Run]
    columns: Columns
    hosts: Hosts


class Judgement(NamedTuple):
    """What the URLs of a cycle are to the block; one entry for each distinct URL, by fingerprint."""

    rows: NDArray[np.int64]  # where it is known, else -1
    places: NDArray[np.intp]  # one of its places among what waited
    priority: U16
    links: U32
    outside: U32
    collected_now: NDArray[np.bool_]
    collected_before: NDArray[np.bool_]
    last_visits: NDArray[np.int32]  # for those collected now: which of the visits is the latest


def find(runs: list[Run], fingerprints: U64) -> NDArray[np.int64]:
    """The row of each fingerprint, -1 for unknown ones; the fingerprints are sorted."""
    rows = np.full(len(fingerprints), -1, np.int64)
    for run in runs:
        places = np.searchsorted(run.fingerprints, fingerprints)
        places[places == len(run.fingerprints)] = 0
        hit = run.fingerprints[places] == fingerprints
        rows[hit] = run.rows[places[hit]]
    return rows


def judge(content: Content, waiting: Waiting) -> Judgement:
    """Each distinct URL is collected now, was collected before, is known, or is fresh."""
    order = _order(waiting.fingerprints)
    ordered = waiting.fingerprints[order]
    firsts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    unique = ordered[firsts]
    rows = find(content.runs, unique)
    known = rows >= 0
    before = np.zeros(len(rows), bool)
    before[known] = content.columns.state[rows[known]] == COLLECTED
    visited, last_visits = _last_visits(waiting)
    now = np.zeros(len(rows), bool)
    now[np.searchsorted(unique, visited)] = True
    return Judgement(
        rows=rows,
        places=order[firsts],
        priority=np.minimum.reduceat(waiting.priority[order], firsts),
        links=np.add.reduceat(waiting.links[order], firsts, dtype=np.uint32),
        outside=np.add.reduceat(waiting.outside[order], firsts, dtype=np.uint32),
        collected_now=now,
        collected_before=before,
        last_visits=last_visits,
    )


def _order(fingerprints: U64) -> NDArray[np.int64]:
    """What sorts the fingerprints. Sorting values is faster than sorting places, so the places ride in the low bits."""
    low = np.uint64((1 << max(1, len(fingerprints).bit_length())) - 1)
    packed = fingerprints & ~low
    packed |= np.arange(len(fingerprints), dtype=np.uint64)
    packed.sort()
    order = (packed & low).astype(np.int64)
    ordered = fingerprints[order]
    # Two that differ in the low bits alone may stand in the wrong order, about once in thousands of cycles.
    return order if (ordered[1:] >= ordered[:-1]).all() else np.argsort(fingerprints)


def _last_visits(waiting: Waiting) -> tuple[U64, NDArray[np.int32]]:
    """The fingerprints of the URLs that were collected now, and the visit that counts: the latest of the last batch."""
    places = np.flatnonzero(waiting.visit >= 0)
    visits, fingerprints = waiting.visit[places], waiting.fingerprints[places]
    told = waiting.visits[visits]
    order = np.lexsort((told["at_seconds"], told["batch"], fingerprints))
    ordered = fingerprints[order]
    lasts = np.flatnonzero(np.concatenate((ordered[1:] != ordered[:-1], [True]))) if len(order) else order
    return ordered[lasts], visits[order[lasts]]


def updated(
    columns: Columns, judgement: Judgement, admitted: NDArray[np.intp], hosts: NDArray[np.int64], origin: int
) -> Columns:
    """The columns after the cycle: known rows changed, admitted ones added in the given order."""
    known = np.flatnonzero(judgement.rows >= 0)
    rows, now = judgement.rows[known], judgement.collected_now
    origins = np.arange(origin, origin + len(admitted), dtype=np.uint32)
    after = Columns(
        np.concatenate((columns.host, hosts.astype(np.uint32))),
        np.concatenate((columns.origin, origins)),
        np.concatenate((columns.priority, judgement.priority[admitted])),
        np.concatenate((columns.links, _bounded(judgement.links[admitted]))),
        np.concatenate((columns.outside, _bounded(judgement.outside[admitted]))),
        np.concatenate((columns.state, np.where(now[admitted], COLLECTED, REMAINING).astype(np.uint8))),
    )
    after.priority[rows] = np.minimum(columns.priority[rows], judgement.priority[known])
    after.links[rows] = _bounded(columns.links[rows] + judgement.links[known])
    after.outside[rows] = _bounded(columns.outside[rows] + judgement.outside[known])
    after.state[rows[now[known]]] = COLLECTED
    return after


def _bounded(links: U32) -> U16:
    return np.minimum(links, LINKS_MAX).astype(np.uint16)


def merged(runs: list[Run], ratio: int) -> list[Run]:
    """Join the newest runs until each is `ratio` times the next or more. All but the last are runs that were given."""
    runs = list(runs)
    while len(runs) > 1 and len(runs[-2].rows) < ratio * len(runs[-1].rows):
        newer, older = runs.pop(), runs.pop()
        runs.append(_merge(older, newer))
    return runs


def _merge(older: Run, newer: Run) -> Run:
    """The newer fingerprints go in between the older ones; no fingerprint is in both."""
    places = np.searchsorted(older.fingerprints, newer.fingerprints) + np.arange(len(newer.rows))
    total = len(older.rows) + len(newer.rows)
    fingerprints, rows = np.empty(total, np.uint64), np.empty(total, np.uint32)
    rest = np.ones(total, bool)
    rest[places] = False
    fingerprints[places], rows[places] = newer
    fingerprints[rest], rows[rest] = older
    return Run(fingerprints, rows)
