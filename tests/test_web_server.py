"""The door of real sockets: HTTP/1.1 as it should be, and what becomes of requests that are not."""

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, cast

import pytest
import uvloop
from hypothesis import assume, given
from hypothesis import strategies as st

from tarrafa.clock import Clock, VirtualClock
from tarrafa.errors import WorkError
from tarrafa.simulate.web import Fault, Habits, Plan, Server, Web
from tarrafa.simulate.web.connection import Connection
from tarrafa.simulate.web.http import HEAD_MAX_BYTES, Asked, Malformed, read_request
from tarrafa.simulate.web.plan import Host
from tarrafa.simulate.web.server import USUAL, listen, open_server
from tarrafa.urls import canonical, path_of
from webs import InstantClock, Wire, body_of, get, hosts_of, run_story, until

PLAN = Plan(hosts=40, pages=400, rng_seed=21)
Story = Callable[[Server], Awaitable[None]]
Serve = Callable[..., None]


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def serve(request: pytest.FixtureRequest) -> Serve:
    def run(story: Story, plan: Plan = PLAN, habits: Habits = USUAL, clock: Clock | None = None) -> None:
        run_story(story, plan, habits, clock, request.param)

    return run


def chunked(web: Web, wanted: bool) -> Host:
    return next(host for host in hosts_of(web) if host.chunked is wanted and host.size > 3)


# As it should be.


def test_connection_is_kept_for_further_requests(serve: Serve) -> None:
    async def story(server: Server) -> None:
        host = server.web.geography.host(0)
        async with Wire.open(server) as wire:
            for _ in range(3):
                wire.ask(host)
                page = await wire.answer()
                assert page.status == 200
                assert page.header("connection") is None
                assert page.body == get(server.web, host, 0).body
        await until(lambda: not server.connections)

    serve(story)


def test_requests_sent_at_once_are_answered_in_their_order(serve: Serve) -> None:
    async def story(server: Server) -> None:
        host = max(hosts_of(server.web), key=lambda host: host.size)
        paths = [server.web.pages.entry(host, page).path for page in (3, 0, 5, 1, 2)]
        async with Wire.open(server) as wire:
            for path in paths:
                wire.ask(host, path)
            for path in paths:
                assert (await wire.answer()).body == get(server.web, host, path).body

    serve(story)


def test_request_may_come_in_drops(serve: Serve) -> None:
    async def story(server: Server) -> None:
        host = server.web.geography.host(0)
        async with Wire.open(server) as wire:
            for byte in f"GET / HTTP/1.1\r\nHost: {host.authority}\r\n\r\n".encode():
                wire.send(bytes([byte]))
                await asyncio.sleep(0)
            assert (await wire.answer()).status == 200

    serve(story)


def test_one_connection_may_ask_for_many_hosts(serve: Serve) -> None:
    async def story(server: Server) -> None:
        async with Wire.open(server) as wire:
            for host in hosts_of(server.web):
                wire.ask(host)
                assert (await wire.answer()).body == get(server.web, host, 0).body

    serve(story)


def test_every_address_of_loopback_answers(serve: Serve) -> None:
    async def story(server: Server) -> None:
        for host in (server.web.geography.host(1), server.web.geography.host(39)):
            async with Wire.open(server, host) as wire:
                wire.ask(host)
                assert (await wire.answer()).status == 200

    serve(story)


def test_names_answer_where_the_resolver_says(serve: Serve) -> None:
    async def story(server: Server) -> None:
        for host in hosts_of(server.web):
            async with Wire.open(server, host) as wire:
                wire.ask(host)
                assert (await wire.answer()).body == get(server.web, host, 0).body

    serve(story, replace(PLAN, names=True))


def test_old_version_without_host_header_is_answered_by_address_and_closed(serve: Serve) -> None:
    async def story(server: Server) -> None:
        host = server.web.geography.host(4)
        async with Wire.open(server, host) as wire:
            wire.send(b"GET / HTTP/1.0\r\n\r\n")
            page = await wire.answer()
            assert page.body == get(server.web, host, 0).body
            assert page.header("connection") == "close"
            assert await wire.is_at_end()

    serve(story)


def test_old_version_gets_no_chunks_and_is_kept_when_it_asks(serve: Serve) -> None:
    async def story(server: Server) -> None:
        host = chunked(server.web, True)
        async with Wire.open(server) as wire:
            for _ in range(2):
                wire.ask(host, "/", "Connection: Keep-Alive", version="1.0")
                page = await wire.answer()
                assert page.header("transfer-encoding") is None
                assert page.header("connection") == "keep-alive"
                assert page.body == get(server.web, host, 0).body

    serve(story)


