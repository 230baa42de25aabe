"""What names lead to: the cache on a virtual clock, and what a fetch makes of it."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fetching import OWN, SMALL, ok, opened, transporting
from tarrafa.clock import VirtualClock
from tarrafa.configuration import CrawlSection
from tarrafa.fetch import NameAnswer, TableResolver
from tarrafa.fetch.names import NameCache, NameLimits
from tarrafa.records import Failure, FailureKind, Page, Request
from webs import until

LIMITS = NameLimits(found_least_seconds=300.0, found_most_seconds=900.0, missing_seconds=60.0, name_count=3)


class Counting:
    """Counts what it is asked; answers from a table that may change, after `gate` if there is one.

    A name with None in the table is one that no name server can tell.
    """

    def __init__(self, table: Mapping[str, tuple[str, ...] | None], gate: asyncio.Event | None = None) -> None:
        self.table: dict[str, tuple[str, ...] | None] = {**table}
        self.ttl_seconds = 0.0
        self.gate = gate
        self.asked: Counter[str] = Counter()

    async def look_up(self, name: str) -> NameAnswer:
        self.asked[name] += 1
        if self.gate:
            await self.gate.wait()
        return NameAnswer(self.table.get(name, ()), self.ttl_seconds)

    def close(self) -> None:
        pass


async def addresses_of(cache: NameCache, name: str) -> tuple[str, ...] | None:
    return (await cache.look_up(name)).addresses


def cache_of(resolver: Counting, clock: VirtualClock, timeout_seconds: float = 20.0) -> NameCache:
    return NameCache(resolver, clock, timeout_seconds, LIMITS)


def test_answer_is_believed_for_a_while_and_then_asked_for_again() -> None:
    async def story() -> None:
        clock, resolver = VirtualClock(), Counting({"a": ("1.1.1.1",)})
        cache = cache_of(resolver, clock)
        for wait, asked in ((0.0, 1), (299.0, 1), (1.0, 2), (299.0, 2)):
            await clock.advance(wait)
            assert await addresses_of(cache, "a") == ("1.1.1.1",)
            assert resolver.asked["a"] == asked

    asyncio.run(story())


def test_name_without_address_is_believed_for_a_shorter_while() -> None:
    async def story() -> None:
        clock, resolver = VirtualClock(), Counting({})
        cache = cache_of(resolver, clock)
        assert await addresses_of(cache, "a") == ()
        await clock.advance(59)
        resolver.table["a"] = ("1.1.1.1",)
        assert await addresses_of(cache, "a") == ()
        await clock.advance(1)
        assert await addresses_of(cache, "a") == ("1.1.1.1",)

    asyncio.run(story())


def test_many_who_ask_at_once_cause_one_look_up_also_when_the_first_leaves() -> None:
    async def story() -> None:
        gate = asyncio.Event()
        resolver = Counting({"a": ("1.1.1.1",)}, gate)
        cache = cache_of(resolver, VirtualClock())
        waiting = [asyncio.create_task(addresses_of(cache, "a")) for _ in range(50)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        gate.set()
        found = await asyncio.gather(*waiting, return_exceptions=True)
        assert isinstance(found[0], asyncio.CancelledError)
        assert set(found[1:]) == {("1.1.1.1",)}
        assert resolver.asked["a"] == 1

    asyncio.run(story())


def test_addresses_are_believed_for_their_ttl_within_bounds() -> None:
    async def story() -> None:
        for ttl_seconds, believed_seconds in ((0.0, 300), (1.0, 300), (600.0, 600), (86_400.0, 900)):
            clock, resolver = VirtualClock(), Counting({"a": ("1.1.1.1",)})
            resolver.ttl_seconds = ttl_seconds
            cache = cache_of(resolver, clock)
            await cache.look_up("a")
            await clock.advance(believed_seconds - 1)
            assert cache.is_known("a")
            await clock.advance(1)
            assert not cache.is_known("a")

    asyncio.run(story())


def test_look_up_without_answer_ends_and_the_next_caller_asks_again() -> None:
    """A name server that is down must not look like a host that fails, once it is back."""

    async def story() -> None:
        resolver = Counting({"a": ("1.1.1.1",)}, asyncio.Event())
        cache = cache_of(resolver, VirtualClock(), timeout_seconds=0.001)
        answer = await cache.look_up("a")
        assert (answer.addresses, "within 1ms" in answer.detail) == (None, True)
        resolver.gate = None
        assert not cache.is_known("a")
        assert await addresses_of(cache, "a") == ("1.1.1.1",)

    asyncio.run(story())


def test_name_that_no_server_can_tell_is_not_a_missing_one_and_keeps_the_order_of_its_addresses() -> None:
    async def story() -> None:
        clock, resolver = VirtualClock(), Counting({"a": ("1.1.1.1", "2.2.2.2")})
        cache = cache_of(resolver, clock)
        await cache.look_up("a")
        cache.worked("a", "2.2.2.2")
        await clock.advance(300)
        resolver.table["a"] = None
        assert await addresses_of(cache, "a") is None
        resolver.table["a"] = ("1.1.1.1", "2.2.2.2")
        assert await addresses_of(cache, "a") == ("2.2.2.2", "1.1.1.1")

    asyncio.run(story())


def test_name_that_was_asked_for_longest_ago_is_forgotten() -> None:
    async def story() -> None:
        resolver = Counting(dict.fromkeys("abcd", ("1.1.1.1",)))
        cache = cache_of(resolver, VirtualClock())
        for name in "abcadacb":
            await addresses_of(cache, name)
        assert resolver.asked == {"a": 1, "b": 2, "c": 1, "d": 1}

    asyncio.run(story())


@given(st.lists(st.tuples(st.booleans(), st.sampled_from(["1.1.1.1", "2.2.2.2", "::3", "4.4.4.4"])), max_size=8))
def test_order_follows_what_worked_and_what_failed_and_survives_a_new_look_up(told: list[tuple[bool, str]]) -> None:
    async def story() -> None:
        clock, known = VirtualClock(), ("1.1.1.1", "2.2.2.2", "::3")
        cache = cache_of(Counting({"a": known}), clock)
        await addresses_of(cache, "a")
        for has_worked, address in told:
            (cache.worked if has_worked else cache.failed)("a", address)
            found = await addresses_of(cache, "a")
            assert found is not None
            assert sorted(found) == sorted(known)
            assert address not in known or found[0 if has_worked else -1] == address
        before = await addresses_of(cache, "a")
        await clock.advance(300)
        again = await addresses_of(cache, "a")
        assert before
        assert again
        assert again[0] == before[0]

    asyncio.run(story())


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


@pytest.mark.parametrize("name", ["localhost", "a.localhost", "db.internal", "printer.local", "intranet", "LOCALHOST."])
def test_names_of_the_own_network_are_private_through_a_proxy_too(name: str) -> None:
    """A proxy on the same machine would connect to it."""
    proxy = "http://127.0.0.1:1"
    assert resolved(name, CrawlSection(), proxy=proxy) is FailureKind.PRIVATE
    assert resolved(name, OWN, proxy=proxy) == ()
    assert resolved("localhost.example.com", CrawlSection(), proxy=proxy) == ()


def test_name_that_is_resolved_without_a_look_up_is_known() -> None:
    async def story() -> None:
        with transporting(resolver=Counting({"a.test": ("127.0.0.1",)})) as transport:
            assert transport.is_known("127.0.0.1")
            assert transport.is_known("[::1]")
            assert not transport.is_known("a.test")
            await transport.resolve("a.test")
            assert transport.is_known("a.test")
        with transporting(replace(SMALL, proxy="http://127.0.0.1:1")) as transport:
            assert transport.is_known("a.test")

    asyncio.run(story())


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
