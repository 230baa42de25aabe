"""URLs as a column: many texts in one buffer, which are moved about without being made into objects."""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tarrafa.verify.keys import edges_of, pieces

NO_TEXTS = pa.array([], pa.large_string())


def taken(sources: Sequence[pa.LargeStringArray], places: NDArray[np.integer]) -> pa.LargeStringArray:
    """The texts at these places; the sources are counted through."""
    if len(sources) == 1:
        return sources[0].take(pa.array(places))
    starts = np.cumsum([0, *map(len, sources[:-1])])
    return gathered(starts, places, lambda number, inside: sources[number].take(pa.array(inside)))


def gathered(
    starts: NDArray[np.int64],
    places: NDArray[np.integer],
    take: Callable[[int, NDArray[np.int64]], pa.LargeStringArray],
) -> pa.LargeStringArray:
    """The same of sources that begin at `starts`; `take` gives texts of one of them, by their places inside it."""
    which = np.searchsorted(starts, places, side="right") - 1
    order = np.argsort(which.astype(np.uint32), kind="stable")
    edges = np.searchsorted(which[order], np.arange(len(starts) + 1))
    inside = places[order] - starts[which[order]]
    found = [
        take(number, inside[edges[number] : edges[number + 1]]) for number in np.flatnonzero(np.diff(edges)).tolist()
    ]
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return pa.concat_arrays(found or [NO_TEXTS]).take(pa.array(back))


def without_heads(texts: pa.LargeStringArray, lengths: NDArray[np.integer]) -> pa.LargeStringArray:
    """The texts without as many bytes at their beginning."""
    edges = edges_of(texts)
    return pieces(texts.buffers()[2], edges, edges[:-1] + lengths, 1)
