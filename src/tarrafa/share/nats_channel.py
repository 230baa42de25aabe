"""The channel over NATS JetStream: a key-value bucket for the crawl, a stream for each inbox.

Values and messages are read from the stream itself, without consumers: a place in an inbox is a number in the reader's
checkpoint. The bucket and the streams are made again when they are missing, because the store may be lost.
"""

import asyncio
import secrets
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple, TypeVar

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import DiscardPolicy, Header, RawStreamMsg, StorageType, StreamConfig
from nats.js.errors import APIError, NoStreamResponseError, NotFoundError

from tarrafa.share.channel import (
    Answerer,
    ChannelDownError,
    InboxExtent,
    InboxMessage,
    Listener,
    PublishRefusal,
    StoredValue,
)
from tarrafa.texts import quoted

T = TypeVar("T")

DUPLICATE_WINDOW_SECONDS = 120.0
BUCKET_MAX_BYTES = 256 << 20
_WRONG_REVISION = frozenset({10071, 10164})
_FULL = frozenset({10077, 10023, 10047})  # the limit of the stream; resources of the server; its disk
_STREAM_EXISTS = 10058  # with another configuration
_FIRST_REVISION_MAX = 1 << 48  # far below the largest sequence, and exact as a number of JSON
_DOWN = (nats.errors.Error, OSError, asyncio.TimeoutError)
_RECONNECT_SECONDS = 0.25


class NatsAccess(NamedTuple):
    """How to reach a server."""

    url: str
    token: str = ""
    authority: str = ""  # file with the certificates that sign the server's, for TLS
    answer_seconds: float = 2.0  # that the server has for an answer


