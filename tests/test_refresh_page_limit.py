"""A limit of pages: the least important ones make room, block by block, and come back only if that is worth it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.histories import Histories, Phase, importance_codes, new_histories
from tarrafa.refresh import PageLimit

CHANCE = np.random.default_rng(1)


def block(importance: list[float], phase: Phase = Phase.LIVE) -> Histories:
    found = new_histories(np.arange(len(importance)), importance_codes(np.array(importance)))
    return found._replace(phase=np.full(len(importance), phase, np.uint8))


def without(histories: Histories, leaving: list[int]) -> Histories:
    phase = histories.phase.copy()
    phase[leaving] = Phase.DROPPED
    return histories._replace(phase=phase)


@given(
    st.lists(st.lists(st.floats(0.01, 100), min_size=1, max_size=40), min_size=1, max_size=4),
    st.integers(1, 120),
)
def test_after_some_rounds_no_more_pages_stay_than_the_limit_and_none_was_dropped_for_a_less_important_one(
    importance: list[list[float]], limit: int
) -> None:
    blocks, page_limit = [block(each) for each in importance], PageLimit(limit)
    for _ in range(40):
        for number, each in enumerate(blocks):
            leaving = page_limit.leaving(number, each, CHANCE.random(len(each.row)))
            blocks[number] = without(each, leaving.tolist())
    staying = np.concatenate([each.importance[each.phase == Phase.LIVE] for each in blocks]).astype(int)
    left = np.concatenate([each.importance[each.phase == Phase.DROPPED] for each in blocks]).astype(int)
    assert len(staying) <= limit
    if len(blocks) == 1:
        assert not len(left) or not len(staying) or left.max() <= staying.min()


def test_without_a_limit_nothing_leaves_and_what_has_left_comes_back() -> None:
    page_limit, pages = PageLimit(None), block([1.0, 2.0], Phase.DROPPED)
    assert len(page_limit.leaving(0, block([1.0] * 9), np.zeros(9))) == 0
    assert page_limit.returning(pages).all()


def test_page_that_has_left_comes_back_when_it_is_twice_as_important_as_the_least_or_when_there_is_room() -> None:
    page_limit, pages = PageLimit(10), block([1.0] * 10)
    page_limit.leaving(0, pages, np.zeros(10))
    assert page_limit.returning(block([0.9, 1.5, 2.1], Phase.DROPPED)).tolist() == [False, False, True]
    page_limit.leaving(0, block([1.0] * 5), np.zeros(5))
    assert page_limit.returning(block([0.1], Phase.DROPPED)).tolist() == [True]


def test_pages_that_are_gone_or_refused_take_no_room() -> None:
    page_limit = PageLimit(3)
    page_limit.leaving(0, block([1.0] * 50, Phase.GONE), np.zeros(50))
    assert len(page_limit.leaving(1, block([1.0] * 3), np.zeros(3))) == 0
    assert len(page_limit.leaving(1, block([1.0] * 4), np.zeros(4))) >= 1
