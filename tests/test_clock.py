import asyncio

from tarrafa.clock import Clock, SystemClock, VirtualClock


def test_virtual_clock_stands_still_until_it_is_told_to_go_on() -> None:
    async def story() -> None:
        clock = VirtualClock(now=100.0)
        sleeper = asyncio.create_task(clock.sleep(5))
        for _ in range(50):
            await asyncio.sleep(0)
        assert not sleeper.done()
        await clock.advance(4.999)
        assert not sleeper.done()
        await clock.advance(0.001)
        assert sleeper.done()
        assert clock.now() == clock.monotonic() == 105.0

    asyncio.run(story())


def test_sleepers_wake_in_order_of_time_then_of_arrival_each_at_its_own_moment() -> None:
    async def story() -> list[tuple[str, float]]:
        clock = VirtualClock()
        woken: list[tuple[str, float]] = []

        async def sleep(name: str, seconds: float) -> None:
            await clock.sleep(seconds)
            woken.append((name, clock.now()))

        async with asyncio.TaskGroup() as group:
            for name, seconds in (("late", 3), ("first", 1), ("second", 1), ("middle", 2), ("third", 1)):
                group.create_task(sleep(name, seconds))
            await clock.advance(10)
        assert clock.now() == 10
        return woken

    assert asyncio.run(story()) == [("first", 1), ("second", 1), ("third", 1), ("middle", 2), ("late", 3)]


def test_who_sleeps_again_within_an_advance_wakes_again_within_it() -> None:
    async def story() -> list[float]:
        clock = VirtualClock()
        moments: list[float] = []

        async def tick() -> None:
            while True:
                await clock.sleep(1)
                moments.append(clock.now())

        ticking = asyncio.create_task(tick())
        await clock.advance(3.5)
        ticking.cancel()
        await clock.advance(10)
        return moments

    assert asyncio.run(story()) == [1, 2, 3]


def test_two_who_take_turns_meet_in_the_right_order() -> None:
    async def story() -> list[tuple[str, float]]:
        clock = VirtualClock()
        seen: list[tuple[str, float]] = []

        async def tick(name: str, seconds: float, times: int) -> None:
            for _ in range(times):
                await clock.sleep(seconds)
                seen.append((name, clock.now()))

        tasks = [asyncio.create_task(tick("two", 2, 3)), asyncio.create_task(tick("three", 3, 2))]
        await clock.advance(6)
        await asyncio.gather(*tasks)
        return seen

    assert asyncio.run(story()) == [("two", 2), ("three", 3), ("two", 4), ("three", 6), ("two", 6)]


def test_a_sleep_of_no_time_ends_with_the_next_advance_even_of_nothing() -> None:
    async def story() -> None:
        clock = VirtualClock()
        sleepers = [asyncio.create_task(clock.sleep(seconds)) for seconds in (0, -1)]
        await clock.advance(0)
        assert all(sleeper.done() for sleeper in sleepers)
        assert clock.now() == 0

    asyncio.run(story())


def test_a_sleeper_that_was_cancelled_is_passed_over() -> None:
    async def story() -> None:
        clock = VirtualClock()
        given_up, patient = asyncio.create_task(clock.sleep(1)), asyncio.create_task(clock.sleep(2))
        await asyncio.sleep(0)
        given_up.cancel()
        await clock.advance(2)
        assert given_up.cancelled()
        assert patient.done()

    asyncio.run(story())


def test_the_machines_clock_never_goes_back_and_is_a_clock() -> None:
    async def story() -> None:
        clock: Clock = SystemClock()
        before = clock.monotonic()
        await clock.sleep(0)
        assert clock.monotonic() >= before
        assert clock.now() > 1_700_000_000

    asyncio.run(story())
