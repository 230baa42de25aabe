"""Serve one connection: parse requests, write answers, one after the other.

Plain answers are written at once. Slow and hostile answers are written by a task while the connection waits.
"""

import asyncio
import socket
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, cast

from tarrafa.lab.web.copies import COPIES_MAX_BYTES, COPIES_PATH
from tarrafa.lab.web.history import EPOCH_SECONDS, http_date
from tarrafa.lab.web.http_messages import (
    HEAD_MAX_BYTES,
    MalformedRequest,
    ParsedRequest,
    encode_chunks,
    read_request,
    write_head,
)
from tarrafa.lab.web.journal import LoggedVisit
from tarrafa.lab.web.plan import SyntheticHost
from tarrafa.lab.web.synthetic_web import DRIP_BYTES, DRIP_SECONDS, SendMode, WebAnswer, WebRequest

if TYPE_CHECKING:
    from tarrafa.lab.web.web_server import SyntheticServer

HANG_SECONDS = 300.0
ENDLESS_BYTES = 256_000_000  # limit of an endless body
AGENT_MAX_CHARS = 200  # of a user agent, in the journal


class ServerConnection(asyncio.Protocol):
    def __init__(self, server: "SyntheticServer") -> None:
        self._server = server
        self._buffer = b""
        self._body_left = 0  # bytes left of a request's body
        self._asked: ParsedRequest | None = None  # a request about copies that waits for its body
        self._sending: asyncio.Task[None] | None = None
        self._can_write = asyncio.Event()
        self._can_write.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports have the methods of asyncio's, but not its base class.
        self._transport = cast("asyncio.Transport", transport)
        self._client: str = (transport.get_extra_info("peername") or ("",))[0]
        if not self._client.startswith("127."):
            self._transport.abort()
        self._server.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._server.connections.discard(self)
        self._can_write.set()
        if self._sending:
            self._sending.cancel()

    @property
    def buffered_bytes(self) -> int:
        """Bytes received and not yet processed."""
        return len(self._buffer)

    @property
    def unsent_bytes(self) -> int:
        """Bytes of answers that the visitor has not read."""
        return self._transport.get_write_buffer_size()

    @property
    def is_blocked(self) -> bool:
        """True if answers wait for the visitor to read."""
        return not self._can_write.is_set()

    def drop(self) -> None:
        self._transport.abort()

    def pause_writing(self) -> None:
        self._can_write.clear()
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._can_write.set()
        if not self._transport.is_closing():
            self._transport.resume_reading()
            self._process_buffer()

    def data_received(self, data: bytes) -> None:
        self._buffer = self._buffer + data if self._buffer else data
        self._process_buffer()
        if len(self._buffer) > max(HEAD_MAX_BYTES, self._asked.body_bytes if self._asked else 0):
            # Back-pressure: stop reading while answers are waiting to be sent.
            self._transport.pause_reading()

    def _process_buffer(self) -> None:
        """Answer each complete request in the buffer while there is room for answers."""
        while self._sending is None and self._can_write.is_set() and not self._transport.is_closing():
            if self._asked:
                if len(self._buffer) < self._asked.body_bytes:
                    return None
                self._answer_copies(self._asked)
                continue
            if self._body_left:
                skipped = min(self._body_left, len(self._buffer))
                self._buffer, self._body_left = self._buffer[skipped:], self._body_left - skipped
            end = -1 if self._body_left else self._buffer.find(b"\r\n\r\n", 0, HEAD_MAX_BYTES)
            if end < 0:
                return self._wait_for_more()
            head, self._buffer = self._buffer[:end], self._buffer[end + 4 :]
            self._request(head)
        return None

    def _wait_for_more(self) -> None:
        if len(self._buffer) >= HEAD_MAX_BYTES:
            self._refuse(MalformedRequest("head too large", self._buffer[:200].decode("latin-1"), ""))

    def _request(self, head: bytes) -> None:
        asked = read_request(head)
        if isinstance(asked, MalformedRequest):
            return self._refuse(asked)
        if asked.target == COPIES_PATH and 0 < asked.body_bytes <= COPIES_MAX_BYTES:
            self._asked = asked
            return None
        self._body_left = asked.body_bytes
        if asked.target.startswith("/__"):
            return self._answer_control(asked)
        authority = asked.headers.get("host") or self._transport.get_extra_info("sockname")[0]
        host = self._server.web.hosts.find(authority)
        if host is None:
            # Reset, as if no host had this address.
            return self._transport.abort()
        return self._answer(host, asked)

    def _refuse(self, malformed: MalformedRequest) -> None:
        host = self._server.web.hosts.find(malformed.host) if malformed.host else None
        origin = host.origin if host else ""
        visit = LoggedVisit(self._server.seconds(), origin, malformed.line[:500], 400, self._client, "", "malformed")
        self._server.journal.malformed(origin, visit)
        self._write(WebAnswer(400, f"{malformed.reason}\n".encode(), "text/plain"), None, chunked=False)
        self._transport.close()

    def _answer_copies(self, asked: ParsedRequest) -> None:
        body, self._buffer, self._asked = self._buffer[: asked.body_bytes], self._buffer[asked.body_bytes :], None
        self._answer_control(asked, body)

    def _answer_control(self, asked: ParsedRequest, body: bytes = b"") -> None:
        async def answer() -> None:
            told = await self._server.control.answer(asked.method, asked.target, body)
            self._finish(told, asked, chunked=False)

        self._sending = asyncio.get_running_loop().create_task(answer())

    def _answer(self, host: SyntheticHost, asked: ParsedRequest) -> None:
        server = self._server
        agent = asked.headers.get("user-agent", "")[:AGENT_MAX_CHARS]
        begun = server.seconds()
        blame = server.journal.begin(host, asked.target, agent, begun)
        if asked.method in ("GET", "HEAD"):
            answer = server.web.answer(WebRequest(host, asked.target, asked.headers), server.now_ms())
        else:
            answer = WebAnswer(405, b"only GET and HEAD\n", "text/plain", (("Allow", "GET, HEAD"),))
        if server.latency_seconds:
            answer = answer._replace(wait_seconds=answer.wait_seconds + server.latency_seconds)
        visit = LoggedVisit(begun, host.origin, asked.target, answer.status, self._client, agent, blame)
        if answer.send_mode is SendMode.PLAIN and not answer.wait_seconds:
            self._log_end(host, visit, answer)
            return self._finish(answer, asked, host.chunked)
        self._sending = asyncio.get_running_loop().create_task(self._send_slowly(host, visit, answer, asked))
        return None

    def _log_end(self, host: SyntheticHost, visit: LoggedVisit, answer: WebAnswer) -> None:
        """Log the end before the last bytes are sent: the client measures its delay from when it has them."""
        self._server.journal.end(host, visit, self._server.seconds(), answer.retry_after_seconds)

    def _finish(self, answer: WebAnswer, asked: ParsedRequest, chunked: bool) -> None:
        self._write(answer, asked, chunked and asked.minor == "1")
        self._done(asked)

    def _done(self, asked: ParsedRequest) -> None:
        """Continue with the next request, or close the connection."""
        if not asked.keep_alive:
            self._transport.close()
        if self._sending:
            self._sending = None
            self._transport.resume_reading()
            self._process_buffer()

    def _write(self, answer: WebAnswer, asked: ParsedRequest | None, chunked: bool) -> None:
        bodiless = not answer.body or (asked is not None and asked.method == "HEAD")
        chunked = chunked and not bodiless
        head = self._head(answer, asked, chunked)
        if bodiless:
            self._transport.write(head)
        else:
            # Not writelines: some versions of asyncio do not report a full buffer then.
            self._transport.write(head + (encode_chunks(answer.body) if chunked else answer.body))

    def _head(self, answer: WebAnswer, asked: ParsedRequest | None, chunked: bool) -> bytes:
        date = http_date(EPOCH_SECONDS + self._server.now_ms() // 1000)
        return write_head(answer, date, chunked, asked)

    async def _send_slowly(
        self, host: SyntheticHost, visit: LoggedVisit, answer: WebAnswer, asked: ParsedRequest
    ) -> None:
        """Send an answer that is slow or ends badly."""
        try:
            if answer.wait_seconds:
                await self._server.clock.sleep(answer.wait_seconds)
            last_act = await self._perform(answer, asked, host.chunked)
        finally:
            self._log_end(host, visit, answer)
        last_act()

    async def _perform(self, answer: WebAnswer, asked: ParsedRequest, chunked: bool) -> Callable[[], None]:
        """Send all of an answer except its last step, which is returned."""
        if answer.send_mode is SendMode.HANG:
            await self._server.clock.sleep(HANG_SECONDS)
        if answer.send_mode in (SendMode.HANG, SendMode.RESET):
            return self._reset
        if answer.send_mode is SendMode.PLAIN or asked.method == "HEAD":
            return partial(self._finish, answer, asked, chunked)
        if answer.send_mode is SendMode.ENDLESS:
            return await self._send_endlessly(answer, asked)
        if answer.send_mode is SendMode.DRIP:
            return await self._send_drops(answer, asked)
        return partial(self._send_false_length, answer, asked)

    def _send_false_length(self, answer: WebAnswer, asked: ParsedRequest) -> None:
        """Send a body that does not match its Content-Length, and close."""
        self._write(answer, asked, chunked=False)
        self._transport.close()

    def _reset(self) -> None:
        """Close the connection with a reset."""
        sock = self._transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        self._transport.abort()

    async def _send_endlessly(self, answer: WebAnswer, asked: ParsedRequest) -> Callable[[], None]:
        chunked = asked.minor == "1"
        self._transport.write(self._head(answer, asked, chunked))
        piece = b"%x\r\n%b\r\n" % (len(answer.body), answer.body) if chunked else answer.body
        for _ in range(ENDLESS_BYTES // len(piece)):
            await self._can_write.wait()
            if self._transport.is_closing():
                break
            self._transport.write(piece)
            await asyncio.sleep(0)
        return self._reset

    async def _send_drops(self, answer: WebAnswer, asked: ParsedRequest) -> Callable[[], None]:
        self._transport.write(self._head(answer, asked, chunked=False))
        drops = [answer.body[start : start + DRIP_BYTES] for start in range(0, len(answer.body), DRIP_BYTES)]
        for drop in drops[:-1]:
            await self._can_write.wait()
            self._transport.write(drop)
            await self._server.clock.sleep(DRIP_SECONDS)
        return partial(self._last_drop, drops[-1], asked)

    def _last_drop(self, drop: bytes, asked: ParsedRequest) -> None:
        self._transport.write(drop)
        self._done(asked)
