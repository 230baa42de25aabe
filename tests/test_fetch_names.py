"""What names lead to: the cache on a virtual clock, the system's resolver, and what a fetch makes of them."""

import asyncio
import threading
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fetching import OWN, SMALL, ok, opened, transporting
from tarrafa.clock import VirtualClock
from tarrafa.configuration import CrawlSection
from tarrafa.fetch import SystemResolver, TableResolver, names
from tarrafa.fetch.names import NameCache, NameLimits
from tarrafa.records import Failure, FailureKind, Page, Request
from webs import until

LIMITS = NameLimits(found_seconds=300.0, missing_seconds=60.0, name_count=3)


class Counting:
    """Counts what it is asked; answers from a table that may change, after `gate` if there is one."""

    def __init__(self, table: dict[str, tuple[str, ...]], gate: asyncio.Event | None = None) -> None:
        self.table = table
        self.gate = gate
        self.asked: Counter[str] = Counter()

    async def addresses(self, name: str) -> tuple[str, ...]:
        self.asked[name] += 1
        if self.gate:
            await self.gate.wait()
        return self.table.get(name, ())


def cache_of(resolver: Counting, clock: VirtualClock, timeout_seconds: float = 20.0) -> NameCache:
    return NameCache(resolver, clock, timeout_seconds, LIMITS)


def test_answer_is_believed_for_a_while_and_then_asked_for_again() -> None:
    async def story() -> None:
        clock, resolver = VirtualClock(), Counting({"a": ("1.1.1.1",)})
        cache = cache_of(resolver, clock)
        for wait, asked in ((0.0, 1), (299.0, 1), (1.0, 2), (299.0, 2)):
            await clock.advance(wait)
            assert await cache.addresses("a") == ("1.1.1.1",)
            assert resolver.asked["a"] == asked

    asyncio.run(story())


def test_name_without_address_is_believed_for_a_shorter_while() -> None:
    async def story() -> None:
        clock, resolver = VirtualClock(), Counting({})
        cache = cache_of(resolver, clock)
        assert await cache.addresses("a") == ()
        await clock.advance(59)
        resolver.table["a"] = ("1.1.1.1",)
        assert await cache.addresses("a") == ()
        await clock.advance(1)
        assert await cache.addresses("a") == ("1.1.1.1",)

    asyncio.run(story())


