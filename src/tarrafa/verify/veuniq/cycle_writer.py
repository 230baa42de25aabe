"""Verify a block against the URLs that wait for it, and write the files of the block as it is afterwards.

What is written counts only when the engine has named it in the manifest.
"""

from collections import Counter
from dataclasses import replace
from itertools import compress
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tarrafa.hashes import bytes_of, edges_of
from tarrafa.histories import Histories, VisitNews
from tarrafa.verify.contract import Cycle, Division, HostCollision, Quota, Weigh
from tarrafa.verify.page_histories import Folded, phase_counts, rate_sum, rated, with_visits
from tarrafa.verify.veuniq.block import (
    COLLECTED,
    SCHEDULED,
    Block,
    BlockContent,
    BlockHosts,
    FingerprintRun,
    Judgement,
    RowColumns,
    Rows,
    halves,
    judge,
    merged,
    rows_limit,
    schedule,
    updated,
)
from tarrafa.verify.veuniq.block_files import STORED_VISIT, BlockFiles
from tarrafa.verify.veuniq.repository_state import RepositoryState
from tarrafa.verify.veuniq.spills import VISIT, WaitingUrls
from tarrafa.verify.veuniq.text_columns import heads_of, without_heads

# Files of texts of a block before they are joined. Some blocks join earlier, so that not all join at the same time.
TEXTS_MAX = 32
PARTS_MAX = 12  # files of visits, of hosts, or of the row index before they are joined


class RepositoryBounds(NamedTuple):
    """When a block is split, when its runs are merged, and how many URLs are scheduled."""

    rows: int = 2_000_000
    hosts: int = 100_000
    run_ratio: int = 4
    quota: Quota = Quota()


DEFAULT_BOUNDS = RepositoryBounds()


class Admitted(NamedTuple):
    """The URLs that become known, host by host."""

    order: NDArray[np.intp]  # their positions in the judgement
    rows: WaitingUrls
    urls: pa.LargeStringArray
    edges: NDArray[np.intp]  # where each host begins among them, and where the last ends
    names: list[str]  # of these hosts


