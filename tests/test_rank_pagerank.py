"""PageRank against the equations that define it, and its iterations."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tarrafa.rank.pagerank import DAMPING, link_matrix, pagerank

COUNT = 7
LINKS = st.lists(st.tuples(st.integers(0, COUNT - 1), st.integers(0, COUNT - 1)), max_size=30)


def ranks_of(links: list[tuple[int, int]], count: int = COUNT, tolerance: float = 1e-12) -> NDArray[np.float64]:
    pairs = np.array(links, np.int64).reshape(-1, 2)
    matrix = link_matrix(pairs[:, 0], pairs[:, 1], np.ones(len(pairs)), count)
    return pagerank(matrix, tolerance=tolerance, iterations_max=1000).ranks


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
    matrix = link_matrix(pairs[:, 0], pairs[:, 1], np.ones(len(pairs)), COUNT)
    begun = pagerank(matrix, np.array(start), tolerance=1e-12, iterations_max=1000)
    assert np.allclose(begun.ranks, solved(links), atol=1e-8)


def test_former_ranks_are_confirmed_in_one_iteration() -> None:
    draw = np.random.default_rng(1)
    sources, targets = draw.integers(0, 500, 5000), draw.integers(0, 500, 5000) ** 2 // 500
    matrix = link_matrix(sources, targets, np.ones(5000, np.float32), 500)
    first = pagerank(matrix, tolerance=1e-9)
    again = pagerank(matrix, first.ranks, tolerance=1e-9)
    assert first.iterations > 10
    assert again.iterations == 1
    assert np.allclose(again.ranks, first.ranks)


def test_iterations_are_bounded() -> None:
    matrix = link_matrix(np.array([0, 1]), np.array([1, 2]), np.ones(2), 3)
    assert pagerank(matrix, tolerance=0.0, iterations_max=4).iterations == 4


def test_a_graph_without_nodes_has_no_ranks() -> None:
    assert len(ranks_of([], 0)) == 0


def test_a_repeated_link_counts_once() -> None:
    assert np.allclose(ranks_of([(0, 1), (0, 1), (0, 2)], 3), ranks_of([(0, 1), (0, 2)], 3))


def test_light_links_pass_on_less() -> None:
    matrix = link_matrix(np.array([0, 0]), np.array([1, 2]), np.array([0.25, 1.0]), 3)
    ranks = pagerank(matrix, tolerance=1e-12, iterations_max=1000).ranks
    assert ranks[1] < ranks[2]
