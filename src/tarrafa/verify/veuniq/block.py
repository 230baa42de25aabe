"""A block: the known URLs of the hosts whose hashes lie in a range; what a cycle does to it, without files.

    runs       sorted fingerprints, each with its row; few runs, an older one at least four times a newer one
    row_index  for each row its host and its origin; written once
    row_state  for each row its priority, links, depth, kind and state; rewritten in each cycle
    row_weight for each row its weight; there is no such file while all weights are 0
    hosts      hash and text of each host; a row's host is a position here
    texts      the URLs themselves, by origin; written once, shared by the halves when a block is split
    visits     what is known of collected URLs, by origin; shared in the same way
    histories  the history of each collected row; rewritten in each cycle that has visits

`judge` classifies the URLs of a cycle, `updated` changes the rows, `schedule` chooses URLs to fetch next, and `halves`
splits a block that has grown too large. `block_files` reads and writes the files.
"""

from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tarrafa.histories import Histories, taken
from tarrafa.verify.contract import (
    LINKS_MAX,
    WEIGHT_MAX,
    Division,
    Keys,
    Quota,
    UrlColumns,
    UrlOrder,
    checked_keys,
    first_placed,
)
from tarrafa.verify.page_histories import NO_HISTORIES, NO_PHASES
from tarrafa.verify.veuniq.spills import WaitingUrls
from tarrafa.verify.veuniq.stored_files import StoredFile

# States of a URL.
REMAINING, SCHEDULED, COLLECTED = 0, 1, 2

U64 = NDArray[np.uint64]
U32 = NDArray[np.uint32]
U16 = NDArray[np.uint16]
U8 = NDArray[np.uint8]
Rows: TypeAlias = NDArray[np.int64]

_SPREAD = 0x9E3779B97F4A7C15


class StoredTexts(NamedTuple):
    first_origin: int
    stored: StoredFile


@dataclass(slots=True)
class Block:
    """A block as the manifest describes it."""

    number: int
    first: int  # hash of the first host that may belong here
    end: int  # hash after the last
    rows: int = 0
    scheduled: int = 0
    collected: int = 0
    hosts_count: int = 0
    origins: int = 0  # the next origin
    since: int = 0  # the last cycle that verified it
    waiting: int = 0
    rate_sum: float = 0.0  # of the collected URLs: changes a day
    phases: tuple[int, ...] = NO_PHASES  # collected URLs by phase
    runs: list[StoredFile] = field(default_factory=list)
    row_index: list[StoredFile] = field(default_factory=list)
    row_state: list[StoredFile] = field(default_factory=list)  # one, or none yet
    row_weight: list[StoredFile] = field(default_factory=list)  # one, or none if all weights are 0
    histories: list[StoredFile] = field(default_factory=list)  # one, or none if no URL is collected
    hosts: list[StoredFile] = field(default_factory=list)
    texts: list[StoredTexts] = field(default_factory=list)
    visits: list[StoredFile] = field(default_factory=list)

    def files(self) -> list[StoredFile]:
        texts = (texts.stored for texts in self.texts)
        rows = (*self.row_index, *self.row_state, *self.row_weight)
        return [*self.runs, *rows, *self.histories, *self.hosts, *texts, *self.visits]


class FingerprintRun(NamedTuple):
    fingerprints: U64
    rows: U32


class RowColumns(NamedTuple):
    """What is known of each row."""

    host: U32
    origin: U32
    priority: U16
    links: U16
    outside: U16  # of the links, those from other hosts
    depth: U32
    kind: U8
    state: U8
    weight: U32


ROW_INDEX = (np.dtype("<u4"), np.dtype("<u4"))
ROW_STATE = tuple(map(np.dtype, ("<u2", "<u2", "<u2", "<u4", "u1", "u1")))
ROW_WEIGHT = np.dtype("<u4")


class BlockHosts(NamedTuple):
    """Hosts by position, which is the number that rows use."""

    hashes: U64
    names: list[str]

    def positions(self, hashes: U64) -> NDArray[np.int64]:
        """Return the position of each host; -1 for an unknown one."""
        if not self.names:
            return np.full(len(hashes), -1, np.int64)
        order = np.argsort(self.hashes)
        found = order[np.minimum(np.searchsorted(self.hashes, hashes, sorter=order), len(order) - 1)]
        return np.where(self.hashes[found] == hashes, found, -1)


class BlockContent(NamedTuple):
    """A block in memory, during a cycle; readers do without the histories."""

    runs: list[FingerprintRun]
    columns: RowColumns
    hosts: BlockHosts
    histories: Histories = NO_HISTORIES


