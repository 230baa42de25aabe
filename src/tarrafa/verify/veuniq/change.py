"""A block and what waits for it, verified: the block as it is after the cycle, its files written.

What is written here counts only when the engine has named it in the manifest.
"""

from dataclasses import replace
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from tarrafa.errors import WorkError
from tarrafa.verify.contract import Cycle
from tarrafa.verify.veuniq.block import Block, Content, Hosts, Judgement, Run, judge, merged, updated
from tarrafa.verify.veuniq.shelf import Shelf
from tarrafa.verify.veuniq.spill import VISIT, Waiting
from tarrafa.verify.veuniq.split import halves
from tarrafa.verify.veuniq.tables import KEPT_VISIT

TEXTS_MAX = 32  # files of texts in a block before they are joined
PARTS_MAX = 12  # files of visits, or of hosts, in a block before they are joined


class Change:
    """One cycle's change of one block; `generation` is the cycle's number and names the files."""

    def __init__(self, shelf: Shelf, generation: int, block_rows: int, next_block: int) -> None:
        self._shelf = shelf
        self._generation = generation
        self._block_rows = block_rows
        self._next_block = next_block

    def verified(self, block: Block, waiting: Waiting) -> tuple[list[Block], Cycle]:
        """The block after the cycle, or its halves, with their files written; and what the cycle found."""
        if not len(waiting):
            return [replace(block, since=self._generation, waiting=0)], Cycle(block.number)
        content = self._shelf.load(block)
        if len(block.texts) >= TEXTS_MAX:
            block, content = self._texts_joined(block, content)
        judgement = judge(content, waiting)
        admitted = np.flatnonzero(judgement.rows < 0)
        admitted = admitted[np.argsort(waiting.hosts[judgement.places[admitted]], kind="stable")]
        fresh = waiting.take(judgement.places[admitted])
        urls = fresh.texts()
        after = replace(block, since=self._generation, waiting=0)
        hosts = _admitted_hosts(content.hosts, fresh, urls)
        columns = updated(content.columns, judgement, admitted, hosts.positions(fresh.hosts), block.origins)
        runs = content.runs
        if urls:
            self._write_texts(after, fresh, urls)
            order = np.argsort(fresh.fingerprints)
            runs = merged([*runs, Run(fresh.fingerprints[order], (block.rows + order).astype(np.uint32))])
        rows = judgement.rows.copy()
        rows[admitted] = block.rows + np.arange(len(admitted))
        self._write_visits(after, columns.origin[rows[judgement.collected_now]], waiting, judgement)
        blocks = self._written(after, content, Content(runs, columns, hosts))
        return blocks, _found(block, judgement, admitted, urls)

    def _texts_joined(self, block: Block, content: Content) -> tuple[Block, Content]:
        """The block with its texts in one file and its visits in another; the origin of a row is then its number."""
        columns, names, after = content.columns, content.hosts.names, replace(block, since=self._generation, origins=0)
        lengths = np.array([len(name) for name in names])[columns.host].tolist()
        urls = self._shelf.texts(block, columns.origin)
        paths = [url[length:] for url, length in zip(urls, lengths, strict=True)]
        after.texts = [self._shelf.write_texts(after, f"{self._generation}joined", names, columns.host, paths)]
        after.origins = len(paths)
        visits = self._shelf.visits(block)
        order = np.argsort(columns.origin)
        # A visit may be of a URL that went to the other half of a block.
        places = np.minimum(np.searchsorted(columns.origin, visits["origin"], sorter=order), len(order) - 1)
        rows = order[places]
        own = columns.origin[rows] == visits["origin"]
        visits = visits[own]
        visits["origin"] = rows[own]
        after.visits = [self._shelf.write_visits(after, f"{self._generation}joined", visits)] if len(visits) else []
        return after, content._replace(columns=columns._replace(origin=np.arange(len(paths), dtype=np.uint32)))

    def _write_texts(self, block: Block, fresh: Waiting, urls: list[str]) -> None:
        edges = np.flatnonzero(np.concatenate(([True], fresh.hosts[1:] != fresh.hosts[:-1], [True])))
        names, counts = [_host_text(urls[first]) for first in edges[:-1].tolist()], np.diff(edges)
        lengths = np.repeat([len(name) for name in names], counts).tolist()
        paths = [url[length:] for url, length in zip(urls, lengths, strict=True)]
        which = np.repeat(np.arange(len(names)), counts)
        block.texts = [*block.texts, self._shelf.write_texts(block, str(self._generation), names, which, paths)]
        block.origins += len(paths)

    def _write_visits(self, block: Block, origins: NDArray[np.uint32], waiting: Waiting, judgement: Judgement) -> None:
        if not len(origins):
            return
        visits = np.empty(len(origins), KEPT_VISIT)
        visits["origin"] = origins
        for name in VISIT.names or ():
            visits[name] = waiting.visits[name][judgement.last_visits]
        if len(block.visits) >= PARTS_MAX:
            visits, block.visits = np.concatenate((self._shelf.visits(block), visits)), []
        block.visits = [*block.visits, self._shelf.write_visits(block, str(self._generation), visits)]

    def _written(self, block: Block, before: Content, after: Content) -> list[Block]:
        """The changed files of a block, or all files of its halves."""
        block.rows, block.collected = len(after.columns.host), int(after.columns.collected.sum())
        parts = halves(block, after, self._next_block) if block.rows > self._block_rows else []
        if parts:
            return [self._write_whole(half, content) for half, content in parts]
        unchanged = len(after.runs) - 1 if block.rows > len(before.columns.host) else len(after.runs)
        new_runs = [self._shelf.write_run(block, self._generation, run) for run in after.runs[unchanged:]]
        block.runs = [*block.runs[:unchanged], *new_runs]
        block.columns = [self._shelf.write_columns(block, self._generation, after.columns)]
        self._write_hosts(block, len(before.hosts.names), after.hosts)
        return [block]

    def _write_hosts(self, block: Block, known: int, hosts: Hosts) -> None:
        block.hosts_count = len(hosts.names)
        if len(block.hosts) >= PARTS_MAX:
            known, block.hosts = 0, []
        if len(hosts.names) > known:
            new = Hosts(hosts.hashes[known:], hosts.names[known:])
            block.hosts = [*block.hosts, self._shelf.write_hosts(block, self._generation, new)]

    def _write_whole(self, block: Block, content: Content) -> Block:
        block.rows, block.collected = len(content.columns.host), int(content.columns.collected.sum())
        block.runs = [self._shelf.write_run(block, self._generation, run) for run in content.runs]
        block.columns = [self._shelf.write_columns(block, self._generation, content.columns)]
        self._write_hosts(block, 0, content.hosts)
        return block


