"""URLs on their way to a block, and the spills in which they wait: parts of one block each, and an index of the parts.

A part waits until its block is verified. Since a block is only split when it is verified, a part belongs to the block
that begins at the same hash, and is obsolete if that block was verified since the part was written.

A spill is removed when all its parts are obsolete. When most of it is, the parts that wait move to the spill of the
next cycle, and so do the small spills when there are many. So the disk that spills take is bounded by what waits.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from tarrafa.errors import DamagedError
from tarrafa.hashes import edges_of
from tarrafa.records import DEPTH_MAX
from tarrafa.verify.contract import PRIORITY_MAX, Batch
from tarrafa.verify.keys import keys_of, texts_of
from tarrafa.verify.veuniq.stored_files import StoredFile, check_sum, read_file, write_file
from tarrafa.verify.veuniq.text_columns import taken

# What a batch says of a collected URL; and the same on its way to the block, with what only its history needs.
VISIT = np.dtype(
    [
        ("at_seconds", "<f8"),
        ("offset", "<u8"),
        ("file", "<u4"),
        ("status", "<u2"),
        ("signature", "<u8"),
        ("similarity", "<u8"),
    ]
)
WAITING_VISIT = np.dtype(
    [*VISIT.descr, ("change", "u1"), ("content_seconds", "<f4"), ("cache_seconds", "<f4"), ("batch", "<i8")]
)
_PART = np.dtype([("first", "<u8"), ("offset", "<u8"), ("size", "<u8"), ("sum", "<u8"), ("urls", "<u4")])
_HEAD = np.dtype([("urls", "<u4"), ("visits", "<u4"), ("rest_bytes", "<u8")])
# Hosts, priorities, links, links from outside, depths, kinds, weights and lengths of the URLs; then which of them have
# a visit.
_PART_TYPES = ("<u8", "<u2", "<u2", "<u2", "<u4", "u1", "<u4", "<u2", "<u4")
_NO_VISIT = -1
# A spill this many times as large as what still waits in it is written anew.
_SIZE_RATIO = 4
# Small spills are joined when there are more than this many of them.
_SMALL_BYTES, _SMALL_SPILLS = 1 << 20, 64


@dataclass(frozen=True, slots=True, eq=False)
class WaitingUrls:
    """URLs as columns. Visits and texts are not copied: two columns point to them."""

    hosts: NDArray[np.uint64]
    fingerprints: NDArray[np.uint64]
    priority: NDArray[np.uint16]
    links: NDArray[np.uint16]
    outside: NDArray[np.uint16]
    depth: NDArray[np.uint32]
    kind: NDArray[np.uint8]
    weight: NDArray[np.uint32]
    visit: NDArray[np.int32]  # position in visits; -1 for a URL that was only extracted
    text: NDArray[np.int32]  # position in the sources, which are counted through
    visits: NDArray[np.void]
    sources: tuple[pa.LargeStringArray, ...]

    def __len__(self) -> int:
        return len(self.hosts)

    def take(self, rows: NDArray[np.intp] | slice) -> "WaitingUrls":
        return WaitingUrls(
            self.hosts[rows],
            self.fingerprints[rows],
            self.priority[rows],
            self.links[rows],
            self.outside[rows],
            self.depth[rows],
            self.kind[rows],
            self.weight[rows],
            self.visit[rows],
            self.text[rows],
            self.visits,
            self.sources,
        )

    def texts(self) -> pa.LargeStringArray:
        """Return the URLs, in the order of the rows."""
        return taken(self.sources, self.text)


class SpillPart(NamedTuple):
    """URLs that wait for the block that begins at the hash `first`, packed."""

    first: int
    urls: int
    data: bytes


class Spill(NamedTuple):
    """What one cycle set aside for other blocks: URLs of its own batch, and of older spills."""

    cycle: int
    stored: StoredFile
    stored_index: StoredFile
    parts: NDArray[np.void]  # the index: one row for each part


def offered(batch: Batch, seed: int) -> WaitingUrls:
    """Return a batch as columns: first the collected URLs, then the extracted ones."""
    collected, extracted = batch.collected.completed(), batch.extracted
    sources = texts_of(collected.urls), texts_of(extracted.urls)
    count, total = len(sources[0]), len(sources[0]) + len(sources[1])
    hosts, fingerprints = map(np.concatenate, zip(*(keys_of(urls, seed) for urls in sources), strict=True))
    visits = np.empty(count, WAITING_VISIT)
    visits["batch"] = batch.number
    for name in (WAITING_VISIT.names or ())[:-1]:
        visits[name] = getattr(collected, name)
    visit = np.full(total, _NO_VISIT, np.int32)
    visit[:count] = np.arange(count)
    priority, (links, outside) = np.full(total, PRIORITY_MAX, np.uint16), np.zeros((2, total), np.uint16)
    priority[count:], links[count:], outside[count:] = extracted.priority, extracted.links, extracted.outside
    depth, kind = np.full(total, DEPTH_MAX, np.uint32), np.zeros(total, np.uint8)
    depth[count:], kind[count:] = extracted.depth, extracted.kind
    weight = np.zeros(total, np.uint32)
    weight[count:] = extracted.weight if len(extracted.weight) else 0
    text = np.arange(total, dtype=np.int32)
    numbers = (priority, links, outside, depth, kind, weight)
    return WaitingUrls(hosts, fingerprints, *numbers, visit, text, visits, sources)


def joined(parts: list[WaitingUrls]) -> WaitingUrls:
    if len(parts) == 1:
        return parts[0]
    visits, texts, visit_start, text_start = [], [], 0, 0
    for part in parts:
        visits.append(np.where(part.visit < 0, np.int32(_NO_VISIT), part.visit + np.int32(visit_start)))
        texts.append(part.text + np.int32(text_start))
        visit_start += len(part.visits)
        text_start += sum(map(len, part.sources))
    return WaitingUrls(
        np.concatenate([part.hosts for part in parts]),
        np.concatenate([part.fingerprints for part in parts]),
        np.concatenate([part.priority for part in parts]),
        np.concatenate([part.links for part in parts]),
        np.concatenate([part.outside for part in parts]),
        np.concatenate([part.depth for part in parts]),
        np.concatenate([part.kind for part in parts]),
        np.concatenate([part.weight for part in parts]),
        np.concatenate(visits),
        np.concatenate(texts),
        np.concatenate([part.visits for part in parts]),
        tuple(source for part in parts for source in part.sources),
    )


def write_spill(folder: Path, cycle: int, parts: Sequence[SpillPart]) -> Spill:
    parts = sorted(parts, key=lambda part: part.first)
    sizes = [len(part.data) for part in parts]
    offsets = accumulate(sizes[:-1], initial=0)
    sums = [xxhash.xxh3_64_intdigest(part.data) for part in parts]
    firsts, urls = [part.first for part in parts], [part.urls for part in parts]
    index = np.array(list(zip(firsts, offsets, sizes, sums, urls, strict=True)), _PART)
    stored = write_file(folder, f"spill/cycle{cycle}", [part.data for part in parts], sum(urls))
    stored_index = write_file(folder, f"spill/cycle{cycle}.index", [index], len(index))
    return Spill(cycle, stored, stored_index, index)


def open_spill(folder: Path, cycle: int, stored: StoredFile, stored_index: StoredFile) -> Spill:
    return Spill(cycle, stored, stored_index, np.frombuffer(read_file(folder, stored_index), _PART))


def read_spill(folder: Path, spill: Spill, first: int, since: int) -> list[WaitingUrls]:
    """Return the URLs that wait for the block that begins at `first` and was last verified in the cycle `since`."""
    if spill.cycle <= since:
        return []
    low, high = (np.searchsorted(spill.parts["first"], np.uint64(first), side) for side in ("left", "right"))
    return [_unpack_part(_read_part(folder, spill, part)) for part in spill.parts[low:high]]


def sort_spills(spills: Sequence[Spill], since: Mapping[int, int]) -> tuple[list[Spill], list[Spill]]:
    """Return the spills to keep, and those whose waiting parts move to the next spill; the others are obsolete.

    `since` maps the first hash of each block to the cycle that last verified it.
    """
    waiting = [(spill, int(spill.parts["size"][_is_waiting(spill, since)].sum())) for spill in spills]
    waiting = [(spill, size_bytes) for spill, size_bytes in waiting if size_bytes]
    is_many = sum(size_bytes < _SMALL_BYTES for _, size_bytes in waiting) > _SMALL_SPILLS
    kept: list[Spill] = []
    moved: list[Spill] = []
    for spill, size_bytes in waiting:
        is_light = size_bytes * _SIZE_RATIO < spill.stored.size_bytes
        (moved if is_light or (is_many and size_bytes < _SMALL_BYTES) else kept).append(spill)
    return kept, moved


def read_waiting(folder: Path, spill: Spill, since: Mapping[int, int]) -> Iterator[SpillPart]:
    """Yield the parts of a spill that still wait."""
    for part in spill.parts[_is_waiting(spill, since)]:
        yield SpillPart(int(part["first"]), int(part["urls"]), _read_part(folder, spill, part))


def _is_waiting(spill: Spill, since: Mapping[int, int]) -> NDArray[np.bool_]:
    return np.array([since[first] < spill.cycle for first in spill.parts["first"].tolist()], bool)


def _read_part(folder: Path, spill: Spill, part: np.void) -> bytes:
    path = folder / spill.stored.name
    try:
        with path.open("rb") as file:
            file.seek(int(part["offset"]))
            data = file.read(int(part["size"]))
    except FileNotFoundError:
        raise DamagedError(f"{path} is missing; restore it from a copy") from None
    check_sum(path, data, int(part["sum"]))
    return data


def pack(waiting: WaitingUrls, blocks: NDArray[np.intp], firsts: NDArray[np.uint64]) -> list[SpillPart]:
    """Pack URLs by block: `blocks` gives each URL's block, and `firsts` the first hash of each block."""
    # Sorted by host: blocks are ranges of hosts, and similar neighbours compress well.
    order = np.argsort(waiting.hosts, kind="stable")
    edges = np.searchsorted(blocks[order], np.arange(len(firsts) + 1))
    ordered = waiting.take(order)
    texts = ordered.texts()
    parts = []
    for number in np.flatnonzero(np.diff(edges)).tolist():
        first, end = edges[number : number + 2].tolist()
        data = _pack_part(ordered.take(slice(first, end)), texts[first:end])
        parts.append(SpillPart(int(firsts[number]), end - first, data))
    return parts


