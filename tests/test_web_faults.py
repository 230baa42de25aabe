"""Each fault over sockets and in memory: what a client meets, and that the server survives it."""

import asyncio
import http.client
import zlib
from collections.abc import Awaitable, Callable

import pytest
import uvloop

from tarrafa.clock import Clock, VirtualClock
from tarrafa.lab.web import Fault, Journal, MemoryTransport, Plan, SyntheticServer, SyntheticWeb
from tarrafa.lab.web.connections import HANG_SECONDS
from tarrafa.lab.web.http_messages import FALSE_LENGTH_BYTES
from tarrafa.lab.web.plan import SyntheticHost
from tarrafa.lab.web.synthetic_web import DRIP_BYTES
from tarrafa.records import Failure, FailureKind, Page, Request
from webs import InstantClock, Wire, get, run_story, until

Story = Callable[[SyntheticServer, SyntheticHost], Awaitable[None]]
Serve = Callable[..., None]


def plan_with(*faults: Fault) -> Plan:
    """Return a plan of two hosts; the second has all the faults."""
    return Plan(hosts=2, pages=60, faults=frozenset(faults))


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def serve(request: pytest.FixtureRequest) -> Serve:
    def run(story: Story, *faults: Fault, clock: Clock | None = None) -> None:
        run_story(
            lambda server: story(server, server.web.hosts.host(1)),
            plan_with(*faults),
            clock=clock,
            loop_factory=request.param,
        )

    return run


async def reset_comes(wire: Wire) -> None:
    with pytest.raises(ConnectionResetError):
        await wire.reader.readexactly(1)


# Over the wire.


def test_hanging_host_says_nothing_and_resets_in_the_end(serve: Serve) -> None:
    clock = VirtualClock()

    async def story(server: SyntheticServer, host: SyntheticHost) -> None:
        async with Wire.open(server) as wire:
            wire.ask(host)
            await until(lambda: server.journal.report(0)["requests"])
            assert await wire.is_silent()
            await clock.advance(HANG_SECONDS - 1)
            assert await wire.is_silent()
            await clock.advance(1)
            await reset_comes(wire)
        assert server.journal.report()["entries"][0]["status"] == 0

    serve(story, Fault.HANG, clock=clock)


def test_hanging_host_does_not_keep_others_from_answering(serve: Serve) -> None:
    async def story(server: SyntheticServer, host: SyntheticHost) -> None:
        async with Wire.open(server) as stuck, Wire.open(server) as other:
            stuck.ask(host)
            await until(lambda: server.journal.report(0)["requests"])
            other.ask(server.web.hosts.host(0))
            assert (await other.answer()).status == 200

    serve(story, Fault.HANG)


def test_resetting_host_resets_every_request(serve: Serve) -> None:
    async def story(server: SyntheticServer, host: SyntheticHost) -> None:
        for path in ("/", "/", "/robots.txt"):
            async with Wire.open(server) as wire:
                wire.ask(host, path)
                await reset_comes(wire)

    serve(story, Fault.RESET)


def test_flaky_host_resets_the_first_request_for_each_url_and_answers_the_next(serve: Serve) -> None:
    async def story(server: SyntheticServer, host: SyntheticHost) -> None:
        for path in ("/", server.web.pages.entry(host, 1).path):
            async with Wire.open(server) as wire:
                wire.ask(host, path)
                await reset_comes(wire)
            async with Wire.open(server) as wire:
                wire.ask(host, path)
                assert (await wire.answer()).body == get(server.web, host, path).body
                wire.ask(host, path)
                assert (await wire.answer()).status == 200

    serve(story, Fault.FLAKY)


def test_busy_host_puts_off_every_fifth_request_and_says_for_how_long(serve: Serve) -> None:
    async def story(server: SyntheticServer, host: SyntheticHost) -> None:
        async with Wire.open(server) as wire:
            answers = []
            for _ in range(11):
                wire.ask(host)
                answers.append(await wire.answer())
        statuses = [page.status for page in answers]
        assert statuses == [200] * 4 + [429] + [200] * 4 + [503, 200]
        assert [page.header("retry-after") for page in answers if page.status != 200] == ["2", "2"]

    serve(story, Fault.BUSY)


def test_unreachable_robots_txt_is_reset_and_pages_are_not(serve: Serve) -> None:
    async def story(server: SyntheticServer, host: SyntheticHost) -> None:
        async with Wire.open(server) as wire:
            wire.ask(host)
            assert (await wire.answer()).status == 200
            wire.ask(host, "/robots.txt")
            await reset_comes(wire)

    serve(story, Fault.ROBOTS_UNREACHABLE)


