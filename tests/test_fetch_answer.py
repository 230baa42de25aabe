"""What a host sends, gathered and decoded without a network."""

import gzip
import zlib

import pytest

from tarrafa.fetch import decode
from tarrafa.fetch.answer import Answer
from tarrafa.records import Page

# Header lines.


def gathered(*lines: bytes) -> Answer:
    made = Answer(header_limit_bytes=1_000, body_limit_bytes=10)
    for line in lines:
        made.take_header(line)
    return made


def test_value_that_goes_on_in_the_next_line_is_joined() -> None:
    got = gathered(b"HTTP/1.1 200 OK\r\n", b"X: a\r\n", b"\t b\r\n", b"\r\n")
    assert got.headers == (("X", "a b"),)


def test_trailer_that_looks_like_a_status_line_changes_nothing() -> None:
    got = gathered(b"HTTP/2 200\r\n", b"X: a\r\n", b"\r\n", b"HTTP/1.1 500 No\r\n", b"X: b\r\n")
    assert (got.status, got.headers) == (200, (("X", "a"),))


def test_line_without_a_colon_is_dropped_and_bytes_are_latin_1() -> None:
    assert gathered(b"HTTP/1.1 200\r\n", b"nonsense\r\n", b"X: \xe9\r\n").headers == (("X", "é"),)


# Content codings.


def coded(coding: str, body: bytes, truncated: bool = False) -> Page:
    return Page("http://a.test/", 200, (("Content-Encoding", coding),), body, at=0.0, truncated=truncated)


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


TEXT = bytes(range(256)) * 40


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", gzip.compress(TEXT)),
        ("X-GZip", gzip.compress(TEXT)),
        ("gzip", gzip.compress(TEXT[:100]) + gzip.compress(TEXT[100:])),
        ("gzip", gzip.compress(TEXT) + b"garbage after the end"),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", raw_deflate(TEXT)),
        ("deflate, gzip", gzip.compress(zlib.compress(TEXT))),
        ("identity", TEXT),
    ],
)
def test_coding_is_undone(coding: str, body: bytes) -> None:
    got = decode(coded(coding, body), limit_bytes=len(TEXT))
    assert (got.body, got.truncated, got.unknown_coding) == (TEXT, False, "")


@pytest.mark.parametrize("cut_bytes", range(0, 40, 3))
def test_damaged_gzip_gives_what_could_be_read(cut_bytes: int) -> None:
    whole = gzip.compress(TEXT)
    got = decode(coded("gzip", whole[: len(whole) - cut_bytes - 1]), limit_bytes=10**6)
    assert got.truncated
    assert TEXT.startswith(got.body)


@pytest.mark.parametrize("body", [b"not gzip at all", b"\x1f\x8b", b"\x1f\x8b\x08\x00" + b"\xff" * 50])
def test_what_is_not_gzip_is_truncated_to_nothing(body: bytes) -> None:
    assert decode(coded("gzip", body), limit_bytes=1_000).truncated


def test_gzip_bomb_is_cut_at_the_bound() -> None:
    bomb = gzip.compress(gzip.compress(bytes(100_000_000)))
    got = decode(coded("gzip, gzip", bomb), limit_bytes=1_000_000)
    assert (len(got.body), got.truncated) == (1_000_000, True)


def test_endless_row_of_empty_gzip_members_is_cut() -> None:
    assert decode(coded("gzip", gzip.compress(b"") * 10_000), limit_bytes=1_000).truncated


def test_unknown_coding_is_named_and_the_body_left() -> None:
    got = decode(coded("br", b"xyz"), limit_bytes=1_000)
    assert (got.body, got.unknown_coding) == (b"xyz", "br")


def test_page_without_body_is_whole() -> None:
    """A 304 may carry the coding of the body that it does not have."""
    assert not decode(coded("gzip", b""), limit_bytes=1_000).truncated