def _admitted_hosts(hosts: Hosts, fresh: Waiting, urls: list[str]) -> Hosts:
    """The hosts with those that are new; two hosts of one hash would be taken for one, and are refused."""
    hashes, firsts = np.unique(fresh.hosts, return_index=True)
    places = hosts.positions(hashes)
    names = [_host_text(urls[first]) for first in firsts.tolist()]
    for place, name in zip(places.tolist(), names, strict=True):
        if place >= 0 and hosts.names[place] != name:
            raise WorkError(f"{name} and {hosts.names[place]} have the same hash; leave one of them out of the scope")
    new = [name for place, name in zip(places.tolist(), names, strict=True) if place < 0]
    return Hosts(np.concatenate((hosts.hashes, hashes[places < 0])), [*hosts.names, *new])


def _host_text(url: str) -> str:
    """Everything before the path, credentials included: what the hash of the host is made of."""
    return url[: url.index("/", 8)]


def _found(block: Block, judgement: Judgement, admitted: NDArray[np.intp], urls: list[str]) -> Cycle:
    now, before = judgement.collected_now, judgement.collected_before
    only_extracted = ~now[admitted]
    return Cycle(
        block=block.number,
        collected_before=int((before & ~now).sum()),
        known=int(((judgement.rows >= 0) & ~before & ~now).sum()),
        collected_now=int(now.sum()),
        fresh=list(compress(urls, only_extracted.tolist())),
    )