class NatsChannel:
    """Made by `connected`."""

    def __init__(self, client: Client, crawl: str, access: NatsAccess) -> None:
        self._client = client
        self._streams = client.jetstream(timeout=access.answer_seconds)
        self._bucket, self._crawl = f"T_{crawl}", crawl

    @staticmethod
    async def connected(access: NatsAccess, crawl: str) -> "NatsChannel":
        """Connect to a server. From then on the connection is made again whenever it is lost."""

        async def ignore(_: Exception) -> None:
            """Each call says itself what became of it."""

        client = Client()
        try:
            # Without a bound the library would try for ever, also with a wrong token.
            async with asyncio.timeout(2 * access.answer_seconds):
                await client.connect(
                    access.url,
                    token=access.token or None,
                    tls=ssl.create_default_context(cafile=access.authority) if access.authority else None,
                    error_cb=ignore,
                    connect_timeout=max(1, round(access.answer_seconds)),
                    reconnect_time_wait=_RECONNECT_SECONDS,  # type: ignore[arg-type]
                    max_reconnect_attempts=-1,
                )
        except _DOWN as error:
            await client.close()
            raise ChannelDownError(
                f"cannot connect to {quoted(access.url)}: {error or type(error).__name__}"
            ) from error
        return NatsChannel(client, crawl, access)

    async def read(self, key: str) -> StoredValue | None:
        subject = self._subject_of(key)
        async with self._answered():
            message = await self._found(
                self._streams.get_msg(f"KV_{self._bucket}", subject=subject, direct=True), f"KV_{self._bucket}"
            )
        return None if message is None else StoredValue(message.data or b"", message.seq or 0)

    async def create(self, key: str, value: bytes) -> int | None:
        return await self._write(key, value, {Header.EXPECTED_LAST_SUBJECT_SEQUENCE.value: "0"})

    async def replace(self, key: str, value: bytes, revision: int) -> int | None:
        return await self._write(key, value, {Header.EXPECTED_LAST_SUBJECT_SEQUENCE.value: str(revision)})

    async def put(self, key: str, value: bytes) -> int:
        revision = await self._write(key, value, {})
        assert revision is not None  # nothing was expected
        return revision

    async def _write(self, key: str, value: bytes, headers: dict[str, str]) -> int | None:
        async with self._answered():
            try:
                return await self._appended(self._subject_of(key), value, headers, self._make_bucket)
            except APIError as error:
                if error.err_code in _WRONG_REVISION:
                    return None
                raise

    async def _appended(
        self, subject: str, value: bytes, headers: dict[str, str], make: Callable[[], Awaitable[None]] | None
    ) -> int:
        try:
            done = await self._streams.publish(subject, value, headers=headers)
        except NoStreamResponseError:
            if make is None:
                raise
            await make()
            done = await self._streams.publish(subject, value, headers=headers)
        return done.seq

    async def _make_bucket(self) -> None:
        """Make the bucket as every client of NATS knows it, but for its first revision.

        That is drawn, so a revision of a store that was lost is never one of the store that came after it.
        """
        config = StreamConfig(
            name=f"KV_{self._bucket}",
            subjects=[f"$KV.{self._bucket}.>"],
            storage=StorageType.FILE,
            discard=DiscardPolicy.NEW,
            max_bytes=BUCKET_MAX_BYTES,
            max_msgs_per_subject=1,
            allow_rollup_hdrs=True,
            deny_delete=True,
            allow_direct=True,
            first_seq=1 + secrets.randbelow(_FIRST_REVISION_MAX),
        )
        try:
            await self._streams.add_stream(config)
        except APIError as error:
            if error.err_code != _STREAM_EXISTS:  # another agent was faster, with another first revision
                raise

    async def open_inbox(self, name: str, bound_bytes: int) -> None:
        config = StreamConfig(
            name=self._stream_of(name),
            subjects=[self._inbox_subject(name)],
            storage=StorageType.FILE,
            discard=DiscardPolicy.NEW,
            max_bytes=bound_bytes,
            duplicate_window=DUPLICATE_WINDOW_SECONDS,
            allow_direct=True,
        )
        async with self._answered():
            try:
                await self._streams.stream_info(config.name or "")
            except NotFoundError:
                await self._streams.add_stream(config)

    async def publish(
        self, inbox: str, headers: Mapping[str, str], body: bytes, unique_id: str
    ) -> int | PublishRefusal:
        named = {**headers, Header.MSG_ID.value: unique_id}
        async with self._answered():
            try:
                return await self._appended(self._inbox_subject(inbox), body, named, None)
            except NoStreamResponseError:
                return PublishRefusal.MISSING
            except APIError as error:
                if error.err_code in _FULL:
                    return PublishRefusal.FULL
                raise

    async def next(self, inbox: str, sequence: int) -> InboxMessage | None:
        stream = self._stream_of(inbox)
        asked = self._streams.get_msg(
            stream, seq=max(sequence, 1), subject=self._inbox_subject(inbox), direct=True, next=True
        )
        async with self._answered():
            message = await self._found(asked, stream)
        if message is None:
            return None
        headers = {name: text for name, text in (message.headers or {}).items() if not name.startswith("Nats-")}
        return InboxMessage(message.seq or 0, headers, message.data or b"")

    async def extent(self, inbox: str) -> InboxExtent | None:
        async with self._answered():
            try:
                state = (await self._streams.stream_info(self._stream_of(inbox))).state
            except NotFoundError:
                return None
        return InboxExtent(state.last_seq + 1 if not state.messages else state.first_seq, state.last_seq)

    async def purge(self, inbox: str, before: int) -> None:
        async with self._answered():
            try:
                await self._streams.purge_stream(self._stream_of(inbox), seq=max(before, 1))
            except NotFoundError:
                return

    async def nudge(self, name: str) -> None:
        async with self._answered():
            await self._client.publish(f"t.{self._crawl}.nudge.{name}")
            await self._client.flush(timeout=1)  # otherwise it may wait for the next message of this client

    async def listen(self, name: str, listener: Listener) -> None:
        async def heard(_: Msg) -> None:
            listener()

        async with self._answered():
            await self._client.subscribe(f"t.{self._crawl}.nudge.{name}", cb=heard)
            await self._client.flush()

    async def answer(self, subject: str, name: str, answerer: Answerer) -> None:
        async def asked(message: Msg) -> None:
            await message.respond(await answerer(message.data))

        async with self._answered():
            await self._client.subscribe(f"t.{self._crawl}.ask.{subject}.{name}", cb=asked)
            await self._client.flush()

    async def ask(self, subject: str, names: list[str], body: bytes, deadline_seconds: float) -> dict[str, bytes]:
        async def asked(name: str) -> bytes | None:
            try:
                where = f"t.{self._crawl}.ask.{subject}.{name}"
                return (await self._client.request(where, body, timeout=deadline_seconds)).data
            except _DOWN:
                return None  # it is missing among the answers

        answers = await asyncio.gather(*map(asked, names))
        return {name: data for name, data in zip(names, answers, strict=True) if data is not None}

    async def close(self) -> None:
        await self._client.close()

    def _subject_of(self, key: str) -> str:
        return f"$KV.{self._bucket}.{key}"

    def _stream_of(self, inbox: str) -> str:
        return f"{self._bucket}_IN_{inbox}"

    def _inbox_subject(self, inbox: str) -> str:
        return f"t.{self._crawl}.in.{inbox}"

    async def _found(self, asked: Awaitable[RawStreamMsg], stream: str) -> RawStreamMsg | None:
        """Return what was asked for, or None if it is not there."""
        try:
            return await asked
        except NotFoundError:
            return None
        except nats.errors.NoRespondersError:
            # No answer comes for a stream that is missing, nor where the server has only just begun.
            try:
                await self._streams.stream_info(stream)
            except NotFoundError:
                return None
            raise

    @asynccontextmanager
    async def _answered(self) -> AsyncIterator[None]:
        """Turn the errors of the library into ours."""
        try:
            yield
        except _DOWN as error:
            raise ChannelDownError(f"the NATS server did not do it: {error or type(error).__name__}") from error
