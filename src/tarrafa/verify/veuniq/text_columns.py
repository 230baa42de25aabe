"""URLs as Arrow columns: texts in one buffer, selected without making a Python object of each."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tarrafa.hashes import edges_of

NO_TEXTS = pa.array([], pa.large_string())


class SourcePart(NamedTuple):
    """The positions, of those asked for, that lie in one source."""

    source: int  # its number
    asked: NDArray[np.int64]  # places in the list of positions
    inside: NDArray[np.int64]  # positions counted from the start of the source


def taken(sources: Sequence[pa.LargeStringArray], positions: NDArray[np.integer]) -> pa.LargeStringArray:
    """Return the texts at these positions; positions run through all sources."""
    starts = np.cumsum([0, *(len(source) for source in sources[:-1])])
    return gathered(starts, positions, lambda source, inside: sources[source].take(pa.array(inside)))


def gathered(
    starts: NDArray[np.int64],
    positions: NDArray[np.integer],
    take: Callable[[int, NDArray[np.int64]], pa.LargeStringArray],
) -> pa.LargeStringArray:
    """Return the texts at these positions; source n begins at `starts[n]`, and `take` reads texts of one source."""
    if not len(positions):
        return NO_TEXTS
    parts = list(split_by_source(starts, positions))
    back = np.empty(len(positions), np.int64)
    back[np.concatenate([part.asked for part in parts])] = np.arange(len(positions))
    return pa.concat_arrays([take(part.source, part.inside) for part in parts]).take(pa.array(back))


def split_by_source(starts: NDArray[np.int64], positions: NDArray[np.integer]) -> Iterator[SourcePart]:
    """Split positions by the source that they lie in."""
    sources = np.searchsorted(starts, positions, side="right") - 1
    order = np.argsort(sources.astype(np.uint32), kind="stable")
    edges = np.searchsorted(sources[order], np.arange(len(starts) + 1))
    inside = positions[order] - starts[sources[order]]
    for source in np.flatnonzero(np.diff(edges)).tolist():
        rows = slice(edges[source], edges[source + 1])
        yield SourcePart(source, order[rows], inside[rows])


def without_heads(texts: pa.LargeStringArray, lengths: NDArray[np.integer]) -> pa.LargeStringArray:
    """Return the texts without that many bytes at their beginning."""
    return _divided(texts, lengths).take(pa.array(np.arange(1, 2 * len(texts), 2)))


def heads_of(texts: pa.LargeStringArray, lengths: NDArray[np.integer]) -> pa.LargeStringArray:
    """Return that many bytes at the beginning of each text."""
    return _divided(texts, lengths).take(pa.array(np.arange(0, 2 * len(texts), 2)))


def _divided(texts: pa.LargeStringArray, lengths: NDArray[np.integer]) -> pa.LargeStringArray:
    """Return the heads and the rests of the texts, by turns, in one column over the same bytes."""
    edges, count = edges_of(texts), len(texts)
    cuts = np.empty(2 * count + 1, np.int64)
    cuts[::2], cuts[1::2] = edges, edges[:-1] + lengths
    return pa.LargeStringArray.from_buffers(2 * count, pa.py_buffer(cuts), texts.buffers()[2])