@pytest.mark.parametrize("value", ["close", "Close", "TE, close", "close ,TE"])
def test_connection_is_closed_when_asked(serve: Serve, value: str) -> None:
    async def story(server: Server) -> None:
        async with Wire.open(server) as wire:
            wire.ask(server.web.geography.host(0), "/", f"Connection: {value}")
            page = await wire.answer()
            assert (page.status, page.header("connection")) == (200, "close")
            assert await wire.is_at_end()

    serve(story)


@pytest.mark.parametrize("is_chunked", [False, True])
def test_head_is_the_same_without_the_body(serve: Serve, is_chunked: bool) -> None:
    async def story(server: Server) -> None:
        host = chunked(server.web, is_chunked)
        async with Wire.open(server) as wire:
            wire.ask(host, method="HEAD")
            head = await wire.head()
            wire.ask(host)
            whole = await wire.answer()
            assert whole.header("transfer-encoding") == ("chunked" if is_chunked else None)
            assert head.header("content-length") == str(len(whole.body))
            framing = {"transfer-encoding", "content-length"}
            said, repeated = ({h for h in page.headers if h[0].lower() not in framing} for page in (head, whole))
            assert said == repeated

    serve(story)


@pytest.mark.parametrize("is_chunked", [False, True])
def test_bytes_are_the_same_in_chunks_and_in_gzip(serve: Serve, is_chunked: bool) -> None:
    async def story(server: Server) -> None:
        async with Wire.open(server) as wire:
            for host in [host for host in hosts_of(server.web) if host.chunked is is_chunked]:
                for header in ("Accept-Encoding: gzip", "Accept-Encoding: identity"):
                    wire.ask(host, "/", header)
                    page = await wire.answer()
                    packed = host.gzip and "gzip" in header
                    assert page.header("content-encoding") == ("gzip" if packed else None)
                    assert body_of(page) == get(server.web, host, 0).body

    serve(story)


def test_not_modified_and_missing_pages_keep_the_connection(serve: Serve) -> None:
    async def story(server: Server) -> None:
        for host in (chunked(server.web, False), chunked(server.web, True)):
            async with Wire.open(server) as wire:
                wire.ask(host)
                tag = (await wire.answer()).header("etag")
                wire.ask(host, "/", f"If-None-Match: {tag or 'x'}")
                again = await wire.answer()
                assert again.status == (304 if tag else 200)
                wire.ask(host, "/nothing")
                assert (await wire.answer()).status == 404
                wire.ask(host, "/ir/p1")
                moved = await wire.answer()
                assert moved.status == 301
                assert (moved.header("location") or "").startswith(host.origin)

    serve(story)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_other_methods_are_405_and_their_body_is_skipped(serve: Serve, method: str) -> None:
    async def story(server: Server) -> None:
        host = server.web.geography.host(0)
        body = b"GET /trap HTTP/1.1\r\nHost: x\r\n\r\n" * 2_000
        async with Wire.open(server) as wire:
            wire.ask(host, "/", f"Content-Length: {len(body)}", method=method)
            wire.send(body)
            wire.ask(host)
            refused, page = await wire.answer(), await wire.answer()
            assert (refused.status, refused.header("allow")) == (405, "GET, HEAD")
            assert page.status == 200
        report = server.journal.report()
        assert (report["requests"], report["malformed"]) == (2, 0)

    serve(story)


def test_body_in_chunks_is_not_read_and_the_connection_is_closed(serve: Serve) -> None:
    async def story(server: Server) -> None:
        async with Wire.open(server) as wire:
            wire.ask(server.web.geography.host(0), "/", "Transfer-Encoding: chunked", method="POST")
            page = await wire.answer()
            assert (page.status, page.header("connection")) == (405, "close")
            assert await wire.is_at_end()

    serve(story)


def test_two_doors_bring_the_same_bytes(serve: Serve) -> None:
    async def story(server: Server) -> None:
        web = Web(server.web.plan)
        async with Wire.open(server) as wire:
            for host in hosts_of(web):
                pages = [web.pages.entry(host, page).path for page in range(host.size + 2)]
                others = ["/robots.txt", "/sitemap.xml", "/img/3.png", "/doc/1.pdf", "/ir/x1", "/ir/c2", "/antigo/1"]
                for path in pages + others:
                    wire.ask(host, path)
                    page, memory = await wire.answer(), get(web, host, path)
                    assert (page.status, page.body) == (memory.status, memory.body), host.origin + path
                    assert page.header("content-type") == memory.header("content-type")
        assert server.journal.report(0)["malformed"] == 0

    serve(story)


