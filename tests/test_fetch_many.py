"""Many pages at once on one event loop: connections used again, hung up, released, and never to the wrong address."""

import asyncio
import math
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
import uvloop

from fetching import OWN, SMALL, Door, ok, opened, transporting
from tarrafa.clock import VirtualClock
from tarrafa.configuration import CrawlSection, FetchSection
from tarrafa.fetch import CurlTransport, TableResolver, names
from tarrafa.fetch.handle import CurlHandle, IdleSockets, make_settings
from tarrafa.fetch.transfers import WakeTimer
from tarrafa.lab.web import Fault, Plan, SyntheticWeb, open_server
from tarrafa.records import Failure, FailureKind, Page, Request
from webs import hosts_of, until

WEB = FetchSection(timeout_seconds=60.0)
Run = Callable[[Awaitable[None]], None]


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    def run_story(story: Awaitable[None]) -> None:
        async def bounded() -> None:
            # Nothing is measured: this ends a test that would hang for ever.
            async with asyncio.timeout(60):
                await story

        with asyncio.Runner(loop_factory=request.param) as runner:
            runner.run(bounded())

    return run_story


def pages_in(outcomes: list[Page | Failure]) -> list[Page]:
    assert [outcome for outcome in outcomes if isinstance(outcome, Failure)] == []
    return [outcome for outcome in outcomes if isinstance(outcome, Page)]


