"""The server and valid HTTP/1.1."""

import asyncio
import re
from dataclasses import replace

import pytest

from tarrafa.lab.web import SyntheticServer, SyntheticWeb
from tarrafa.lab.web.plan import SyntheticHost
from webs import LOOPS, SERVED, Serve, Wire, body_of, get, hosts_of, serve_on, until


@pytest.fixture(params=LOOPS, ids=["asyncio", "uvloop"])
def serve(request: pytest.FixtureRequest) -> Serve:
    return serve_on(request.param)


def chunked(web: SyntheticWeb, wanted: bool) -> SyntheticHost:
    return next(host for host in hosts_of(web) if host.chunked is wanted and host.size > 3)


def test_connection_is_kept_for_further_requests(serve: Serve) -> None:
    async def story(server: SyntheticServer) -> None:
        host = server.web.hosts.host(0)
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
    async def story(server: SyntheticServer) -> None:
        host = max(hosts_of(server.web), key=lambda host: host.size)
        paths = [server.web.pages.entry(host, page).path for page in (3, 0, 5, 1, 2)]
        async with Wire.open(server) as wire:
            for path in paths:
                wire.ask(host, path)
            for path in paths:
                assert (await wire.answer()).body == get(server.web, host, path).body

    serve(story)


def test_request_may_come_in_drops(serve: Serve) -> None:
    async def story(server: SyntheticServer) -> None:
        host = server.web.hosts.host(0)
        async with Wire.open(server) as wire:
            for byte in f"GET / HTTP/1.1\r\nHost: {host.authority}\r\n\r\n".encode():
                wire.send(bytes([byte]))
                await asyncio.sleep(0)
            assert (await wire.answer()).status == 200

    serve(story)


def test_one_connection_may_ask_for_many_hosts(serve: Serve) -> None:
    async def story(server: SyntheticServer) -> None:
        async with Wire.open(server) as wire:
            for host in hosts_of(server.web):
                wire.ask(host)
                assert (await wire.answer()).body == get(server.web, host, 0).body

    serve(story)


def test_every_address_of_loopback_answers(serve: Serve) -> None:
    async def story(server: SyntheticServer) -> None:
        for host in (server.web.hosts.host(1), server.web.hosts.host(39)):
            async with Wire.open(server, host) as wire:
                wire.ask(host)
                assert (await wire.answer()).status == 200

    serve(story)


def test_names_answer_where_the_resolver_says(serve: Serve) -> None:
    async def story(server: SyntheticServer) -> None:
        for host in hosts_of(server.web):
            async with Wire.open(server, host) as wire:
                wire.ask(host)
                assert (await wire.answer()).body == get(server.web, host, 0).body

    serve(story, replace(SERVED, names=True))


def test_old_version_without_host_header_is_answered_by_address_and_closed(serve: Serve) -> None:
    async def story(server: SyntheticServer) -> None:
        host = server.web.hosts.host(4)
        async with Wire.open(server, host) as wire:
            wire.send(b"GET / HTTP/1.0\r\n\r\n")
            page = await wire.answer()
            assert page.body == get(server.web, host, 0).body
            assert page.header("connection") == "close"
            assert await wire.is_at_end()

    serve(story)


def test_old_version_gets_no_chunks_and_is_kept_when_it_asks(serve: Serve) -> None:
    async def story(server: SyntheticServer) -> None:
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
    async def story(server: SyntheticServer) -> None:
        async with Wire.open(server) as wire:
            wire.ask(server.web.hosts.host(0), "/", f"Connection: {value}")
            page = await wire.answer()
            assert (page.status, page.header("connection")) == (200, "close")
            assert await wire.is_at_end()

    serve(story)


@pytest.mark.parametrize("is_chunked", [False, True])
def test_head_is_the_same_without_the_body(serve: Serve, is_chunked: bool) -> None:
    async def story(server: SyntheticServer) -> None:
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
    async def story(server: SyntheticServer) -> None:
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
    async def story(server: SyntheticServer) -> None:
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
    async def story(server: SyntheticServer) -> None:
        host = server.web.hosts.host(0)
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
    async def story(server: SyntheticServer) -> None:
        async with Wire.open(server) as wire:
            wire.ask(server.web.hosts.host(0), "/", "Transfer-Encoding: chunked", method="POST")
            page = await wire.answer()
            assert (page.status, page.header("connection")) == (405, "close")
            assert await wire.is_at_end()

    serve(story)


def test_server_and_memory_return_the_same_bytes(serve: Serve) -> None:
    async def story(server: SyntheticServer) -> None:
        web = SyntheticWeb(server.web.plan)
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


def test_heads_are_written_in_ascii_with_date_and_server(serve: Serve) -> None:
    async def story(server: SyntheticServer) -> None:
        async with Wire.open(server) as wire:
            wire.ask(server.web.hosts.host(0))
            head = await wire.reader.readuntil(b"\r\n\r\n")
            assert head.isascii()
            assert re.search(rb"^Date: Thu, 01 Jan 2026 00:00:00 GMT\r$", head, re.MULTILINE)
            assert b"\r\nServer: tarrafa-web\r\n" in head

    serve(story)
