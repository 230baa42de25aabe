"""A server of HTTP/2 over TLS that says the same to everyone; just enough of RFC 9113 for one honest client.

Requests are not read: each stream that opens is answered. Headers are sent as literals, without a table to keep.
"""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from webs import until

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, PING, GOAWAY = 0, 1, 4, 6, 7
ACK = END_STREAM = 1
END_HEADERS = 4
STATUS_200 = b"\x88"  # number 8 of the static table


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + payload


def literal(name: bytes, value: bytes) -> bytes:
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value


@dataclass
class Http2Door:
    body: bytes
    port: int = 0
    connection_count: int = 0
    stream_count: int = 0
    is_broken: bool = False  # then every stream is ended by GOAWAY, unanswered
    open_count: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connection_count += 1
        self.open_count += 1
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            assert await reader.readexactly(len(PREFACE)) == PREFACE
            writer.write(frame(SETTINGS, 0, 0))
            while True:
                head = await reader.readexactly(9)
                payload = await reader.readexactly(int.from_bytes(head[:3]))
                writer.write(self.reply(head[3], head[4], int.from_bytes(head[5:]), payload))
        writer.transport.abort()
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            await writer.wait_closed()
        self.open_count -= 1

    def reply(self, kind: int, flags: int, stream: int, payload: bytes) -> bytes:
        if kind in (SETTINGS, PING) and not flags & ACK:
            return frame(kind, ACK, 0, payload if kind == PING else b"")
        if kind != HEADERS:
            return b""
        self.stream_count += 1
        if self.is_broken:
            return frame(GOAWAY, 0, 0, bytes(4) + (2).to_bytes(4))
        fields = STATUS_200 + literal(b"content-type", b"text/html")
        return frame(HEADERS, END_HEADERS, stream, fields) + frame(DATA, END_STREAM, stream, self.body)


@asynccontextmanager
async def opened_http2(tls: ssl.SSLContext, body: bytes) -> AsyncIterator[Http2Door]:
    tls.set_alpn_protocols(["h2"])
    door = Http2Door(body)
    server = await asyncio.start_server(door.serve, "127.0.0.1", 0, ssl=tls)
    door.port = server.sockets[0].getsockname()[1]
    try:
        yield door
        # The client has left before.
        await until(lambda: not door.open_count)
    finally:
        server.close()