def urls_in(web: SyntheticWeb, count: int) -> list[str]:
    hosts = hosts_of(web)
    return [
        host.origin + web.pages.entry(host, number // len(hosts) % host.size).path
        for number, host in zip(range(count), hosts * count, strict=False)
    ]


def test_500_pages_at_once_all_come_and_are_the_right_ones(run: Run) -> None:
    async def story() -> None:
        async with open_server(Plan(hosts=60, pages=600, port=0)) as server:
            urls = urls_in(server.web, 500)
            with transporting(WEB) as transport:
                pages = pages_in(await asyncio.gather(*[transport.fetch(Request(url)) for url in urls]))
            assert [page.url for page in pages] == urls
            assert {page.status for page in pages} == {200}
            assert len({page.body for page in pages}) > 100
            report = server.journal.report()
            assert (report["requests"], report["malformed"]) == (500, 0)

    run(story())


@pytest.mark.parametrize("late_seconds", [0.0, 0.0004, 1e-12, -0.5])
def test_timer_that_ends_when_libcurl_wants_to_be_woken_soon_again_can_be_set_anew(
    run: Run, late_seconds: float
) -> None:
    """uvloop's timers tell nothing of themselves when they are to end at once, as they do within one of its ticks."""

    async def story() -> None:
        woken: list[float] = []
        loop = asyncio.get_running_loop()
        timer = WakeTimer(loop, lambda: woken.append(loop.time()))
        timer.due_at = loop.time() + late_seconds
        timer.end()
        for milliseconds in (100, 50, 0, 200, -1, 100):
            timer.set(milliseconds)
        await asyncio.sleep(0)
        assert len(woken) == 1
        assert timer.timer_at <= timer.due_at < math.inf
        timer.close()
        assert timer.timer_at == math.inf

    run(story())


def test_many_fetches_that_end_by_their_time_end_all(run: Run) -> None:
    async def story() -> None:
        async with opened(lambda _: b"") as door:
            fetch = FetchSection(timeout_seconds=0.2)
            with transporting(fetch) as transport:
                outcomes = await asyncio.gather(
                    *[transport.fetch(Request(f"http://127.0.0.1:{door.port}/{n}")) for n in range(50)]
                )
            assert {outcome.kind for outcome in outcomes if isinstance(outcome, Failure)} == {FailureKind.TIMEOUT}
            assert len(outcomes) == 50

    run(story())


# Connections.


def test_one_after_the_other_a_host_sees_one_connection(run: Run) -> None:
    async def story() -> None:
        async with opened(lambda _: ok(b"hi")) as door:
            with transporting() as transport:
                request = Request(f"http://a.test:{door.port}/")
                pages = pages_in([await transport.fetch(request) for _ in range(10)])
            assert (door.connection_count, len(door.requests)) == (1, 10)
            assert pages[0].timings.connect_seconds > 0
            assert pages[1].timings.connect_seconds == 0
            await until(lambda: not door.writers)

    run(story())


def test_idle_connections_are_bounded(run: Run) -> None:
    async def story() -> None:
        async with opened(lambda _: ok(b"hi")) as door:
            with transporting(replace(SMALL, idle_connections=3)) as transport:
                urls = [f"http://127.0.0.{number}:{door.port}/" for number in range(1, 11)]
                requests = [Request(url, address="127.0.0.1") for url in urls]
                pages_in([await transport.fetch(request) for request in requests])
                await until(lambda: len(door.writers) <= 3)
            assert door.connection_count == 10

    run(story())


@pytest.mark.parametrize(
    ("limits", "wanted_count", "expected"),
    [
        ((64, 4_000), 2_000, "2000 3000"),  # raised as far as needed
        ((64, 400), 1_000, "200 400"),  # raised as far as allowed, and half of it is used
        ((2_500, 3_000), 1_000, "1000 2500"),  # nothing to raise
    ],
)
def test_as_many_connections_are_kept_as_the_system_lets_us(
    limits: tuple[int, int], wanted_count: int, expected: str
) -> None:
    told = (
        f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, {limits}); "
        f"from tarrafa.fetch.transfers import idle_limit; "
        f"print(idle_limit({wanted_count}), resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    )
    found = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == expected


def test_connection_that_the_host_closed_meanwhile_is_replaced(run: Run) -> None:
    async def story() -> None:
        async with opened(lambda _: ok(b"hi")) as door:
            with transporting() as transport:
                request = Request(f"http://a.test:{door.port}/")
                for _ in range(3):
                    pages_in([await transport.fetch(request)])
                    door.hang_up()
                    await until(lambda: not door.writers)
            assert (door.connection_count, len(door.requests)) == (3, 3)

    run(story())


def test_request_is_not_repeated_when_a_used_connection_breaks(run: Run) -> None:
    """libcurl would ask again at once. A host that breaks connections is to be visited after its delay."""

    async def story() -> None:
        replies = iter([ok(b"hi"), None, ok(b"hi")])
        async with opened(lambda _: next(replies)) as door:
            with transporting() as transport:
                request = Request(f"http://a.test:{door.port}/")
                outcomes = [await transport.fetch(request) for _ in range(3)]
            assert [isinstance(outcome, Page) for outcome in outcomes] == [True, False, True]
            assert isinstance(outcomes[1], Failure)
            assert (outcomes[1].kind, len(door.requests)) == (FailureKind.RESET, 3)

    run(story())


def test_silence_on_a_used_connection_leads_to_no_other_address(run: Run) -> None:
    """The request went out, so another address would see it a second time."""

    async def story() -> None:
        replies = iter([ok(b"hi"), b""])
        names = TableResolver({"a.test": ("127.0.0.2", "127.0.0.3")})
        async with (
            opened(lambda _: next(replies), "127.0.0.2") as one,
            opened(lambda _: ok(b"hi"), "127.0.0.3", one.port) as other,
        ):
            with transporting(replace(SMALL, first_byte_timeout_seconds=1.0), resolver=names) as transport:
                request = Request(f"http://a.test:{one.port}/")
                pages_in([await transport.fetch(request)])
                outcome = await transport.fetch(request)
            assert isinstance(outcome, Failure)
            assert outcome.kind is FailureKind.TIMEOUT
            assert (len(one.requests), len(other.requests)) == (2, 0)

    run(story())


def test_headers_and_passwords_of_one_request_do_not_reach_the_next(run: Run) -> None:
    async def story() -> None:
        async with opened(lambda _: ok(b"hi")) as door:
            with transporting() as transport:
                one = Request(f"http://user:secret@a.test:{door.port}/", (("If-None-Match", "x"),))
                for request in (one, Request(f"http://a.test:{door.port}/")):
                    pages_in([await transport.fetch(request)])
            assert b"Authorization" in door.requests[0]
            assert b"If-None-Match" in door.requests[0]
            assert b"Authorization" not in door.requests[1]
            assert b"If-None-Match" not in door.requests[1]
            assert door.requests[1].count(b"User-Agent") == 1

    run(story())


# Addresses.


def test_every_page_comes_from_the_address_of_its_own_name(run: Run) -> None:
    """Many names on few handles, two addresses, one port: whatever a handle keeps would show."""

    async def story() -> None:
        names = TableResolver({f"n{number}.test": (f"127.0.0.{2 + number % 2}",) for number in range(20)})
        async with (
            opened(lambda _: ok(b"2"), "127.0.0.2") as even,
            opened(lambda _: ok(b"3"), "127.0.0.3", even.port) as odd,
        ):
            with transporting(resolver=names) as transport:
                for _ in range(3):
                    requests = [Request(f"http://n{number}.test:{even.port}/") for number in range(20)]
                    pages = pages_in(await asyncio.gather(*map(transport.fetch, requests)))
                    assert [page.body for page in pages] == [b"2", b"3"] * 10
                    assert [page.address for page in pages] == ["127.0.0.2", "127.0.0.3"] * 10
            assert (even.connection_count, odd.connection_count) == (10, 10)

    run(story())


@pytest.fixture
def only_two_is_public(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "is_public", lambda address: str(address) == "127.0.0.2")


async def rebound(allow_private: bool) -> tuple[list[Page | Failure], Door, Door]:
    """A name that leads to 127.0.0.2, and some time later to 127.0.0.3, asked for twice before and twice after."""
    table, clock = {"a.test": ("127.0.0.2",)}, VirtualClock()
    transport = CurlTransport(SMALL, CrawlSection(allow_private=allow_private), TableResolver(table), clock)
    async with (
        opened(lambda _: ok(b"2"), "127.0.0.2") as one,
        opened(lambda _: ok(b"3"), "127.0.0.3", one.port) as other,
    ):
        request = Request(f"http://a.test:{one.port}/")
        outcomes = [await transport.fetch(request)]
        table["a.test"] = ("127.0.0.3",)
        outcomes.append(await transport.fetch(request))
        await clock.advance(3_600)
        outcomes += [await transport.fetch(request), await transport.fetch(request)]
        transport.close()
        return outcomes, one, other


@pytest.mark.usefixtures("only_two_is_public")
def test_name_that_changes_to_a_private_address_is_not_followed(run: Run) -> None:
    async def story() -> None:
        outcomes, one, other = await rebound(allow_private=False)
        assert [outcome.body for outcome in outcomes if isinstance(outcome, Page)] == [b"2", b"2"]
        assert [outcome.kind for outcome in outcomes if isinstance(outcome, Failure)] == [FailureKind.PRIVATE] * 2
        assert (one.connection_count, other.connection_count) == (1, 0)

    run(story())


def test_name_that_changes_leaves_its_old_connection(run: Run) -> None:
    async def story() -> None:
        outcomes, one, other = await rebound(allow_private=True)
        assert [page.body for page in pages_in(outcomes)] == [b"2", b"2", b"3", b"3"]
        assert (one.connection_count, other.connection_count) == (1, 1)

    run(story())


@pytest.mark.parametrize(
    ("aimed", "connected", "wrong_peer"),
    [
        ("127.0.0.1", "127.0.0.1", False),
        ("127.0.0.1", "127.0.0.2", True),
        ("::ffff:7f00:1", "::ffff:127.0.0.1", False),
        ("fe80::1%eth0", "fe80::1", False),
        ("", "10.0.0.1", False),  # a proxy
    ],
)
def test_connection_is_compared_with_the_judged_address_before_anything_is_sent(
    aimed: str, connected: str, wrong_peer: bool
) -> None:
    handle = CurlHandle(make_settings(SMALL, OWN, "", None), IdleSockets())
    handle.connect_to(aimed, 1.0)
    assert handle.may_send(connected, "127.0.0.1", 80, 9) == int(wrong_peer)
    assert handle.wrong_peer == wrong_peer
    handle.close()


# Leaving.


def test_cancelled_fetches_hang_up_and_the_next_ones_work(run: Run) -> None:
    """A user presses Ctrl-C while hosts take their time: the program must end, and the hosts must see that we left."""

    async def story() -> None:
        async with open_server(Plan(hosts=2, pages=10, port=0, faults=frozenset({Fault.HANG}))) as server:
            hanging, other = (host.origin + "/" for host in reversed(hosts_of(server.web)))
            with transporting(WEB) as transport:
                tasks = [asyncio.create_task(transport.fetch(Request(hanging))) for _ in range(50)]
                await until(lambda: server.journal.report(0)["requests"] == 50)
                for task in tasks:
                    task.cancel()
                outcomes = await asyncio.gather(*tasks, return_exceptions=True)
                assert all(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)
                await until(lambda: not server.connections)
                pages_in([await transport.fetch(Request(other))])

    run(story())


def test_close_ends_what_is_under_way_and_releases_everything(run: Run) -> None:
    async def story() -> None:
        async with open_server(Plan(hosts=2, pages=10, port=0, faults=frozenset({Fault.HANG}))) as server:
            hanging, other = (host.origin + "/" for host in reversed(hosts_of(server.web)))
            before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
            transport = CurlTransport(WEB, OWN)
            for _ in range(2):
                pages_in([await transport.fetch(Request(other))])
                served = server.journal.report(0)["requests"]
                task = asyncio.create_task(transport.fetch(Request(hanging)))
                await until(lambda seen=served: server.journal.report(0)["requests"] > seen)  # type: ignore[misc]
                transport.close()
                outcome = await task
                assert isinstance(outcome, Failure)
                assert (outcome.kind, outcome.detail) == (FailureKind.OTHER, "the transport was closed")
                await until(lambda: not server.connections)
                await until(lambda: len(os.listdir("/proc/self/fd")) == before)  # noqa: PTH208

    run(story())