# Malformed requests.

BAD_LINES = {
    "raw space": (b"GET /a b HTTP/1.1", "request line"),
    "two spaces": (b"GET  / HTTP/1.1", "request line"),
    "no version": (b"GET /", "request line"),
    "other version": (b"GET / HTTP/2.0", "request line"),
    "small letters": (b"get / HTTP/1.1", "request line"),
    "not HTTP": (b"\x16\x03\x01\x02\x00\x01\x00", "request line"),
    "empty line": (b"", "request line"),
    "tab": (b"GET /a\tb HTTP/1.1", "target"),
    "null": (b"GET /a\x00b HTTP/1.1", "target"),
    "control character": (b"GET /a\x1fb HTTP/1.1", "target"),
    "delete": (b"GET /a\x7fb HTTP/1.1", "target"),
    "line feed": (b"GET /a\nb HTTP/1.1", "target"),
    "not ASCII": ("GET /ação HTTP/1.1".encode(), "target"),
    "latin letters": ("GET /ação HTTP/1.1".encode("latin-1"), "target"),
    "fragment": (b"GET /a#b HTTP/1.1", "target"),
    "quote": (b'GET /a"b HTTP/1.1', "target"),
    "angle bracket": (b"GET /<b> HTTP/1.1", "target"),
    "backslash": (b"GET /a\\b HTTP/1.1", "target"),
    "caret": (b"GET /a^b HTTP/1.1", "target"),
    "backtick": (b"GET /a`b HTTP/1.1", "target"),
    "brace": (b"GET /a{b} HTTP/1.1", "target"),
    "bar": (b"GET /a|b HTTP/1.1", "target"),
    "bracket": (b"GET /a?b[]=1 HTTP/1.1", "target"),
    "half an escape": (b"GET /a%2 HTTP/1.1", "target"),
    "no escape": (b"GET /a%zz HTTP/1.1", "target"),
    "lone percent": (b"GET /100% HTTP/1.1", "target"),
    "no slash": (b"GET a HTTP/1.1", "target"),
    "nothing": (b"GET  HTTP/1.1", "target"),
}
BAD_FIELDS = {
    "no Host": (b"Accept: */*", "no Host header"),
    "no header": (b"", "no Host header"),
    "empty Host": (b"Host:", "no Host header"),
    "two Hosts": (b"Host: 127.0.0.1\r\nHost: 127.0.0.1", "header given twice"),
    "no colon": (b"Host: 127.0.0.1\r\nnonsense", "header"),
    "no name": (b"Host: 127.0.0.1\r\n: x", "header"),
    "blank in name": (b"Host: 127.0.0.1\r\nAc cept: x", "header"),
    "blank before colon": (b"Host : 127.0.0.1", "header"),
    "folded": (b"Host: 127.0.0.1\r\nAccept: a\r\n b", "header"),
    "null in value": (b"Host: 127.0.0.1\r\nAccept: a\x00b", "header"),
    "lone line feed": (b"Host: 127.0.0.1\nAccept: a", "header"),
    "lone carriage return": (b"Host: 127.0.0.1\r\nAccept: a\rb", "header"),
    "length of letters": (b"Host: 127.0.0.1\r\nContent-Length: many", "Content-Length"),
    "length below zero": (b"Host: 127.0.0.1\r\nContent-Length: -1", "Content-Length"),
    "length of no digits": (b"Host: 127.0.0.1\r\nContent-Length: \xb2", "Content-Length"),
    "length without end": (b"Host: 127.0.0.1\r\nContent-Length: " + b"9" * 5_000, "Content-Length"),
    "two lengths": (b"Host: 127.0.0.1\r\nContent-Length: 1\r\nContent-Length: 2", "header given twice"),
}
MALFORMED = {
    **{name: (line + b"\r\nHost: 127.0.0.1\r\n\r\n", reason) for name, (line, reason) in BAD_LINES.items()},
    **{name: (b"GET / HTTP/1.1\r\n" + fields + b"\r\n\r\n", reason) for name, (fields, reason) in BAD_FIELDS.items()},
    "huge head": (b"GET /" + b"a" * HEAD_MAX_BYTES, "head too large"),
    "huge head at once": (b"GET /" + b"a" * HEAD_MAX_BYTES + b" HTTP/1.1\r\nHost: x\r\n\r\n", "head too large"),
    "huge header": (b"GET / HTTP/1.1\r\nX: " + b"a" * 2 * HEAD_MAX_BYTES, "head too large"),
}


