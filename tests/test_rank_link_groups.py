"""Groups of links: weights against a plain count of each group, and the texts that get votes."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tarrafa.rank import link_groups
from tarrafa.rank.link_groups import LinkGroups, count_anchors, weigh_links

NODES = 6
LINKS = st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, 2), st.integers(0, 2)), max_size=60)
HOSTS = st.lists(st.integers(0, 3), min_size=NODES, max_size=NODES)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(LINKS, HOSTS, st.sampled_from([1, 7, 1000]))
def test_links_of_a_template_weigh_together_as_much_as_a_few(
    monkeypatch: pytest.MonkeyPatch, links: list[tuple[int, int, int]], hosts: list[int], chunk_rows: int
) -> None:
    """Chunks end with a host, however small they are."""
    monkeypatch.setattr(link_groups, "_CHUNK_ROWS", chunk_rows)
    links, hosts, share, few = sorted(links), sorted(hosts), 0.5, 2
    groups = Counter((hosts[source], target, text) for source, target, text in links)
    pages = Counter(hosts[source] for source in {source for source, _, _ in links})
    sources, targets, texts = np.array(links, np.uint32).reshape(-1, 3).T
    found, found_groups = weigh_links(sources, targets, texts, np.array(hosts, np.uint32), share, few)
    sizes = [(groups[hosts[source], target, text], pages[hosts[source]]) for source, target, text in links]
    expected = [few / count if count > few and count > share * page_count else 1 for count, page_count in sizes]
    assert np.allclose(found, expected)
    assert sorted(zip(*(column.tolist() for column in found_groups), strict=True)) == sorted(groups)


GROUPS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, NODES - 1), st.integers(0, 4)), unique=True, max_size=40)


@given(GROUPS, st.integers(-1, 1), st.integers(1, 3), st.integers(1, 3))
def test_anchors_are_the_specific_texts_with_most_votes(
    groups: list[tuple[int, int, int]], no_text: int, texts_max: int, targets_max: int
) -> None:
    uses = Counter((host, text) for host, _, text in groups)
    votes = Counter(
        (target, text) for host, target, text in groups if uses[host, text] <= targets_max and text != no_text
    )
    columns = np.array(groups, np.uint32).reshape(-1, 3).T
    found = count_anchors(LinkGroups(*columns), no_text, NODES, texts_max, targets_max)
    for node, (first, end) in enumerate(pairwise(found.starts.tolist())):
        texts, counts = found.texts[first:end].tolist(), found.votes[first:end].tolist()
        best = sorted((-count, text) for (target, text), count in votes.items() if target == node)[:texts_max]
        assert list(zip(texts, counts, strict=True)) == [(text, -count) for count, text in best]
