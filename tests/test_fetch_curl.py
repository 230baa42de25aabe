import asyncio
import gzip
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import trustme

from servers import Script, Server, Visit
from tarrafa.configuration import Crawl, Fetch
from tarrafa.fetch import CurlTransport, TableResolver, decode
from tarrafa.fetch.resolve import SystemResolver, public_only
from tarrafa.records import Failure, FailureKind, Page, Request

SMALL = Fetch(timeout_seconds=20.0, body_limit_bytes=10_000, header_limit_bytes=4_096)
OWN = Crawl(user_agent="Test/1.0", allow_private=True)
NAMES = TableResolver({"a.test": ("127.0.0.1",), "a.test.": ("127.0.0.1",), "far.test": ("10.0.0.1", "fd00::1")})

Serve = Callable[..., Server]


@pytest.fixture
def serve() -> Iterator[Serve]:
    servers: list[Server] = []

    def start(script: Script, tls: ssl.SSLContext | None = None, address: str = "127.0.0.1") -> Server:
        servers.append(Server(script, tls, address))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def answer(data: bytes) -> Script:
    return lambda visit: visit.send(data)


def fetch(url: str, limits: Fetch = SMALL, crawl: Crawl = OWN, certificates: Path | None = None) -> Page | Failure:
    transport = CurlTransport(limits, crawl, NAMES, certificates=certificates)
    return asyncio.run(transport.fetch(Request(url)))


def page(url: str, limits: Fetch = SMALL) -> Page:
    outcome = fetch(url, limits)
    assert isinstance(outcome, Page), outcome
    return outcome


def failure(url: str, limits: Fetch = SMALL, crawl: Crawl = OWN, certificates: Path | None = None) -> FailureKind:
    outcome = fetch(url, limits, crawl, certificates)
    assert isinstance(outcome, Failure), outcome
    assert outcome.url == url
    assert outcome.detail.isprintable()
    return outcome.kind


# What comes.


def test_page_has_status_headers_body_address_and_timings(serve: Serve) -> None:
    server = serve(answer(b"HTTP/1.1 404 Gone\r\nX-A: 1\r\nx-a:  2 \r\nContent-Length: 2\r\n\r\nhi"))
    got = page(f"http://127.0.0.1:{server.port}/x?y")
    assert (got.status, got.body, got.truncated, got.address) == (404, b"hi", False, "127.0.0.1")
    assert got.headers == (("X-A", "1"), ("x-a", "2"), ("Content-Length", "2"))
    assert 0 < got.timings.connect_seconds <= got.timings.total_seconds


