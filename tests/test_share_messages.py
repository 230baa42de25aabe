"""Messages: what is read back is what was sent; whatever is damaged or too large is refused as a value."""

import json
import random
import string
from typing import Any

import pyarrow as pa
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from tarrafa.share.documents import Malformed
from tarrafa.share.messages import (
    BODY_MAX_BYTES,
    ROWS_MAX,
    SCHEMAS,
    UNPACKED_MAX_BYTES,
    AgentMessage,
    Envelope,
    MessageKind,
    PackedMessage,
    pack_message,
    pack_parts,
    pack_rows,
    unpack_envelope,
    unpack_message,
)

ENVELOPE = Envelope(MessageKind.FOUND, "00", "life", 7, 1, 5, 17)


def found_rows(urls: list[str]) -> pa.Table:
    columns = [pa.array(range(len(urls)), kind) for kind in SCHEMAS["found"].types[1:]]
    return pa.Table.from_arrays([pa.array(urls, pa.large_string()), *columns], schema=SCHEMAS["found"])


def packed(rows: pa.Table, envelope: Envelope = ENVELOPE, name: str = "found") -> PackedMessage:
    return pack_message(envelope, name, rows.num_rows, pack_rows(rows))


GOOD = packed(found_rows(["http://a.example/", "http://b.example/é"]))


@settings(max_examples=50)
@given(st.lists(st.text(max_size=60), max_size=30), st.dictionaries(st.text(max_size=9), st.integers() | st.text()))
def test_message_is_read_as_it_was_written(urls: list[str], about: dict[str, Any]) -> None:
    rows = found_rows(urls)
    envelope = ENVELOPE._replace(about=about)
    found = unpack_message(*packed(rows, envelope))
    assert isinstance(found, AgentMessage)
    assert found.envelope == envelope
    assert found.rows.equals(rows)
    assert unpack_envelope(packed(rows, envelope).headers) == envelope


def test_headers_have_one_form_and_nothing_that_a_header_cannot_hold() -> None:
    assert dict(GOOD.headers, sum="") == {
        "v": "1",
        "kind": "found",
        "from": "00",
        "life": "life",
        "number": "7",
        "try": "1",
        "floor": "5",
        "table": "17",
        "rows": "found 2",
        "sum": "",
        "about": "{}",
    }
    assert ENVELOPE.unique_id == "00.life.7.1"
    text = "".join(packed(found_rows([]), ENVELOPE._replace(about={"é\n": "ü\r"})).headers.values())
    assert text.isascii()
    assert text.isprintable()


def test_each_kind_carries_only_its_own_columns() -> None:
    ended = SCHEMAS["ended"].empty_table()
    assert isinstance(unpack_message(*packed(ended, ENVELOPE._replace(kind=MessageKind.ENDED), "ended")), AgentMessage)
    assert isinstance(unpack_message(*packed(ended, ENVELOPE._replace(kind=MessageKind.PARCEL), "ended")), AgentMessage)
    assert isinstance(unpack_message(*packed(ended, ENVELOPE, "ended")), Malformed)
    assert isinstance(unpack_message(*packed(ended, ENVELOPE, "found")), Malformed)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("v", "2"),
        ("kind", "gossip"),
        ("from", "../00"),
        ("from", ""),
        ("life", "a b"),
        ("number", "-1"),
        ("number", "٣"),
        ("number", "9" * 30),
        ("try", ""),
        ("floor", "x"),
        ("table", "1.5"),
        ("rows", "found"),
        ("rows", "found 3"),
        ("rows", "ended 2"),
        ("sum", "0000"),
        ("about", "[]"),
        ("about", "{"),
        ("about", "[" * 20_000),
        ("about", json.dumps({"a": "x" * 40_000})),
    ],
)
def test_wrong_header_is_malformed(name: str, text: str) -> None:
    assert isinstance(unpack_message({**GOOD.headers, name: text}, GOOD.body), Malformed)


