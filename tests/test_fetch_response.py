"""What a host sends, gathered without a network."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.fetch.response import MediaTypes, ResponseBuffer


def gathered(*lines: bytes) -> ResponseBuffer:
    made = ResponseBuffer(header_limit_bytes=1_000, body_limit_bytes=10, types=MediaTypes("text/html"))
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
    assert gathered(b"HTTP/1.1 200\r\n", b"nonsense\r\n", b"X: \xe9\r\n", b"\r\n").headers == (("X", "é"),)


def test_interim_answer_is_forgotten_and_the_final_one_read() -> None:
    got = gathered(b"HTTP/1.1 103 Hints\r\n", b"X: a\r\n", b"\r\n", b"HTTP/1.1 404 Not  here\r\n", b"Y: b\n", b"\n")
    assert (got.status, got.headers) == (404, (("Y", "b"),))
    assert (got.http_version, got.reason) == ("1.1", "Not  here")


@pytest.mark.parametrize(
    "line", [b"HTTP/1.1\r\n", b"HTTP/1.1 abc\r\n", b"HTTP/1.1 2000 OK\r\n", b"\r\n", b"HTTP/1.1 \xb2\xb2\xb2"]
)
def test_status_that_is_none_is_no_final_answer(line: bytes) -> None:
    assert gathered(line, b"X: a\r\n", b"\r\n").status == 0


def test_used_again_it_knows_nothing_of_the_page_before() -> None:
    got = gathered(b"HTTP/1.1 200 OK\r\n", b"X: a\r\n", b"\r\n")
    got.take_body(b"0123456789")
    assert got.take_body(b"!") is not None
    got.reset(any_type=False)
    assert not got.has_begun
    assert (got.status, got.headers, got.body, got.is_body_cut) == (0, (), b"", False)


@given(st.lists(st.binary(max_size=60), max_size=30))
def test_any_lines_stay_within_the_bound(lines: list[bytes]) -> None:
    made = ResponseBuffer(header_limit_bytes=200, body_limit_bytes=10, types=MediaTypes("text/html"))
    results = [made.take_header(line) for line in [b"HTTP/1.1 200 OK\r\n", *lines, b"\r\n"]]
    too_large = 17 + sum(map(len, lines)) + 2 > 200
    assert made.is_header_too_large == too_large
    assert (results[-1] is None) == (not too_large)