class Judgement(NamedTuple):
    """How the block knows the URLs of a cycle: one entry for each distinct URL, by fingerprint."""

    rows: NDArray[np.int64]  # its row in the block; -1 if it is not known
    waiting_rows: NDArray[np.intp]  # one of its rows among the waiting URLs
    priority: U16
    links: U32
    outside: U32
    depth: U32
    kind: U8
    weight: U64
    collected_now: NDArray[np.bool_]
    collected_before: NDArray[np.bool_]
    visits: NDArray[np.int32]  # the numbers of all visits: by fingerprint, then by batch, then by time
    visited: Rows  # for each of them: its URL, as a position in these columns

    def last_visits(self) -> NDArray[np.int32]:
        """Return, for the URLs collected now, the number of the visit that counts: the latest of the last batch."""
        return self.visits[np.concatenate((self.visited[1:] != self.visited[:-1], [len(self.visited) > 0]))]


def find(runs: list[FingerprintRun], fingerprints: U64) -> NDArray[np.int64]:
    """Return the row of each fingerprint, -1 for unknown ones. The fingerprints are sorted."""
    rows = np.full(len(fingerprints), -1, np.int64)
    for run in runs:
        found = np.searchsorted(run.fingerprints, fingerprints)
        found[found == len(run.fingerprints)] = 0
        is_equal = run.fingerprints[found] == fingerprints
        rows[is_equal] = run.rows[found[is_equal]]
    return rows


def judge(content: BlockContent, waiting: WaitingUrls) -> Judgement:
    """Classify each distinct URL: collected now, collected before, known, or fresh."""
    order = _order(waiting.fingerprints)
    ordered = waiting.fingerprints[order]
    firsts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    unique = ordered[firsts]
    rows = find(content.runs, unique)
    known = rows >= 0
    before = np.zeros(len(rows), bool)
    before[known] = content.columns.state[rows[known]] == COLLECTED
    visits, fingerprints = _visits(waiting)
    visited = np.searchsorted(unique, fingerprints)
    now = np.zeros(len(rows), bool)
    now[visited] = True
    return Judgement(
        rows=rows,
        waiting_rows=order[firsts],
        priority=np.minimum.reduceat(waiting.priority[order], firsts),
        links=np.add.reduceat(waiting.links[order], firsts, dtype=np.uint32),
        outside=np.add.reduceat(waiting.outside[order], firsts, dtype=np.uint32),
        depth=np.minimum.reduceat(waiting.depth[order], firsts),
        kind=np.maximum.reduceat(waiting.kind[order], firsts),
        weight=_gained(waiting.weight, order, firsts),
        collected_now=now,
        collected_before=before,
        visits=visits,
        visited=visited,
    )


def _order(fingerprints: U64) -> NDArray[np.int64]:
    """Return what sorts the fingerprints. Sorting values is faster than an argsort, so rows ride in the low bits."""
    low = np.uint64((1 << max(1, len(fingerprints).bit_length())) - 1)
    packed = fingerprints & ~low
    packed |= np.arange(len(fingerprints), dtype=np.uint64)
    packed.sort()
    order = (packed & low).astype(np.int64)
    ordered = fingerprints[order]
    # Fingerprints that differ in the low bits only, which is rare, may be in the wrong order.
    return order if (ordered[1:] >= ordered[:-1]).all() else np.argsort(fingerprints)


def _visits(waiting: WaitingUrls) -> tuple[NDArray[np.int32], U64]:
    """Return all visits, by fingerprint, then by batch, then by time; and their fingerprints."""
    rows = np.flatnonzero(waiting.visit >= 0)
    visits, fingerprints = waiting.visit[rows], waiting.fingerprints[rows]
    order = _order(fingerprints)
    ordered = fingerprints[order]
    is_next = ordered[1:] == ordered[:-1]
    # Most URLs have one visit.
    several = np.flatnonzero(np.concatenate((is_next, [False])) | np.concatenate(([False], is_next)))
    own = order[several]
    records = waiting.visits.take(visits[own])
    order[several] = own[np.lexsort((records["at_seconds"], records["batch"], ordered[several]))]
    return visits[order], ordered


