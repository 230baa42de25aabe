"""Resolvers: c-ares against a name server on loopback, on both event loops, and how name servers are written."""

import asyncio
import contextlib
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

import pytest
import uvloop

from fetching import OWN, SMALL
from name_servers import FAILING, MISSING, REFUSED, SILENCE, Reply, name_server
from tarrafa.errors import InputError
from tarrafa.fetch import CaresResolver, CurlTransport, NameAnswer, parse_name_servers, resolvers
from tarrafa.records import Failure, FailureKind

LOOPS = (asyncio.run, uvloop.run)
FOUND = Reply(("127.0.0.9", "127.0.0.8"), ttl_seconds=777)
REPLIES = {
    "missing": MISSING,
    "empty": Reply(),
    "failing": FAILING,
    "refused": Reply(code=REFUSED),
    "garbage": Reply(is_garbage=True),
    "truncated": Reply(("127.0.0.9",), is_truncated=True),  # the server does not speak TCP
    "half": Reply(fails_ipv4=True),
    "silent": SILENCE,
}


def reply_of(name: str) -> Reply:
    """Reply by the first label: `missing.a.test` is missing."""
    return REPLIES.get(name.partition(".")[0], FOUND)


def run_on_each_loop(story: Any) -> None:
    for run in LOOPS:
        work: Coroutine[Any, Any, None] = story()
        run(work)


def test_name_is_found_with_its_ttl_and_a_missing_one_has_no_address() -> None:
    async def story() -> None:
        async with name_server(reply_of) as server:
            with contextlib.closing(CaresResolver((server.setting,))) as resolver:
                found = await resolver.look_up("a.test")
                assert sorted(found.addresses or ()) == ["127.0.0.8", "127.0.0.9"]
                assert found.ttl_seconds == 777
                for name in ("missing.a.test", "empty.a.test"):
                    assert await resolver.look_up(name) == NameAnswer(())
        assert server.asked.keys() == {"a.test", "missing.a.test", "empty.a.test"}

    run_on_each_loop(story)


@pytest.mark.parametrize("fault", ["failing", "refused", "garbage", "truncated", "half"])
def test_fault_of_a_name_server_is_not_a_missing_name(fault: str) -> None:
    async def story() -> None:
        async with name_server(reply_of) as server:
            with contextlib.closing(CaresResolver((server.setting,))) as resolver:
                answer = await resolver.look_up(f"{fault}.a.test")
                assert answer.addresses is None
                assert answer.detail
                assert (await resolver.look_up("a.test")).addresses  # the resolver goes on

    run_on_each_loop(story)


def test_closed_port_is_not_a_missing_name() -> None:
    async def story() -> None:
        async with name_server(reply_of) as server:
            setting = server.setting
        with contextlib.closing(CaresResolver((setting,))) as resolver:
            assert (await resolver.look_up("a.test")).addresses is None

    asyncio.run(story())


def test_silent_names_keep_no_other_name_waiting() -> None:
    async def story() -> None:
        async with name_server(reply_of) as server:
            with contextlib.closing(CaresResolver((server.setting,), timeout_seconds=1_000.0)) as resolver:
                silent = [asyncio.create_task(resolver.look_up(f"silent.{number}.test")) for number in range(20)]
                for batch in range(10):  # each small enough for the server's socket buffer
                    names = [f"n{number}.{batch}.test" for number in range(100)]
                    found = await asyncio.gather(*map(resolver.look_up, names))
                    assert all(answer.addresses for answer in found)
                assert not any(task.done() for task in silent)
        assert {answer.addresses for answer in await asyncio.gather(*silent)} == {None}  # ended by close

    run_on_each_loop(story)


def test_silence_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolvers, "TRIES", 2)

    async def story() -> None:
        async with name_server(reply_of) as server:
            with contextlib.closing(CaresResolver((server.setting,), timeout_seconds=0.001)) as resolver:
                answer = await resolver.look_up("silent.a.test")
                assert (answer.addresses, bool(answer.detail)) == (None, True)
                assert server.asked["silent.a.test"] > 1  # a packet may be lost

    asyncio.run(story())


