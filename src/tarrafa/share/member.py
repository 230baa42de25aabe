"""One agent among several: joins leases, tables, messages and hand-over into one state machine.

Events and the time go in; instructions come out, to be carried out in their order. Times are of one clock that never
stands still while the machine sleeps. A call that reports what became of an instruction may come late or never.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from tarrafa.share.agent_record import AgentRecord, MemberState
from tarrafa.share.balance import regained
from tarrafa.share.channel import InboxExtent
from tarrafa.share.documents import Malformed
from tarrafa.share.grants import limit_of
from tarrafa.share.handover import Donor, DonorSave, Receiver, ReceiverSave
from tarrafa.share.leader import Leader, MemberSettings
from tarrafa.share.lease import Lease
from tarrafa.share.member_instructions import (
    ArmTimer,
    CloseSlots,
    DisarmTimer,
    EndMember,
    HangUp,
    KeepTable,
    LookAtStore,
    MemberInstruction,
    OfferAgain,
    OpenSlots,
    ParcelKey,
    PublishMessage,
    PurgeInbox,
    ReadInbox,
    RemoveSent,
    RenewLease,
    SendAgain,
    TakeIn,
    TellSeen,
    WriteTable,
)
from tarrafa.share.messages import AgentMessage, Envelope, MessageKind
from tarrafa.share.numbers import Inbox, Outbox, Receipt, SendKey
from tarrafa.share.slots import SlotSet
from tarrafa.share.store_view import StoreView
from tarrafa.share.table import OwnershipTable, Registered, Tenure, Version

NO_VERSION: Version = (0, "")
# States in which hosts are visited.
_VISITING = frozenset({MemberState.ACTIVE, MemberState.LEAVING})


class MemberIdentity(NamedTuple):
    name: str
    life: str  # of the folder
    machine: str
    weight: float = 1.0
    is_founder: bool = False  # the first agent of the crawl: it makes the first table


class MemberSave(NamedTuple):
    """What each checkpoint stores of a member, in one transaction with the rows."""

    outbox: Mapping[str, tuple[int, int]] = {}
    inbox: Mapping[str, int] = {}
    position: int = 1
    donor: DonorSave = DonorSave()
    receiver: ReceiverSave = ReceiverSave()
    offered: int = 0  # the number of the last table whose cold slots were offered again
    table: OwnershipTable | None = None  # the highest that was seen; stored at once, not by checkpoints


class AgentFacts(NamedTuple):
    """What the agent tells others of its work."""

    is_idle: bool = False  # nothing to visit or verify
    rows: int = 0
    pages: int = 0
    returned: int = 0


class Member:
    """Used by one thread."""

    def __init__(
        self, identity: MemberIdentity, settings: MemberSettings, saved: MemberSave, draw_turn: Callable[[], str]
    ) -> None:
        self._me, self._settings, self._draw_turn = identity, settings, draw_turn
        self.state = MemberState.JOINING
        self.table = saved.table
        self._donor = Donor(identity.name, saved.donor)
        self._receiver = Receiver(identity.name, saved.receiver)
        self._outbox, self._inbox = Outbox(saved.outbox), Inbox(saved.inbox)
        self._durable_inbox = saved.inbox
        self._position, self._offered, self._asked_offer = saved.position, saved.offered, saved.offered
        self._lease, self._leader = Lease(settings.times), Leader(identity.name, settings)
        self._turn, self._beat, self._work = draw_turn(), 0, 0
        self._facts = AgentFacts()
        self.limit: int | None = None  # pages that this agent may keep; None without a limit
        self._open = SlotSet()
        self._is_trusted = False  # the store has the table that is obeyed
        self._untrusted_since: float | None = None
        self._look_at, self._is_looking, self._is_writing = float("-inf"), False, False
        self._look_revision: int | None = None  # of the own record when the look began; -1 if it was being replaced
        self._read_at, self._is_reading = float("-inf"), False
        self._is_leaving = self._is_over = False
        self._running: MemberSave | None = None  # of the checkpoint on its way
        self._is_saved = True  # the last checkpoint has all numbers

    # What the agent asks.

    @property
    def is_visiting(self) -> bool:
        """True while visits may begin in the slots that are open."""
        return self.state in _VISITING

    @property
    def needs_checkpoint(self) -> bool:
        """True if numbers or parcels changed since the last checkpoint began."""
        return not self._is_saved

    def is_open(self, slot: int) -> bool:
        return self._open.has(slot)

    def destination(self, slot: int) -> str | None:
        """Return the agent that rows for a slot go to, maybe this one; None if they wait for the next table."""
        if self.table is None:
            return None
        owner = self.table.names[int(self.table.owner_of_slot[slot])]
        return None if owner == self._me.name and self._donor.is_parked(slot) else owner

    def number_for(self, receiver: str) -> int:
        """Return the number of a new message, which the checkpoint that begins next stores."""
        self._is_saved = False
        return self._outbox.add(receiver)

    # Time.

    def tick(self, now: float) -> list[MemberInstruction]:
        """Return what is due."""
        if self._is_over:
            return []
        found = self._visiting_steps(now)
        if self._lease.is_due(now) and (self._lease.revision is not None):
            found.append(self._renewal(now, self._lease.revision))
        if now >= self._look_at and not self._is_looking:
            self._is_looking, self._look_at = True, now + self._settings.look_seconds
            self._look_revision = -1 if self._lease.is_pending else self._lease.revision
            names = tuple(sorted({self._me.name, *(self.table.agents if self.table else ())}))
            found.append(LookAtStore(names, tuple(self._outbox.receivers())))
        if now >= self._read_at and not self._is_reading:
            self._is_reading = True
            found.append(ReadInbox(self._position))
        found += map(PublishMessage, self._outbox.due(now))
        return found

    def next_at(self) -> float:
        """Return when `tick` is due next, if nothing happens before."""
        waits = [self._lease.next_at(), self._outbox.next_at()]
        waits += [] if self._is_looking else [self._look_at]
        waits += [] if self._is_reading else [self._read_at]
        return min(waits)

    # The lease.

    def renewed(self, turn: str, beat: int, revision: int, now: float) -> list[MemberInstruction]:
        """Note that the store has the record of a renewal."""
        if (turn, beat) != (self._turn, self._beat) or not self._lease.is_pending:
            return []
        self._lease.renewed(revision)
        if self.state is MemberState.GONE:
            return self._over("this agent has left")
        found: list[MemberInstruction] = [ArmTimer(self._lease.ends_at)] if self.is_visiting else []
        return [*found, *self._visiting_steps(now)]

    def not_renewed(self, turn: str, beat: int) -> list[MemberInstruction]:
        """Note that a renewal was refused, or that its fate is unknown: the next look at the store tells."""
        if (turn, beat) == (self._turn, self._beat) and self._lease.is_pending:
            self._lease.failed()
            self._look_at = float("-inf")
        return []

    def _renewal(self, now: float, revision: int | None) -> RenewLease:
        self._beat += 1
        self._lease.sent(now)
        return RenewLease(self._record(), revision)

    def _record(self) -> AgentRecord:
        return AgentRecord(
            self._me.name,
            self._me.life,
            self._turn,
            self._beat,
            self.state,
            self._me.machine,
            self._me.weight,
            self._facts.is_idle and self.is_quiet,
            self._work,
            self._facts.rows,
            self._facts.pages,
            self._facts.returned,
            self.table.version if self.table else NO_VERSION,
        )

    @property
    def is_quiet(self) -> bool:
        """True if nothing is on its way to or from other agents."""
        is_told = self._donor.is_quiet and self._receiver.is_quiet
        return is_told and self._outbox.is_empty() and self._is_saved and self._offered == self._asked_offer

    def report(self, facts: AgentFacts) -> None:
        """Note what the agent says of itself."""
        if not facts.is_idle:
            self._work += 1
        self._facts = facts

    # Looks at the store.

    def look_failed(self) -> list[MemberInstruction]:
        """Note that the store could not be read."""
        self._is_looking = False
        return []

    def looked(self, view: StoreView, now: float) -> list[MemberInstruction]:
        """Note what the store says."""
        self._is_looking = False
        if self._is_over:
            return []
        if view.is_done:
            return [*self._hung_up(), *self._over("the crawl is done")]
        found = [*self._resolve(view, now), *self._obey(view, now)]
        self._leader.look(self.table, view, now)
        found += self._note_seen(view, now)
        self.limit = None
        if self._settings.page_limit is not None:
            self.limit = limit_of(view.grants.get(self._me.name, 0), self._facts.returned)
        if self._is_over:
            return found
        return [*found, *self._visiting_steps(now), *self._advance(), *self._act(view, now), *self.tick(now)]

    def _resolve(self, view: StoreView, now: float) -> list[MemberInstruction]:
        """Compare the agent's own record with what it wrote last, and join if it has not."""
        if self._lease.is_pending or self._look_revision != self._lease.revision:
            return []  # the record was replaced after it was read
        seen = view.records.get(self._me.name)
        revision = seen.revision if seen else None
        if seen is None or isinstance(seen.record, Malformed):
            return self._joined_after_loss(revision, now)
        record = seen.record
        if record.life != self._me.life:
            return [*self._hung_up(), *self._over(f"another folder has the name {self._me.name}", is_failure=True)]
        if record.turn != self._turn:
            return self._join_over(record, seen.revision, now)
        if self.state is MemberState.GONE and record.state is MemberState.GONE:
            return self._over("this agent has left")
        if not record.is_live:
            return self._new_turn(seen.revision, now)
        if self._lease.revision != seen.revision:
            # The store took a renewal whose answer was lost.
            self._lease.adopt(seen.revision)
        return []

    def _joined_after_loss(self, revision: int | None, now: float) -> list[MemberInstruction]:
        if self._lease.revision is None:
            return [self._renewal(now, revision)]
        return self._new_turn(revision, now)

    def _join_over(self, record: AgentRecord, revision: int, now: float) -> list[MemberInstruction]:
        """Replace the record of an earlier turn, or of a process that is dead because it had this folder's lock."""
        if record.is_live and self._lease.revision is not None:
            text = f"another process uses a copy of the folder of agent {self._me.name}"
            return [*self._hung_up(), *self._over(text, is_failure=True)]
        is_elsewhere = record.is_live and record.machine != self._me.machine
        if is_elsewhere and not self._leader.is_stale(self._me.name, revision, now):
            return []
        if self._lease.revision is not None:
            return self._new_turn(revision, now)
        return [self._renewal(now, revision)]

    def _new_turn(self, revision: int | None, now: float) -> list[MemberInstruction]:
        """Join again: this agent was fenced, or the store has lost its record."""
        found = self._hung_up()
        self._lease.end()
        self._turn, self._beat, self.state = self._draw_turn(), 0, MemberState.JOINING
        self._outbox.resend(now)
        return [*found, self._renewal(now, revision)]

    def _obey(self, view: StoreView, now: float) -> list[MemberInstruction]:
        """Take over the table of the store if none that is higher was seen."""
        highest = self.table.version if self.table else NO_VERSION
        if not isinstance(view.table, OwnershipTable) or view.table.version < highest:
            self._is_trusted = False
            if self._untrusted_since is None:
                self._untrusted_since = now
            return []
        self._is_trusted, self._untrusted_since = True, None
        if view.table.version == highest:
            return []
        self.table = view.table
        self._work += 1
        return [KeepTable(view.table)]

    def _note_seen(self, view: StoreView, now: float) -> list[MemberInstruction]:
        removed: list[SendKey] = []
        for receiver, numbers in view.seen.items():
            removed += self._outbox.seen(receiver, numbers.get(self._me.life, 0), now)
        found: list[MemberInstruction] = [RemoveSent(removed)] if removed else []
        lost = [name for name in self._outbox.receivers() if self._is_without_slots(name)]
        withdrawn = [key for name in lost for key in self._outbox.withdrawn(name)]
        for name in {key.receiver for key in withdrawn}:
            self._donor.withdrawn(name)
        if withdrawn:
            self._is_saved = False
            self._work += 1
        return [*found, *([SendAgain(withdrawn)] if withdrawn else [])]

    def _is_without_slots(self, name: str) -> bool:
        """Return True if an agent is fenced and others have its slots: what was for it goes to them."""
        if not self._leader.has_ended(name) or self.table is None or not self._is_trusted:
            return False
        return not self.table.slots_where(lambda each: name in (each.owner, each.other))

    # What is visited.

    def _may_visit(self, now: float) -> bool:
        is_known = self.table is not None and self._me.name in self.table.agents
        return self._lease.is_safe(now) and self._is_trusted and is_known and not self._is_over

    def _visiting_steps(self, now: float) -> list[MemberInstruction]:
        if self.state is MemberState.GONE:
            return []
        if not self._may_visit(now):
            return self._paused()
        found: list[MemberInstruction] = []
        if not self.is_visiting:
            found.append(ArmTimer(self._lease.ends_at))
        self.state = MemberState.LEAVING if self._is_leaving else MemberState.ACTIVE
        return [*found, *self._open_steps()]

    def _paused(self) -> list[MemberInstruction]:
        found = self._hung_up()
        if self.state in _VISITING:
            self.state = MemberState.PAUSED
        return found

    def _open_steps(self) -> list[MemberInstruction]:
        assert self.table is not None
        wanted = self.table.slots_as(Tenure(self._me.name))
        closed, opened, self._open = self._open - wanted, wanted - self._open, wanted
        found: list[MemberInstruction] = [CloseSlots(closed)] if closed else []
        return [*found, *([OpenSlots(opened)] if opened else [])]

    def _hung_up(self) -> list[MemberInstruction]:
        if not self.is_visiting:
            return []
        self._open = SlotSet()
        return [HangUp(), DisarmTimer()]

    def _over(self, reason: str, *, is_failure: bool = False) -> list[MemberInstruction]:
        self._is_over = True
        return [EndMember(reason, is_failure)]

    # Hand-over.

    def _advance(self) -> list[MemberInstruction]:
        """Return the next steps of slots on their way."""
        if self.table is None or self.state is MemberState.JOINING or self.state is MemberState.GONE:
            return []
        found = [*self._donor.advance(self.table), *self._receiver.advance(self.table)]
        cold = max(each.tenure.cold for each in self.table.ranges)
        if cold > self._asked_offer:
            slots = self.table.cold_since(self._asked_offer)
            self._asked_offer = cold
            found.append(OfferAgain(slots, cold))
        if found:
            self._work += 1
        return found

    def landed(self, slots: SlotSet) -> list[MemberInstruction]:
        """Note that no visit is in flight in slots that were closed."""
        self._donor.landed(slots)
        return self._advance()

    def drained(self, slots: SlotSet) -> list[MemberInstruction]:
        """Note that nothing waits for slots that were to be drained."""
        self._donor.drained(slots)
        return self._advance()

    def told(self, slots: SlotSet, parcel: int) -> None:
        """Note that all rows of some slots are in the outbox, as of the checkpoint that begins next."""
        self._is_saved = False
        self._donor.told(slots, parcel)

    def admitted(self, key: ParcelKey) -> None:
        """Note that a parcel is admitted, as of the checkpoint that begins next."""
        self._is_saved = False
        self._receiver.admitted(key)

    def marked_away(self, slots: SlotSet) -> None:
        """Note that the rows of some slots are marked, as of the checkpoint that begins next."""
        self._is_saved = False
        self._donor.marked_away(slots)

    def offered(self, number: int) -> None:
        """Note that seeds and links were offered again, as of the checkpoint that begins next."""
        self._is_saved = False
        self._offered = number

    # Messages.

    def published(self, key: SendKey, now: float, *, is_done: bool) -> list[MemberInstruction]:
        """Note what became of a publication; not done means refused or unknown."""
        self._outbox.published(key, now, is_done=is_done)
        return list(map(PublishMessage, self._outbox.due(now)))

    def message_read(self, sequence: int, message: AgentMessage, now: float) -> list[MemberInstruction]:
        """Note the next message of the inbox."""
        self._is_reading = False
        envelope = message.envelope
        if self.table is None or envelope.table > self.table.number:
            # Its rows were addressed by a table that is not known here yet.
            self._read_at, self._look_at = now + self._settings.poll_seconds, float("-inf")
            return []
        self._position, self._read_at = sequence + 1, now
        receipt = self._inbox.take(envelope.life, envelope.number, envelope.floor)
        if receipt is not Receipt.TAKE:
            # Its sender does not know that a checkpoint has it.
            return [TellSeen(dict(self._durable_inbox))] if receipt is Receipt.OLD else []
        self._is_saved = False
        self._work += 1
        return [TakeIn(message), *self._parcel_steps(envelope, message.rows.num_rows)]

    def _parcel_steps(self, envelope: Envelope, rows_count: int) -> list[MemberInstruction]:
        if envelope.kind is not MessageKind.PARCEL:
            return []
        about = dict(envelope.about)
        number = about.get("parcel")
        key = ParcelKey(envelope.life, number if isinstance(number, int) else 0)
        return [*self._receiver.take(key, envelope.sender, about, rows_count), *self._advance()]

    def damaged_read(self, sequence: int, envelope: Envelope | None, now: float) -> bool:
        """Note a damaged message, with its headers if they are right; return True if its rows are given up."""
        self._is_reading, self._position, self._read_at = False, sequence + 1, now
        if envelope is None or not self._inbox.damaged(envelope.life, envelope.number, envelope.floor):
            return False
        self._is_saved = False
        self._receiver.given_up(envelope.life)
        return True

    def nothing_read(self, extent: InboxExtent | None, now: float) -> list[MemberInstruction]:
        """Note that the inbox has no message at the position, or could not be read; None if it does not exist."""
        self._is_reading, self._read_at = False, now + self._settings.poll_seconds
        if extent is not None and extent.last + 1 < self._position:
            # The stream was lost, and counts anew.
            self._position, self._read_at = extent.first, now
        return []

    def nudged(self) -> None:
        """Note that there is something to read."""
        self._read_at = float("-inf")

    # Checkpoints.

    def checkpoint_begun(self) -> MemberSave:
        """Return what the checkpoint stores. One at a time is on its way."""
        self._running = MemberSave(
            self._outbox.saved(),
            self._inbox.saved(),
            self._position,
            self._donor.saved(),
            self._receiver.saved(),
            self._offered,
        )
        self._is_saved = True
        return self._running

    def checkpoint_done(self) -> list[MemberInstruction]:
        """Note that the checkpoint is durable."""
        saved = self._running
        assert saved is not None
        self._running = None
        self._durable_inbox = saved.inbox
        self._outbox.committed(saved.outbox)
        self._donor.committed(saved.donor)
        self._receiver.committed(saved.receiver)
        self._look_at = float("-inf")
        return [TellSeen(dict(saved.inbox)), PurgeInbox(saved.position), *self._advance()]

    def leave(self) -> None:
        """Give all slots away, and end when all is told."""
        self._is_leaving = True

    # Acting on the table.

    def table_written(self) -> list[MemberInstruction]:
        """Note that a write of the table was done or refused, or that its fate is unknown: the next look tells."""
        self._is_writing = False
        self._look_at = float("-inf")
        return []

    def _act(self, view: StoreView, now: float) -> list[MemberInstruction]:
        if self._is_writing or self._lease.revision is None or not self._lease.is_safe(now):
            return []
        if not self._is_trusted:
            return self._restored(view, now)
        assert self.table is not None
        found = self._own_change()
        if found is None and self.is_visiting:
            return self._lead(view, now)
        return self._written(found, view) if found else []

    def _written(self, table: OwnershipTable, view: StoreView) -> list[MemberInstruction]:
        self._is_writing = True
        return [WriteTable(table, view.table_revision)]

    def _restored(self, view: StoreView, now: float) -> list[MemberInstruction]:
        """Write the highest table again when every lease of the lost store has ended; or the first of all."""
        if self.table is None:
            is_first = self._me.is_founder and view.table is None
            table = OwnershipTable.founded(self._me.name, self._me.life, self._me.weight)
            return [KeepTable(table), *self._written(table, view)] if is_first else []
        assert self._untrusted_since is not None
        is_first = self._leader.is_highest(self.table.version, view, now)
        if now - self._untrusted_since < self._settings.times.fence_after or not is_first:
            return []
        return self._written(self.table.restored(), view)

    def _own_change(self) -> OwnershipTable | None:
        """Return the table with what only this agent may change."""
        assert self.table is not None
        known = self.table.agents.get(self._me.name)
        if known is None:
            return self.table.with_agent(self._me.name, Registered(self._me.life, self._me.weight))
        if self.state is MemberState.JOINING:
            return None
        return (
            regained(self.table, self._me.name) or self._donor.signed(self.table) or self._receiver.signed(self.table)
        )

    def _lead(self, view: StoreView, now: float) -> list[MemberInstruction]:
        assert self.table is not None
        if self._has_left():
            self.state = MemberState.GONE
            self._open = SlotSet()
            return [HangUp(), DisarmTimer(), self._renewal(now, self._lease.revision)]
        table = self._leader.next_table(self.table, view, self._record(), now)
        return self._written(table, view) if table else self._leader.steps(self.table, view, now)

    def _has_left(self) -> bool:
        assert self.table is not None
        is_named = self.table.slots_where(lambda each: self._me.name in (each.owner, each.other))
        return self._is_leaving and not is_named and not self._donor.holding and self.is_quiet