def updated(
    columns: RowColumns, judgement: Judgement, admitted: NDArray[np.intp], hosts: NDArray[np.int64], origin: int
) -> RowColumns:
    """Return the columns after the cycle: known rows changed, admitted ones added in the given order."""
    known = np.flatnonzero(judgement.rows >= 0)
    rows, now = judgement.rows[known], judgement.collected_now
    origins = np.arange(origin, origin + len(admitted), dtype=np.uint32)
    after = RowColumns(
        np.concatenate((columns.host, hosts.astype(np.uint32))),
        np.concatenate((columns.origin, origins)),
        np.concatenate((columns.priority, judgement.priority[admitted])),
        np.concatenate((columns.links, _bounded(judgement.links[admitted]))),
        np.concatenate((columns.outside, _bounded(judgement.outside[admitted]))),
        np.concatenate((columns.depth, judgement.depth[admitted])),
        np.concatenate((columns.kind, judgement.kind[admitted])),
        np.concatenate((columns.state, np.where(now[admitted], COLLECTED, REMAINING).astype(np.uint8))),
        _weights(columns.weight, judgement, admitted, known),
    )
    after.priority[rows] = np.minimum(columns.priority[rows], judgement.priority[known])
    after.links[rows] = _bounded(columns.links[rows] + judgement.links[known])
    after.outside[rows] = _bounded(columns.outside[rows] + judgement.outside[known])
    after.depth[rows] = np.minimum(columns.depth[rows], judgement.depth[known])
    after.kind[rows] = np.maximum(columns.kind[rows], judgement.kind[known])
    after.state[rows[now[known]]] = COLLECTED
    return after


def _bounded(links: U32) -> U16:
    return np.minimum(links, LINKS_MAX).astype(np.uint16)


def no_weights(count: int) -> U32:
    """Return weights of 0, which take no memory: most crawls have no others."""
    return np.broadcast_to(np.uint32(0), count)


def _gained(weight: U32, order: Rows, firsts: Rows) -> U64:
    if not weight.any():
        return no_weights(len(firsts)).astype(np.uint64)
    return np.add.reduceat(weight[order], firsts, dtype=np.uint64)


def _weights(before: U32, judgement: Judgement, admitted: NDArray[np.intp], known: NDArray[np.intp]) -> U32:
    """Return the weights after the cycle: what the URLs gained is added."""
    if not before.any() and not judgement.weight.any():
        return no_weights(len(before) + len(admitted))
    rows = judgement.rows[known]
    after = np.concatenate((before, _bounded_weight(judgement.weight[admitted])))
    after[rows] = _bounded_weight(before[rows] + judgement.weight[known])
    return after


def _bounded_weight(weight: U64) -> U32:
    return np.minimum(weight, WEIGHT_MAX).astype(np.uint32)


def merged(runs: list[FingerprintRun], ratio: int) -> list[FingerprintRun]:
    """Merge the newest runs until each has at least `ratio` times the rows of the next. Only the last may be new."""
    runs = list(runs)
    while len(runs) > 1 and len(runs[-2].rows) < ratio * len(runs[-1].rows):
        newer, older = runs.pop(), runs.pop()
        runs.append(_merge(older, newer))
    return runs


def _merge(older: FingerprintRun, newer: FingerprintRun) -> FingerprintRun:
    """Merge two runs that have no fingerprint in common."""
    newer_rows = np.searchsorted(older.fingerprints, newer.fingerprints) + np.arange(len(newer.rows))
    total = len(older.rows) + len(newer.rows)
    fingerprints, rows = np.empty(total, np.uint64), np.empty(total, np.uint32)
    is_older = np.ones(total, bool)
    is_older[newer_rows] = False
    fingerprints[newer_rows], rows[newer_rows] = newer
    fingerprints[is_older], rows[is_older] = older
    return FingerprintRun(fingerprints, rows)


def schedule(
    columns: RowColumns, quota: Quota, division: Division, known_hosts: int, url_bytes: NDArray[np.integer]
) -> None:
    """Schedule more URLs of the hosts that have few: see `Repository.scheduled`.

    Hosts from `known_hosts` on are new. `url_bytes` are the lengths of the URLs admitted last, which include all URLs
    of new hosts.
    """
    left = np.bincount(columns.host[columns.state == SCHEDULED], minlength=int(columns.host.max(initial=0)) + 1)
    is_low = left < quota.refill_below
    rows = np.flatnonzero((columns.state == REMAINING) & is_low[columns.host])
    is_new = columns.host[rows] >= known_hosts
    new, known = rows[is_new], rows[~is_new]
    own_bytes = url_bytes[new - (len(columns.host) - len(url_bytes))]
    chosen = (
        (new, checked_keys(division.first(url_columns(columns, new), own_bytes), len(new))),
        (known, order_keys(columns, known, division.next)),
    )
    for candidates, keys in chosen:
        columns.state[candidates[ordered(columns, candidates, keys, quota.scheduled)]] = SCHEDULED