def test_resolver_is_used_again_after_close_on_another_loop() -> None:
    resolver = CaresResolver()

    async def story() -> None:
        assert set((await resolver.look_up("localhost")).addresses or ()) & {"127.0.0.1", "::1"}
        resolver.close()
        assert set((await resolver.look_up("localhost")).addresses or ()) & {"127.0.0.1", "::1"}
        resolver.close()

    run_on_each_loop(story)


@pytest.mark.parametrize("name", ["x" * 300, "x" * 64 + ".test", "a..b", "a b.test", "x.onion"])
def test_what_is_no_name_has_no_address_and_is_not_asked_for(name: str) -> None:
    async def story() -> None:
        async with name_server(reply_of) as server:
            with contextlib.closing(CaresResolver((server.setting,))) as resolver:
                assert await resolver.look_up(name) == NameAnswer(())
            assert not server.asked

    asyncio.run(story())


def test_names_of_the_own_machine_need_no_name_server() -> None:
    async def story() -> None:
        async with name_server(reply_of) as server:
            with contextlib.closing(CaresResolver((server.setting,))) as resolver:
                for name in ("localhost", "a.localhost"):
                    assert set((await resolver.look_up(name)).addresses or ()) <= {"127.0.0.1", "::1"}
            assert not server.asked

    asyncio.run(story())


def test_channel_is_replaced_before_its_cache_grows_and_open_questions_are_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resolvers, "QUESTIONS_LIMIT", 3)

    async def story() -> None:
        async with name_server(reply_of) as server:
            with contextlib.closing(CaresResolver((server.setting,))) as resolver:
                names = [f"n{number}.test" for number in range(20)]
                answers = await asyncio.gather(*map(resolver.look_up, names))
                assert all(answer.addresses for answer in answers)
                for _ in range(4):
                    await resolver.look_up("n0.test")
            assert server.asked["n0.test"] >= 2  # a new channel has an empty cache

    run_on_each_loop(story)


def test_old_channel_whose_question_failed_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name servers of the machine change when it moves to another network."""
    monkeypatch.setattr(resolvers, "SUSPECT_SECONDS", 0.0)
    made: list[resolvers.CaresChannel] = []

    class Noted(resolvers.CaresChannel):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(resolvers, "CaresChannel", Noted)

    async def story() -> None:
        async with name_server(reply_of) as server:
            with contextlib.closing(CaresResolver((server.setting,))) as resolver:
                for name, count in (("a.test", 1), ("b.test", 1), ("failing.c.test", 1), ("d.test", 2)):
                    await resolver.look_up(name)
                    assert len(made) == count

    asyncio.run(story())


def test_fetch_tells_a_missing_name_from_a_name_server_that_fails() -> None:
    async def story() -> None:
        async with name_server(reply_of) as server:
            with contextlib.closing(CurlTransport(replace(SMALL, name_servers=server.setting), OWN)) as transport:
                kinds = {}
                for name in ("missing.a.test", "failing.a.test"):
                    failure = await transport.resolve(name)
                    assert isinstance(failure, Failure)
                    kinds[name] = failure.kind
                assert kinds == {"missing.a.test": FailureKind.NAME, "failing.a.test": FailureKind.NAME_SERVER}
                assert set(await transport.resolve("a.test")) == {"127.0.0.8", "127.0.0.9"}

    asyncio.run(story())


def test_name_servers_are_addresses_with_or_without_a_port() -> None:
    assert parse_name_servers("system") == ()
    assert parse_name_servers("127.0.0.1") == ("127.0.0.1",)
    written = "192.0.2.1:5353, 2001:db8::1,[2001:db8::1]:53"
    assert parse_name_servers(written) == ("192.0.2.1:5353", "2001:db8::1", "[2001:db8::1]:53")


@pytest.mark.parametrize("text", ["", "a.test", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1,", "::1:x"])
def test_what_is_no_name_server_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not a name server"):
        parse_name_servers(text)
