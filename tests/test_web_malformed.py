"""The server and requests that are not valid HTTP."""

import contextlib
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tarrafa.lab.web import SyntheticServer
from tarrafa.lab.web.http_messages import HEAD_MAX_BYTES, MalformedRequest, ParsedRequest, read_request
from tarrafa.urls import canonical, path_of
from webs import LOOPS, Serve, Wire, serve_on, until


@pytest.fixture(params=LOOPS, ids=["asyncio", "uvloop"])
def serve(request: pytest.FixtureRequest) -> Serve:
    return serve_on(request.param)


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
    async def story(server: SyntheticServer) -> None:
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
        assert set(report["by_host"]) == {"", server.web.hosts.host(0).origin}

    serve(story)


@pytest.mark.parametrize("name", MALFORMED)
def test_reader_of_requests_calls_them_malformed_too(name: str) -> None:
    request, reason = MALFORMED[name]
    read = read_request(request.partition(b"\r\n\r\n")[0])
    if reason != "head too large":
        assert isinstance(read, MalformedRequest)
        assert read.reason == reason


def test_what_follows_a_malformed_request_is_not_looked_at(serve: Serve) -> None:
    async def story(server: SyntheticServer) -> None:
        async with Wire.open(server) as wire:
            wire.send(b"BAD\r\n\r\n" + b"x" * 2 * HEAD_MAX_BYTES)
            assert (await wire.answer()).status == 400
        await until(lambda: not server.connections)
        assert server.journal.report(0)["malformed"] == 1

    serve(story)


def test_hosts_that_nobody_knows_do_not_fill_the_journal(serve: Serve) -> None:
    async def story(server: SyntheticServer) -> None:
        for number in range(20):
            async with Wire.open(server) as wire:
                wire.send(f"GET # HTTP/1.1\r\nHost: host{number}\r\n\r\n".encode())
                assert (await wire.answer()).status == 400
        assert list(server.journal.report(0)["by_host"]) == [""]

    serve(story)


def test_unknown_host_closes_the_connection_without_a_word(serve: Serve) -> None:
    async def story(server: SyntheticServer) -> None:
        for authority in ("example.org", "127.99.0.1", "x" * 5_000, "www.tz--a" + "9" * 5_000 + ".com"):
            async with Wire.open(server) as wire:
                wire.send(f"GET / HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
                # A reset also says that no host is there.
                with contextlib.suppress(ConnectionResetError):
                    assert await wire.is_at_end()
        assert server.journal.report(0)["requests"] == 0

    serve(story)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_as_a_request_or_as_malformed(head: bytes) -> None:
    assert isinstance(read_request(head), ParsedRequest | MalformedRequest)


_fields = st.lists(
    st.sampled_from([b"Host: a", b"A:b", b"X", b": ", b"Content-Length: 3", b"\xff: \xff", b"Connection: x"])
)


@given(st.sampled_from([b"GET / HTTP/1.1", b"GET /%41 HTTP/1.0", b"GET /\xff HTTP/1.1"]), _fields)
def test_headers_of_any_kind_are_read_or_refused(line: bytes, fields: list[bytes]) -> None:
    read = read_request(b"\r\n".join([line, *fields]))
    if isinstance(read, ParsedRequest):
        assert all(b":" in field and not field.startswith(b":") for field in fields)
        assert fields.count(b"Host: a") <= 1


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_canonical_url_without_a_stray_percent_makes_a_malformed_request(path: str, query: str) -> None:
    url = canonical(f"http://host/{path}?{query}")
    assert url
    assume(not re.search("%(?![0-9A-F]{2})", url))
    assert isinstance(read_request(f"GET {path_of(url)} HTTP/1.1\r\nHost: host".encode()), ParsedRequest)
