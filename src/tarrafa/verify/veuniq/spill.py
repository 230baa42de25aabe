"""URLs on their way to a block, and the file in which they wait: a part for each block, and an index of the parts.

A block is a range of host hashes and is only ever split, so the part that was written for a block also holds, between
others, all that waits for each of its halves.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from tarrafa.hashes import edges_of
from tarrafa.verify.contract import PRIORITY_MAX, Batch
from tarrafa.verify.keys import keys_of, texts_of
from tarrafa.verify.veuniq.texts import taken

# What a batch says of a collected URL; and the same on its way to the block, with the number of that batch.
VISIT = np.dtype([("at_seconds", "<f8"), ("offset", "<u8"), ("file", "<u4"), ("status", "<u2")])
WAITING_VISIT = np.dtype([*VISIT.descr, ("batch", "<i8")])
PART = np.dtype([("first", "<u8"), ("offset", "<u8"), ("size", "<u8"), ("sum", "<u8"), ("urls", "<u4")])
_HEAD = np.dtype([("urls", "<u4"), ("visits", "<u4"), ("rest_bytes", "<u8")])
# Hosts, priorities, links, links from outside and lengths of the URLs; then which of them have a visit.
_PART_KINDS = ("<u8", "<u2", "<u2", "<u2", "<u2", "<u4")
_NO_VISIT = -1


@dataclass(frozen=True, slots=True, eq=False)  # of columns it cannot be said whether they are equal
class Waiting:
    """URLs under way, as columns. Visits and texts are not copied about: columns say where they stand."""

    hosts: NDArray[np.uint64]
    fingerprints: NDArray[np.uint64]
    priority: NDArray[np.uint16]
    links: NDArray[np.uint16]
    outside: NDArray[np.uint16]
    visit: NDArray[np.int32]  # place in visits; -1 for a URL that was only extracted
    text: NDArray[np.int32]  # place in the sources, counted through
    visits: NDArray[np.void]
    sources: tuple[pa.LargeStringArray, ...]  # URLs, which are taken from here only when they are needed

    def __len__(self) -> int:
        return len(self.hosts)

    def take(self, places: NDArray[np.intp] | slice) -> "Waiting":
        return Waiting(
            self.hosts[places],
            self.fingerprints[places],
            self.priority[places],
            self.links[places],
            self.outside[places],
            self.visit[places],
            self.text[places],
            self.visits,
            self.sources,
        )

    def texts(self) -> pa.LargeStringArray:
        """The URLs, in the order of the rows."""
        return taken(self.sources, self.text)


def offered(batch: Batch, seed: int) -> Waiting:
    """A batch as columns: first what was collected, then what was extracted."""
    collected, extracted = batch.collected, batch.extracted
    sources = texts_of(collected.urls), texts_of(extracted.urls)
    count, total = len(sources[0]), len(sources[0]) + len(sources[1])
    hosts, fingerprints = map(np.concatenate, zip(*(keys_of(urls, seed) for urls in sources), strict=True))
    visits = np.empty(count, WAITING_VISIT)
    visits["batch"] = batch.number
    for name in VISIT.names or ():
        visits[name] = getattr(collected, name)
    visit = np.full(total, _NO_VISIT, np.int32)
    visit[:count] = np.arange(count)
    priority, (links, outside) = np.full(total, PRIORITY_MAX, np.uint16), np.zeros((2, total), np.uint16)
    priority[count:], links[count:], outside[count:] = extracted.priority, extracted.links, extracted.outside
    places = np.arange(total, dtype=np.int32)
    return Waiting(hosts, fingerprints, priority, links, outside, visit, places, visits, sources)


def joined(parts: list[Waiting]) -> Waiting:
    if len(parts) == 1:
        return parts[0]
    visits, texts, visit_start, text_start = [], [], 0, 0
    for part in parts:
        visits.append(np.where(part.visit < 0, np.int32(_NO_VISIT), part.visit + np.int32(visit_start)))
        texts.append(part.text + np.int32(text_start))
        visit_start += len(part.visits)
        text_start += sum(map(len, part.sources))
    return Waiting(
        np.concatenate([part.hosts for part in parts]),
        np.concatenate([part.fingerprints for part in parts]),
        np.concatenate([part.priority for part in parts]),
        np.concatenate([part.links for part in parts]),
        np.concatenate([part.outside for part in parts]),
        np.concatenate(visits),
        np.concatenate(texts),
        np.concatenate([part.visits for part in parts]),
        tuple(source for part in parts for source in part.sources),
    )


def pack(
    waiting: Waiting, blocks: NDArray[np.intp], firsts: NDArray[np.uint64]
) -> tuple[list[bytes], NDArray[np.void]]:
    """The parts in their order, and their index. `blocks` says to which block each URL belongs."""
    # By host: blocks are ranges of hosts, and neighbours that are alike become small.
    order = np.argsort(waiting.hosts, kind="stable")
    edges = np.searchsorted(blocks[order], np.arange(len(firsts) + 1))
    ordered = waiting.take(order)
    texts = ordered.texts()
    parts, index, offset = [], [], 0
    for number in np.flatnonzero(np.diff(edges)).tolist():
        first, end = edges[number : number + 2].tolist()
        data = _pack_part(ordered.take(slice(first, end)), texts[first:end])
        index.append((firsts[number], offset, len(data), xxhash.xxh3_64_intdigest(data), end - first))
        parts.append(data)
        offset += len(data)
    return parts, np.array(index, PART)


def _pack_part(part: Waiting, texts: pa.LargeStringArray) -> bytes:
    """Fingerprints as they are, for they are like noise; the rest compressed."""
    places, edges = np.flatnonzero(part.visit >= 0), edges_of(texts)
    lengths = np.diff(edges).astype("<u2")
    columns = (part.hosts, part.priority, part.links, part.outside, lengths, places.astype("<u4"))
    visits = part.visits[part.visit[places]]
    text = texts.buffers()[2][edges[0] : edges[-1]]
    rest = b"".join([*(column.tobytes() for column in (*columns, visits)), text])
    head = np.array([(len(part), len(places), len(rest))], _HEAD)
    return b"".join((head.tobytes(), part.fingerprints.tobytes(), pa.compress(rest, "lz4_raw", asbytes=True)))


def unpack_part(data: bytes) -> Waiting:
    count, visit_count, rest_bytes = np.frombuffer(data, _HEAD, 1)[0].tolist()
    fingerprints = np.frombuffer(data, "<u8", count, _HEAD.itemsize)
    rest = pa.decompress(pa.py_buffer(data)[_HEAD.itemsize + fingerprints.nbytes :], rest_bytes, "lz4_raw")
    columns: list[NDArray[Any]] = []
    kinds: list[Any] = [*_PART_KINDS, WAITING_VISIT]
    at = 0
    for kind, rows in zip(kinds, [count] * 5 + [visit_count] * 2, strict=True):
        columns.append(np.frombuffer(rest, kind, rows, at))
        at += columns[-1].nbytes
    hosts, priority, links, outside, lengths, places, visits = columns
    visit = np.full(count, _NO_VISIT, np.int32)
    visit[places] = np.arange(visit_count)
    edges = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    urls = pa.LargeStringArray.from_buffers(count, pa.py_buffer(edges), rest[at:])
    order = np.arange(count, dtype=np.int32)
    return Waiting(hosts, fingerprints, priority, links, outside, visit, order, visits, (urls,))


def within(waiting: Waiting, first: int, end: int) -> Waiting:
    """Those whose host belongs to the range; most often all."""
    inside = (waiting.hosts >= np.uint64(first)) & (waiting.hosts <= np.uint64(end - 1))
    return waiting if inside.all() else waiting.take(np.flatnonzero(inside))
