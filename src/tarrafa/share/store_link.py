"""Carries out over a channel what a member asks of the store and the inboxes, and reports what became of it.

A call may be late, or its fate unknown; the member is made for that. What comes out of the store is checked: a document
that is wrong is `Malformed`, and a damaged message is counted.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from tarrafa.share.agent_record import parse_record
from tarrafa.share.channel import Channel, ChannelDownError, StoredValue
from tarrafa.share.documents import NAME, TOKEN, FieldReader, Malformed, checked_count, packed
from tarrafa.share.grants import encoded_grants, parse_grants
from tarrafa.share.member import Member
from tarrafa.share.member_instructions import (
    DeclareDone,
    FenceAgent,
    LookAtStore,
    MemberInstruction,
    PublishMessage,
    PurgeInbox,
    ReadInbox,
    RenewLease,
    TellSeen,
    WriteGrants,
    WriteTable,
)
from tarrafa.share.messages import Envelope, MessageKind, pack_message, unpack_envelope, unpack_message
from tarrafa.share.numbers import LIVES_MAX, SendKey
from tarrafa.share.store_view import SeenRecord, StoreView
from tarrafa.share.table import parse_table

TABLE_KEY, GRANTS_KEY, FORGOTTEN_KEY, DONE_KEY = "table", "grants", "forgotten", "done"
INBOX_BYTES = 1 << 30  # that wait for an agent; its senders keep what does not fit
_FORGOTTEN_MAX = 4_096


class StoredMessage(NamedTuple):
    """A message as the agent's outbox holds it: all but what depends on when it is published."""

    kind: MessageKind
    table: int
    about: Mapping[str, Any]
    rows_name: str
    rows_count: int
    body: bytes


class OutboxReader(Protocol):
    def read(self, key: SendKey) -> StoredMessage:
        """Return a message of the outbox."""
        ...


