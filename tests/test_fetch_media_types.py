"""Which bodies are read, and which are left with their host."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from fetching import SMALL, Serve, answer, ok, page_of, serving
from servers import Visit
from tarrafa.errors import InputError
from tarrafa.fetch import MediaTypes
from tarrafa.records import Request


@pytest.fixture
def serve() -> Iterator[Serve]:
    with serving() as start:
        yield start


def typed(kind: str, rest: bytes = b"body") -> bytes:
    return ok(rest, f"Content-Type: {kind}")


def test_body_of_an_unwanted_type_is_left_with_the_host(serve: Serve) -> None:
    """The host never sends it, so a caller that waited for it would fail."""

    def only_the_header(visit: Visit) -> None:
        visit.send(b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 900000000\r\n\r\n")
        visit.hang()

    got = page_of(f"http://127.0.0.1:{serve(only_the_header).port}/")
    assert (got.status, got.media_type, got.body, got.unread, got.truncated) == (200, "video/mp4", b"", True, False)


@pytest.mark.parametrize(
    "kind", ["Text/HTML; charset=x", "application/xhtml+xml", "application/atom+xml", "text/xml", ""]
)
def test_body_of_a_wanted_type_or_of_none_is_read(serve: Serve, kind: str) -> None:
    got = page_of(f"http://127.0.0.1:{serve(answer(typed(kind))).port}/")
    assert (got.body, got.unread) == (b"body", False)


def test_request_for_any_type_reads_the_body(serve: Serve) -> None:
    """robots.txt is what stands at its path, whatever the host calls it."""
    server = serve(answer(typed("application/octet-stream")))
    got = page_of(Request(f"http://127.0.0.1:{server.port}/robots.txt", any_type=True))
    assert (got.body, got.unread) == (b"body", False)


def test_unwanted_type_without_a_body_is_read_to_its_end(serve: Serve) -> None:
    server = serve(answer(typed("image/png", b"")))
    assert not page_of(f"http://127.0.0.1:{server.port}/").unread


def test_types_are_those_of_the_configuration(serve: Serve) -> None:
    server = serve(answer(typed("text/css")))
    assert page_of(f"http://127.0.0.1:{server.port}/", replace(SMALL, types="text/*")).body == b"body"
    assert page_of(f"http://127.0.0.1:{server.port}/", replace(SMALL, types="*/*")).body == b"body"
    assert page_of(f"http://127.0.0.1:{server.port}/", replace(SMALL, types="text/html")).unread


@pytest.mark.parametrize("text", ["", "html", "text/", "text/html;q=1", "text/html,", "*/html", "text/h tml"])
def test_what_is_no_list_of_types_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        MediaTypes(text)
