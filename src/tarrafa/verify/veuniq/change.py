"""A block and what waits for it, verified: the block as it is after the cycle, its files written.

What is written here counts only when the engine has named it in the manifest.
"""

from dataclasses import replace
from itertools import compress
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tarrafa.errors import WorkError
from tarrafa.hashes import edges_of
from tarrafa.verify.contract import Cycle, Quota
from tarrafa.verify.veuniq.block import (
    COLLECTED,
    SCHEDULED,
    Block,
    Columns,
    Content,
    Hosts,
    Judgement,
    Run,
    judge,
    merged,
    updated,
)
from tarrafa.verify.veuniq.scheduling import schedule
from tarrafa.verify.veuniq.shelf import Shelf
from tarrafa.verify.veuniq.spill import VISIT, Waiting
from tarrafa.verify.veuniq.split import halves, rows_limit
from tarrafa.verify.veuniq.tables import KEPT_VISIT
from tarrafa.verify.veuniq.texts import without_heads

# Files of texts in a block before they are joined; for some blocks fewer, or all would be joined at the same time.
TEXTS_MAX = 32
PARTS_MAX = 12  # files of visits, or of hosts, in a block before they are joined


class RepositoryBounds(NamedTuple):
    """When a block is split, when its runs are merged, and how much of it is scheduled."""

    rows: int = 2_000_000
    hosts: int = 100_000
    run_ratio: int = 4
    quota: Quota = Quota()


DEFAULT_BOUNDS = RepositoryBounds()


class Admitted(NamedTuple):
    """The URLs that become known, host by host."""

    order: NDArray[np.intp]  # their places in the judgement
    rows: Waiting
    urls: pa.LargeStringArray
    edges: NDArray[np.intp]  # where each host begins among them, and where the last ends
    names: list[str]  # of these hosts


