"""The repository as blocks, one of which a cycle verifies against all URLs that wait for it.

The steps of a cycle. Until the manifest is replaced nothing has happened, and after it everything has:

1. compute the keys of the batch's URLs, and choose the block with most URLs waiting;
2. write the URLs of other blocks to the spill of this cycle;
3. load the block, and the URLs that earlier spills hold for it;
4. find the fresh URLs, and write texts, run, rows, hosts and visits;
5. replace the manifest, and remove the files that it no longer names.
"""

import os
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tarrafa.disk import FolderLock, map_disk_errors, remove_unfinished, sync_folder
from tarrafa.errors import DamagedError, InputError, WorkError
from tarrafa.verify.contract import Batch, Cycle, Known, RepositoryCounts, Scheduled
from tarrafa.verify.veuniq.block import HASHES, Block, StoredTexts
from tarrafa.verify.veuniq.block_files import BlockFiles, block_folder
from tarrafa.verify.veuniq.cycle_writer import DEFAULT_BOUNDS, CycleWriter, RepositoryBounds
from tarrafa.verify.veuniq.reader import RepositoryReader, problems
from tarrafa.verify.veuniq.spills import Spill, joined, offered, open_spill, read_spill, write_spill
from tarrafa.verify.veuniq.stored_files import MANIFEST, Step, StoredFile, read_manifest, write_manifest

FORMAT = 4
_READ_TRIES = 5


class RepositoryState(NamedTuple):
    """What the manifest says."""

    seed: int
    cycle: int
    batch: int
    next_block: int
    blocks: list[Block]  # by range
    spills: list[Spill]

    def firsts(self) -> NDArray[np.uint64]:
        return np.array([block.first for block in self.blocks], np.uint64)


def _drawn_seed() -> int:
    """Return 63 bits that cannot be guessed."""
    return int.from_bytes(os.urandom(8)) >> 1


def _ignore(_name: str) -> None:
    """Do nothing: only tests watch the steps."""


class Veuniq:
    """Fulfils `Repository`. See the room for how."""

    def __init__(
        self, folder: Path, *, bounds: RepositoryBounds = DEFAULT_BOUNDS, seed: int | None = None, step: Step = _ignore
    ) -> None:
        self._folder = folder
        self._bounds = bounds
        self._step = step
        with map_disk_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
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
        found = _manifest(self._folder)
        if found is None:
            if any(self._paths()):
                # Starting over would remove everything that is known.
                raise DamagedError(f"{self._folder / MANIFEST} is missing, its files are there; restore it from a copy")
            first = RepositoryState(_drawn_seed() if seed is None else seed, 0, -1, 1, [Block(0, 0, HASHES)], [])
            self._commit(first)
            return first
        spills = [open_spill(self._folder, c, StoredFile(*s), StoredFile(*i)) for c, s, i in found["spills"]]
        blocks = [_block_from(each) for each in found["blocks"]]
        return RepositoryState(found["seed"], found["cycle"], found["batch"], found["next_block"], blocks, spills)

    def _commit(self, state: RepositoryState) -> None:
        manifest = {
            "format": FORMAT,
            "seed": state.seed,
            "cycle": state.cycle,
            "batch": state.batch,
            "next_block": state.next_block,
            "blocks": [[getattr(block, name) for name in _BLOCK_FIELDS] for block in state.blocks],
            "spills": [(spill.cycle, spill.stored, spill.stored_index) for spill in state.spills],
        }
        for folder in ("blocks", "spill"):
            (self._folder / folder).mkdir(exist_ok=True)
            sync_folder(self._folder / folder)
        for block in state.blocks:
            if block.since == state.cycle and block.rows:
                sync_folder(self._folder / block_folder(block))
        self._step("folders synced")
        write_manifest(self._folder, manifest, self._step)
        self.state = state

    def _sweep(self) -> None:
        """Remove files that the manifest does not name: left by a kill, or obsolete."""
        state = self.state
        named = {stored.name for block in state.blocks for stored in block.files()}
        named |= {name for spill in state.spills for name in (spill.stored.name, spill.stored_index.name)}
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
        others = np.flatnonzero(blocks != chosen)
        spills = list(state.spills)
        if len(others):
            spills.append(write_spill(self._folder, number, given.take(others), blocks[others], state.firsts()))
            self._step("spill written")
        block = state.blocks[chosen]
        new = [spill for spill in state.spills if spill.cycle > block.since]
        parts = [part for spill in new for part in read_spill(self._folder, spill, block.first, block.end)]
        mine = given.take(np.flatnonzero(blocks == chosen)) if len(others) else given
        writer = CycleWriter(self._files, number, self._bounds, state.next_block)
        verified, cycle = writer.verified(block, joined([mine, *parts]))
        self._step("files written")
        left = [replace(each, waiting=int(waiting[position])) for position, each in enumerate(state.blocks)]
        left[chosen : chosen + 1] = verified
        oldest = min(each.since for each in left)
        kept = [spill for spill in spills if spill.cycle > oldest]
        next_block = max(state.next_block, *(each.number + 1 for each in verified))
        self._commit(RepositoryState(state.seed, number, batch.number, next_block, left, kept))
        self._remove(block, verified, spills)
        return cycle._replace(block=block.number, set_aside=len(others))

    def _remove(self, before: Block, after: list[Block], spills: list[Spill]) -> None:
        """Remove the files that the cycle made obsolete. Texts and visits may still belong to another block."""
        old = {stored.name for stored in before.files()} - {stored.name for block in after for stored in block.files()}
        if any(not name.startswith(f"{block_folder(before)}/") or "parquet" in name for name in old):
            old -= {stored.name for block in self.state.blocks for stored in block.files()}
        kept = {spill.cycle for spill in self.state.spills}
        gone = [
            name for spill in spills if spill.cycle not in kept for name in (spill.stored.name, spill.stored_index.name)
        ]
        for name in [*old, *gone]:
            (self._folder / name).unlink(missing_ok=True)
        self._step("old files removed")

    def lookup(self, url: str) -> Known | None:
        return self._reader().lookup(url)

    def urls_of(self, host: str) -> Iterator[Known]:
        return self._reader().urls_of(host)

    def scheduled(self, block: int, per_host: int | None = None) -> Iterator[Scheduled]:
        found = next(each for each in self.state.blocks if each.number == block)
        return self._reader().scheduled(found, found.rows if per_host is None else per_host)

    def blocks(self) -> list[int]:
        return [block.number for block in self.state.blocks]

    def blocks_verified(self) -> list[int]:
        return [block.number for block in self.state.blocks if block.since == self.state.cycle]

    def urls(self) -> Iterator[Known]:
        """Yield everything that is known, block by block."""
        return self._reader().urls()

    def problems(self) -> Iterator[str]:
        """Check every invariant on disk, and yield one line for each problem."""
        return problems(self._files, self.state.blocks, self.state.spills, self.state.seed)

    @property
    def last_batch(self) -> int:
        return self.state.batch

    def _reader(self) -> RepositoryReader:
        return RepositoryReader(self._files, self.state.blocks, self.state.seed)

    def counts(self) -> RepositoryCounts:
        spills = [stored for spill in self.state.spills for stored in (spill.stored, spill.stored_index)]
        return _counts(self.state.blocks, spills)

    def close(self) -> None:
        self._lock.release()


