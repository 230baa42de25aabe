"""The server and clients that behave oddly; its bounds."""

import asyncio
from dataclasses import replace
from typing import Any, cast

import pytest

from tarrafa.clock import VirtualClock
from tarrafa.errors import WorkError
from tarrafa.lab.web import Fault, Plan, ServingOptions, SyntheticServer
from tarrafa.lab.web.connections import ServerConnection
from tarrafa.lab.web.web_server import listen, open_server
from webs import LOOPS, SERVED, InstantClock, Serve, Wire, get, serve_on, until


@pytest.fixture(params=LOOPS, ids=["asyncio", "uvloop"])
def serve(request: pytest.FixtureRequest) -> Serve:
    return serve_on(request.param)


def slow_web(hosts: int = 2) -> Plan:
    return Plan(hosts=hosts, pages=60, faults=frozenset({Fault.SLOW}))


@pytest.mark.parametrize(
    ("plan", "habits"), [(slow_web(), ServingOptions()), (Plan(hosts=2, pages=60), ServingOptions(latency_seconds=1))]
)
def test_slow_answer_comes_when_its_time_has_come_and_the_next_after_it(
    serve: Serve, plan: Plan, habits: ServingOptions
) -> None:
    clock = VirtualClock()

    async def story(server: SyntheticServer) -> None:
        host = server.web.hosts.host(1)
        async with Wire.open(server) as wire:
            wire.ask(host)
            wire.ask(host, "/robots.txt")
            await until(lambda: server.journal.report(0)["requests"])
            assert await wire.is_silent()
            await clock.advance(1)  # the fault of this host
            assert (await wire.answer()).body == get(server.web, host, 0).body
            assert await wire.is_silent()
            await clock.advance(1)
            assert (await wire.answer()).status in (200, 404)

    serve(story, plan, habits, clock)


def test_visitor_who_leaves_during_an_answer_is_forgotten(serve: Serve) -> None:
    clock = VirtualClock()

    async def story(server: SyntheticServer) -> None:
        host = server.web.hosts.host(1)
        async with Wire.open(server) as wire:
            wire.ask(host)
            await until(lambda: server.journal.report(0)["requests"])
        await until(lambda: not server.connections)
        await until(lambda: server.journal.report()["entries"])
        async with Wire.open(server) as wire:
            wire.ask(host)
            await until(lambda: server.journal.report(0)["requests"] == 2)
        assert server.journal.report(0)["overlapping"] == 0

    serve(story, slow_web(), ServingOptions(delay_seconds=1), clock)


def test_visitor_who_sends_without_waiting_fills_no_memory_and_gets_all_answers(serve: Serve) -> None:
    async def story(server: SyntheticServer) -> None:
        host = server.web.hosts.host(1)
        async with Wire.open(server) as wire:
            for _ in range(1_500):
                wire.ask(host, "/robots.txt")
            for _ in range(1_500):
                assert (await wire.answer()).status in (200, 404)
        assert server.journal.report(0)["requests"] == 1_500

    serve(story, slow_web(), clock=InstantClock())


def test_buffer_of_a_waiting_connection_has_a_bound(serve: Serve) -> None:
    clock = VirtualClock()

    async def story(server: SyntheticServer) -> None:
        host = server.web.hosts.host(1)
        async with Wire.open(server) as wire:
            wire.ask(host)
            wire.send(b"x" * 8_000_000)
            await until(lambda: server.journal.report(0)["requests"])
            (connection,) = server.connections
            for _ in range(2_000):
                await asyncio.sleep(0)
            assert connection.buffered_bytes < 1_000_000

    serve(story, slow_web(), clock=clock)


def test_visitor_who_asks_for_much_and_reads_nothing_fills_no_memory(serve: Serve) -> None:
    async def story(server: SyntheticServer) -> None:
        host = server.web.hosts.host(0)
        async with Wire.open(server) as wire:
            for _ in range(1_000):  # of twenty kilobytes each
                wire.ask(host)
            await until(lambda: server.connections)
            (connection,) = server.connections
            await until(lambda: connection.is_blocked)
            for _ in range(2_000):
                await asyncio.sleep(0)
            assert connection.unsent_bytes < 1_000_000
            assert server.journal.report(0)["requests"] < 1_000
            for _ in range(1_000):
                assert (await wire.answer()).status == 200

    serve(story)


def test_body_without_end_waits_for_a_visitor_who_does_not_read(serve: Serve) -> None:
    async def story(server: SyntheticServer) -> None:
        async with Wire.open(server) as wire:
            wire.ask(server.web.hosts.host(1), "/fluxo/1")
            await until(lambda: server.connections)
            (connection,) = server.connections
            await until(lambda: connection.is_blocked)
            for _ in range(2_000):
                await asyncio.sleep(0)
            assert connection.unsent_bytes < 1_000_000
            assert len(await wire.reader.readexactly(20_000_000)) == 20_000_000

    serve(story, Plan(hosts=2, pages=60, faults=frozenset({Fault.ENDLESS})))


def test_visitor_from_another_network_is_sent_away() -> None:
    """If the kernel cannot bind to the loopback device, the server itself refuses other clients."""

    class Stranger:
        is_gone = False

        def get_extra_info(self, name: str) -> Any:
            return ("192.0.2.7", 5_000) if name == "peername" else None

        def abort(self) -> None:
            self.is_gone = True

    stranger = Stranger()
    ServerConnection(SyntheticServer(SERVED)).connection_made(cast("Any", stranger))
    assert stranger.is_gone


def test_taken_port_says_what_to_do() -> None:
    with listen(0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(WorkError, match=rf"^cannot listen on port {port}: .*; choose another with --port, or 0"):
            listen(port)


def test_closing_the_server_drops_who_is_still_there() -> None:
    async def story() -> None:
        async with open_server(replace(slow_web(), port=0)) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.web.plan.port)
            await until(lambda: server.connections)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(1)
        writer.close()

    asyncio.run(story())