class StoreLink:
    """Between one member and a channel."""

    def __init__(
        self, member: Member, name: str, life: str, channel: Channel, outbox: OutboxReader, now: Callable[[], float]
    ) -> None:
        self._member, self._name, self._life = member, name, life
        self._channel, self._outbox, self._now = channel, outbox, now
        self.damaged_count = self.given_up_count = 0  # messages
        self.last_damage = ""
        self._acts: Mapping[type, Callable[[Any], Any]] = {
            RenewLease: self._renew,
            LookAtStore: self._look,
            WriteTable: self._write_table,
            FenceAgent: self._fence,
            WriteGrants: self._write_grants,
            DeclareDone: self._declare_done,
            ReadInbox: self._read,
            PublishMessage: self._publish,
            TellSeen: self._tell_seen,
            PurgeInbox: self._purge,
        }

    def handles(self, instruction: MemberInstruction) -> bool:
        """Return True if an instruction is about the store or an inbox; the others are the agent's."""
        return type(instruction) in self._acts

    async def carry_out(self, instruction: MemberInstruction) -> list[MemberInstruction]:
        """Carry out an instruction; return those that follow from what became of it."""
        found: list[MemberInstruction] = await self._acts[type(instruction)](instruction)
        return found

    async def _renew(self, order: RenewLease) -> list[MemberInstruction]:
        record = order.record
        try:
            revision = await self._write(f"agent.{self._name}", record.encoded, order.revision)
        except ChannelDownError:
            revision = None
        if revision is None:
            return self._member.not_renewed(record.turn, record.beat)
        return self._member.renewed(record.turn, record.beat, revision, self._now())

    async def _look(self, order: LookAtStore) -> list[MemberInstruction]:
        try:
            view = await self._view(order)
        except ChannelDownError:
            return self._member.look_failed()
        return self._member.looked(view, self._now())

    async def _view(self, order: LookAtStore) -> StoreView:
        keys = [TABLE_KEY, GRANTS_KEY, FORGOTTEN_KEY, DONE_KEY]
        keys += [f"agent.{name}" for name in order.names] + [f"seen.{name}" for name in order.receivers]
        values = dict(zip(keys, await asyncio.gather(*map(self._channel.read, keys)), strict=True))
        table, grants = values[TABLE_KEY], values[GRANTS_KEY]
        granted = parse_grants(grants.value) if grants else {}
        return StoreView(
            parse_table(table.value) if table else None,
            table.revision if table else None,
            {name: _seen_record(each) for name in order.names if (each := values[f"agent.{name}"])},
            {name: _parse_seen(values[f"seen.{name}"]) for name in order.receivers},
            _parse_forgotten(values[FORGOTTEN_KEY]),
            {} if isinstance(granted, Malformed) else granted,
            grants.revision if grants else None,
            values[DONE_KEY] is not None,
        )

    async def _write_table(self, order: WriteTable) -> list[MemberInstruction]:
        await self._tried_write(TABLE_KEY, order.table.encoded, order.revision)
        return self._member.table_written()

    async def _fence(self, order: FenceAgent) -> list[MemberInstruction]:
        return await self._tried_write(f"agent.{order.record.name}", order.record.encoded, order.revision)

    async def _write_grants(self, order: WriteGrants) -> list[MemberInstruction]:
        return await self._tried_write(GRANTS_KEY, encoded_grants(order.grants), order.revision)

    async def _declare_done(self, _: DeclareDone) -> list[MemberInstruction]:
        return await self._tried_write(DONE_KEY, packed({"by": self._name}), None)

    async def _tried_write(self, key: str, value: bytes, revision: int | None) -> list[MemberInstruction]:
        """Write a value if the revision is still right; the next look tells what became of it."""
        try:
            await self._write(key, value, revision)
        except ChannelDownError:
            return []
        return []

    async def _write(self, key: str, value: bytes, revision: int | None) -> int | None:
        if revision is None:
            return await self._channel.create(key, value)
        return await self._channel.replace(key, value, revision)

    async def _read(self, order: ReadInbox) -> list[MemberInstruction]:
        try:
            found = await self._channel.next(self._name, order.position)
            if found is None:
                extent = await self._channel.extent(self._name)
                if extent is None:
                    await self._channel.open_inbox(self._name, INBOX_BYTES)
                return self._member.nothing_read(extent, self._now())
        except ChannelDownError:
            return self._member.nothing_read(None, self._now())
        message = unpack_message(found.headers, found.body)
        if not isinstance(message, Malformed):
            return self._member.message_read(found.sequence, message, self._now())
        envelope = unpack_envelope(found.headers)
        self.damaged_count, self.last_damage = self.damaged_count + 1, message.reason
        known = None if isinstance(envelope, Malformed) else envelope
        self.given_up_count += self._member.damaged_read(found.sequence, known, self._now())
        return []

    async def _publish(self, order: PublishMessage) -> list[MemberInstruction]:
        key, attempt, floor = order.dispatch
        stored = self._outbox.read(key)
        envelope = Envelope(stored.kind, self._name, self._life, key.number, attempt, floor, stored.table, stored.about)
        message = pack_message(envelope, stored.rows_name, stored.rows_count, stored.body)
        try:
            done = await self._channel.publish(key.receiver, message.headers, message.body, envelope.unique_id)
            await self._channel.nudge(key.receiver)
        except ChannelDownError:
            return self._member.published(key, self._now(), is_done=False)
        return self._member.published(key, self._now(), is_done=isinstance(done, int))

    async def _tell_seen(self, order: TellSeen) -> list[MemberInstruction]:
        try:
            await self._channel.put(f"seen.{self._name}", packed({"seen": order.numbers}))
        except ChannelDownError:
            return []  # its senders publish again, and are told then
        return []

    async def _purge(self, order: PurgeInbox) -> list[MemberInstruction]:
        try:
            await self._channel.purge(self._name, order.before)
        except ChannelDownError:
            return []  # the next checkpoint purges more
        return []


def _seen_record(stored: StoredValue) -> SeenRecord:
    return SeenRecord(parse_record(stored.value), stored.revision)


def _parse_seen(stored: StoredValue | None) -> dict[str, int]:
    """Return the numbers that a receiver has seen, by life; none if it has not said so, or what it said is wrong."""
    try:
        seen = FieldReader(stored.value).mapping("seen", LIVES_MAX) if stored else {}
        return {life: checked_count(number, "seen") for life, number in seen.items() if TOKEN.fullmatch(life)}
    except (ValueError, TypeError, RecursionError):
        return {}


def _parse_forgotten(stored: StoredValue | None) -> frozenset[str]:
    """Return the agents that an operator gave up."""
    try:
        names = FieldReader(stored.value).list("names", _FORGOTTEN_MAX) if stored else []
    except (ValueError, TypeError, RecursionError):
        return frozenset()
    return frozenset(name for name in names if isinstance(name, str) and NAME.fullmatch(name))
