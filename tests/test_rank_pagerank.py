"""PageRank against the equations that define it, and its iterations."""

from pathlib import Path
from tempfile import gettempdir
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tarrafa.rank import LinkMatrix, PageRankResult, Scratch, link_block, pagerank
from tarrafa.rank.pagerank import DAMPING

COUNT = 7
BLOCK_ROWS = 3
LINKS = st.lists(st.tuples(st.integers(0, COUNT - 1), st.integers(0, COUNT - 1)), max_size=30)


def ranked(
    sources: NDArray[Any],
    targets: NDArray[Any],
    count: int,
    weights: NDArray[Any] | None = None,
    start: NDArray[np.float64] | None = None,
    tolerance: float = 1e-12,
    iterations_max: int = 1000,
) -> PageRankResult:
    """Rank nodes by a matrix of several blocks."""
    weights = np.ones(len(sources), np.float32) if weights is None else weights
    with Scratch(Path("/dev/shm") if Path("/dev/shm").is_dir() else Path(gettempdir())) as scratch:
        matrix = LinkMatrix(scratch, count)
        for first in range(0, count, BLOCK_ROWS):
            rows = np.flatnonzero((targets >= first) & (targets < first + BLOCK_ROWS))
            shape = (min(BLOCK_ROWS, count - first), count)
            matrix.add(first, link_block(sources[rows], targets[rows] - first, weights[rows], shape))
        return pagerank(matrix, start, tolerance=tolerance, iterations_max=iterations_max)


def ranks_of(links: list[tuple[int, int]], count: int = COUNT) -> NDArray[np.float64]:
    pairs = np.array(links, np.int64).reshape(-1, 2)
    return ranked(pairs[:, 0], pairs[:, 1], count).ranks


def solved(links: list[tuple[int, int]], count: int = COUNT) -> NDArray[np.float64]:
    """Solve the equations of the random surfer by linear algebra."""
    matrix = np.zeros((count, count))
    for source, target in set(links):
        matrix[target, source] = 1
    leaving = matrix.sum(axis=0)
    matrix[:, leaving == 0] = 1
    matrix /= matrix.sum(axis=0)
    equations = np.eye(count) - DAMPING * matrix
    found: NDArray[np.float64] = np.linalg.solve(equations, np.full(count, 1 - DAMPING))
    return found


@given(LINKS)
def test_ranks_solve_the_equations(links: list[tuple[int, int]]) -> None:
    assert np.allclose(ranks_of(links), solved(links), atol=1e-8)


@given(LINKS)
def test_no_rank_is_negative_and_the_mean_is_one(links: list[tuple[int, int]]) -> None:
    ranks = ranks_of(links)
    assert (ranks > 0).all()
    assert np.isclose(ranks.mean(), 1)


@given(LINKS, st.lists(st.floats(0, 100), min_size=COUNT, max_size=COUNT))
def test_the_start_does_not_change_the_ranks(links: list[tuple[int, int]], start: list[float]) -> None:
    pairs = np.array(links, np.int64).reshape(-1, 2)
    begun = ranked(pairs[:, 0], pairs[:, 1], COUNT, start=np.array(start))
    assert np.allclose(begun.ranks, solved(links), atol=1e-8)


def test_former_ranks_are_confirmed_in_one_iteration() -> None:
    draw = np.random.default_rng(1)
    sources, targets = draw.integers(0, 500, 5000), draw.integers(0, 500, 5000) ** 2 // 500
    first = ranked(sources, targets, 500, tolerance=1e-9)
    again = ranked(sources, targets, 500, start=first.ranks.copy(), tolerance=1e-9)
    assert first.iterations > 10
    assert again.iterations == 1
    assert np.allclose(again.ranks, first.ranks)


def test_iterations_are_bounded() -> None:
    assert ranked(np.array([0, 1]), np.array([1, 2]), 3, tolerance=0.0, iterations_max=4).iterations == 4


def test_a_graph_without_nodes_has_no_ranks() -> None:
    assert len(ranks_of([], 0)) == 0


def test_a_repeated_link_counts_once() -> None:
    assert np.allclose(ranks_of([(0, 1), (0, 1), (0, 2)], 3), ranks_of([(0, 1), (0, 2)], 3))


def test_light_links_pass_on_less() -> None:
    ranks = ranked(np.array([0, 0]), np.array([1, 2]), 3, np.array([0.25, 1.0], np.float32)).ranks
    assert ranks[1] < ranks[2]


def test_a_row_in_several_blocks_has_the_links_of_all(tmp_path: Path) -> None:
    """A host whose pages are in two buckets is a row of two blocks."""
    with Scratch(tmp_path) as scratch:
        matrix = LinkMatrix(scratch, 3)
        for source in (1, 2):
            matrix.add(0, link_block(np.array([source]), np.array([0]), np.ones(1, np.float32), (1, 3)))
        assert matrix.multiply(np.array([1.0, 2.0, 4.0])).tolist() == [6, 0, 0]
        assert (matrix.leaving.tolist(), matrix.links_count) == ([0, 1, 1], 2)