@pytest.mark.parametrize("name", [*GOOD.headers])
def test_missing_header_is_malformed(name: str) -> None:
    headers = {key: text for key, text in GOOD.headers.items() if key != name}
    assert isinstance(unpack_message(headers, GOOD.body), Malformed)


def with_body(body: bytes, rows: str = "found 2") -> PackedMessage:
    """Return a message whose checksum is right, as a faulty sender would make it."""
    return PackedMessage({**pack_message(ENVELOPE, "found", 2, body).headers, "rows": rows}, body)


@given(st.integers(0, len(GOOD.body) - 1), st.integers(1, 255), st.booleans())
def test_damaged_body_is_malformed(at: int, change: int, is_signed: bool) -> None:
    """With a checksum that is right, a damaged body may still be a message; it is never an error."""
    body = GOOD.body[:at] + bytes([GOOD.body[at] ^ change]) + GOOD.body[at + 1 :]
    found = unpack_message(*with_body(body)) if is_signed else unpack_message(GOOD.headers, body)
    assert isinstance(found, Malformed) or is_signed


@given(st.binary(max_size=300), st.booleans())
def test_body_of_noise_is_malformed(noise: bytes, is_packed: bool) -> None:
    body = zstandard.compress(noise) if is_packed else noise
    assert isinstance(unpack_message(*with_body(body)), Malformed)


def test_body_that_unpacks_to_too_much_is_not_unpacked() -> None:
    bomb = zstandard.compress(bytes(UNPACKED_MAX_BYTES + 1))
    assert len(bomb) < BODY_MAX_BYTES
    assert unpack_message(*with_body(bomb)) == Malformed(
        f"the body of a message: it unpacks to {UNPACKED_MAX_BYTES + 1} bytes"
    )
    unsized = zstandard.ZstdCompressor(write_content_size=False).compress(b"a" * 99)
    assert isinstance(unpack_message(*with_body(unsized)), Malformed)


def test_body_that_is_too_long_is_refused() -> None:
    assert isinstance(unpack_message(*with_body(bytes(BODY_MAX_BYTES + 1))), Malformed)


def test_too_many_rows_too_long_urls_and_missing_values_are_refused() -> None:
    assert isinstance(unpack_message(*packed(found_rows(["a"] * 250).slice(0, 250))), AgentMessage)
    many = pa.concat_tables([found_rows(["a"] * 200)] * (ROWS_MAX // 200 + 1))
    assert isinstance(unpack_message(*packed(many)), Malformed)
    assert isinstance(unpack_message(*packed(found_rows(["a" * 8_001]))), Malformed)
    columns = [pa.nulls(1, kind) for kind in SCHEMAS["found"].types]
    assert isinstance(unpack_message(*packed(pa.Table.from_arrays(columns, schema=SCHEMAS["found"]))), Malformed)


def test_many_or_long_rows_are_sent_in_parts_within_the_bounds() -> None:
    urls = [f"http://{at}.example/{at * 'x'}" for at in range(250)]
    rows = pa.concat_tables([found_rows(urls)] * 101)
    parts = pack_parts(rows)
    assert [count for count, _ in parts] == [ROWS_MAX, ROWS_MAX, 25_250 - 2 * ROWS_MAX]
    read = [unpack_message(*pack_message(ENVELOPE, "found", count, body)) for count, body in parts]
    tables = [each.rows for each in read if isinstance(each, AgentMessage)]
    assert pa.concat_tables(tables).combine_chunks().equals(rows.combine_chunks())
    assert pack_parts(rows.slice(0, 0)) == []


def test_rows_that_do_not_compress_are_split_until_they_fit() -> None:
    noise = ["".join(random.Random(at).choices(string.ascii_letters + string.digits, k=8_000)) for at in range(250)]
    rows = pa.concat_tables([found_rows(noise)] * 6)
    parts = pack_parts(rows)
    assert sum(count for count, _ in parts) == rows.num_rows
    assert all(len(body) <= BODY_MAX_BYTES for _, body in parts)
