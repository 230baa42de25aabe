"""The matrix of links on disk, in blocks of rows. A row has the links to one node.

A block is written once, with 8 bytes for each link, and read in each multiplication. In memory there are 8 bytes for
each node, and one block.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tarrafa.rank.arrays import F64
from tarrafa.rank.scratch import Scratch


class _Block(NamedTuple):
    first: int  # number of its first row
    rows: int
    links: int
    position: int  # of its first byte


class LinkMatrix:
    """Filled by add."""

    def __init__(self, scratch: Scratch, count: int) -> None:
        self.count = count
        self.leaving = np.zeros(count)  # for each node: the weight of all links from it
        self._file, self._end = scratch.file(), 0
        self._blocks: list[_Block] = []

    @property
    def links_count(self) -> int:
        return sum(block.links for block in self._blocks)

    def add(self, first: int, block: sparse.csr_array) -> None:
        """Add a block of rows that begins with row `first`. A row may be in several blocks."""
        self._blocks.append(_Block(first, block.shape[0], block.nnz, self._end))
        for values in (block.indptr, block.indices, block.data.astype(np.float32, copy=False)):
            self._file.write(self._end, values)
            self._end += values.nbytes
        np.add.at(self.leaving, block.indices, block.data.astype(np.float64))

    def multiply(self, vector: F64) -> F64:
        """Return the product of the matrix and a vector."""
        found = np.zeros(self.count)
        for block in self._blocks:
            found[block.first : block.first + block.rows] += self._read(block) @ vector
        return found

    def _read(self, block: _Block) -> sparse.csr_array:
        starts, places = np.empty(block.rows + 1, np.int32), np.empty(block.links, np.int32)
        weights = np.empty(block.links, np.float32)
        position = block.position
        for values in (starts, places, weights):
            self._file.read(position, values)
            position += values.nbytes
        return sparse.csr_array((weights.astype(np.float64), places, starts), shape=(block.rows, self.count))

    def close(self) -> None:
        self._file.close()


def link_block(
    sources: NDArray[Any], targets: NDArray[Any], weights: NDArray[Any], shape: tuple[int, int], weight_max: float = 1
) -> sparse.csr_array:
    """Return a block with a row for each target. Links of one source to one target add up, to `weight_max` at most."""
    places = (targets.astype(np.int32), sources.astype(np.int32))
    block = sparse.coo_array((weights, places), shape=shape).tocsr()
    np.minimum(block.data, weight_max, out=block.data)
    return block
