"""One page at a time over real sockets: what comes, what fails, where it may go."""

import gzip
import socket
from collections.abc import Iterator
from dataclasses import replace

import pytest

from fetching import SMALL, Serve, answer, failure_of, ok, outcome_of, page_of, serving
from servers import Visit
from tarrafa.configuration import CrawlSection
from tarrafa.fetch import decode
from tarrafa.fetch.names import public_only
from tarrafa.records import Failure, FailureKind, Headers, Request


@pytest.fixture
def serve() -> Iterator[Serve]:
    with serving() as start:
        yield start


# What comes.


def test_page_has_status_headers_body_address_and_timings(serve: Serve) -> None:
    server = serve(answer(b"HTTP/1.1 404 Gone\r\nX-A: 1\r\nx-a:  2 \r\nContent-Length: 2\r\n\r\nhi"))
    got = page_of(f"http://127.0.0.1:{server.port}/x?y")
    assert (got.status, got.body, got.truncated, got.address) == (404, b"hi", False, "127.0.0.1")
    assert got.headers == (("X-A", "1"), ("x-a", "2"), ("Content-Length", "2"))
    assert 0 < got.timings.connect_seconds <= got.timings.total_seconds


def test_request_says_who_asks_and_asks_for_the_codings_that_we_can_undo(serve: Serve) -> None:
    server = serve(answer(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
    page_of(Request(f"http://a.test:{server.port}/a?q", (("If-None-Match", '"e"'),)))
    lines = server.requests[0].decode().split("\r\n")
    assert lines[0] == "GET /a?q HTTP/1.1"
    assert {
        f"Host: a.test:{server.port}",
        "User-Agent: Test/1.0",
        "Accept-Encoding: gzip, deflate, br, zstd",
        'If-None-Match: "e"',
    } <= set(lines)


def test_value_with_a_line_break_is_no_second_header(serve: Serve) -> None:
    """A hostile ETag comes back to its host in If-None-Match."""
    server = serve(answer(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
    request = Request(f"http://127.0.0.1:{server.port}/", (("If-None-Match", "a\r\nX-Evil: \xe9\u20ac"),))
    page_of(request)
    assert b"\r\nIf-None-Match: a  X-Evil: \xe9?\r\n" in server.requests[0]


def test_unchanged_page_is_a_page_with_version_and_reason(serve: Serve) -> None:
    server = serve(answer(b"HTTP/1.0 304 Not Modified  \r\nETag: x\r\n\r\n"))
    got = page_of(Request(f"http://127.0.0.1:{server.port}/", (("If-None-Match", "x"),)))
    assert (got.status, got.http_version, got.reason, got.body) == (304, "1.0", "Not Modified", b"")


@pytest.mark.parametrize("headers", [(), (("If-Range", "x"),)])
def test_304_to_a_request_without_conditions_is_a_failure(serve: Serve, headers: Headers) -> None:
    """Some caches confuse their clients. There is no content that could be unchanged."""
    server = serve(answer(b"HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n"))
    got = outcome_of(Request(f"http://127.0.0.1:{server.port}/", headers))
    assert isinstance(got, Failure)
    assert (got.kind, got.detail) == (FailureKind.ANSWER, "304 to a request without conditions")


def test_redirect_is_a_page_and_not_followed(serve: Serve) -> None:
    server = serve(answer(b"HTTP/1.1 301 Moved\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n"))
    got = page_of(f"http://127.0.0.1:{server.port}/")
    assert (got.status, got.header("LOCATION"), len(server.requests)) == (301, "/next", 1)


def test_chunked_body_comes_whole_and_trailers_are_no_headers(serve: Serve) -> None:
    server = serve(
        answer(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n3\r\n me\r\n0\r\nX-Late: 1\r\n\r\n")
    )
    got = page_of(f"http://127.0.0.1:{server.port}/")
    assert (got.body, got.header("x-late")) == (b"hi me", None)


def test_interim_answers_are_forgotten(serve: Serve) -> None:
    server = serve(answer(b"HTTP/1.1 103 Early Hints\r\nX-A: 1\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"))
    got = page_of(f"http://127.0.0.1:{server.port}/")
    assert (got.status, got.header("x-a"), got.body) == (200, None, b"hi")


@pytest.mark.parametrize("is_chunked", [False, True])
def test_body_over_its_bound_is_cut_and_marked(serve: Serve, is_chunked: bool) -> None:
    def endless(visit: Visit) -> None:
        visit.send(b"HTTP/1.1 200 OK\r\n" + b"Transfer-Encoding: chunked\r\n" * is_chunked + b"\r\n")
        while True:
            visit.send(b"1388\r\n" + b"x" * 5_000 + b"\r\n" if is_chunked else b"x" * 5_000)

    got = page_of(f"http://127.0.0.1:{serve(endless).port}/")
    assert (len(got.body), got.truncated) == (10_000, True)


def test_body_of_exactly_its_bound_is_whole(serve: Serve) -> None:
    server = serve(answer(b"HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n" + b"x" * 10_000))
    got = page_of(f"http://127.0.0.1:{server.port}/")
    assert (len(got.body), got.truncated) == (10_000, False)


def test_body_shorter_than_announced_is_kept_and_marked(serve: Serve) -> None:
    server = serve(answer(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhi"))
    got = page_of(f"http://127.0.0.1:{server.port}/")
    assert (got.body, got.truncated) == (b"hi", True)


def test_gzip_bomb_from_a_host_is_cut(serve: Serve) -> None:
    bomb = gzip.compress(bytes(5_000_000))
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
    got = page_of(f"http://127.0.0.1:{serve(answer(head + bomb)).port}/")
    assert got.body == bomb
    assert not got.truncated
    assert decode(got, SMALL.body_limit_bytes).truncated


# What fails, each with its kind.


def test_hanging_host_is_a_timeout(serve: Serve) -> None:
    quick = replace(SMALL, timeout_seconds=0.1)
    assert failure_of(f"http://127.0.0.1:{serve(Visit.hang).port}/", quick) is FailureKind.TIMEOUT


def test_body_that_never_ends_slowly_is_a_timeout(serve: Serve) -> None:
    def stop_midway(visit: Visit) -> None:
        visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhi")
        visit.hang()

    quick = replace(SMALL, timeout_seconds=0.1)
    assert failure_of(f"http://127.0.0.1:{serve(stop_midway).port}/", quick) is FailureKind.TIMEOUT


def test_first_byte_that_does_not_come_is_a_timeout(serve: Serve) -> None:
    quick = replace(SMALL, first_byte_timeout_seconds=0.05)
    outcome = outcome_of(f"http://127.0.0.1:{serve(Visit.hang).port}/", quick)
    assert isinstance(outcome, Failure)
    assert (outcome.kind, "first byte" in outcome.detail) == (FailureKind.TIMEOUT, True)


def test_first_byte_that_came_ends_that_wait(serve: Serve) -> None:
    """The second page is silent, and given up; by then the first would have been too."""

    def slowly(visit: Visit) -> None:
        visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
        failure_of(f"http://127.0.0.1:{silent.port}/", quick)
        visit.send(b"hi")

    silent, quick = serve(Visit.hang), replace(SMALL, first_byte_timeout_seconds=1.0)
    assert page_of(f"http://127.0.0.1:{serve(slowly).port}/", quick).body == b"hi"


def test_body_that_drips_is_a_timeout(serve: Serve) -> None:
    def drip(visit: Visit) -> None:
        visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while not visit.rest(0.05):
            visit.send(b"x")

    outcome = outcome_of(f"http://127.0.0.1:{serve(drip).port}/", replace(SMALL, slow_time_seconds=1.0))
    assert isinstance(outcome, Failure)
    assert (outcome.kind, "too slow" in outcome.detail) == (FailureKind.TIMEOUT, True)


def test_reset_and_silent_close_are_a_reset(serve: Serve) -> None:
    assert failure_of(f"http://127.0.0.1:{serve(Visit.reset).port}/") is FailureKind.RESET
    assert failure_of(f"http://127.0.0.1:{serve(answer(b'')).port}/") is FailureKind.RESET


def test_port_where_nobody_listens_is_refused() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        assert failure_of(f"http://127.0.0.1:{taken.getsockname()[1]}/") is FailureKind.REFUSED


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 10_000,
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 500_000,
        b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + b"X: y\r\n" * 10_000,
    ],
    ids=["lines", "one line", "interim answers", "trailers"],
)
def test_header_without_end_is_too_large(serve: Serve, data: bytes) -> None:
    assert failure_of(f"http://127.0.0.1:{serve(answer(data)).port}/") is FailureKind.HEADER


@pytest.mark.parametrize("data", [b"SSH-2.0-OpenSSH\r\n", b"\x15\x03\x01\x00\x02\x02\x46", b"200 OK\r\n\r\n"])
def test_what_is_not_http_is_a_broken_answer(serve: Serve, data: bytes) -> None:
    assert failure_of(f"http://127.0.0.1:{serve(answer(data)).port}/") is FailureKind.ANSWER


@pytest.mark.parametrize("url", ["", "x", "ftp://a.test/", "http://", "javascript:alert(1)", "http://a b/"])
def test_what_is_no_http_url_is_a_failure(url: str) -> None:
    assert failure_of(url) is FailureKind.URL


def test_unknown_name_has_no_address() -> None:
    assert failure_of("http://nobody.test/") is FailureKind.NAME


# Where it may go.


@pytest.mark.parametrize(
    "name", ["127.0.0.1", "[::1]", "10.0.0.1", "[::ffff:7f00:1]", "a.test", "far.test", "2130706433"]
)
def test_private_address_is_refused_before_connecting(serve: Serve, name: str) -> None:
    server = serve(answer(b""))
    outcome = outcome_of(f"http://{name}:{server.port}/", crawl=CrawlSection())
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.PRIVATE
    assert server.requests == []


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "10.0.0.1", "169.254.169.254"])
def test_private_address_that_the_request_carries_is_refused(serve: Serve, address: str) -> None:
    server = serve(answer(b""))
    outcome = outcome_of(Request(f"http://a.test:{server.port}/", address=address), crawl=CrawlSection())
    assert isinstance(outcome, Failure)
    assert (outcome.kind, server.requests) == (FailureKind.PRIVATE, [])


def test_request_goes_to_the_address_that_it_carries(serve: Serve) -> None:
    """Its name has none, so nobody was asked for one."""
    server = serve(answer(ok(b"hi")), address="127.0.0.3")
    got = page_of(Request(f"http://nobody.test:{server.port}/", address="127.0.0.3"))
    assert got.address == "127.0.0.3"
    assert f"Host: nobody.test:{server.port}".encode() in server.requests[0]


def test_address_of_a_request_that_is_none_is_a_failure() -> None:
    outcome = outcome_of(Request("http://a.test/", address="b.test"))
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.NAME


def test_only_the_public_addresses_of_a_name_are_tried() -> None:
    mixed = ("10.0.0.1", "8.8.8.8", "::1", "2606:4700::1111", "fe80::1%eth0", "nonsense")
    assert public_only(mixed) == ("8.8.8.8", "2606:4700::1111")


@pytest.mark.parametrize("name", ["a.test", "a.test."])
def test_name_is_resolved_once_and_by_us_only(serve: Serve, name: str) -> None:
    """No resolver of the system knows a.test, so an answer shows that libcurl did not ask one (no rebinding)."""
    server = serve(answer(ok(b"hi")))
    assert page_of(f"http://{name}:{server.port}/").address == "127.0.0.1"


def test_proxies_of_the_environment_are_ignored(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = serve(answer(b"HTTP/1.1 502 Proxy\r\nContent-Length: 0\r\n\r\n"))
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
    server = serve(answer(ok(b"hi")))
    assert page_of(f"http://127.0.0.1:{server.port}/").status == 200
    assert proxy.requests == []


def test_ipv6_host_is_reached_where_the_machine_has_ipv6(serve: Serve) -> None:
    try:
        server = serve(answer(ok(b"hi")), address="::1")
    except OSError:
        assert failure_of("http://[::1]:1/") is FailureKind.UNREACHABLE
    else:
        assert page_of(f"http://[::1]:{server.port}/").address == "::1"