def test_malformed_requests_are_refused_counted_and_the_connection_closed(serve: Serve) -> None:
    async def story(server: Server) -> None:
        for count, (name, (request, reason)) in enumerate(MALFORMED.items(), 1):
            async with Wire.open(server) as wire:
                wire.send(request)
                page = await wire.answer()
                assert (page.status, page.body.decode().strip()) == (400, reason), name
                assert page.header("connection") == "close"
                assert await wire.is_at_end()
            assert server.journal.report(0)["malformed"] == count, name
        report = server.journal.report()
        assert report["requests"] == report["malformed"] == len(MALFORMED)
        assert {entry["blame"] for entry in report["entries"]} == {"malformed"}
        assert set(report["by_host"]) == {"", server.web.geography.host(0).origin}

    serve(story)


@pytest.mark.parametrize("name", MALFORMED)
def test_reader_of_requests_calls_them_malformed_too(name: str) -> None:
    request, reason = MALFORMED[name]
    read = read_request(request.partition(b"\r\n\r\n")[0])
    if reason != "head too large":
        assert isinstance(read, Malformed)
        assert read.reason == reason


def test_what_follows_a_malformed_request_is_not_looked_at(serve: Serve) -> None:
    async def story(server: Server) -> None:
        async with Wire.open(server) as wire:
            wire.send(b"BAD\r\n\r\n" + b"x" * 2 * HEAD_MAX_BYTES)
            assert (await wire.answer()).status == 400
        await until(lambda: not server.connections)
        assert server.journal.report(0)["malformed"] == 1

    serve(story)


def test_hosts_that_nobody_knows_do_not_fill_the_journal(serve: Serve) -> None:
    async def story(server: Server) -> None:
        for number in range(20):
            async with Wire.open(server) as wire:
                wire.send(f"GET # HTTP/1.1\r\nHost: host{number}\r\n\r\n".encode())
                assert (await wire.answer()).status == 400
        assert list(server.journal.report(0)["by_host"]) == [""]

    serve(story)