def test_many_who_ask_at_once_cause_one_look_up_also_when_the_first_leaves() -> None:
    async def story() -> None:
        gate = asyncio.Event()
        resolver = Counting({"a": ("1.1.1.1",)}, gate)
        cache = cache_of(resolver, VirtualClock())
        waiting = [asyncio.create_task(cache.addresses("a")) for _ in range(50)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        gate.set()
        found = await asyncio.gather(*waiting, return_exceptions=True)
        assert isinstance(found[0], asyncio.CancelledError)
        assert set(found[1:]) == {("1.1.1.1",)}
        assert resolver.asked["a"] == 1

    asyncio.run(story())


def test_look_up_without_answer_ends_and_is_not_repeated_at_once() -> None:
    async def story() -> None:
        clock, resolver = VirtualClock(), Counting({"a": ("1.1.1.1",)}, asyncio.Event())
        cache = cache_of(resolver, clock, timeout_seconds=0.001)
        assert await cache.addresses("a") is None
        assert await cache.addresses("a") is None
        assert resolver.asked["a"] == 1
        await clock.advance(60)
        resolver.gate = None
        assert await cache.addresses("a") == ("1.1.1.1",)

    asyncio.run(story())


def test_name_that_was_asked_for_longest_ago_is_forgotten() -> None:
    async def story() -> None:
        resolver = Counting(dict.fromkeys("abcd", ("1.1.1.1",)))
        cache = cache_of(resolver, VirtualClock())
        for name in "abcadacb":
            await cache.addresses(name)
        assert resolver.asked == {"a": 1, "b": 2, "c": 1, "d": 1}

    asyncio.run(story())


@given(st.lists(st.tuples(st.booleans(), st.sampled_from(["1.1.1.1", "2.2.2.2", "::3", "4.4.4.4"])), max_size=8))
def test_order_follows_what_worked_and_what_failed_and_survives_a_new_look_up(told: list[tuple[bool, str]]) -> None:
    async def story() -> None:
        clock, known = VirtualClock(), ("1.1.1.1", "2.2.2.2", "::3")
        cache = cache_of(Counting({"a": known}), clock)
        await cache.addresses("a")
        for has_worked, address in told:
            (cache.worked if has_worked else cache.failed)("a", address)
            found = await cache.addresses("a")
            assert found is not None
            assert sorted(found) == sorted(known)
            assert address not in known or found[0 if has_worked else -1] == address
        before = await cache.addresses("a")
        await clock.advance(300)
        again = await cache.addresses("a")
        assert before
        assert again
        assert again[0] == before[0]

    asyncio.run(story())


# The system's.


def test_resolver_of_the_system_knows_localhost_and_survives_nonsense() -> None:
    assert set(asyncio.run(SystemResolver().addresses("localhost"))) & {"127.0.0.1", "::1"}
    assert asyncio.run(SystemResolver().addresses("x" * 300)) == ()
    assert asyncio.run(SystemResolver().addresses("nobody.invalid")) == ()


def test_resolver_of_the_system_uses_few_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    free, lock, at_once, most = threading.Event(), threading.Lock(), 0, 0

    def slow(name: str) -> tuple[str, ...]:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
            if at_once == 3:
                free.set()
        free.wait()
        with lock:
            at_once -= 1
        return (name,)

    monkeypatch.setattr(names, "_system_addresses", slow)

    async def story() -> None:
        resolver = SystemResolver(thread_limit=3)
        names = [str(number) for number in range(40)]
        assert await asyncio.gather(*map(resolver.addresses, names)) == [(name,) for name in names]

    asyncio.run(story())
    assert most == 3


# What a fetch makes of them.


def test_resolver_that_hangs_does_not_say_that_there_is_no_such_name() -> None:
    async def story() -> None:
        hanging = Counting({}, asyncio.Event())
        with transporting(replace(SMALL, connect_timeout_seconds=0.01), OWN, hanging) as transport:
            outcome = await transport.fetch(Request("http://a.test/"))
        assert isinstance(outcome, Failure)
        assert (outcome.url, outcome.kind) == ("http://a.test/", FailureKind.NAME_SERVER)

    asyncio.run(story())


def test_transport_that_is_closed_during_a_look_up_ends_it_as_a_failure() -> None:
    async def story() -> None:
        with transporting(resolver=(hanging := Counting({}, asyncio.Event()))) as transport:
            task = asyncio.create_task(transport.fetch(Request("http://a.test/")))
            await until(lambda: hanging.asked)
            transport.close()
            assert isinstance(await task, Failure)

    asyncio.run(story())


def resolved(name: str, crawl: CrawlSection = OWN, **keys: str) -> tuple[str, ...] | FailureKind:
    async def story() -> tuple[str, ...] | FailureKind:
        table = TableResolver({"a.test": ("10.0.0.1", "8.8.8.8", "2606:4700::1111"), "far.test": ("10.0.0.1",)})
        with transporting(replace(SMALL, **keys), crawl, table) as transport:  # type: ignore[arg-type]
            found = await transport.resolve(name)
            return found.kind if isinstance(found, Failure) else found

    return asyncio.run(story())


def test_addresses_are_known_and_judged_before_a_fetch() -> None:
    assert resolved("a.test") == ("10.0.0.1", "8.8.8.8", "2606:4700::1111")
    assert resolved("a.test", CrawlSection()) == ("8.8.8.8", "2606:4700::1111")
    assert resolved("far.test", CrawlSection()) is FailureKind.PRIVATE
    assert resolved("nobody.test") is FailureKind.NAME
    assert resolved("[::1]") == ("::1",)
    assert resolved("[::1]", CrawlSection()) is FailureKind.PRIVATE


def test_with_a_proxy_only_it_knows_the_addresses() -> None:
    assert resolved("nobody.test", proxy="http://127.0.0.1:1") == ()
    assert resolved("8.8.8.8", proxy="http://127.0.0.1:1") == ()
    assert resolved("10.0.0.1", CrawlSection(), proxy="http://127.0.0.1:1") is FailureKind.PRIVATE


def test_next_address_is_tried_where_nobody_listens_and_stays_in_front() -> None:
    async def story() -> None:
        async with opened(lambda _: ok(b"hi"), "127.0.0.3") as door:
            resolver = Counting({"a.test": ("127.0.0.1", "127.0.0.2", "127.0.0.3")})
            with transporting(resolver=resolver) as transport:
                got = await transport.fetch(Request(f"http://a.test:{door.port}/"))
                assert isinstance(got, Page)
                assert got.address == "127.0.0.3"
                found = await transport.resolve("a.test")
                assert not isinstance(found, Failure)
                assert found[0] == "127.0.0.3"

    asyncio.run(story())


def test_address_that_a_request_carries_is_the_only_one_tried() -> None:
    async def story() -> None:
        async with opened(lambda _: ok(b"hi"), "127.0.0.3") as door:
            with transporting(resolver=Counting({"a.test": ("127.0.0.1", "127.0.0.3")})) as transport:
                url = f"http://a.test:{door.port}/"
                await transport.resolve("a.test")
                outcome = await transport.fetch(Request(url, address="127.0.0.1"))
                assert isinstance(outcome, Failure)
                assert outcome.kind is FailureKind.REFUSED
                assert await transport.resolve("a.test") == ("127.0.0.3", "127.0.0.1")

    asyncio.run(story())