def _manifest(folder: Path) -> dict[str, Any] | None:
    """Return the last committed manifest, or None for a new repository; refuse another format."""
    found = read_manifest(folder)
    if found is not None and found["format"] != FORMAT:
        raise InputError(f"{folder} has format {found['format']}; this version reads format {FORMAT}")
    return found


def look_up(folder: Path, url: str) -> Known | None:
    """Return what a recent commit knows of a URL, also while another process works in the folder."""
    for _ in range(_READ_TRIES):
        found = _manifest(folder)
        if found is None:
            return None
        reader = RepositoryReader(BlockFiles(folder), [_block_from(each) for each in found["blocks"]], found["seed"])
        try:
            return reader.lookup(url)
        except DamagedError:
            # A cycle replaced a file in the meantime, unless the manifest is still the same.
            if read_manifest(folder) == found:
                raise
    raise WorkError(f"{folder} changes faster than it can be read; try again")


def counts_of(folder: Path) -> RepositoryCounts:
    """Return the counts of the last commit, also while another process works in the folder."""
    found = _manifest(folder)
    if found is None:
        return _counts([], [])
    spills = [StoredFile(*stored) for _, *parts in found["spills"] for stored in parts]
    return _counts([_block_from(each) for each in found["blocks"]], spills)


def _counts(blocks: list[Block], spills: list[StoredFile]) -> RepositoryCounts:
    files = {stored.name: stored.size_bytes for block in blocks for stored in block.files()}
    files |= {stored.name: stored.size_bytes for stored in spills}
    return RepositoryCounts(
        known=sum(block.rows for block in blocks),
        collected=sum(block.collected for block in blocks),
        scheduled=sum(block.scheduled for block in blocks),
        hosts=sum(block.hosts_count for block in blocks),
        blocks=len(blocks),
        waiting=sum(block.waiting for block in blocks),
        disk_bytes=sum(files.values()),
    )


_BLOCK_FIELDS = tuple(each.name for each in fields(Block))


def _block_from(values: list[Any]) -> Block:
    block = Block(**dict(zip(_BLOCK_FIELDS, values, strict=True)))
    for name in ("runs", "row_index", "row_state", "hosts", "visits"):
        setattr(block, name, [StoredFile(*stored) for stored in getattr(block, name)])
    block.texts = [StoredTexts(first, StoredFile(*stored)) for first, stored in block.texts]
    return block
