"""Weights of links against a count of each group, one link at a time."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tarrafa.rank import weights
from tarrafa.rank.weights import weights_of

NODES = 6
LINKS = st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, 2), st.integers(0, 2)), max_size=60)
HOSTS = st.lists(st.integers(0, 3), min_size=NODES, max_size=NODES)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINKS, HOSTS, st.sampled_from([1, 7, 1000]))
def test_links_of_a_template_weigh_together_as_much_as_a_few(
    monkeypatch: pytest.MonkeyPatch, links: list[tuple[int, int, int]], hosts: list[int], piece_rows: int
) -> None:
    """Pieces end with a host, however small they are meant to be."""
    monkeypatch.setattr(weights, "_PIECE_ROWS", piece_rows)
    links, hosts, share, few = sorted(links), sorted(hosts), 0.5, 2
    groups = Counter((hosts[source], target, text) for source, target, text in links)
    pages = Counter(hosts[source] for source in {source for source, _, _ in links})
    sources, targets, texts = np.array(links, np.uint32).reshape(-1, 3).T
    found, found_groups = weights_of(sources, targets, texts, np.array(hosts, np.uint32), share, few)
    sizes = [(groups[hosts[source], target, text], pages[hosts[source]]) for source, target, text in links]
    expected = [few / count if count > few and count > share * page_count else 1 for count, page_count in sizes]
    assert np.allclose(found, expected)
    assert sorted(zip(*(column.tolist() for column in found_groups), strict=True)) == sorted(groups)