def test_dripping_host_sends_a_few_bytes_at_a_time(serve: Serve) -> None:
    clock = VirtualClock()

    async def story(server: SyntheticServer, host: SyntheticHost) -> None:
        async with Wire.open(server) as wire:
            wire.ask(host)
            page, body = await wire.head(), b""
            assert page.header("content-length") == str(len(get(server.web, host, 0).body))
            while len(body) < int(page.header("content-length") or 0) - DRIP_BYTES:
                body += await wire.reader.readexactly(DRIP_BYTES)
                if len(body) == DRIP_BYTES:
                    assert await wire.is_silent()
                await clock.advance(0.1)
            body += await wire.reader.readexactly(int(page.header("content-length") or 0) - len(body))
            assert body == get(server.web, host, 0).body

    serve(story, Fault.DRIP, clock=clock)


def test_dripping_host_keeps_or_closes_the_connection_as_asked(serve: Serve) -> None:
    async def story(server: SyntheticServer, host: SyntheticHost) -> None:
        async with Wire.open(server) as wire:
            wire.ask(host)
            assert (await wire.answer()).body == get(server.web, host, 0).body
            wire.ask(host, method="HEAD")
            assert (await wire.head()).status == 200
            wire.ask(host, "/", "Connection: close")
            page = await wire.answer()
            assert page.header("connection") == "close"
            assert await wire.is_at_end()

    serve(story, Fault.DRIP, clock=InstantClock())


def test_body_without_end_goes_on_until_the_visitor_leaves(serve: Serve) -> None:
    async def story(server: SyntheticServer, host: SyntheticHost) -> None:
        async with Wire.open(server) as wire:
            wire.ask(host, "/fluxo/1")
            page = await wire.head()
            assert page.header("transfer-encoding") == "chunked"
            received = 0
            while received < 3_000_000:
                size = int(await wire.reader.readline(), 16)
                received += len(await wire.reader.readexactly(size + 2))
        await until(lambda: not server.connections)
        await until(lambda: server.journal.report()["entries"])

    serve(story, Fault.ENDLESS)


def test_body_without_end_comes_without_chunks_to_an_old_version(serve: Serve) -> None:
    async def story(server: SyntheticServer, host: SyntheticHost) -> None:
        async with Wire.open(server) as wire:
            wire.ask(host, "/fluxo/1", version="1.0")
            page = await wire.head()
            assert page.header("transfer-encoding") is page.header("content-length") is None
            assert page.header("connection") == "close"
            assert (await wire.reader.readexactly(1_000_000)).startswith(b"<p>sem fim</p>\n" * 100)

    serve(story, Fault.ENDLESS)


def test_body_shorter_than_promised_breaks_off(serve: Serve) -> None:
    async def story(server: SyntheticServer, host: SyntheticHost) -> None:
        def visit() -> tuple[int, int]:
            connection = http.client.HTTPConnection(host.authority)
            connection.request("GET", "/curto/1")
            got = connection.getresponse()
            with pytest.raises(http.client.IncompleteRead) as broken:
                got.read()
            connection.close()
            return len(broken.value.partial), broken.value.expected or 0

        received, missing = await asyncio.to_thread(visit)
        assert received == len(get(server.web, host, "/curto/1").body)
        assert missing == FALSE_LENGTH_BYTES

    serve(story, Fault.FALSE_LENGTH)


def test_body_longer_than_promised_goes_on_after_its_end(serve: Serve) -> None:
    async def story(server: SyntheticServer, host: SyntheticHost) -> None:
        async with Wire.open(server) as wire:
            wire.ask(host, "/longo/1")
            page = await wire.answer()
            rest = await wire.reader.read()
            assert len(rest) == FALSE_LENGTH_BYTES
            assert page.body + rest == get(server.web, host, "/longo/1").body

    serve(story, Fault.FALSE_LENGTH)


@pytest.mark.parametrize("path", ["/fluxo/1", "/curto/1", "/longo/1", "/bomba/1"])
def test_head_of_a_false_body_has_no_body(serve: Serve, path: str) -> None:
    async def story(server: SyntheticServer, host: SyntheticHost) -> None:
        async with Wire.open(server) as wire:
            wire.ask(host, path, method="HEAD")
            assert (await wire.head()).status == 200
            wire.ask(host)
            assert (await wire.answer()).body == get(server.web, host, 0).body

    serve(story, Fault.ENDLESS, Fault.FALSE_LENGTH, Fault.GZIP_BOMB)


