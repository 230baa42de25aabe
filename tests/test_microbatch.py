"""Items that arrive together are processed together, within bounds; none waits for company or in vain."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from tarrafa.agent.microbatch import MicroBatch


class Work:
    """Records each batch that it is given."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []

    def __call__(self, batch: list[int]) -> None:
        self.batches.append(batch)
        if 13 in batch:
            raise MemoryError("unlucky")


def run(arrive: Callable[[MicroBatch[int]], Awaitable[None]], count_limit: int = 4, bytes_limit: int = 100) -> Work:
    async def made() -> Work:
        work = Work()
        await arrive(MicroBatch(work, count_limit, bytes_limit))
        return work

    return asyncio.run(made())


def all_at_once(numbers: Sequence[int], size_bytes: int = 1) -> Callable[[MicroBatch[int]], Awaitable[None]]:
    async def arrive(batch: MicroBatch[int]) -> None:
        await asyncio.gather(*(batch.add(number, size_bytes) for number in numbers))

    return arrive


def test_items_of_one_turn_form_a_batch_in_their_order() -> None:
    assert run(all_at_once(range(3))).batches == [[0, 1, 2]]


def test_batch_is_no_larger_than_the_limit() -> None:
    assert run(all_at_once(range(10))).batches == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_size_counts_too_and_an_item_larger_than_the_limit_is_a_batch_of_one() -> None:
    assert run(all_at_once(range(5), 50)).batches == [[0, 1], [2, 3], [4]]
    assert run(all_at_once(range(2), 500)).batches == [[0], [1]]


def test_item_that_comes_alone_waits_for_no_other() -> None:
    async def arrive(batch: MicroBatch[int]) -> None:
        for number in range(3):
            await batch.add(number, 1)

    assert run(arrive).batches == [[0], [1], [2]]


def test_other_callbacks_run_between_two_batches() -> None:
    async def arrive(batch: MicroBatch[int]) -> None:
        waiting = [batch.add(number, 1) for number in range(12)]
        seen = []
        while not waiting[-1].done():
            await asyncio.sleep(0)
            seen.append(sum(each.done() for each in waiting))
        assert seen == [4, 8, 12]

    assert len(run(arrive).batches) == 3


def test_item_whose_caller_was_cancelled_is_not_processed() -> None:
    """As when a crawl is stopped at once."""

    async def arrive(batch: MicroBatch[int]) -> None:
        first, second = batch.add(1, 1), batch.add(2, 1)
        first.cancel()
        await second

    assert run(arrive).batches == [[2]]


def test_batch_of_cancelled_items_is_not_processed_and_the_next_one_is() -> None:
    async def arrive(batch: MicroBatch[int]) -> None:
        for number in range(2):
            batch.add(number, 1).cancel()
        await batch.add(3, 1)

    assert run(arrive).batches == [[3]]


def test_error_is_raised_by_every_item_of_the_batch_and_later_ones_are_processed() -> None:
    """A visit that waited for ever would stop the crawl silently."""

    async def arrive(batch: MicroBatch[int]) -> None:
        for waiting in [batch.add(number, 1) for number in (12, 13)]:
            with pytest.raises(MemoryError, match="unlucky"):
                await waiting
        await batch.add(14, 1)

    assert run(arrive).batches == [[12, 13], [14]]
