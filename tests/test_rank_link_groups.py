"""Groups of links: weights against a plain count of each group, and the texts that get votes."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.rank.anchors import count_anchors, specific_groups
from tarrafa.rank.link_groups import LinkGroups, weigh_links

NODES = 6
LINKS = st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, 2), st.integers(0, 2)), max_size=60)
HOSTS = st.lists(st.integers(0, 3), min_size=NODES, max_size=NODES)


@given(LINKS, HOSTS)
def test_links_of_a_template_weigh_together_as_much_as_a_few(
    links: list[tuple[int, int, int]], hosts: list[int]
) -> None:
    share, few = 0.5, 2
    groups = Counter((hosts[source], target, text) for source, target, text in links)
    pages = Counter(hosts[source] for source in {source for source, _, _ in links})
    sources, targets, texts = np.array(links, np.uint32).reshape(-1, 3).T
    columns = LinkGroups(np.array(hosts, np.uint32)[sources], targets, texts)
    found, found_groups = weigh_links(columns, np.array([pages[host] for host in range(4)]), share, few)
    sizes = [(groups[hosts[source], target, text], pages[hosts[source]]) for source, target, text in links]
    expected = [few / count if count > few and count > share * page_count else 1 for count, page_count in sizes]
    assert np.allclose(found, expected)
    assert sorted(zip(*(column.tolist() for column in found_groups), strict=True)) == sorted(groups)


GROUPS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, NODES - 1), st.integers(0, 4)), unique=True, max_size=40)


@given(GROUPS, st.integers(1, 3), st.integers(1, 3))
def test_anchors_are_the_specific_texts_with_most_votes(
    groups: list[tuple[int, int, int]], texts_max: int, targets_max: int
) -> None:
    uses = Counter((host, text) for host, _, text in groups)
    votes = Counter((target, text) for host, target, text in groups if uses[host, text] <= targets_max)
    specific = specific_groups(LinkGroups(*np.array(groups, np.uint32).reshape(-1, 3).T), targets_max)
    found = count_anchors(specific.targets, specific.texts, texts_max)
    for node in range(NODES):
        rows = found.targets == node
        best = sorted((-count, text) for (target, text), count in votes.items() if target == node)[:texts_max]
        assert list(zip(found.texts[rows].tolist(), found.votes[rows].tolist(), strict=True)) == [
            (text, -count) for count, text in best
        ]
    assert (np.diff(found.targets.astype(np.int64)) >= 0).all()