def test_request_says_who_asks_and_asks_for_gzip_only(serve: Serve) -> None:
    server = serve(answer(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
    transport = CurlTransport(SMALL, OWN, NAMES)
    asyncio.run(transport.fetch(Request(f"http://a.test:{server.port}/a?q", (("If-None-Match", '"e"'),))))
    lines = server.requests[0].decode().split("\r\n")
    assert lines[0] == "GET /a?q HTTP/1.1"
    assert {
        f"Host: a.test:{server.port}",
        "User-Agent: Test/1.0",
        "Accept-Encoding: gzip",
        'If-None-Match: "e"',
    } <= set(lines)


def test_value_with_a_line_break_is_no_second_header(serve: Serve) -> None:
    """A hostile ETag comes back to its host in If-None-Match."""
    server = serve(answer(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
    request = Request(f"http://127.0.0.1:{server.port}/", (("If-None-Match", "a\r\nX-Evil: \xe9\u20ac"),))
    asyncio.run(CurlTransport(SMALL, OWN, NAMES).fetch(request))
    assert b"\r\nIf-None-Match: a  X-Evil: \xe9?\r\n" in server.requests[0]


def test_redirect_is_a_page_and_not_followed(serve: Serve) -> None:
    server = serve(answer(b"HTTP/1.1 301 Moved\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n"))
    got = page(f"http://127.0.0.1:{server.port}/")
    assert (got.status, got.header("LOCATION"), len(server.requests)) == (301, "/next", 1)


def test_chunked_body_comes_whole_and_trailers_are_no_headers(serve: Serve) -> None:
    server = serve(
        answer(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n3\r\n me\r\n0\r\nX-Late: 1\r\n\r\n")
    )
    got = page(f"http://127.0.0.1:{server.port}/")
    assert (got.body, got.header("x-late")) == (b"hi me", None)


def test_interim_answers_are_forgotten(serve: Serve) -> None:
    server = serve(answer(b"HTTP/1.1 103 Early Hints\r\nX-A: 1\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"))
    got = page(f"http://127.0.0.1:{server.port}/")
    assert (got.status, got.header("x-a"), got.body) == (200, None, b"hi")


def test_body_over_its_bound_is_cut_and_marked(serve: Serve) -> None:
    def endless(visit: Visit) -> None:
        visit.send(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            visit.send(b"x" * 5_000)

    got = page(f"http://127.0.0.1:{serve(endless).port}/")
    assert (len(got.body), got.truncated) == (10_000, True)


def test_body_of_exactly_its_bound_is_whole(serve: Serve) -> None:
    server = serve(answer(b"HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n" + b"x" * 10_000))
    got = page(f"http://127.0.0.1:{server.port}/")
    assert (len(got.body), got.truncated) == (10_000, False)


def test_body_shorter_than_announced_is_kept_and_marked(serve: Serve) -> None:
    server = serve(answer(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhi"))
    got = page(f"http://127.0.0.1:{server.port}/")
    assert (got.body, got.truncated) == (b"hi", True)


def test_gzip_bomb_from_a_host_is_cut(serve: Serve) -> None:
    bomb = gzip.compress(bytes(5_000_000))
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
    got = page(f"http://127.0.0.1:{serve(answer(head + bomb)).port}/")
    assert got.body == bomb
    assert not got.truncated
    assert decode(got, SMALL.body_limit_bytes).truncated


# What fails, each with its kind.


def test_hanging_host_is_a_timeout(serve: Serve) -> None:
    quick = replace(SMALL, timeout_seconds=0.1)
    assert failure(f"http://127.0.0.1:{serve(Visit.hang).port}/", quick) is FailureKind.TIMEOUT


def test_body_that_never_ends_slowly_is_a_timeout(serve: Serve) -> None:
    def stop_midway(visit: Visit) -> None:
        visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhi")
        visit.hang()

    quick = replace(SMALL, timeout_seconds=0.1)
    assert failure(f"http://127.0.0.1:{serve(stop_midway).port}/", quick) is FailureKind.TIMEOUT


def test_reset_and_silent_close_are_a_reset(serve: Serve) -> None:
    assert failure(f"http://127.0.0.1:{serve(Visit.reset).port}/") is FailureKind.RESET
    assert failure(f"http://127.0.0.1:{serve(answer(b'')).port}/") is FailureKind.RESET


def test_port_where_nobody_listens_is_refused() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        assert failure(f"http://127.0.0.1:{taken.getsockname()[1]}/") is FailureKind.REFUSED


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 10_000,
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 500_000,
        b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000,
    ],
    ids=["lines", "one line", "interim answers"],
)
def test_header_without_end_is_too_large(serve: Serve, data: bytes) -> None:
    assert failure(f"http://127.0.0.1:{serve(answer(data)).port}/") is FailureKind.HEADER


@pytest.mark.parametrize("data", [b"SSH-2.0-OpenSSH\r\n", b"\x15\x03\x01\x00\x02\x02\x46", b"200 OK\r\n\r\n"])
def test_what_is_not_http_is_a_broken_answer(serve: Serve, data: bytes) -> None:
    assert failure(f"http://127.0.0.1:{serve(answer(data)).port}/") is FailureKind.ANSWER


@pytest.mark.parametrize("url", ["", "x", "ftp://a.test/", "http://", "javascript:alert(1)", "http://a b/"])
def test_what_is_no_http_url_is_a_failure(url: str) -> None:
    assert failure(url) is FailureKind.URL


def test_unknown_name_has_no_address() -> None:
    assert failure("http://nobody.test/") is FailureKind.NAME


def test_resolver_that_hangs_is_a_timeout() -> None:
    class Silent:
        async def addresses(self, name: str) -> tuple[str, ...]:
            await asyncio.Event().wait()
            raise AssertionError

    transport = CurlTransport(replace(SMALL, connect_timeout_seconds=0.01), OWN, Silent())
    outcome = asyncio.run(transport.fetch(Request("http://a.test/")))
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.TIMEOUT


def test_cancelled_fetch_hangs_up(serve: Serve) -> None:
    """A user presses Ctrl-C while a host takes its time: the program must end, and the host must see that we left."""
    hung_up = threading.Event()

    def wait_for_the_end(visit: Visit) -> None:
        assert visit.connection.recv(1) == b""
        hung_up.set()

    server = serve(wait_for_the_end)

    async def leave() -> None:
        transport = CurlTransport(SMALL, OWN, NAMES)
        task = asyncio.create_task(transport.fetch(Request(f"http://127.0.0.1:{server.port}/")))
        await asyncio.to_thread(server.is_visited.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(leave())
    assert hung_up.wait(timeout=20)


# Where it may go.


@pytest.mark.parametrize(
    "name", ["127.0.0.1", "[::1]", "10.0.0.1", "[::ffff:7f00:1]", "a.test", "far.test", "2130706433"]
)
def test_private_address_is_refused_before_connecting(serve: Serve, name: str) -> None:
    server = serve(answer(b""))
    outcome = fetch(f"http://{name}:{server.port}/", crawl=Crawl())
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.PRIVATE
    assert server.requests == []


def test_only_the_public_addresses_of_a_name_are_tried() -> None:
    mixed = ("10.0.0.1", "8.8.8.8", "::1", "2606:4700::1111", "fe80::1%eth0", "nonsense")
    assert public_only(mixed) == ("8.8.8.8", "2606:4700::1111")


@pytest.mark.parametrize("name", ["a.test", "a.test."])
def test_name_is_resolved_once_and_by_us_only(serve: Serve, name: str) -> None:
    """No resolver of the system knows a.test, so an answer shows that libcurl did not ask one (no rebinding)."""
    server = serve(answer(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"))
    assert page(f"http://{name}:{server.port}/").address == "127.0.0.1"


def test_proxies_of_the_environment_are_ignored(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = serve(answer(b"HTTP/1.1 502 Proxy\r\nContent-Length: 0\r\n\r\n"))
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
    server = serve(answer(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"))
    assert page(f"http://127.0.0.1:{server.port}/").status == 200
    assert proxy.requests == []


def test_ipv6_host_is_reached_where_the_machine_has_ipv6(serve: Serve) -> None:
    try:
        server = serve(answer(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"), address="::1")
    except OSError:
        assert failure("http://[::1]:1/") is FailureKind.UNREACHABLE
    else:
        assert page(f"http://[::1]:{server.port}/").address == "::1"


def test_resolver_of_the_system_knows_localhost_and_survives_nonsense() -> None:
    assert set(asyncio.run(SystemResolver().addresses("localhost"))) & {"127.0.0.1", "::1"}
    assert asyncio.run(SystemResolver().addresses("x" * 300)) == ()
    assert asyncio.run(SystemResolver().addresses("nobody.invalid")) == ()


# TLS.


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def secure(authority: trustme.CA, name: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return context


@pytest.fixture
def trusted(authority: trustme.CA, tmp_path: Path) -> Path:
    path = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(path)
    return path


def test_page_over_tls_with_a_trusted_certificate(serve: Serve, authority: trustme.CA, trusted: Path) -> None:
    server = serve(answer(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"), tls=secure(authority, "a.test"))
    got = fetch(f"https://a.test:{server.port}/", certificates=trusted)
    assert isinstance(got, Page)
    assert got.body == b"hi"
    assert got.timings.tls_seconds > 0


def test_certificate_of_an_unknown_authority_is_a_tls_failure(serve: Serve, authority: trustme.CA) -> None:
    server = serve(answer(b""), tls=secure(authority, "a.test"))
    assert failure(f"https://a.test:{server.port}/") is FailureKind.TLS
    assert server.requests == []


def test_certificate_of_another_name_is_a_tls_failure(serve: Serve, authority: trustme.CA, trusted: Path) -> None:
    server = serve(answer(b""), tls=secure(authority, "b.test"))
    assert failure(f"https://a.test:{server.port}/", certificates=trusted) is FailureKind.TLS
    assert server.requests == []


def test_host_without_tls_is_a_tls_failure(serve: Serve) -> None:
    server = serve(answer(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"))
    assert failure(f"https://127.0.0.1:{server.port}/") is FailureKind.TLS
