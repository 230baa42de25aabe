"""What can be asked of the repository. Nothing is changed here."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tarrafa.verify.contract import Known, Scheduled
from tarrafa.verify.keys import keys_of
from tarrafa.verify.veuniq.block import COLLECTED, SCHEDULED, Block, Columns, find
from tarrafa.verify.veuniq.scheduling import edges_of_hosts, ordered
from tarrafa.verify.veuniq.shelf import Shelf
from tarrafa.verify.veuniq.spill import VISIT
from tarrafa.verify.veuniq.tables import KEPT_VISIT

SLASHES = 3  # of any canonical URL: what has fewer is none, and not known


class Reader:
    """Reads blocks as they were at one commit."""

    def __init__(self, shelf: Shelf, blocks: list[Block], seed: int) -> None:
        self._shelf = shelf
        self._blocks = blocks
        self._seed = seed

    def lookup(self, url: str) -> Known | None:
        """What is known of a URL; its text is compared, so that a collision of fingerprints would not pass for it."""
        if not url.isascii() or url.count("/") < SLASHES:
            return None
        keys = keys_of([url], self._seed)
        block = self._block_of(int(keys.hosts[0]))
        content = self._shelf.load(block)
        row = find(content.runs, keys.fingerprints)
        if row[0] < 0:
            return None
        known = next(self._known(block, content.columns, row))
        return known if known.url == url else None

    def urls_of(self, host: str) -> Iterator[Known]:
        keys = keys_of([host + "/"], self._seed)
        block = self._block_of(int(keys.hosts[0]))
        content = self._shelf.load(block)
        position = content.hosts.positions(keys.hosts)[0]
        if position >= 0:
            yield from self._known(block, content.columns, np.flatnonzero(content.columns.host == position))

    def _block_of(self, host: int) -> Block:
        return next(block for block in self._blocks if block.first <= host < block.end)

    def _known(self, block: Block, columns: Columns, rows: NDArray[np.int64]) -> Iterator[Known]:
        chosen = Columns(*(column[rows] for column in columns))  # type: ignore[arg-type]
        urls = self._shelf.urls(block, chosen.origin)
        collected = chosen.state == COLLECTED
        visits = self._shelf.visits(block) if collected.any() else np.empty(0, KEPT_VISIT)
        places = np.searchsorted(visits["origin"], chosen.origin).tolist()
        for number, url in enumerate(urls):
            hints = int(chosen.priority[number]), int(chosen.links[number]), int(chosen.outside[number])
            if not collected[number]:
                yield Known(url, False, *hints)
                continue
            visit = visits[places[number]]
            at_seconds, offset, file, status = (visit[name].item() for name in VISIT.names or ())
            yield Known(url, True, *hints, at_seconds, status, file, offset)

    def urls(self) -> Iterator[Known]:
        for block in self._blocks:
            if block.rows:
                yield from self._known(block, self._shelf.load(block).columns, np.arange(block.rows))

    def scheduled(self, block: Block, per_host: int) -> Iterator[Scheduled]:
        """For each host of the block its scheduled URLs in the order of the policy, up to `per_host`."""
        content = self._shelf.load(block)
        columns = content.columns
        rows = np.flatnonzero(columns.state == SCHEDULED)
        rows = ordered(columns, rows, columns.priority[rows], per_host)
        urls = self._shelf.urls(block, columns.origin[rows])
        left = np.bincount(columns.host[columns.state != COLLECTED])
        for first, end in pairwise(edges_of_hosts(columns, rows).tolist()):
            hints, host = columns.priority[rows[first:end]].tolist(), int(columns.host[rows[first]])
            yield Scheduled(content.hosts.names[host], urls[first:end], hints, int(left[host]))
