"""URLs as a column: many texts in one buffer, which are moved about without being made into objects."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tarrafa.hashes import edges_of
from tarrafa.numbers import as_column

NO_TEXTS = pa.array([], pa.large_string())


class Part(NamedTuple):
    """Those of some places that are in one source."""

    number: int  # of the source
    positions: NDArray[np.int64]  # among the places
    inside: NDArray[np.int64]  # where they are in the source


def taken(sources: Sequence[pa.LargeStringArray], places: NDArray[np.integer]) -> pa.LargeStringArray:
    """The texts at these places; the sources are counted through."""
    sizes = [len(source) for source in sources]
    starts = np.cumsum([0, *sizes[:-1]])
    return gathered(starts, places, lambda number, inside: sources[number].take(as_column(inside)))


def gathered(
    starts: NDArray[np.int64],
    places: NDArray[np.integer],
    take: Callable[[int, NDArray[np.int64]], pa.LargeStringArray],
) -> pa.LargeStringArray:
    """The same of sources that begin at `starts`; `take` gives texts of one of them, by their places inside it."""
    if not len(places):
        return NO_TEXTS
    parts = list(parted(starts, places))
    back = np.empty(len(places), np.int64)
    back[np.concatenate([part.positions for part in parts])] = np.arange(len(places))
    return pa.concat_arrays([take(part.number, part.inside) for part in parts]).take(as_column(back))


def parted(starts: NDArray[np.int64], places: NDArray[np.integer]) -> Iterator[Part]:
    """The places by the source that they are in."""
    which = np.searchsorted(starts, places, side="right") - 1
    order = np.argsort(which.astype(np.uint32), kind="stable")
    edges = np.searchsorted(which[order], np.arange(len(starts) + 1))
    inside = places[order] - starts[which[order]]
    for number in np.flatnonzero(np.diff(edges)).tolist():
        rows = slice(edges[number], edges[number + 1])
        yield Part(number, order[rows], inside[rows])


def without_heads(texts: pa.LargeStringArray, lengths: NDArray[np.integer]) -> pa.LargeStringArray:
    """Return the texts without that many bytes at their beginning."""
    edges, count = edges_of(texts), len(texts)
    # Heads and rests take turns in one column over the same bytes; every second text is wanted.
    cuts = np.empty(2 * count + 1, np.int64)
    cuts[::2], cuts[1::2] = edges, edges[:-1] + lengths
    both = pa.LargeStringArray.from_buffers(2 * count, pa.py_buffer(cuts), texts.buffers()[2])
    return both.take(as_column(np.arange(1, 2 * count, 2)))
