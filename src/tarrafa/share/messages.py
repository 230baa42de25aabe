"""What agents send to each other: rows as columns, with headers, a checksum, and bounds on everything that is read.

A body is Arrow IPC, packed by zstd as a whole, so its size is known before it is unpacked. A message that breaks a
bound or its checksum is a value, `Malformed`: it is put aside and counted, and stops nothing.
"""

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import xxhash
import zstandard

from tarrafa.share.documents import COUNT_MAX, NAME, TOKEN, Malformed
from tarrafa.urls import URL_MAX_CHARS

VERSION = 1
ROWS_MAX = 10_000
BODY_MAX_BYTES = 4 << 20  # packed
UNPACKED_MAX_BYTES = 96 << 20  # more than 10,000 of the longest URLs with their columns
ABOUT_MAX_CHARS = 32_768
_ZSTD_LEVEL = 1


class MessageKind(StrEnum):
    FOUND = "found"  # URLs found, for their owner
    ENDED = "ended"  # what became of URLs, for their owner
    PARCEL = "parcel"  # all that is known of some slots, for their next owner
    ASK = "ask"  # a question about a host, for its owner


_FOUND_FIELDS = [
    ("url", pa.large_string()),
    ("priority", pa.uint16()),
    ("links", pa.uint16()),
    ("outside", pa.uint16()),
    ("depth", pa.uint32()),
    ("kind", pa.uint8()),
    ("weight", pa.uint32()),
]
_ENDED_FIELDS = [
    ("url", pa.large_string()),
    ("at_seconds", pa.float64()),
    ("status", pa.uint16()),
    ("agent", pa.large_string()),  # whose archive has the page
    ("file", pa.uint32()),
    ("offset", pa.uint64()),
]
# Rows that a kind may carry, by the name of their schema; `about` says which.
SCHEMAS: Mapping[str, pa.Schema] = {
    "found": pa.schema(_FOUND_FIELDS),
    "ended": pa.schema(_ENDED_FIELDS),
    # A row for each host: what is known of it as one document, and the time before which it is not visited.
    "hosts": pa.schema([("host", pa.large_string()), ("rest_until", pa.float64()), ("record", pa.large_binary())]),
    "none": pa.schema([]),
}
_CARRIED: Mapping[MessageKind, frozenset[str]] = {
    MessageKind.FOUND: frozenset({"found"}),
    MessageKind.ENDED: frozenset({"ended"}),
    MessageKind.PARCEL: frozenset({"found", "ended", "hosts", "none"}),
    MessageKind.ASK: frozenset({"none"}),
}


class Envelope(NamedTuple):
    """The headers of a message, without those about its body."""

    kind: MessageKind
    sender: str
    life: str  # of the sender's folder
    number: int  # in this life, for this receiver
    attempt: int
    floor: int  # the lowest number that the sender still keeps for this receiver
    table: int  # the number of the table by which the rows were addressed
    about: Mapping[str, Any] = {}  # of a parcel: its number, which part this is, slots, counts; of a question: all

    @property
    def unique_id(self) -> str:
        """The name under which the stream takes a message once, for some minutes."""
        return f"{self.sender}.{self.life}.{self.number}.{self.attempt}"


class AgentMessage(NamedTuple):
    envelope: Envelope
    rows: pa.Table


class PackedMessage(NamedTuple):
    """A message as the channel carries it."""

    headers: dict[str, str]
    body: bytes


def pack_rows(rows: pa.Table) -> bytes:
    """Return the body of a message. It does not depend on the receiver or the number."""
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, rows.schema) as writer:
        writer.write_table(rows)
    return zstandard.ZstdCompressor(_ZSTD_LEVEL).compress(out.getvalue())


def pack_parts(rows: pa.Table) -> list[tuple[int, bytes]]:
    """Return the bodies of as many messages as the rows need, each with the number of its rows."""
    found = []
    for first in range(0, rows.num_rows, ROWS_MAX):
        part = rows.slice(first, ROWS_MAX)
        body = pack_rows(part)
        if len(body) <= BODY_MAX_BYTES and part.nbytes <= UNPACKED_MAX_BYTES // 2:
            found.append((part.num_rows, body))
        else:
            half = part.num_rows // 2
            found += pack_parts(part.slice(0, half)) + pack_parts(part.slice(half))
    return found


