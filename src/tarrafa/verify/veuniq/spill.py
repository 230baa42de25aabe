"""URLs on their way to a block, and the file in which they wait: a part for each block, and an index of the parts.

A block is a range of host hashes and is only ever split, so the part that was written for a block also holds, between
others, all that waits for each of its halves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from tarrafa.verify.contract import PRIORITY_MAX, Batch
from tarrafa.verify.keys import keys_of

# What a batch says of a collected URL; and the same on its way to the block, with the number of that batch.
VISIT = np.dtype([("at_seconds", "<f8"), ("offset", "<u8"), ("file", "<u4"), ("status", "<u2")])
WAITING_VISIT = np.dtype([*VISIT.descr, ("batch", "<i8")])
PART = np.dtype([("first", "<u8"), ("offset", "<u8"), ("size", "<u8"), ("sum", "<u8"), ("urls", "<u4")])
_HEAD = np.dtype([("urls", "<u4"), ("visits", "<u4")])
# Hosts, fingerprints, priorities, links and lengths of the URLs; then which of them have a visit.
_PART_KINDS = ("<u8", "<u8", "<u2", "<u2", "<u2", "<u4")
_NO_VISIT = -1


@dataclass(frozen=True, slots=True)
class Waiting:
    """URLs under way, as columns. Visits and texts are not copied about: columns say where they stand."""

    hosts: NDArray[np.uint64]
    fingerprints: NDArray[np.uint64]
    priority: NDArray[np.uint16]
    links: NDArray[np.uint16]
    visit: NDArray[np.int64]  # place in visits; -1 for a URL that was only extracted
    text: NDArray[np.int64]  # place in the sources, counted through
    visits: NDArray[np.void]
    sources: tuple[Sequence[str], ...]  # URLs, which are taken from here only when they are needed

    def __len__(self) -> int:
        return len(self.hosts)

    def take(self, places: NDArray[np.intp]) -> "Waiting":
        return Waiting(
            self.hosts[places],
            self.fingerprints[places],
            self.priority[places],
            self.links[places],
            self.visit[places],
            self.text[places],
            self.visits,
            self.sources,
        )

    def texts(self) -> list[str]:
        if len(self.sources) == 1:
            urls = self.sources[0]
            return [urls[place] for place in self.text.tolist()]
        found, start = np.empty(len(self), object), 0
        for urls in self.sources:
            here = np.flatnonzero((self.text >= start) & (self.text < start + len(urls)))
            found[here] = [urls[place] for place in (self.text[here] - start).tolist()]
            start += len(urls)
        texts: list[str] = found.tolist()
        return texts


class Slices(Sequence[str]):
    """URLs that stand one after the other in a text, cut out when they are asked for."""

    def __init__(self, text: bytes, ends: list[int]) -> None:
        self._text = text
        self._edges = [0, *ends]

    def __len__(self) -> int:
        return len(self._edges) - 1

    def __getitem__(self, place: Any) -> Any:
        return self._text[self._edges[place] : self._edges[place + 1]].decode("ascii")


def offered(batch: Batch, seed: int) -> Waiting:
    """A batch as columns: first what was collected, then what was extracted."""
    collected, extracted = batch.collected, batch.extracted
    urls = [*collected.urls, *extracted.urls]
    keys, count, total = keys_of(urls, seed), len(collected.urls), len(urls)
    visits = np.empty(count, WAITING_VISIT)
    visits["batch"] = batch.number
    for name in VISIT.names or ():
        visits[name] = getattr(collected, name)
    visit = np.full(total, _NO_VISIT, np.int64)
    visit[:count] = np.arange(count)
    priority, links = np.full(total, PRIORITY_MAX, np.uint16), np.zeros(total, np.uint16)
    priority[count:], links[count:] = extracted.priority, extracted.links
    return Waiting(keys.hosts, keys.fingerprints, priority, links, visit, np.arange(total), visits, (urls,))


def joined(parts: list[Waiting]) -> Waiting:
    if len(parts) == 1:
        return parts[0]
    visits, texts, visit_start, text_start = [], [], 0, 0
    for part in parts:
        visits.append(np.where(part.visit < 0, _NO_VISIT, part.visit + visit_start))
        texts.append(part.text + text_start)
        visit_start += len(part.visits)
        text_start += sum(map(len, part.sources))
    return Waiting(
        np.concatenate([part.hosts for part in parts]),
        np.concatenate([part.fingerprints for part in parts]),
        np.concatenate([part.priority for part in parts]),
        np.concatenate([part.links for part in parts]),
        np.concatenate(visits),
        np.concatenate(texts),
        np.concatenate([part.visits for part in parts]),
        tuple(source for part in parts for source in part.sources),
    )


def pack(
    waiting: Waiting, blocks: NDArray[np.intp], firsts: NDArray[np.uint64]
) -> tuple[list[bytes], NDArray[np.void]]:
    """The parts in their order, and their index. `blocks` says to which block each URL belongs."""
    order = np.argsort(blocks, kind="stable")
    edges = np.searchsorted(blocks[order], np.arange(len(firsts) + 1))
    parts, index, offset = [], [], 0
    for number in np.flatnonzero(np.diff(edges)).tolist():
        places = order[edges[number] : edges[number + 1]]
        data = _pack_part(waiting.take(places))
        index.append((firsts[number], offset, len(data), xxhash.xxh3_64_intdigest(data), len(places)))
        parts.append(data)
        offset += len(data)
    return parts, np.array(index, PART)


def _pack_part(part: Waiting) -> bytes:
    urls = part.texts()
    places = np.flatnonzero(part.visit >= 0)
    head = np.array([(len(urls), len(places))], _HEAD)
    lengths = np.fromiter(map(len, urls), np.uint16, len(urls))
    columns = (head, part.hosts, part.fingerprints, part.priority, part.links, lengths)
    visits = (places.astype("<u4"), part.visits[part.visit[places]])
    return b"".join([*(column.tobytes() for column in (*columns, *visits)), "".join(urls).encode("ascii")])


def unpack_part(data: bytes) -> Waiting:
    count, visit_count = np.frombuffer(data, _HEAD, 1)[0].tolist()
    at = _HEAD.itemsize
    columns: list[NDArray[Any]] = []
    kinds: list[Any] = [*_PART_KINDS, WAITING_VISIT]
    for kind, rows in zip(kinds, [count] * 5 + [visit_count] * 2, strict=True):
        columns.append(np.frombuffer(data, kind, rows, at))
        at += columns[-1].nbytes
    hosts, fingerprints, priority, links, lengths, places, visits = columns
    visit = np.full(count, _NO_VISIT, np.int64)
    visit[places] = np.arange(visit_count)
    urls = Slices(data[at:], np.cumsum(lengths, dtype=np.int64).tolist())
    return Waiting(hosts, fingerprints, priority, links, visit, np.arange(count), visits, (urls,))


def within(waiting: Waiting, first: int, end: int) -> Waiting:
    """Those whose host belongs to the range; most often all."""
    inside = (waiting.hosts >= np.uint64(first)) & (waiting.hosts <= np.uint64(end - 1))
    return waiting if inside.all() else waiting.take(np.flatnonzero(inside))