def test_bomb_is_small_on_the_wire_and_becomes_very_large(serve: Serve) -> None:
    async def story(server: SyntheticServer, host: SyntheticHost) -> None:
        async with Wire.open(server) as wire:
            wire.ask(host, "/bomba/1")
            page = await wire.answer()
        assert page.header("content-encoding") == "gzip"
        assert len(page.body) < 300_000
        assert len(zlib.decompressobj(31).decompress(page.body, 10_000_000)) == 10_000_000

    serve(story, Fault.GZIP_BOMB)


def test_false_type_and_traps_come_as_html(serve: Serve) -> None:
    async def story(server: SyntheticServer, host: SyntheticHost) -> None:
        async with Wire.open(server) as wire:
            wire.ask(host, "/falso/1")
            page = await wire.answer()
            assert page.media_type == "text/html"
            assert page.body.startswith(b"\x89PNG")
            for path in ("/calendario/2026/3", "/eco/eco/", "/filtro?cor=1&marca=2"):
                wire.ask(host, path)
                page = await wire.answer()
                assert (page.status, page.media_type) == (200, "text/html")

    serve(story, Fault.FALSE_TYPE, Fault.CALENDAR, Fault.REPETITION, Fault.COMBINATIONS)


def test_hosts_without_the_fault_have_none_of_it(serve: Serve) -> None:
    async def story(server: SyntheticServer, _: SyntheticHost) -> None:
        first = server.web.hosts.host(0)
        async with Wire.open(server) as wire:
            for path in ("/fluxo/1", "/curto/1", "/longo/1", "/falso/1", "/bomba/1", "/calendario/2026/3", "/eco/"):
                wire.ask(first, path)
                assert (await wire.answer()).status == 404

    serve(story, *Fault)


# In memory.


def fetched(fault: Fault, path: str = "/", **settings: float) -> tuple[Page | Failure, InstantClock, Journal]:
    web, clock = SyntheticWeb(plan_with(fault)), InstantClock(1_000.0)
    transport = MemoryTransport(web, clock, **settings)  # type: ignore[arg-type]
    outcome = asyncio.run(transport.fetch(Request(web.hosts.host(1).origin + path)))
    return outcome, clock, transport.journal


def test_memory_hang_is_a_timeout_after_its_time() -> None:
    outcome, clock, journal = fetched(Fault.HANG, timeout_seconds=12.0)
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.TIMEOUT
    assert clock.time == 1_012.0
    assert journal.report()["statuses"] == {"0": 1}


def test_memory_reset_is_a_failure() -> None:
    outcome, _, _ = fetched(Fault.RESET)
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.RESET


def test_memory_slow_host_takes_its_time_and_so_does_a_dripping_one() -> None:
    outcome, clock, _ = fetched(Fault.SLOW)
    assert isinstance(outcome, Page)
    assert 1_001.0 < clock.time < 1_001.1
    assert outcome.timings.total_seconds == pytest.approx(clock.time - 1_000.0)
    outcome, clock, _ = fetched(Fault.DRIP)
    assert isinstance(outcome, Page)
    assert clock.time - 1_000.0 == pytest.approx(len(outcome.body) // DRIP_BYTES * 0.1 + 0.01)


def test_memory_dripping_page_that_takes_too_long_is_a_timeout() -> None:
    outcome, _, _ = fetched(Fault.DRIP, timeout_seconds=1.0)
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.TIMEOUT


def test_memory_body_without_end_is_cut_at_its_bound() -> None:
    outcome, _, _ = fetched(Fault.ENDLESS, "/fluxo/1", body_limit_bytes=1_234_567)
    assert isinstance(outcome, Page)
    assert (len(outcome.body), outcome.truncated) == (1_234_567, True)


def test_memory_false_lengths_are_as_a_client_sees_them() -> None:
    short, _, _ = fetched(Fault.FALSE_LENGTH, "/curto/1")
    long, _, _ = fetched(Fault.FALSE_LENGTH, "/longo/1")
    assert isinstance(short, Page)
    assert isinstance(long, Page)
    assert short.truncated
    assert not long.truncated
    assert len(long.body) == len(b"<p>longo</p>\n" * 100) - FALSE_LENGTH_BYTES


def test_memory_page_has_what_a_fetched_page_has() -> None:
    web, clock = SyntheticWeb(plan_with()), InstantClock(77.0)
    host = web.hosts.host(1)
    page = asyncio.run(MemoryTransport(web, clock, round_trip_seconds=0.5).fetch(Request(f"{host.origin}/")))
    assert isinstance(page, Page)
    assert (page.status, page.at, page.address) == (200, 77.0, "127.0.0.2")
    assert page.body == get(web, host, 0).body
    assert page.media_type == "text/html"
    assert page.header("date") == "Thu, 01 Jan 2026 00:00:00 GMT"


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("http://127.0.0.9:8800/", FailureKind.RESET),
        ("http://127.0.0.1/", FailureKind.REFUSED),
        ("http://127.0.0.1:9999/", FailureKind.REFUSED),
        ("http://example.org:8800/", FailureKind.NAME),
        ("http://10.0.0.1:8800/", FailureKind.REFUSED),
        ("https://127.0.0.1:8800/", FailureKind.URL),
        ("ftp://127.0.0.1:8800/", FailureKind.URL),
    ],
)
def test_memory_has_nobody_elsewhere(url: str, kind: FailureKind) -> None:
    outcome = asyncio.run(MemoryTransport(SyntheticWeb(plan_with()), InstantClock()).fetch(Request(url)))
    assert isinstance(outcome, Failure)
    assert (outcome.url, outcome.kind) == (url, kind)