def pack_message(envelope: Envelope, rows_name: str, rows_count: int, body: bytes) -> PackedMessage:
    """Return a message with its headers around a body of `pack_rows`."""
    headers = {
        "v": str(VERSION),
        "kind": envelope.kind.value,
        "from": envelope.sender,
        "life": envelope.life,
        "number": str(envelope.number),
        "try": str(envelope.attempt),
        "floor": str(envelope.floor),
        "table": str(envelope.table),
        "rows": f"{rows_name} {rows_count}",
        "sum": xxhash.xxh3_64_hexdigest(body),
        "about": json.dumps(dict(envelope.about), separators=(",", ":")),
    }
    return PackedMessage(headers, body)


def unpack_envelope(headers: Mapping[str, str]) -> Envelope | Malformed:
    """Return the headers of a message; they may be right though its body is damaged."""
    try:
        if headers.get("v") != str(VERSION):
            return Malformed(f"a message of version {headers.get('v')!r:.20}; this agent reads version {VERSION}")
        return Envelope(
            MessageKind(headers["kind"]),
            _matched(headers, "from", NAME),
            _matched(headers, "life", TOKEN),
            _count(headers, "number"),
            _count(headers, "try"),
            _count(headers, "floor"),
            _count(headers, "table"),
            _about(headers["about"]),
        )
    except (KeyError, ValueError, TypeError, RecursionError) as error:
        return Malformed(f"the headers of a message: {error}")


def unpack_message(headers: Mapping[str, str], body: bytes) -> AgentMessage | Malformed:
    """Return a message, or why it is none."""
    envelope = unpack_envelope(headers)
    if isinstance(envelope, Malformed):
        return envelope
    if len(body) > BODY_MAX_BYTES:
        return Malformed(f"a body of {len(body)} bytes, more than {BODY_MAX_BYTES}")
    if xxhash.xxh3_64_hexdigest(body) != headers.get("sum"):
        return Malformed("a body with a wrong checksum")
    try:
        name, _, count = headers["rows"].partition(" ")
        if name not in _CARRIED[envelope.kind]:
            raise ValueError(f"a message of kind {envelope.kind} carries {name!r:.20}")
        return AgentMessage(envelope, _unpacked_rows(body, SCHEMAS[name], int(count)))
    except (KeyError, ValueError, TypeError, OSError, pa.ArrowException, zstandard.ZstdError) as error:
        return Malformed(f"the body of a message: {error}")


def _unpacked_rows(body: bytes, schema: pa.Schema, count: int) -> pa.Table:
    size = zstandard.frame_content_size(body)
    if not 0 <= size <= UNPACKED_MAX_BYTES:
        raise ValueError(f"it unpacks to {size} bytes")
    data = zstandard.ZstdDecompressor().decompress(body, max_output_size=UNPACKED_MAX_BYTES)
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        if reader.schema != schema:
            raise ValueError("its columns are not those of its kind")
        rows = reader.read_all()
    if not (rows.num_rows == count <= ROWS_MAX):
        raise ValueError(f"it has {rows.num_rows} rows, and says {count}")
    rows.validate(full=True)
    if any(column.null_count for column in rows.columns):
        raise ValueError("a value is missing")
    if "url" in schema.names and count and _longest(rows["url"]) > URL_MAX_CHARS:
        raise ValueError("a URL is too long")
    return rows


def _longest(texts: pa.ChunkedArray) -> int:
    longest: int = max(pc.max(pc.binary_length(chunk)).as_py() or 0 for chunk in texts.chunks)
    return longest


def _matched(headers: Mapping[str, str], name: str, pattern: Any) -> str:
    if not pattern.fullmatch(headers[name]):
        raise ValueError(f"{name} is {headers[name]!r:.80}")
    return headers[name]


def _count(headers: Mapping[str, str], name: str) -> int:
    text = headers[name]
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= COUNT_MAX):
        raise ValueError(f"{name} is {text!r:.80}")
    return int(text)


def _about(text: str) -> dict[str, Any]:
    if len(text) > ABOUT_MAX_CHARS:
        raise ValueError(f"about has {len(text)} characters")
    about = json.loads(text)
    if not isinstance(about, dict):
        raise TypeError("about is no object")
    return about
