"""What comes at the same time is worked on together, within bounds, and nobody waits for company or in vain."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterator, Sequence

import pytest

from tarrafa.agent.together import TURN_SECONDS, Together
from tarrafa.clock import SystemClock, VirtualClock


class Slow(SystemClock):
    """Each step takes as long as a turn may."""

    def __init__(self) -> None:
        self.monotonic = itertools.count(0.0, TURN_SECONDS).__next__


class Work:
    """Notes what it is given at a time."""

    def __init__(self) -> None:
        self.heaps: list[list[int]] = []
        self.ended: list[list[int]] = []

    def __call__(self, heap: list[int]) -> Iterator[None]:
        self.heaps.append(heap)
        yield
        if 13 in heap:
            raise MemoryError("unlucky")
        self.ended.append(heap)


def run(come: Callable[[Together[int]], Awaitable[None]], count_limit: int = 4, bytes_limit: int = 100) -> Work:
    async def made() -> Work:
        work = Work()
        await come(Together(work, Slow(), count_limit, bytes_limit))
        return work

    return asyncio.run(made())


def all_at_once(numbers: Sequence[int], size_bytes: int = 1) -> Callable[[Together[int]], Awaitable[None]]:
    async def come(together: Together[int]) -> None:
        await asyncio.gather(*(together.add(number, size_bytes) for number in numbers))

    return come


def test_what_comes_in_one_turn_is_worked_on_together_in_its_order() -> None:
    assert run(all_at_once(range(3))).heaps == [[0, 1, 2]]


def test_no_more_is_worked_on_at_a_time_than_the_limit() -> None:
    assert run(all_at_once(range(10))).heaps == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_size_counts_too_and_one_that_is_larger_alone_is_not_left() -> None:
    assert run(all_at_once(range(5), 50)).heaps == [[0, 1], [2, 3], [4]]
    assert run(all_at_once(range(2), 500)).heaps == [[0], [1]]


def test_what_comes_alone_waits_for_no_other() -> None:
    async def come(together: Together[int]) -> None:
        for number in range(3):
            await together.add(number, 1)

    assert run(come).heaps == [[0], [1], [2]]


def test_others_on_the_loop_have_their_turn_between_two_steps() -> None:
    async def come(together: Together[int]) -> None:
        waiting = [together.add(number, 1) for number in range(12)]
        seen = []
        while not waiting[-1].done():
            await asyncio.sleep(0)
            seen.append(sum(each.done() for each in waiting))
        assert seen == [0, 4, 4, 8, 8, 12]

    run(come)


def test_steps_follow_each_other_until_a_turn_is_over() -> None:
    clock = VirtualClock()
    done: list[int] = []

    def work(_: list[int]) -> Iterator[None]:
        for number in range(6):
            done.append(number)
            clock._now += TURN_SECONDS / 2.5
            yield

    async def come() -> list[int]:
        waiting = Together(work, clock, 1, 1).add(0, 1)
        seen = []
        while not waiting.done():
            await asyncio.sleep(0)
            seen.append(len(done))
        return seen

    assert asyncio.run(come()) == [3, 6, 6]


def test_what_is_given_up_meanwhile_is_not_worked_on() -> None:
    """As when a crawl is stopped at once."""

    async def come(together: Together[int]) -> None:
        first, second = together.add(1, 1), together.add(2, 1)
        first.cancel()
        await second

    assert run(come).heaps == [[2]]


def test_what_is_given_up_between_two_steps_is_not_worked_on_to_its_end() -> None:
    """Pages that were read and not kept are fetched again; the archive may be closed by now."""

    async def come(together: Together[int]) -> None:
        waiting = [together.add(number, 1) for number in (1, 2)]
        await asyncio.sleep(0)
        for each in waiting:
            each.cancel()
        await together.add(3, 1)

    work = run(come)
    assert work.heaps == [[1, 2], [3]]
    assert work.ended == [[3]]


def test_what_comes_between_two_steps_is_of_the_next_heap() -> None:
    async def come(together: Together[int]) -> None:
        first = together.add(1, 1)
        await asyncio.sleep(0)
        await asyncio.gather(first, together.add(2, 1), together.add(3, 1))

    assert run(come).ended == [[1], [2, 3]]


def test_error_is_raised_by_everybody_who_waits_and_later_ones_go_on() -> None:
    """A visit that waited for ever would stop the crawl without a word."""

    async def come(together: Together[int]) -> None:
        for waiting in [together.add(number, 1) for number in (12, 13)]:
            with pytest.raises(MemoryError, match="unlucky"):
                await waiting
        await together.add(14, 1)

    assert run(come).heaps == [[12, 13], [14]]