class Change:
    """One cycle's change of one block; `generation` is the cycle's number and names the files."""

    def __init__(self, shelf: Shelf, generation: int, bounds: RepositoryBounds, next_block: int) -> None:
        self._shelf = shelf
        self._generation = generation
        self._bounds = bounds
        self._next_block = next_block

    def verified(self, block: Block, waiting: Waiting) -> tuple[list[Block], Cycle]:
        """The block after the cycle, or its halves, with their files written; and what the cycle found."""
        if not len(waiting):
            return [replace(block, since=self._generation, waiting=0)], Cycle(block.number)
        content = self._shelf.load(block)
        if len(block.texts) >= TEXTS_MAX - block.number % (TEXTS_MAX // 2):
            block, content = self._texts_joined(block, content)
        judgement = judge(content, waiting)
        fresh = _admitted(waiting, judgement)
        after = replace(block, since=self._generation, waiting=0)
        hosts = _with_hosts(content.hosts, fresh)
        columns = updated(content.columns, judgement, fresh.order, hosts.positions(fresh.rows.hosts), block.origins)
        schedule(columns, self._bounds.quota, len(content.hosts.names), np.diff(edges_of(fresh.urls)))
        self._write_texts(after, fresh)
        self._write_visits(after, columns, waiting, judgement, fresh.order)
        runs = merged(_with_run(content.runs, fresh, block.rows), self._bounds.run_ratio)
        blocks = self._written(after, content, Content(runs, columns, hosts))
        return blocks, _found(block, judgement, fresh)

    def _texts_joined(self, block: Block, content: Content) -> tuple[Block, Content]:
        """The block with its texts in one file and its visits in another, and its rows with new origins."""
        columns, names = content.columns, content.hosts.names
        after = replace(block, since=self._generation, origins=0, places=[])
        # By the hash of the host, as all texts are: when the block is split, each half has its own end of the file.
        order = np.argsort(content.hosts.hashes[columns.host], kind="stable")
        hosts = columns.host[order]
        lengths = np.array([len(name) for name in names])[hosts]
        paths = without_heads(self._shelf.texts(block, columns.origin[order]), lengths)
        after.texts = [self._shelf.write_texts(after, f"{self._generation}joined", names, hosts, paths)]
        after.origins = len(paths)
        origins = np.empty(len(order), np.uint32)
        origins[order] = np.arange(len(order), dtype=np.uint32)
        visits = _renumbered(self._shelf.visits(block), columns.origin, origins)
        after.visits = [self._shelf.write_visits(after, f"{self._generation}joined", visits)] if len(visits) else []
        return after, content._replace(columns=columns._replace(origin=origins))

    def _write_texts(self, block: Block, fresh: Admitted) -> None:
        if not len(fresh.urls):
            return
        counts = np.diff(fresh.edges)
        paths = without_heads(fresh.urls, np.repeat([len(name) for name in fresh.names], counts))
        which = np.repeat(np.arange(len(counts)), counts)
        block.texts = [*block.texts, self._shelf.write_texts(block, str(self._generation), fresh.names, which, paths)]
        block.origins += len(paths)

    def _write_visits(
        self, block: Block, columns: Columns, waiting: Waiting, judgement: Judgement, admitted: NDArray[np.intp]
    ) -> None:
        rows = judgement.rows.copy()
        rows[admitted] = block.rows + np.arange(len(admitted))
        origins = columns.origin[rows[judgement.collected_now]]
        if not len(origins):
            return
        visits = np.empty(len(origins), KEPT_VISIT)
        visits["origin"] = origins
        for name in VISIT.names or ():
            visits[name] = waiting.visits[name][judgement.last_visits]
        if len(block.visits) >= PARTS_MAX:
            visits, block.visits = np.concatenate((self._own_visits(block, columns), visits)), []
        block.visits = [*block.visits, self._shelf.write_visits(block, str(self._generation), visits)]

    def _own_visits(self, block: Block, columns: Columns) -> NDArray[np.void]:
        """Those of its rows; what its files tell of other halves of a block stays with these."""
        visits = self._shelf.visits(block)
        is_own = np.zeros(block.origins, np.bool_)
        is_own[columns.origin] = True
        own: NDArray[np.void] = visits[is_own[visits["origin"]]]
        return own

    def _written(self, block: Block, before: Content, after: Content) -> list[Block]:
        """The changed files of a block, or all files of its halves."""
        limit = rows_limit(block.first, self._bounds.rows)
        is_large = len(after.columns.host) > limit or len(after.hosts.names) > self._bounds.hosts
        parts = halves(block, after, self._next_block) if is_large else []
        if parts:
            return [self._write_whole(half, content) for half, content in parts]
        is_grown = len(after.columns.host) > len(before.columns.host)
        unchanged = len(after.runs) - 1 if is_grown else len(after.runs)
        new_runs = [self._shelf.write_run(block, self._generation, run) for run in after.runs[unchanged:]]
        block.runs = [*block.runs[:unchanged], *new_runs]
        self._write_columns(block, after.columns)
        self._write_hosts(block, len(before.hosts.names), after.hosts)
        return [block]

    def _write_columns(self, block: Block, columns: Columns) -> None:
        block.scheduled, block.collected = np.bincount(columns.state, minlength=COLLECTED + 1)[SCHEDULED:].tolist()
        if len(block.places) >= PARTS_MAX:
            block.places = []
        written = sum(stored.rows for stored in block.places)
        if len(columns.host) > written:
            block.places = [*block.places, self._shelf.write_places(block, self._generation, columns, written)]
        block.marks = [self._shelf.write_marks(block, self._generation, columns)]
        block.rows = len(columns.host)

    def _write_hosts(self, block: Block, known: int, hosts: Hosts) -> None:
        block.hosts_count = len(hosts.names)
        if len(block.hosts) >= PARTS_MAX:
            known, block.hosts = 0, []
        if len(hosts.names) > known:
            new = Hosts(hosts.hashes[known:], hosts.names[known:])
            block.hosts = [*block.hosts, self._shelf.write_hosts(block, self._generation, new)]

    def _write_whole(self, block: Block, content: Content) -> Block:
        block.runs = [self._shelf.write_run(block, self._generation, run) for run in content.runs]
        self._write_columns(block, content.columns)
        self._write_hosts(block, 0, content.hosts)
        return block


def _admitted(waiting: Waiting, judgement: Judgement) -> Admitted:
    order = np.flatnonzero(judgement.rows < 0)
    order = order[np.argsort(waiting.hosts[judgement.places[order]], kind="stable")]
    rows = waiting.take(judgement.places[order])
    urls, hosts = rows.texts(), rows.hosts
    edges = np.flatnonzero(np.concatenate(([len(hosts) > 0], hosts[1:] != hosts[:-1], [True])))
    return Admitted(order, rows, urls, edges, _host_names(urls, edges[:-1]))


def _host_names(urls: pa.LargeStringArray, places: NDArray[np.intp]) -> list[str]:
    """Of these URLs everything before the path, credentials included: what the hash of the host is made of."""
    if not len(places):
        return []
    text, starts = urls.buffers()[2].to_pybytes(), edges_of(urls)[places].tolist()
    return [text[start : text.index(b"/", start + len("http://x"))].decode("ascii") for start in starts]


def _renumbered(visits: NDArray[np.void], before: NDArray[np.uint32], after: NDArray[np.uint32]) -> NDArray[np.void]:
    """The visits of a block's rows, with new origins; the others are of URLs that went to another half of a block."""
    order = np.argsort(before)
    places = np.minimum(np.searchsorted(before, visits["origin"], sorter=order), len(order) - 1)
    rows = order[places]
    own = before[rows] == visits["origin"]
    kept: NDArray[np.void] = visits[own]
    kept["origin"] = after[rows[own]]
    return kept


def _with_hosts(hosts: Hosts, fresh: Admitted) -> Hosts:
    """The hosts with those that are new; two hosts of one hash would be taken for one, and are refused."""
    hashes = fresh.rows.hosts[fresh.edges[:-1]]
    places = hosts.positions(hashes)
    for place, name in zip(places.tolist(), fresh.names, strict=True):
        if place >= 0 and hosts.names[place] != name:
            raise WorkError(f"{name} and {hosts.names[place]} have the same hash; leave one of them out of the scope")
    new = [name for place, name in zip(places.tolist(), fresh.names, strict=True) if place < 0]
    return Hosts(np.concatenate((hosts.hashes, hashes[places < 0])), [*hosts.names, *new])


def _with_run(runs: list[Run], fresh: Admitted, known: int) -> list[Run]:
    if not len(fresh.order):
        return runs
    order = np.argsort(fresh.rows.fingerprints)
    return [*runs, Run(fresh.rows.fingerprints[order], (known + order).astype(np.uint32))]


def _found(block: Block, judgement: Judgement, fresh: Admitted) -> Cycle:
    now, before = judgement.collected_now, judgement.collected_before
    return Cycle(
        block=block.number,
        collected_before=int((before & ~now).sum()),
        known=int(((judgement.rows >= 0) & ~before & ~now).sum()),
        collected_now=int(now.sum()),
        fresh=list(compress(fresh.urls.to_pylist(), (~now[fresh.order]).tolist())),
    )
