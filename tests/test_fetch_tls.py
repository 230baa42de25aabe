"""Pages over TLS on loopback, with an authority made by the test; HTTP/2, which comes by TLS alone; proxies."""

import asyncio
import ssl
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import trustme

from fetching import (
    NAMES,
    OWN,
    SMALL,
    Serve,
    answer,
    failure_of,
    ok,
    opened,
    outcome_of,
    page_of,
    serving,
    transporting,
)
from http2 import opened_http2
from tarrafa.configuration import CrawlSection
from tarrafa.errors import InputError
from tarrafa.fetch import parse_proxy
from tarrafa.records import Failure, FailureKind, Page, Request
from webs import until

INSECURE = replace(SMALL, insecure=True)


@pytest.fixture
def serve() -> Iterator[Serve]:
    with serving() as start:
        yield start


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
    server = serve(answer(ok(b"hi")), tls=secure(authority, "a.test"))
    got = page_of(f"https://a.test:{server.port}/", certificates=trusted)
    assert (got.body, got.tls, got.http_version) == (b"hi", "", "1.1")
    assert got.timings.tls_seconds > 0


def test_certificate_of_an_unknown_authority_is_a_tls_failure(serve: Serve, authority: trustme.CA) -> None:
    server = serve(answer(b""), tls=secure(authority, "a.test"))
    assert failure_of(f"https://a.test:{server.port}/") is FailureKind.TLS
    assert server.requests == []


def test_certificate_of_another_name_is_a_tls_failure(serve: Serve, authority: trustme.CA, trusted: Path) -> None:
    server = serve(answer(b""), tls=secure(authority, "b.test"))
    assert failure_of(f"https://a.test:{server.port}/", certificates=trusted) is FailureKind.TLS
    assert server.requests == []


def test_host_without_tls_is_a_tls_failure(serve: Serve) -> None:
    server = serve(answer(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"))
    assert failure_of(f"https://127.0.0.1:{server.port}/") is FailureKind.TLS
    assert failure_of(f"https://127.0.0.1:{server.port}/", INSECURE) is FailureKind.TLS


# Broken certificates that are accepted.


@pytest.mark.parametrize(("name", "is_trusted"), [("a.test", False), ("b.test", True), ("b.test", False)])
def test_accepted_certificate_is_recorded_with_what_is_wrong(
    serve: Serve, authority: trustme.CA, trusted: Path, name: str, is_trusted: bool
) -> None:
    server = serve(answer(ok(b"hi")), tls=secure(authority, name))
    got = page_of(f"https://a.test:{server.port}/", INSECURE, trusted if is_trusted else None)
    assert got.body == b"hi"
    assert "certificate" in got.tls
    assert len(server.requests) == 1


def test_good_certificate_is_not_blamed_where_broken_ones_are_accepted(
    serve: Serve, authority: trustme.CA, trusted: Path
) -> None:
    server = serve(answer(ok(b"hi")), tls=secure(authority, "a.test"))
    assert page_of(f"https://a.test:{server.port}/", INSECURE, trusted).tls == ""


def test_checks_are_on_again_for_the_next_page_of_the_same_handle(authority: trustme.CA, trusted: Path) -> None:
    """Where the first page was accepted unchecked, the second must not be."""

    async def story() -> None:
        broken, good = secure(authority, "b.test"), secure(authority, "a.test")
        async with opened(lambda _: ok(b"1"), tls=broken) as one, opened(lambda _: ok(b"2"), tls=good) as other:
            with transporting(INSECURE, OWN, NAMES, trusted) as transport:
                told = [
                    await transport.fetch(Request(f"https://a.test:{door.port}/")) for door in (one, other, one, other)
                ]
            assert [(bool(page.tls), page.body) for page in told if isinstance(page, Page)] == [
                (True, b"1"),
                (False, b"2"),
                (True, b"1"),
                (False, b"2"),
            ]

    asyncio.run(story())


# HTTP/2.


def test_http2_is_spoken_where_the_host_offers_it_and_one_connection_serves_many(
    authority: trustme.CA, trusted: Path
) -> None:
    async def story() -> None:
        async with opened_http2(secure(authority, "a.test"), b"<p>two</p>") as door:
            with transporting(certificates=trusted) as transport:
                request = Request(f"https://a.test:{door.port}/")
                first = await transport.fetch(request)
                pages = [first, *await asyncio.gather(*[transport.fetch(request) for _ in range(20)])]
            assert {(page.http_version, page.reason, page.body) for page in pages if isinstance(page, Page)} == {
                ("2", "", b"<p>two</p>")
            }
            assert (len(pages), door.stream_count, door.connection_count) == (21, 21, 1)

    asyncio.run(story())


def test_http2_host_that_sends_everyone_away_is_asked_once(authority: trustme.CA, trusted: Path) -> None:
    async def story() -> None:
        async with opened_http2(secure(authority, "a.test"), b"") as door:
            door.is_broken = True
            with transporting(certificates=trusted) as transport:
                outcome = await transport.fetch(Request(f"https://a.test:{door.port}/"))
            assert isinstance(outcome, Failure)
            assert (outcome.kind, door.stream_count) == (FailureKind.RESET, 1)

    asyncio.run(story())


# A proxy.


def test_proxy_is_asked_for_the_whole_url_and_the_name_is_left_to_it(serve: Serve) -> None:
    proxy = serve(answer(ok(b"hi")))
    got = page_of("http://nobody.test/x", replace(SMALL, proxy=f"http://127.0.0.1:{proxy.port}"))
    assert (got.body, got.address) == (b"hi", "")
    assert proxy.requests[0].startswith(b"GET http://nobody.test/x HTTP/1.1\r\nHost: nobody.test\r\n")


def test_proxy_tunnels_tls_and_what_it_says_of_that_is_no_header(authority: trustme.CA, trusted: Path) -> None:
    async def story() -> None:
        async with opened(lambda _: ok(b"hi", "X-Own: 1"), tls=secure(authority, "nobody.test")) as door:

            async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"CONNECT nobody.test:443 ")
                writer.write(b"HTTP/1.1 200 Connection established\r\nX-Proxy: 1\r\n\r\n")
                onward = await asyncio.open_connection("127.0.0.1", door.port)
                await asyncio.gather(pump(reader, onward[1]), pump(onward[0], writer))
                ended.append(True)

            ended: list[bool] = []
            async with await asyncio.start_server(tunnel, "127.0.0.1", 0) as server:
                port = server.sockets[0].getsockname()[1]
                limits = replace(SMALL, proxy=f"http://127.0.0.1:{port}")
                with transporting(limits, certificates=trusted) as transport:
                    got = await transport.fetch(Request("https://nobody.test/"))
                    assert isinstance(got, Page), got
                    assert got.headers == (("Content-Length", "2"), ("X-Own", "1"))
                await until(lambda: ended)

    asyncio.run(story())


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65_536):
            writer.write(data)
    except ConnectionError:
        pass
    writer.close()


def test_private_address_in_a_url_is_refused_with_a_proxy_too(serve: Serve) -> None:
    proxy = serve(answer(ok(b"hi")))
    limits = replace(SMALL, proxy=f"http://127.0.0.1:{proxy.port}")
    outcome = outcome_of("http://10.0.0.1/", limits, CrawlSection())
    assert isinstance(outcome, Failure)
    assert (outcome.kind, proxy.requests) == (FailureKind.PRIVATE, [])


@pytest.mark.parametrize("text", ["proxy:3128", "https://a.test:1/", "socks5://a.test", "http://a.test/x", "http://"])
def test_what_is_no_proxy_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_proxy(text)