def url_columns(columns: RowColumns, rows: Rows) -> UrlColumns:
    return UrlColumns(
        columns.priority[rows],
        columns.depth[rows],
        columns.links[rows],
        columns.outside[rows],
        columns.weight[rows],
        rows.astype(np.uint32),
    )


def order_keys(columns: RowColumns, rows: Rows, order: UrlOrder) -> Keys:
    """Return numbers that order rows: those of the order, with URLs of `FIRST_PRIORITY` before the others."""
    urls = url_columns(columns, rows)
    return first_placed(checked_keys(order(urls), len(rows)), urls)


def ordered(columns: RowColumns, rows: Rows, keys: Keys, per_host: int) -> Rows:
    """Return which rows have the lowest keys, host by host, at most `per_host`; of equal keys the first admitted.

    The rows are in the order of their admission.
    """
    order = np.lexsort((keys, columns.host[rows]))
    edges = edges_of_hosts(columns, rows[order])
    return order[np.arange(len(rows)) - np.repeat(edges[:-1], np.diff(edges)) < per_host]


def edges_of_hosts(columns: RowColumns, rows: Rows) -> Rows:
    """Return where each host begins among rows that are ordered by host, and where the last ends."""
    hosts = columns.host[rows]
    return np.flatnonzero(np.concatenate(([len(hosts) > 0], hosts[1:] != hosts[:-1], [True])))


def rows_limit(first: int, rows: int) -> int:
    """Return the rows at which a block that begins at this hash is split: at least half of `rows`, at most all.

    Hosts are spread evenly, so blocks grow alike; with one bound for all, all would be split at the same time.
    """
    share = (first * _SPREAD >> 32) % 2**32  # of 2**32
    return rows - (rows * share >> 33)


def halves(block: Block, content: BlockContent, next_number: int) -> list[tuple[Block, BlockContent]]:
    """Split a block into two of about equal size. Return none if it has one host, which is never divided.

    Texts and visits are not touched: both halves keep the files of the whole.
    """
    edge = _edge(content)
    if edge is None:
        return []
    low = content.hosts.hashes < np.uint64(edge)
    content = content._replace(runs=merged(content.runs, len(content.columns.host)))
    return [
        (_half(block, next_number, block.first, edge), _part(content, low)),
        (_half(block, next_number + 1, edge, block.end), _part(content, ~low)),
    ]


def _edge(content: BlockContent) -> int | None:
    """Return the hash of the first host of the upper half."""
    order = np.argsort(content.hosts.hashes)
    if len(order) < 2:
        return None
    sizes = np.bincount(content.columns.host, minlength=len(order))[order]
    below = np.cumsum(sizes)[:-1]  # rows below each host but the first
    nearest = int(np.argmin(np.abs(below - len(content.columns.host) / 2)))
    return int(content.hosts.hashes[order[1 + nearest]])


def _half(block: Block, number: int, first: int, end: int) -> Block:
    half = replace(block, number=number, first=first, end=end)
    half.runs, half.row_index, half.row_state, half.row_weight, half.hosts = [], [], [], [], []
    half.histories = []
    return half


def _part(content: BlockContent, hosts: NDArray[np.bool_]) -> BlockContent:
    """Return the rows of some hosts, renumbered."""
    position = (np.cumsum(hosts) - 1).astype(np.uint32)
    inside = hosts[content.columns.host]
    row = (np.cumsum(inside) - 1).astype(np.uint32)
    columns = RowColumns(*(column[inside] for column in content.columns))  # type: ignore[arg-type]
    names = [name for name, is_kept in zip(content.hosts.names, hosts.tolist(), strict=True) if is_kept]
    return BlockContent(
        [_part_of_run(run, inside, row) for run in content.runs],
        columns._replace(host=position[columns.host]),
        BlockHosts(content.hosts.hashes[hosts], names),
        _part_of_histories(content.histories, inside, row),
    )


def _part_of_histories(histories: Histories, inside: NDArray[np.bool_], row: NDArray[np.uint32]) -> Histories:
    kept = taken(histories, inside[histories.row])
    return kept._replace(row=row[kept.row])


def _part_of_run(run: FingerprintRun, inside: NDArray[np.bool_], row: NDArray[np.uint32]) -> FingerprintRun:
    kept = inside[run.rows]
    return FingerprintRun(run.fingerprints[kept], row[run.rows[kept]])
