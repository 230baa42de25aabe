"""The repository as blocks, one of which a cycle verifies against all URLs that wait for it.

The steps of a cycle. Until the manifest is replaced nothing has happened, and after it everything has:

1. compute the keys of the batch's URLs, and choose the block with most URLs waiting;
2. write the URLs of other blocks to the spill of this cycle, with what waits in older spills that are mostly obsolete;
3. load the block, and the URLs that earlier spills hold for it;
4. find the fresh URLs, and write texts, run, rows, hosts and visits;
5. replace the manifest, and remove the files that it no longer names.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tarrafa.disk import FolderLock, make_folder, map_disk_errors, remove_unfinished, sync_folder
from tarrafa.errors import DamagedError
from tarrafa.verify.contract import (
    HASHES,
    Batch,
    BlockHistories,
    Cycle,
    Division,
    Expansion,
    Known,
    KnownPage,
    RepositoryCounts,
    Scheduled,
    UrlOrder,
    Weigh,
    by_priority,
)
from tarrafa.verify.veuniq.block import Block
from tarrafa.verify.veuniq.block_files import BlockFiles, block_folder
from tarrafa.verify.veuniq.cycle_writer import DEFAULT_BOUNDS, CycleWriter, RepositoryBounds
from tarrafa.verify.veuniq.reader import RepositoryReader, problems
from tarrafa.verify.veuniq.repository_state import RepositoryState, read_state
from tarrafa.verify.veuniq.spills import (
    Spill,
    SpillPart,
    joined,
    offered,
    pack,
    read_spill,
    read_waiting,
    sort_spills,
    write_spill,
)
from tarrafa.verify.veuniq.stored_files import MANIFEST, Step, write_manifest


def _drawn_seed() -> int:
    """Return 63 bits that cannot be guessed."""
    return int.from_bytes(os.urandom(8)) >> 1


def _ignore(_name: str) -> None:
    """Do nothing: only tests watch the steps."""


class Veuniq:
    """Fulfils `Repository`. See the room for how."""

    def __init__(
        self,
        folder: Path,
        *,
        bounds: RepositoryBounds = DEFAULT_BOUNDS,
        order: UrlOrder = by_priority,
        division: Division | None = None,
        seed: int | None = None,
        step: Step = _ignore,
    ) -> None:
        self._folder = folder
        self._bounds = bounds
        self._order = order
        self._division = division or Expansion(order)
        self._step = step
        with map_disk_errors(folder):
            make_folder(folder)
            self._lock = FolderLock(folder)
            try:
                self._files = BlockFiles(folder)
                self.state = self._open(seed)  # as of the last commit; each cycle replaces it whole
                self._sweep()
            except BaseException:
                self._lock.release()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self, seed: int | None) -> RepositoryState:
        """Return what the manifest says. Recovery after a kill is the normal start."""
        found = read_state(self._folder)
        if found is None:
            if any(self._paths()):
                # Starting over would remove everything that is known.
                raise DamagedError(f"{self._folder / MANIFEST} is missing, its files are there; restore it from a copy")
            found = RepositoryState(_drawn_seed() if seed is None else seed, 0, -1, 1, [Block(0, 0, HASHES)], [])
            self._commit(found)
        return found

    def _commit(self, state: RepositoryState) -> None:
        for folder in ("blocks", "spill"):
            (self._folder / folder).mkdir(exist_ok=True)
            sync_folder(self._folder / folder)
        for block in state.blocks:
            if block.since == state.cycle and block.rows:
                sync_folder(self._folder / block_folder(block))
        self._step("folders synced")
        write_manifest(self._folder, state.manifest(), self._step)
        self.state = state

    def _sweep(self) -> None:
        """Remove files that the manifest does not name: left by a kill, or obsolete."""
        named = self.state.file_names()
        for path in self._paths():
            if str(path.relative_to(self._folder)) not in named:
                path.unlink()
        remove_unfinished(self._folder)

    def _paths(self) -> list[Path]:
        """Return every file of blocks and spills, also those that do not count."""
        return [path for pattern in ("blocks/*/*", "spill/*") for path in self._folder.glob(pattern)]

    def cycle(self, batch: Batch) -> Cycle:
        if batch.number <= self.state.batch:
            return Cycle(block=-1)
        with map_disk_errors(self._folder):
            return self._cycle(batch)

    def _cycle(self, batch: Batch) -> Cycle:
        state, number = self.state, self.state.cycle + 1
        given = offered(batch, state.seed)
        blocks = np.searchsorted(state.firsts(), given.hosts, side="right") - 1
        waiting = np.bincount(blocks, minlength=len(state.blocks)) + [block.waiting for block in state.blocks]
        chosen = int(np.argmax(waiting))
        block = state.blocks[chosen]
        others = np.flatnonzero(blocks != chosen)
        packed = pack(given.take(others), blocks[others], state.firsts())
        spills = self._spilled(number, packed, block)
        parts = [part for spill in state.spills for part in read_spill(self._folder, spill, block.first, block.since)]
        mine = given.take(np.flatnonzero(blocks == chosen)) if len(others) else given
        writer = CycleWriter(self._files, state, self._bounds, self._division)
        verified, cycle = writer.verified(block, joined([mine, *parts]))
        self._step("files written")
        left = [replace(each, waiting=int(waiting[position])) for position, each in enumerate(state.blocks)]
        left[chosen : chosen + 1] = verified
        next_block = max(state.next_block, *(each.number + 1 for each in verified))
        self._commit(RepositoryState(state.seed, number, batch.number, next_block, left, spills))
        kept = {spill.cycle for spill in spills}
        self._remove(block, verified, [spill for spill in state.spills if spill.cycle not in kept])
        return cycle._replace(block=block.number, set_aside=len(others))

    def _spilled(self, number: int, packed: list[SpillPart], chosen: Block) -> list[Spill]:
        """Write the spill of this cycle; return all spills that hold URLs which wait after it."""
        since = {block.first: number if block is chosen else block.since for block in self.state.blocks}
        kept, moved = sort_spills(self.state.spills, since)
        parts = [*packed, *(part for spill in moved for part in read_waiting(self._folder, spill, since))]
        if parts:
            kept.append(write_spill(self._folder, number, parts))
            self._step("spill written")
        return kept

    def _remove(self, before: Block, after: list[Block], spills: list[Spill]) -> None:
        """Remove the files that the cycle made obsolete. Texts and visits may still belong to another block."""
        old = {stored.name for stored in before.files()} - {stored.name for block in after for stored in block.files()}
        if any(not name.startswith(f"{block_folder(before)}/") or "parquet" in name for name in old):
            old -= {stored.name for block in self.state.blocks for stored in block.files()}
        gone = [name for spill in spills for name in (spill.stored.name, spill.stored_index.name)]
        for name in [*old, *gone]:
            (self._folder / name).unlink(missing_ok=True)
        self._step("old files removed")

    def lookup(self, url: str) -> Known | None:
        return self._reader().lookup(url)

    def urls_of(self, host: str) -> Iterator[Known]:
        return self._reader().urls_of(host)

    def scheduled(self, block: int, per_host: int | None = None) -> Iterator[Scheduled]:
        found = self._block(block)
        return self._reader().scheduled(found, found.rows if per_host is None else per_host)

    def histories(self, block: int) -> BlockHistories:
        return self._reader().histories(self._block(block))

    def rows_of(self, block: int, urls: Sequence[str]) -> NDArray[np.int64]:
        return self._reader().rows_of(self._block(block), urls)

    def known_pages(self, block: int, rows: NDArray[np.uint32]) -> list[KnownPage]:
        return self._reader().known_pages(self._block(block), rows)

    def mean_rate(self) -> float:
        return self.state.mean_rate()

    def weigh(self, block: int, weigh: Weigh) -> None:
        self._change(block, lambda writer, before: writer.weighed(before, weigh))

    def rate(self, block: int, weigh: Weigh) -> None:
        self._change(block, lambda writer, before: writer.rated(before, weigh))

    def _block(self, number: int) -> Block:
        return next(each for each in self.state.blocks if each.number == number)

    def _change(self, block: int, change: Callable[[CycleWriter, Block], Block]) -> None:
        """Commit a change of one block outside of a cycle of URLs."""
        place = next(place for place, each in enumerate(self.state.blocks) if each.number == block)
        before, state, number = self.state.blocks[place], self.state, self.state.cycle + 1
        if not before.rows:
            return
        with map_disk_errors(self._folder):
            after = change(CycleWriter(self._files, state, self._bounds, self._division), before)
            sync_folder(self._folder / block_folder(before))
            self._step("weights written")
            # Files are named by the cycle, so this one has a number of its own.
            self._commit(
                state._replace(cycle=number, blocks=[*state.blocks[:place], after, *state.blocks[place + 1 :]])
            )
            self._remove(before, [after], [])

    def blocks(self) -> list[int]:
        return [block.number for block in self.state.blocks]

    def blocks_verified(self) -> list[int]:
        return [block.number for block in self.state.blocks if block.since == self.state.cycle]

    def urls(self) -> Iterator[Known]:
        """Yield everything that is known, block by block."""
        return self._reader().urls(self.state.blocks)

    def problems(self) -> Iterator[str]:
        """Check every invariant on disk, and yield one line for each problem."""
        return problems(self._files, self.state.blocks, self.state.spills, self.state.seed)

    @property
    def last_batch(self) -> int:
        return self.state.batch

    def _reader(self) -> RepositoryReader:
        return RepositoryReader(self._files, self.state, self._order)

    def counts(self) -> RepositoryCounts:
        return self.state.counts()

    def close(self) -> None:
        self._lock.release()
