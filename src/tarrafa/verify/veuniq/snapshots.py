"""Read a repository without locking it: also while a crawl works in the folder, and where nothing may be written."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from tarrafa.disk import map_disk_errors
from tarrafa.errors import DamagedError, WorkError
from tarrafa.verify.contract import (
    HASHES,
    BlockHistories,
    HostUrls,
    Known,
    RepositoryCounts,
    UrlOrder,
    UrlPlace,
    by_priority,
)
from tarrafa.verify.keys import keys_of
from tarrafa.verify.veuniq.block_files import BlockFiles
from tarrafa.verify.veuniq.reader import RepositoryReader, problems
from tarrafa.verify.veuniq.repository_state import RepositoryState, read_state
from tarrafa.verify.veuniq.spills import read_spill
from tarrafa.verify.veuniq.stored_files import MANIFEST, read_manifest

_READ_TRIES = 5

T = TypeVar("T")
# The histories of a block with the mean rate of all pages, and where the next block begins.
_HistoriesAndEnd: TypeAlias = tuple[tuple[BlockHistories, float] | None, int]


def is_repository(folder: Path) -> bool:
    with map_disk_errors(folder):
        return (folder / MANIFEST).is_file()


def look_up(folder: Path, url: str) -> Known | None:
    """Return what a recent commit knows of a URL."""

    def read(state: RepositoryState) -> Known | None:
        return RepositoryReader(BlockFiles(folder), state).lookup(url)

    return _read_unchanged(folder, read, None)


def locate(folder: Path, url: str, order: UrlOrder = by_priority) -> UrlPlace | None:
    """Return where a URL stands among those of its host; None for an unknown one."""

    def read(state: RepositoryState) -> UrlPlace | None:
        return RepositoryReader(BlockFiles(folder), state, order).locate(url)

    return _read_unchanged(folder, read, None)


def host_urls(folder: Path, host: str, next_count: int, order: UrlOrder = by_priority) -> HostUrls:
    """Count the URLs of a host such as `http://example.org`; return the first of those that come next."""

    def read(state: RepositoryState) -> HostUrls:
        return RepositoryReader(BlockFiles(folder), state, order).host_urls(host, next_count)

    return _read_unchanged(folder, read, HostUrls())


def hosts_left(folder: Path, limit: int) -> list[tuple[str, int]]:
    """Return the hosts with most URLs that are not collected, and how many these are; the most first."""

    def read(state: RepositoryState) -> list[tuple[str, int]]:
        return RepositoryReader(BlockFiles(folder), state).hosts_left(limit)

    return _read_unchanged(folder, read, [])


def is_waiting(folder: Path, url: str) -> bool:
    """Return True if a URL was offered and waits for the cycle of its block."""

    def read(state: RepositoryState) -> bool:
        key = int(keys_of([url], state.seed).hosts[0])
        block = next(block for block in state.blocks if block.first <= key < block.end)
        parts = [part for spill in state.spills for part in read_spill(folder, spill, block.first, block.since)]
        return any(url in part.texts().to_pylist() for part in parts if key in part.hosts)

    return _read_unchanged(folder, read, False)


def counts_of(folder: Path) -> RepositoryCounts:
    """Return the counts of the last commit."""
    return _read_unchanged(folder, RepositoryState.counts, RepositoryCounts(0, 0, 0, 0, 0, 0))


def known_urls(folder: Path) -> Iterator[Known]:
    """Yield every known URL, block by block, each block as of a recent commit."""
    first = 0
    while first < HASHES:
        # A block may be split in the meantime, and never joined with another.
        empty: tuple[Iterator[Known], int] = (iter(()), HASHES)
        found, first = _read_unchanged(folder, partial(_begin_block, folder, first), empty)
        yield from found


def block_histories(folder: Path) -> Iterator[tuple[BlockHistories, float]]:
    """Yield the histories of each block as of a recent commit, and the mean rate of change of all pages then."""
    first = 0
    while first < HASHES:
        # A block may be split in the meantime, and never joined with another.
        empty: _HistoriesAndEnd = (None, HASHES)
        found, first = _read_unchanged(folder, partial(_histories_of, folder, first), empty)
        if found is not None:
            yield found


class HistoriesBeside(NamedTuple):
    """The histories of the block of a collected URL."""

    block: BlockHistories
    mean_rate: float  # of change, of the pages of all blocks
    position: int  # of the URL among them


def histories_beside(folder: Path, url: str) -> HistoriesBeside | None:
    """Return the histories of the block of a URL; None if the URL was never collected."""

    def read(state: RepositoryState) -> HistoriesBeside | None:
        reader, keys = RepositoryReader(BlockFiles(folder), state), keys_of([url], state.seed)
        found, _ = _histories_of(folder, int(keys.hosts[0]), state)
        row = reader.row_of(url)
        if found is None or row is None:
            return None
        rows = found[0].histories.row
        position = int(np.searchsorted(rows, row))
        return HistoriesBeside(*found, position) if position < len(rows) and rows[position] == row else None

    return _read_unchanged(folder, read, None)


def _histories_of(folder: Path, first: int, state: RepositoryState) -> tuple[tuple[BlockHistories, float] | None, int]:
    """Return the histories of the block that has the hash `first`, and where the next block begins."""
    block = next(each for each in state.blocks if each.first <= first < each.end)
    return (RepositoryReader(BlockFiles(folder), state).histories(block), state.mean_rate()), block.end


def _begin_block(folder: Path, first: int, state: RepositoryState) -> tuple[Iterator[Known], int]:
    """Return the URLs of the block that has the hash `first`, and where the next block begins."""
    block = next(each for each in state.blocks if each.first <= first < each.end)
    urls = RepositoryReader(BlockFiles(folder), state).urls([block])
    # All files are read before the first URL is yielded.
    return chain([known for known in [next(urls, None)] if known is not None], urls), block.end


def problems_of(folder: Path) -> list[str]:
    """Check every invariant of the last commit; return one line for each problem."""

    def read(state: RepositoryState) -> list[str]:
        found = list(problems(BlockFiles(folder), state.blocks, state.spills, state.seed))
        if found:
            # A problem counts if no cycle has replaced a file in the meantime.
            raise _FoundError(found)
        return found

    try:
        return _read_unchanged(folder, read, [])
    except _FoundError as error:
        return error.problems


class _FoundError(DamagedError):
    def __init__(self, found: list[str]) -> None:
        super().__init__("\n".join(found))
        self.problems = found


def _read_unchanged(folder: Path, read: Callable[[RepositoryState], T], empty: T) -> T:
    """Return what `read` finds in the last commit; `empty` if there is none. Repeat it if a cycle got in its way."""
    for _ in range(_READ_TRIES):
        with map_disk_errors(folder):
            manifest = read_manifest(folder)
            try:
                state = read_state(folder)
                return empty if state is None else read(state)
            except DamagedError:
                if read_manifest(folder) == manifest:
                    raise
    raise WorkError(f"{folder} changes faster than it can be read; try again when the crawl has ended")