def test_unknown_host_closes_the_connection_without_a_word(serve: Serve) -> None:
    async def story(server: Server) -> None:
        for authority in ("example.org", "127.99.0.1", "x" * 5_000, "www.tz--a" + "9" * 5_000 + ".com"):
            async with Wire.open(server) as wire:
                wire.send(f"GET / HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
                # A reset is also a way to say that nobody is there.
                with contextlib.suppress(ConnectionResetError):
                    assert await wire.is_at_end()
        assert server.journal.report(0)["requests"] == 0

    serve(story)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_as_a_request_or_as_malformed(head: bytes) -> None:
    assert isinstance(read_request(head), Asked | Malformed)


_fields = st.lists(
    st.sampled_from([b"Host: a", b"A:b", b"X", b": ", b"Content-Length: 3", b"\xff: \xff", b"Connection: x"])
)


@given(st.sampled_from([b"GET / HTTP/1.1", b"GET /%41 HTTP/1.0", b"GET /\xff HTTP/1.1"]), _fields)
def test_headers_of_any_kind_are_read_or_refused(line: bytes, fields: list[bytes]) -> None:
    read = read_request(b"\r\n".join([line, *fields]))
    if isinstance(read, Asked):
        assert all(b":" in field and not field.startswith(b":") for field in fields)
        assert fields.count(b"Host: a") <= 1


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_canonical_url_without_a_stray_percent_makes_a_malformed_request(path: str, query: str) -> None:
    url = canonical(f"http://host/{path}?{query}")
    assert url
    assume(not re.search("%(?![0-9A-F]{2})", url))
    assert isinstance(read_request(f"GET {path_of(url)} HTTP/1.1\r\nHost: host".encode()), Asked)


# Bounds, and visitors who behave oddly.


def slow_web(hosts: int = 2) -> Plan:
    return Plan(hosts=hosts, pages=60, faults=frozenset({Fault.SLOW}))


@pytest.mark.parametrize(
    ("plan", "habits"), [(slow_web(), Habits()), (Plan(hosts=2, pages=60), Habits(latency_seconds=1))]
)
def test_slow_answer_comes_when_its_time_has_come_and_the_next_after_it(
    serve: Serve, plan: Plan, habits: Habits
) -> None:
    clock = VirtualClock()

    async def story(server: Server) -> None:
        host = server.web.geography.host(1)
        async with Wire.open(server) as wire:
            wire.ask(host)
            wire.ask(host, "/robots.txt")
            await until(lambda: server.journal.report(0)["requests"])
            assert await wire.is_silent()
            await clock.advance(1)  # what this host takes for an answer
            assert (await wire.answer()).body == get(server.web, host, 0).body
            assert await wire.is_silent()
            await clock.advance(1)
            assert (await wire.answer()).status in (200, 404)

    serve(story, plan, habits, clock)


def test_visitor_who_leaves_during_an_answer_is_forgotten(serve: Serve) -> None:
    clock = VirtualClock()

    async def story(server: Server) -> None:
        host = server.web.geography.host(1)
        async with Wire.open(server) as wire:
            wire.ask(host)
            await until(lambda: server.journal.report(0)["requests"])
        await until(lambda: not server.connections)
        await until(lambda: server.journal.report()["entries"])
        async with Wire.open(server) as wire:
            wire.ask(host)
            await until(lambda: server.journal.report(0)["requests"] == 2)
        assert server.journal.report(0)["overlapping"] == 0

    serve(story, slow_web(), Habits(delay_seconds=1), clock)


def test_visitor_who_sends_without_waiting_fills_no_memory_and_gets_all_answers(serve: Serve) -> None:
    async def story(server: Server) -> None:
        host = server.web.geography.host(1)
        async with Wire.open(server) as wire:
            for _ in range(1_500):
                wire.ask(host, "/robots.txt")
            for _ in range(1_500):
                assert (await wire.answer()).status in (200, 404)
        assert server.journal.report(0)["requests"] == 1_500

    serve(story, slow_web(), clock=InstantClock())


def test_buffer_of_a_waiting_connection_has_a_bound(serve: Serve) -> None:
    clock = VirtualClock()

    async def story(server: Server) -> None:
        host = server.web.geography.host(1)
        async with Wire.open(server) as wire:
            wire.ask(host)
            wire.send(b"x" * 8_000_000)
            await until(lambda: server.journal.report(0)["requests"])
            (connection,) = server.connections
            for _ in range(2_000):
                await asyncio.sleep(0)
            assert len(connection._buffer) < 1_000_000

    serve(story, slow_web(), clock=clock)


def test_visitor_who_asks_for_much_and_reads_nothing_fills_no_memory(serve: Serve) -> None:
    async def story(server: Server) -> None:
        host = server.web.geography.host(0)
        async with Wire.open(server) as wire:
            for _ in range(1_000):  # of twenty kilobytes each
                wire.ask(host)
            await until(lambda: server.connections)
            (connection,) = server.connections
            await until(lambda: not connection._can_write.is_set())
            for _ in range(2_000):
                await asyncio.sleep(0)
            assert connection._transport.get_write_buffer_size() < 1_000_000
            assert server.journal.report(0)["requests"] < 1_000
            for _ in range(1_000):
                assert (await wire.answer()).status == 200

    serve(story)


def test_body_without_end_waits_for_a_visitor_who_does_not_read(serve: Serve) -> None:
    async def story(server: Server) -> None:
        async with Wire.open(server) as wire:
            wire.ask(server.web.geography.host(1), "/fluxo/1")
            await until(lambda: server.connections)
            (connection,) = server.connections
            await until(lambda: not connection._can_write.is_set())
            for _ in range(2_000):
                await asyncio.sleep(0)
            assert connection._transport.get_write_buffer_size() < 1_000_000
            assert len(await wire.reader.readexactly(20_000_000)) == 20_000_000

    serve(story, Plan(hosts=2, pages=60, faults=frozenset({Fault.ENDLESS})))


def test_visitor_from_another_network_is_sent_away() -> None:
    """Where the kernel cannot bind to the loopback device, the server keeps strangers out by itself."""

    class Stranger:
        is_gone = False

        def get_extra_info(self, name: str) -> Any:
            return ("192.0.2.7", 5_000) if name == "peername" else None

        def abort(self) -> None:
            self.is_gone = True

    stranger = Stranger()
    Connection(Server(PLAN)).connection_made(cast("Any", stranger))
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


def test_heads_are_written_in_ascii_with_date_and_server(serve: Serve) -> None:
    async def story(server: Server) -> None:
        async with Wire.open(server) as wire:
            wire.ask(server.web.geography.host(0))
            head = await wire.reader.readuntil(b"\r\n\r\n")
            assert head.isascii()
            assert re.search(rb"^Date: Thu, 01 Jan 2026 00:00:00 GMT\r$", head, re.MULTILINE)
            assert b"\r\nServer: tarrafa-web\r\n" in head

    serve(story)