class CycleWriter:
    """Applies one cycle to one block. The number of the cycle is part of the names of the files."""

    def __init__(self, files: BlockFiles, state: RepositoryState, bounds: RepositoryBounds, division: Division) -> None:
        self._files = files
        self._cycle = state.cycle + 1
        self._mean_rate = state.mean_rate()
        self._bounds = bounds
        self._next_block = state.next_block
        self._division = division

    def verified(self, block: Block, waiting: WaitingUrls) -> tuple[list[Block], Cycle]:
        """Return the block after the cycle, or its halves, with their files written; and the result of the cycle."""
        if not len(waiting):
            return [replace(block, since=self._cycle, waiting=0)], Cycle(block.number)
        content = self._files.load_whole(block)
        if len(block.texts) >= TEXTS_MAX - block.number % (TEXTS_MAX // 2):
            block, content = self._texts_joined(block, content)
        waiting, judgement, fresh, collisions = _judged(content, waiting)
        after = replace(block, since=self._cycle, waiting=0)
        hosts = _with_hosts(content.hosts, fresh)
        columns = updated(content.columns, judgement, fresh.order, hosts.positions(fresh.rows.hosts), block.origins)
        url_bytes = np.diff(edges_of(fresh.urls))
        schedule(columns, self._bounds.quota, self._division, len(content.hosts.names), url_bytes)
        self._write_texts(after, fresh)
        rows = _rows_of(judgement, fresh, block.rows)
        self._write_visits(after, columns, waiting, judgement, rows)
        histories = content.histories
        if len(judgement.visits):
            histories, after.rate_sum = self._folded(histories, columns, waiting, judgement, rows)
        runs = merged(_with_run(content.runs, fresh, block.rows), self._bounds.run_ratio)
        blocks = self._written(after, content, BlockContent(runs, columns, hosts, histories))
        return blocks, _found(block, judgement, fresh)._replace(collisions=tuple(collisions))

    def weighed(self, block: Block, weigh: Weigh) -> Block:
        """Return the block with new weights of the URLs that are not collected, with their file written."""
        columns, after = self._files.load(block).columns, replace(block)
        rows = np.flatnonzero(columns.state != COLLECTED)
        weights = columns.weight.copy()
        weights[rows] = weigh(self._files.texts(block, columns.origin[rows]))
        self._write_weight(after, columns._replace(weight=weights))
        return after

    def rated(self, block: Block, weigh: Weigh) -> Block:
        """Return the block with a new importance of the URLs that are collected, with their file written."""
        histories, after = self._files.histories(block), replace(block)
        weights = weigh(self._files.texts(block, self._files.rows(block).origin[histories.row]))
        self._write_histories(after, rated(histories, weights))
        return after

    def _texts_joined(self, block: Block, content: BlockContent) -> tuple[Block, BlockContent]:
        """Join the texts into one file and the visits into another, and give the rows new origins."""
        columns, names = content.columns, content.hosts.names
        after = replace(block, since=self._cycle, origins=0, row_index=[])
        # Ordered by host hash, as all texts are: after a split each half reads one end of the file.
        order = np.argsort(content.hosts.hashes[columns.host], kind="stable")
        hosts = columns.host[order]
        lengths = np.array([len(name) for name in names])[hosts]
        paths = without_heads(self._files.texts(block, columns.origin[order]), lengths)
        after.texts = [self._files.write_texts(after, f"{self._cycle}joined", names, hosts, paths)]
        after.origins = len(paths)
        origins = np.empty(len(order), np.uint32)
        origins[order] = np.arange(len(order), dtype=np.uint32)
        visits = _renumbered(self._files.visits(block), columns.origin, origins)
        after.visits = [self._files.write_visits(after, f"{self._cycle}joined", visits)] if len(visits) else []
        return after, content._replace(columns=columns._replace(origin=origins))

    def _write_texts(self, block: Block, fresh: Admitted) -> None:
        if not len(fresh.urls):
            return
        counts = np.diff(fresh.edges)
        paths = without_heads(fresh.urls, np.repeat([len(name) for name in fresh.names], counts))
        which = np.repeat(np.arange(len(counts)), counts)
        block.texts = [*block.texts, self._files.write_texts(block, str(self._cycle), fresh.names, which, paths)]
        block.origins += len(paths)

    def _write_visits(
        self, block: Block, columns: RowColumns, waiting: WaitingUrls, judgement: Judgement, rows: Rows
    ) -> None:
        origins = columns.origin[rows[judgement.collected_now]]
        if not len(origins):
            return
        visits = np.empty(len(origins), STORED_VISIT)
        visits["origin"] = origins
        lasts = waiting.visits.take(judgement.last_visits())
        for name in VISIT.names or ():
            visits[name] = lasts[name]
        if len(block.visits) >= PARTS_MAX:
            visits, block.visits = np.concatenate((self._own_visits(block, columns), visits)), []
        block.visits = [*block.visits, self._files.write_visits(block, str(self._cycle), visits)]

    def _folded(
        self, histories: Histories, columns: RowColumns, waiting: WaitingUrls, judgement: Judgement, rows: Rows
    ) -> Folded:
        """Return the histories with every visit that waited folded in."""
        visits = waiting.visits.take(judgement.visits)
        news = VisitNews(*(np.ascontiguousarray(visits[name]) for name in VisitNews._fields))
        return with_visits(histories, rows[judgement.visited], news, columns.host, self._mean_rate)

    def _own_visits(self, block: Block, columns: RowColumns) -> NDArray[np.void]:
        """Return the visits of the block's own rows; its files may also hold those of other halves."""
        visits = self._files.visits(block)
        is_own = np.zeros(block.origins, np.bool_)
        is_own[columns.origin] = True
        own: NDArray[np.void] = visits[is_own[visits["origin"]]]
        return own

    def _written(self, block: Block, before: BlockContent, after: BlockContent) -> list[Block]:
        """Write the changed files of a block, or all files of its halves."""
        limit = rows_limit(block.first, self._bounds.rows)
        is_large = len(after.columns.host) > limit or len(after.hosts.names) > self._bounds.hosts
        parts = halves(block, after, self._next_block) if is_large else []
        if parts:
            return [self._write_whole(half, content) for half, content in parts]
        is_grown = len(after.columns.host) > len(before.columns.host)
        unchanged = len(after.runs) - 1 if is_grown else len(after.runs)
        new_runs = [self._files.write_run(block, self._cycle, run) for run in after.runs[unchanged:]]
        block.runs = [*block.runs[:unchanged], *new_runs]
        self._write_columns(block, after.columns)
        if after.histories is not before.histories:
            self._write_histories(block, after.histories)
        self._write_hosts(block, len(before.hosts.names), after.hosts)
        return [block]

    def _write_columns(self, block: Block, columns: RowColumns) -> None:
        block.scheduled, block.collected = np.bincount(columns.state, minlength=COLLECTED + 1)[SCHEDULED:].tolist()
        if len(block.row_index) >= PARTS_MAX:
            block.row_index = []
        written = sum(stored.rows for stored in block.row_index)
        if len(columns.host) > written:
            block.row_index = [*block.row_index, self._files.write_row_index(block, self._cycle, columns, written)]
        block.row_state = [self._files.write_row_state(block, self._cycle, columns)]
        self._write_weight(block, columns)
        block.rows = len(columns.host)

    def _write_histories(self, block: Block, histories: Histories) -> None:
        block.phases, is_any = phase_counts(histories), len(histories.row) > 0
        block.histories = [self._files.write_histories(block, self._cycle, histories)] if is_any else []

    def _write_weight(self, block: Block, columns: RowColumns) -> None:
        is_weighed = columns.weight.any()
        block.row_weight = [self._files.write_row_weight(block, self._cycle, columns)] if is_weighed else []

    def _write_hosts(self, block: Block, known: int, hosts: BlockHosts) -> None:
        block.hosts_count = len(hosts.names)
        if len(block.hosts) >= PARTS_MAX:
            known, block.hosts = 0, []
        if len(hosts.names) > known:
            new = BlockHosts(hosts.hashes[known:], hosts.names[known:])
            block.hosts = [*block.hosts, self._files.write_hosts(block, self._cycle, new)]

    def _write_whole(self, block: Block, content: BlockContent) -> Block:
        block.runs = [self._files.write_run(block, self._cycle, run) for run in content.runs]
        self._write_columns(block, content.columns)
        block.rate_sum = rate_sum(content.histories, self._mean_rate)
        self._write_histories(block, content.histories)
        self._write_hosts(block, 0, content.hosts)
        return block


def _judged(
    content: BlockContent, waiting: WaitingUrls
) -> tuple[WaitingUrls, Judgement, Admitted, list[HostCollision]]:
    """Classify the URLs, except for those of hosts whose hash is that of another host."""
    judgement = judge(content, waiting)
    fresh = _admitted(waiting, judgement)
    strange = _strange_urls(content.hosts, fresh)
    if not len(strange):
        return waiting, judgement, fresh, []
    collisions = _collisions(content.hosts, fresh, strange)
    is_strange = np.isin(waiting.fingerprints, fresh.rows.fingerprints[strange])
    waiting = waiting.take(np.flatnonzero(~is_strange))
    if not len(waiting):
        judgement = Judgement(*(column[:0] for column in judgement))  # type: ignore[arg-type]
        return waiting, judgement, _admitted(waiting, judgement), collisions
    judgement = judge(content, waiting)
    return waiting, judgement, _admitted(waiting, judgement), collisions


def _owners(hosts: BlockHosts, fresh: Admitted) -> list[str]:
    """Return, for each hash of a host among these URLs, the host that has it."""
    positions = hosts.positions(fresh.rows.hosts[fresh.edges[:-1]]).tolist()
    return [hosts.names[at] if at >= 0 else name for at, name in zip(positions, fresh.names, strict=True)]


def _strange_urls(hosts: BlockHosts, fresh: Admitted) -> NDArray[np.intp]:
    """Return which of these URLs are of another host than the one that has their host's hash."""
    if not len(fresh.urls):
        return np.empty(0, np.intp)
    owners, edges = _owners(hosts, fresh), edges_of(fresh.urls)
    groups = np.repeat(np.arange(len(owners)), np.diff(fresh.edges))
    # The path of a URL begins with a slash, where the name of its host ends.
    ends = np.minimum(edges[:-1] + np.array([len(name) for name in owners])[groups], edges[1:] - 1)
    is_own = bytes_of(fresh.urls)[ends] == ord("/")
    heads, names = heads_of(fresh.urls, ends - edges[:-1]), pa.array(owners, pa.large_string())
    is_own &= pc.equal(heads, names.take(pa.array(groups))).to_numpy(zero_copy_only=False)
    return np.flatnonzero(~is_own)


def _collisions(hosts: BlockHosts, fresh: Admitted, strange: NDArray[np.intp]) -> list[HostCollision]:
    groups = np.searchsorted(fresh.edges, strange, side="right") - 1
    owners, names = _owners(hosts, fresh), _host_names(fresh.urls, strange)
    counts = Counter(zip(names, [owners[group] for group in groups.tolist()], strict=True))
    return [HostCollision(host, other, count) for (host, other), count in counts.items()]


def _admitted(waiting: WaitingUrls, judgement: Judgement) -> Admitted:
    order = np.flatnonzero(judgement.rows < 0)
    order = order[np.argsort(waiting.hosts[judgement.waiting_rows[order]], kind="stable")]
    rows = waiting.take(judgement.waiting_rows[order])
    urls, hosts = rows.texts(), rows.hosts
    edges = np.flatnonzero(np.concatenate(([len(hosts) > 0], hosts[1:] != hosts[:-1], [True])))
    return Admitted(order, rows, urls, edges, _host_names(urls, edges[:-1]))


def _rows_of(judgement: Judgement, fresh: Admitted, known: int) -> Rows:
    """Return the row of each URL of the judgement, in a block that had so many rows."""
    rows = judgement.rows.copy()
    rows[fresh.order] = known + np.arange(len(fresh.order))
    return rows


def _host_names(urls: pa.LargeStringArray, rows: NDArray[np.intp]) -> list[str]:
    """Return everything before the path of these URLs, credentials included: the text that the host's hash is of."""
    text, starts = bytes_of(urls).tobytes(), edges_of(urls)[rows].tolist()
    return [text[start : text.index(b"/", start + len("http://x"))].decode("ascii") for start in starts]


def _renumbered(visits: NDArray[np.void], before: NDArray[np.uint32], after: NDArray[np.uint32]) -> NDArray[np.void]:
    """Return the visits of a block's rows with their new origins; the others belong to another half."""
    order = np.argsort(before)
    rows = order[np.minimum(np.searchsorted(before, visits["origin"], sorter=order), len(order) - 1)]
    own = before[rows] == visits["origin"]
    kept: NDArray[np.void] = visits[own]
    kept["origin"] = after[rows[own]]
    return kept


def _with_hosts(hosts: BlockHosts, fresh: Admitted) -> BlockHosts:
    """Return the hosts with the new ones added."""
    hashes = fresh.rows.hosts[fresh.edges[:-1]]
    is_new = hosts.positions(hashes) < 0
    return BlockHosts(
        np.concatenate((hosts.hashes, hashes[is_new])), [*hosts.names, *compress(fresh.names, is_new.tolist())]
    )


def _with_run(runs: list[FingerprintRun], fresh: Admitted, known: int) -> list[FingerprintRun]:
    if not len(fresh.order):
        return runs
    order = np.argsort(fresh.rows.fingerprints)
    return [*runs, FingerprintRun(fresh.rows.fingerprints[order], (known + order).astype(np.uint32))]


def _found(block: Block, judgement: Judgement, fresh: Admitted) -> Cycle:
    now, before = judgement.collected_now, judgement.collected_before
    return Cycle(
        block=block.number,
        collected_before=int((before & ~now).sum()),
        known=int(((judgement.rows >= 0) & ~before & ~now).sum()),
        collected_now=int(now.sum()),
        fresh=list(compress(fresh.urls.to_pylist(), (~now[fresh.order]).tolist())),
    )
