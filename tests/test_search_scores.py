"""The order of results: copies, sites, freshness and anchors."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.search.scores import NEAR_SHARE, anchor_share, fold_copies, freshness, spread_sites


def test_copies_are_folded_under_their_best() -> None:
    assert fold_copies(np.array([5, 0, 5, 7, 0], np.uint64)) == [[0, 2], [1], [3], [4]]


def test_sites_take_turns_and_nothing_is_lost() -> None:
    groups = [[0], [1], [2], [3]]
    site, scores = np.array([1, 1, 1, 2], np.uint64), np.ones(4)
    assert spread_sites(groups, site, scores, 1) == [[0], [3], [1], [2]]
    assert spread_sites(groups, site, scores, 2) == [[0], [1], [3], [2]]
    assert spread_sites(groups, site, scores, 0) == groups


def test_noise_of_another_site_does_not_come_before_a_better_result() -> None:
    groups = [[0], [1], [2], [3]]
    site, scores = np.array([1, 1, 1, 2], np.uint64), np.array([10.0, 9.8, 5.2, 5.0])
    assert spread_sites(groups, site, scores, 1) == [[0], [1], [3], [2]]


def test_month_halves_freshness() -> None:
    month = 30 * 86_400
    assert freshness(np.array([2 * month, month, 3 * month]), 2.0 * month).tolist() == [1.0, 0.5, 1.0]


def test_anchor_text_counts_by_words_and_votes() -> None:
    words = frozenset({"fishing", "net"})
    few, many = [(words, 1)], [(words, 50)]
    assert 0.0 < anchor_share(few, words) < anchor_share(many, words) < 1.0
    assert anchor_share([(frozenset({"home"}), 50)], words) == 0.0
    assert anchor_share([], words) == 0.0


def spread_one_by_one(groups: list[list[int]], site: list[int], scores: list[float], per_site: int) -> list[list[int]]:
    left, shown, spread = list(groups), dict.fromkeys(site, 0), []
    while left:
        near = [group for group in left if scores[group[0]] >= NEAR_SHARE * scores[left[0][0]]]
        chosen = min(near, key=lambda group: (shown[site[group[0]]] // per_site, groups.index(group)))
        left.remove(chosen)
        shown[site[chosen[0]]] += 1
        spread.append(chosen)
    return spread


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 20)), max_size=30), st.integers(1, 3))
def test_sites_are_spread_as_one_by_one(results: list[tuple[int, int]], per_site: int) -> None:
    results.sort(key=lambda result: -result[1])
    groups, site, scores = [[place] for place in range(len(results))], [r[0] for r in results], [r[1] for r in results]
    spread = spread_sites(groups, np.array(site, np.uint64), np.array(scores, np.float64), per_site)
    assert spread == spread_one_by_one(groups, site, [float(each) for each in scores], per_site)


@given(st.lists(st.integers(0, 5), max_size=30))
def test_copies_are_folded_in_order_and_none_is_lost(signature: list[int]) -> None:
    groups = fold_copies(np.array(signature, np.uint64))
    assert sorted(place for group in groups for place in group) == list(range(len(signature)))
    assert [group[0] for group in groups] == sorted(group[0] for group in groups)
    for group in groups:
        assert len({signature[place] for place in group}) == 1
        assert len(group) == 1 or signature[group[0]]
