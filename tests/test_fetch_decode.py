"""Content codings, undone without a network."""

import gzip
import random
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.fetch import decode
from tarrafa.records import Page


def coded(coding: str, body: bytes, truncated: bool = False) -> Page:
    return Page("http://a.test/", 200, (("Content-Encoding", coding),), body, at=0.0, truncated=truncated)


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


def streamed_zstd(data: bytes, window_log: int = 20) -> bytes:
    """Without its size in front, as hosts send it."""
    parameters = zstandard.ZstdCompressionParameters(window_log=window_log)
    packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    return packer.compress(data) + packer.flush()


TEXT = bytes(range(256)) * 40
NOISE = random.Random(1).randbytes(20_000)
SKIPPED = bytes.fromhex("502a4d18 04000000") + b"note"  # a frame of zstd that readers pass over
PACKED = {"gzip": gzip.compress(NOISE), "br": brotli.compress(NOISE), "zstd": streamed_zstd(NOISE)}


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
        ("br", brotli.compress(TEXT)),
        ("zstd", zstandard.compress(TEXT)),
        ("zstd", zstandard.compress(TEXT[:100]) + zstandard.compress(TEXT[100:])),
        ("zstd", zstandard.compress(TEXT) + b"garbage after the end"),
        ("zstd", SKIPPED + zstandard.compress(TEXT)),
        ("br, zstd", zstandard.compress(brotli.compress(TEXT))),
        ("identity", TEXT),
    ],
)
def test_coding_is_undone(coding: str, body: bytes) -> None:
    got = decode(coded(coding, body), limit_bytes=len(TEXT))
    assert (got.body, got.truncated, got.unknown_coding) == (TEXT, False, "")


@pytest.mark.parametrize("coding", PACKED)
@pytest.mark.parametrize("cut_bytes", [1, 2, 5, 9, 100, 10_000, 19_000])
def test_data_that_break_off_give_what_could_be_read(coding: str, cut_bytes: int) -> None:
    got = decode(coded(coding, PACKED[coding][:-cut_bytes]), limit_bytes=10**6)
    assert got.truncated
    assert NOISE.startswith(got.body)


@given(st.sampled_from(["gzip", "deflate", "br", "zstd"]), st.binary(max_size=200), st.integers(0, 5_000))
def test_anything_at_all_is_decoded_within_the_bound(coding: str, body: bytes, limit_bytes: int) -> None:
    assert len(decode(coded(coding, body), limit_bytes).body) <= limit_bytes


@given(st.sampled_from(list(PACKED)), st.integers(0, 19_000), st.integers(0, 255))
def test_damaged_data_are_decoded_within_the_bound(coding: str, place: int, octet: int) -> None:
    body = bytearray(PACKED[coding])
    body[place] = octet
    assert len(decode(coded(coding, bytes(body)), 10_000).body) <= 10_000


@pytest.mark.parametrize("body", [b"not gzip at all", b"\x1f\x8b", b"\x1f\x8b\x08\x00" + b"\xff" * 50])
def test_what_is_not_gzip_is_truncated_to_nothing(body: bytes) -> None:
    assert decode(coded("gzip", body), limit_bytes=1_000).truncated


def zeros_in(coding: str) -> bytes:
    zeros = bytes(100_000_000)
    if coding == "gzip":
        return gzip.compress(gzip.compress(zeros))
    return bytes(brotli.compress(zeros, quality=5)) if coding == "br" else streamed_zstd(zeros)


@pytest.mark.parametrize("coding", ["gzip, gzip", "br", "zstd"])
def test_bomb_is_cut_at_the_bound(coding: str) -> None:
    bomb = zeros_in(coding.partition(",")[0])
    assert len(bomb) < 100_000
    got = decode(coded(coding, bomb), limit_bytes=1_000_000)
    assert (len(got.body), got.truncated) == (1_000_000, True)


def test_bomb_of_many_frames_is_cut_at_the_bound() -> None:
    got = decode(coded("zstd", zstandard.compress(bytes(900_000)) * 100), limit_bytes=1_000_000)
    assert (len(got.body), got.truncated) == (1_000_000, True)


def test_zstd_that_asks_for_much_memory_is_not_undone() -> None:
    got = decode(coded("zstd", streamed_zstd(bytes(100_000), window_log=27)), limit_bytes=1_000_000)
    assert (got.body, got.truncated) == (b"", True)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_body_of_exactly_the_bound_is_whole(coding: str) -> None:
    packed = {**PACKED, "deflate": zlib.compress(NOISE)}[coding]
    assert decode(coded(coding, packed), len(NOISE)).body == NOISE
    assert not decode(coded(coding, packed), len(NOISE)).truncated
    assert decode(coded(coding, packed), len(NOISE) - 1).truncated


def test_endless_row_of_empty_members_is_cut() -> None:
    assert decode(coded("gzip", gzip.compress(b"") * 10_000), limit_bytes=1_000).truncated
    assert decode(coded("zstd", zstandard.compress(b"") * 10_000), limit_bytes=1_000).truncated


def test_unknown_coding_is_named_and_the_body_left() -> None:
    got = decode(coded("compress", b"xyz"), limit_bytes=1_000)
    assert (got.body, got.unknown_coding) == (b"xyz", "compress")


def test_page_without_body_is_whole() -> None:
    """A 304 may carry the coding of the body that it does not have."""
    assert not decode(coded("gzip", b""), limit_bytes=1_000).truncated