def test_memory_web_changes_with_its_clock_and_speed() -> None:
    web, clock = SyntheticWeb(plan_with()), InstantClock()
    transport = MemoryTransport(web, clock, speed=86_400.0, round_trip_seconds=0.0)
    request = Request(f"{web.hosts.host(0).origin}/")

    async def bodies() -> list[bytes]:
        found = []
        for day in (0, 100, 200):
            clock.time = float(day)
            page = await transport.fetch(request)
            assert isinstance(page, Page)
            found.append(page.body)
        return found

    assert asyncio.run(bodies()) == [get(web, web.hosts.host(0), 0, day * 86_400_000).body for day in (0, 100, 200)]


def test_memory_resolves_names_of_the_web_and_addresses_and_nothing_else() -> None:
    web = SyntheticWeb(Plan(hosts=2, pages=4, names=True))
    host = web.hosts.host(1)
    transport = MemoryTransport(web, InstantClock())
    assert asyncio.run(transport.resolve(host.name)) == (host.address,)
    assert asyncio.run(transport.resolve("127.9.9.9")) == ("127.9.9.9",)
    outcome = asyncio.run(transport.resolve("example.org"))
    assert isinstance(outcome, Failure)
    assert (outcome.url, outcome.kind) == ("example.org", FailureKind.NAME)


@pytest.mark.parametrize("fault", [Fault.HANG, Fault.SLOW, Fault.BUSY, Fault.RESET])
def test_memory_answers_without_an_event_loop_what_a_fetch_brings(fault: Fault) -> None:
    request = Request(SyntheticWeb(plan_with(fault)).hosts.host(1).origin + "/")
    clock = InstantClock(50.0)
    awaited = MemoryTransport(SyntheticWeb(plan_with(fault)), clock, user_agent="tester")
    asked = MemoryTransport(SyntheticWeb(plan_with(fault)), InstantClock(50.0), user_agent="tester")
    for _ in range(6):
        begun = clock.time
        outcome = asyncio.run(awaited.fetch(request))
        seconds, same = asked.answer(request, begun)
        assert same == outcome
        assert seconds == pytest.approx(clock.time - begun)
    assert asked.journal.report() == awaited.journal.report()
    assert asked.request_headers == (("User-Agent", "tester"),)


def test_memory_answer_blames_a_caller_that_comes_before_the_last_answer_has_ended() -> None:
    web = SyntheticWeb(plan_with(Fault.SLOW))
    transport = MemoryTransport(web, InstantClock(), journal=Journal(web.robots, delay_seconds=2.0))
    request = Request(web.hosts.host(1).origin + "/")
    seconds, _ = transport.answer(request, 0.0)
    transport.answer(request, seconds / 2)
    transport.answer(request, 2 * seconds)
    transport.answer(request, 3 * seconds + 2.0)
    report = transport.journal.report()
    assert [entry["blame"] for entry in report["entries"]] == ["", "overlapping", "too early", ""]


def test_memory_fetch_that_is_given_up_is_over_for_the_journal() -> None:
    web, clock = SyntheticWeb(plan_with(Fault.HANG)), VirtualClock()
    host = web.hosts.host(1)
    journal = Journal(web.robots, delay_seconds=1.0)
    transport = MemoryTransport(web, clock, journal=journal)

    async def story() -> None:
        first = asyncio.create_task(transport.fetch(Request(f"{host.origin}/robots.txt")))
        await clock.advance(5)
        first.cancel()
        await clock.advance(5)
        second = asyncio.create_task(transport.fetch(Request(f"{host.origin}/robots.txt")))
        await clock.advance(40)
        assert isinstance(await second, Failure)

    asyncio.run(story())
    report = journal.report()
    assert (report["requests"], report["overlapping"], report["too_early"]) == (2, 0, 0)