def _pack_part(part: WaitingUrls, texts: pa.LargeStringArray) -> bytes:
    """Pack the fingerprints as they are, since they do not compress, and the rest compressed."""
    visited, edges = np.flatnonzero(part.visit >= 0), edges_of(texts)
    lengths = np.diff(edges).astype("<u2")
    numbers = (part.priority, part.links, part.outside, part.depth, part.kind, part.weight)
    columns = (part.hosts, *numbers, lengths, visited.astype("<u4"))
    visits = part.visits[part.visit[visited]]
    text = texts.buffers()[2][edges[0] : edges[-1]]
    rest = b"".join([*(column.tobytes() for column in (*columns, visits)), text])
    head = np.array([(len(part), len(visited), len(rest))], _HEAD)
    return b"".join((head.tobytes(), part.fingerprints.tobytes(), pa.compress(rest, "lz4_raw", asbytes=True)))


def _unpack_part(data: bytes) -> WaitingUrls:
    count, visit_count, rest_bytes = np.frombuffer(data, _HEAD, 1)[0].tolist()
    fingerprints = np.frombuffer(data, "<u8", count, _HEAD.itemsize)
    rest = pa.decompress(pa.py_buffer(data)[_HEAD.itemsize + fingerprints.nbytes :], rest_bytes, "lz4_raw")
    columns: list[NDArray[Any]] = []
    types: list[Any] = [*_PART_TYPES, WAITING_VISIT]
    at = 0
    for each, rows in zip(types, [count] * (len(_PART_TYPES) - 1) + [visit_count] * 2, strict=True):
        columns.append(np.frombuffer(rest, each, rows, at))
        at += columns[-1].nbytes
    hosts, priority, links, outside, depth, kind, weight, lengths, visited, visits = columns
    visit = np.full(count, _NO_VISIT, np.int32)
    visit[visited] = np.arange(visit_count)
    edges = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    urls = pa.LargeStringArray.from_buffers(count, pa.py_buffer(edges), rest[at:])
    text = np.arange(count, dtype=np.int32)
    numbers = (priority, links, outside, depth, kind, weight)
    return WaitingUrls(hosts, fingerprints, *numbers, visit, text, visits, (urls,))
