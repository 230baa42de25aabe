"""VEUNIQ as printed (Algorithm 1): N blocks of sorted text by the hash of the host, verified in turn.

A cycle appends the URLs of other blocks to their waiting files (TMP), reads the waiting file of its own block, sorts,
merges with the block and rewrites it. Only the bytes of a waiting file that the manifest counts are valid.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarrafa.lab.engines.engine_folder import EngineFolder, EngineState, append_to, pack_rows, read_records, unpack_rows
from tarrafa.lab.engines.offers import FOUND, FOUND_NAMES, VISIT, Offer, Rows, distinct, is_url, offer_of
from tarrafa.lab.engines.sorted_text import Subgroup, SubgroupFile, with_counts
from tarrafa.verify.contract import Batch, Cycle, Known, RepositoryCounts
from tarrafa.verify.keys import keys_of

BLOCKS = 10
# A waiting URL, and its visit if it was collected.
_WAITING = np.dtype(
    [
        *(("host", "<u8"), ("fingerprint", "<u8")),
        *(*FOUND, ("collected", "u1")),
        *VISIT.descr,
    ]
)


class _TextBlock(NamedTuple):
    """A block in the manifest."""

    since: int = 0  # the last cycle that verified the block; part of the names of its files
    waiting: int = 0
    waiting_bytes: int = 0
    subgroups: list[Subgroup] = []  # noqa: RUF012


class VeuniqText:
    def __init__(self, folder: Path, *, blocks: int = BLOCKS, seed: int | None = None) -> None:
        """Open the repository; the number of blocks and the seed are those of the first opening."""
        self._folder = EngineFolder(folder, seed)
        stored = self._folder.rest.get("blocks", [_TextBlock()] * blocks)
        self._blocks = [_block_from(*each) for each in stored]
        with self._folder.unlock_on_failure():
            self._sweep()

    def _sweep(self) -> None:
        for kind in ("block", "tmp"):
            named = [self._path(kind, place).name for place in range(len(self._blocks))]
            self._folder.sweep(named, f"{kind}*")

    def _path(self, kind: str, place: int) -> Path:
        return self._folder.path / f"{kind}{place}-{self._blocks[place].since}"

    def _file(self, place: int) -> SubgroupFile:
        return SubgroupFile(self._path("block", place), self._blocks[place].subgroups)

    def cycle(self, batch: Batch) -> Cycle:
        return self._folder.cycle(batch, self._cycle)

    def _cycle(self, batch: Batch, state: EngineState) -> Cycle:
        number, chosen = state.cycle, state.cycle % len(self._blocks)
        offer = offer_of(batch, state.seed, number)
        places = _places(offer.hosts, len(self._blocks))
        after = [self._append_waiting(place, offer, places) for place in range(len(self._blocks))]
        mine = distinct(self._read_waiting(chosen, offer.take(np.flatnonzero(places == chosen)))).by_url()
        file, cycle = self._file(chosen).rewrite(self._folder.path / f"block{chosen}-{number}", mine, number)
        after[chosen] = _TextBlock(number, 0, 0, file.subgroups)
        self._commit(with_counts(state, [subgroup for block in after for subgroup in block.subgroups]), after)
        return cycle._replace(block=chosen, set_aside=int((places != chosen).sum()))

    def _commit(self, state: EngineState, blocks: list[_TextBlock]) -> None:
        self._folder.commit(state, blocks=blocks)
        self._blocks = blocks
        self._sweep()

    def _append_waiting(self, place: int, offer: Offer, places: NDArray[np.int64]) -> _TextBlock:
        """Append the block's URLs to its waiting file; return the block afterwards."""
        block, theirs = self._blocks[place], offer.take(np.flatnonzero(places == place))
        if not theirs.urls or place == (self._folder.state.cycle + 1) % len(self._blocks):
            return block
        size = append_to(self._path("tmp", place), block.waiting_bytes, pack_rows(_rows_of(theirs), theirs.urls))
        return block._replace(waiting=block.waiting + len(theirs.urls), waiting_bytes=size)

    def _read_waiting(self, place: int, offer: Offer) -> Offer:
        """Return the waiting URLs of the block, and those offered now."""
        bodies = read_records(self._path("tmp", place), self._blocks[place].waiting_bytes)
        parts = [unpack_rows(body, _WAITING) for body in bodies]
        rows = np.concatenate([*(part[0] for part in parts), _rows_of(offer)])
        return _offer_from(rows, [url for urls in (*(part[1] for part in parts), offer.urls) for url in urls])

    def _file_of(self, url: str) -> SubgroupFile | None:
        if not is_url(url):
            return None
        hosts = keys_of([url], self._folder.state.seed).hosts
        return self._file(int(_places(hosts, len(self._blocks))[0]))

    def lookup(self, url: str) -> Known | None:
        file = self._file_of(url)
        return file.lookup(url) if file else None

    def urls_of(self, host: str) -> Iterator[Known]:
        file = self._file_of(host + "/")
        return file.urls_of(host) if file else iter(())

    def counts(self) -> RepositoryCounts:
        waiting = sum(block.waiting for block in self._blocks)
        return self._folder.state.counts(self._folder.path, len(self._blocks), waiting)

    def close(self) -> None:
        self._folder.close()


def _places(hosts: NDArray[np.uint64], blocks: int) -> NDArray[np.int64]:
    """Return the block of each host, as `urls.block_of` does."""
    return (((hosts >> np.uint64(32)) * np.uint64(blocks)) >> np.uint64(32)).astype(np.int64)


def _block_from(since: int, waiting: int, waiting_bytes: int, subgroups: list[Any]) -> _TextBlock:
    return _TextBlock(since, waiting, waiting_bytes, [Subgroup(*each) for each in subgroups])


def _rows_of(offer: Offer) -> Rows:
    rows = np.zeros(len(offer.urls), _WAITING)
    rows["host"], rows["fingerprint"] = offer.hosts, offer.fingerprints
    for name in FOUND_NAMES:
        rows[name] = getattr(offer, name)
    rows["collected"] = offer.collected()
    now = np.flatnonzero(offer.collected())
    for name in VISIT.names or ():
        rows[name][now] = offer.visits[name][offer.visit[now]]
    return rows


def _offer_from(rows: Rows, urls: list[str]) -> Offer:
    visits = np.empty(len(rows), VISIT)
    for name in VISIT.names or ():
        visits[name] = rows[name]
    visit = np.where(rows["collected"] != 0, np.arange(len(rows)), -1)
    hosts, fingerprints = rows["host"].copy(), rows["fingerprint"].copy()
    found: dict[str, Any] = {name: rows[name] for name in FOUND_NAMES}
    return Offer(urls, hosts, fingerprints, **found, visit=visit, visits=visits)
