"""Several agents with a simulated store, network, web and disks, on one virtual time, driven by one random number.

Everything that decides is production code. The simulation carries out instructions in any order that a network allows,
and breaks what can break. `World.violations` lists what breaks an invariant, by its number.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tarrafa.share.agent_record import AgentRecord, MemberState
from tarrafa.share.balance import ParcelBounds
from tarrafa.share.channel import InboxExtent
from tarrafa.share.handover import ranges_of
from tarrafa.share.leader import MemberSettings
from tarrafa.share.lease import LeaseTimes
from tarrafa.share.member import (
    AgentFacts,
    Member,
    MemberIdentity,
    MemberSave,
)
from tarrafa.share.member_instructions import (
    AdmitParcel,
    ArmTimer,
    CloseSlots,
    DeclareDone,
    DisarmTimer,
    DrainSlots,
    DropParcel,
    EndMember,
    FenceAgent,
    HangUp,
    KeepTable,
    LookAtStore,
    MarkAway,
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
    TellSlots,
    WriteGrants,
    WriteTable,
)
from tarrafa.share.messages import AgentMessage, Envelope, MessageKind
from tarrafa.share.numbers import SendKey
from tarrafa.share.slots import SlotSet
from tarrafa.share.store_view import SeenRecord, StoreView
from tarrafa.share.table import OwnershipTable, SlotPhase, Version

TIMES = LeaseTimes()
DELAY_SECONDS = 5.0
LANDING_SECONDS = 2.0
HOPS_MAX = 8
# Six sites in slots of the table, two of them neighbours; each has some pages.
SITE_SLOTS = (3, 700, 701, 1_900, 3_000, 4_095)
PAGES_EACH = 5
SEED_URL = (0, 0)

Url = tuple[int, int]  # site and page


def slot_of(url: Url) -> int:
    return SITE_SLOTS[url[0]]


class Packet(NamedTuple):
    """A message as the outbox has it: found URLs, collected URLs, and what the hosts said."""

    kind: MessageKind
    table: int
    about: Mapping[str, Any] = {}
    found: frozenset[Url] = frozenset()
    ended: frozenset[Url] = frozenset()
    rests: Mapping[int, float] = {}
    hops: int = 0

    @property
    def num_rows(self) -> int:
        return len(self.found) + len(self.ended)


@dataclass
class Disk:
    """What survives a kill."""

    life: str
    save: MemberSave = field(default_factory=MemberSave)
    table: OwnershipTable | None = None
    known: set[Url] = field(default_factory=set)  # not collected
    collected: set[Url] = field(default_factory=set)
    away: set[Url] = field(default_factory=set)
    pages: set[Url] = field(default_factory=set)  # in the archive, never moved
    outbox: dict[SendKey, Packet] = field(default_factory=dict)
    parked: set[Url] = field(default_factory=set)
    parked_ended: set[Url] = field(default_factory=set)
    aside: dict[ParcelKey, list[Packet]] = field(default_factory=dict)
    rests: dict[int, float] = field(default_factory=dict)  # by site; a journal, written at once
    turns: int = 0

    def copy(self) -> "Disk":
        return Disk(
            self.life,
            self.save,
            self.table,
            set(self.known),
            set(self.collected),
            set(self.away),
            set(self.pages),
            dict(self.outbox),
            set(self.parked),
            set(self.parked_ended),
            {key: list(packets) for key, packets in self.aside.items()},
            self.rests,
            self.turns,
        )

    def urls(self) -> set[Url]:
        """Return every URL that would be found again on this disk, those that are another's left out."""
        packets = [*self.outbox.values(), *(each for parts in self.aside.values() for each in parts)]
        sent = {url for each in packets for url in each.found | each.ended}
        return (self.known | self.collected) - self.away | self.parked | self.parked_ended | sent


class Store:
    """The server. Its revisions go on after a loss, as the ones of a store made anew at a random number do."""

    def __init__(self) -> None:
        self.revision = 0
        self.values: dict[str, tuple[Any, int]] = {}
        self.streams: dict[str, list[tuple[int, Envelope, Packet | None]]] = {}
        self.lasts: dict[str, int] = {}
        self.is_up = True

    def write(self, key: str, value: Any, revision: int | None) -> int | None:
        known = self.values.get(key)
        if (known[1] if known else None) != revision:
            return None
        self.revision += 1
        self.values[key] = (value, self.revision)
        return self.revision

    def append(self, name: str, envelope: Envelope, packet: Packet | None) -> bool:
        if name not in self.streams:
            return False
        self.lasts[name] += 1
        self.streams[name].append((self.lasts[name], envelope, packet))
        return True

    def lose(self) -> None:
        self.revision += 1_000
        self.values.clear()
        self.streams.clear()
        self.lasts.clear()


class Visit(NamedTuple):
    url: Url
    sent_at: float


class Faults(NamedTuple):
    """Odds of each fault in each step of an agent, and what is sabotaged to see that a violation is found."""

    crash: float = 0.004
    stop: float = 0.006
    cut: float = 0.003
    lose_store: float = 0.0008
    server_down: float = 0.002
    lose_message: float = 0.01
    repeat_message: float = 0.01
    damage_message: float = 0.005
    takeover_seconds: float = float("inf")
    has_timer: bool = True
    rests_after_opening: bool = True
    tells_rests: bool = True
    keeps_published: bool = True
    admits_parcels: bool = True


class Process:
    """One agent: a running process, or none, over its disk."""

    def __init__(self, world: "World", name: str, disk: Disk) -> None:
        self.world, self.name, self.disk = world, name, disk
        self.skew = world.rng.uniform(0.97, 1.03)
        self.offset = world.rng.uniform(0, 1_000)
        self.member: Member | None = None
        self.starts_at = 0.0
        self.stopped_until = 0.0
        self.cut_until = 0.0
        self.is_over = False
        self.is_leaving = False
        self.reason = ""
        self.clear()

    def clear(self) -> None:
        """Forget everything that a kill ends."""
        self.armed_at: float | None = None
        self.calls: list[Callable[[], None]] = []
        self.visits: list[Visit] = []
        self.decided: Url | None = None
        self.open_rests: dict[int, float] = {}
        self.found: dict[Url, int] = {}  # with hops
        self.ended: set[Url] = set()
        self.kept: set[Url] = set()
        self.aside: list[tuple[ParcelKey, Packet]] = []
        self.orders: list[MemberInstruction] = []
        self.removed: list[SendKey] = []
        self.again: list[SendKey] = []
        self.saving: tuple[float, Disk] | None = None
        self.is_dirty = False

    @property
    def rng(self) -> random.Random:
        return self.world.rng

    def clock(self) -> float:
        return self.world.now * self.skew + self.offset

    def start(self) -> None:
        self.clear()
        self.disk.turns += 1
        turn = iter(range(1, 1_000_000))
        boot = self.disk.turns
        identity = MemberIdentity(self.name, self.disk.life, f"m{self.name}", is_founder=self.name == "00")
        settings = MemberSettings(
            TIMES, parcel=ParcelBounds(1_500), takeover_seconds=self.world.faults.takeover_seconds
        )
        save = self.disk.save._replace(table=self.disk.table)
        self.member = Member(identity, settings, save, lambda: f"{boot}t{next(turn)}")
        if self.name == "00":
            self.found[SEED_URL] = 0
        if self.is_leaving:
            self.member.leave()

    def kill(self) -> None:
        self.member = None
        self.clear()
        self.stopped_until = 0.0
        self.starts_at = self.world.now + self.rng.choice([0.5, 3.0, 8.0, 30.0])

    # What the loop of an agent does.

    def step(self) -> None:
        if self.member is None:
            if not self.is_over and self.world.now >= self.starts_at:
                self.start()
        elif self.world.faults.has_timer and self.armed_at is not None and self.clock() >= self.armed_at:
            self.kill()
        elif self.world.now >= self.stopped_until:
            self.work()

    def work(self) -> None:
        if self.decided is not None:
            # A stopped process goes on here: what it decided before it was stopped is sent now.
            self.send(self.decided)
        for _ in range(self.rng.randrange(1, 5)):
            if self.calls and self.member is not None:
                self.calls.pop(self.rng.randrange(min(len(self.calls), 3)))()
        if self.member is not None:
            self.do(self.member.tick(self.clock()))
        if self.member is not None:
            self.land()
            self.save()
        if self.rng.random() < 0.7:
            self.decide()

    def decide(self) -> None:
        if self.member is None or not self.member.is_visiting:
            return
        saving = self.saving[1].collected if self.saving else set[Url]()
        todo = [
            url
            for url in self.disk.known - self.disk.away - self.ended - saving
            if self.member.is_open(slot_of(url))
            and self.world.now >= self.rest_of(url[0])
            and all(visit.url[0] != url[0] for visit in self.visits)
        ]
        if todo:
            self.decided = self.rng.choice(sorted(todo))
            if self.rng.random() < self.world.faults.stop * 5:
                self.stop()
                return
            self.send(self.decided)

    def rest_of(self, site: int) -> float:
        return max(self.disk.rests.get(site, 0.0), self.open_rests.get(site, 0.0))

    def stop(self) -> None:
        self.stopped_until = self.world.now + self.rng.choice([1.0, 6.0, 12.0, 40.0])

    def send(self, url: Url) -> None:
        self.decided = None
        self.visits.append(Visit(url, self.world.now))
        self.disk.rests[url[0]] = self.world.requested(self, url)

    def land(self) -> None:
        landed = [each for each in self.visits if self.world.now - each.sent_at >= LANDING_SECONDS]
        for each in landed:
            self.visits.remove(each)
            self.ended.add(each.url)
            self.kept.add(each.url)
            for link in self.world.links[each.url]:
                self.found.setdefault(link, 0)
        self.report()

    def report(self) -> None:
        assert self.member is not None
        left = [url for url in self.disk.known - self.disk.away if self.member.destination(slot_of(url)) == self.name]
        is_busy = left or self.visits or self.found or self.ended or self.orders or self.saving or self.again
        is_idle = not (is_busy or self.disk.parked or self.disk.parked_ended or self.is_dirty or self.aside)
        self.member.report(AgentFacts(is_idle, len(self.disk.known)))

    # Checkpoints.

    def save(self) -> None:
        assert self.member is not None
        if self.saving is not None:
            if self.world.now >= self.saving[0]:
                self.disk, self.saving = self.saving[1], None
                self.do(self.member.checkpoint_done())
            return
        waits = self.found or self.ended or self.orders or self.removed or self.again or self.disk.parked
        if (waits or self.disk.parked_ended or self.member.needs_checkpoint) and self.rng.random() < 0.3:
            self.begin_checkpoint()

    def begin_checkpoint(self) -> None:
        assert self.member is not None
        disk = self.disk.copy()
        found = {**dict.fromkeys(disk.parked, 0), **self.found}
        ended = disk.parked_ended | self.ended
        disk.parked, disk.parked_ended = set(), set()
        disk.pages |= self.kept
        for key in self.again:
            packet = disk.outbox.pop(key, None)
            if packet is not None and packet.kind is not MessageKind.PARCEL:
                found.update(dict.fromkeys(packet.found, packet.hops))
                ended |= packet.ended
        for key in self.removed:
            disk.outbox.pop(key, None)
        for parcel, part in self.aside:
            disk.aside.setdefault(parcel, []).append(part)
        orders, self.orders = self.orders, []
        self.found, self.ended, self.kept = {}, set(), set()
        self.aside, self.removed, self.again, self.is_dirty = [], [], [], False
        self.divide(disk, found, ended)
        for order in orders:
            self.carry_out(order, disk)
        disk.save = self.member.checkpoint_begun()
        self.saving = (self.world.now + self.rng.choice([0.1, 1.0, 3.0]), disk)

    def divide(self, disk: Disk, found: Mapping[Url, int], ended: set[Url]) -> None:
        """Divide rows by owner: into the own repository, the outbox, or what waits for the next table."""
        assert self.member is not None
        others: dict[str, tuple[set[Url], set[Url], int]] = defaultdict(lambda: (set(), set(), 0))
        for url in {*found, *ended}:
            owner = self.member.destination(slot_of(url))
            if owner == self.name:
                admit(disk, {url} & found.keys(), {url} & ended)
            elif owner is None:
                disk.parked |= {url} & found.keys()
                disk.parked_ended |= {url} & ended
            else:
                urls, done, hops = others[owner]
                others[owner] = (urls | ({url} & found.keys()), done | ({url} & ended), max(hops, found.get(url, 0)))
        for owner, (urls, done, hops) in others.items():
            self.put(
                disk, owner, Packet(MessageKind.FOUND, self.number, {}, frozenset(urls), frozenset(done), {}, hops)
            )

    @property
    def number(self) -> int:
        assert self.member is not None
        return self.member.table.number if self.member.table else 0

    def put(self, disk: Disk, receiver: str, packet: Packet) -> None:
        assert self.member is not None
        disk.outbox[SendKey(receiver, self.member.number_for(receiver))] = packet

    def carry_out(self, order: MemberInstruction, disk: Disk) -> None:
        assert self.member is not None
        if isinstance(order, TellSlots):
            self.tell(order, disk)
            self.member.told(order.slots, order.parcel)
        elif isinstance(order, AdmitParcel):
            for part in disk.aside.get(order.key, []) if self.world.faults.admits_parcels else []:
                admit(disk, set(part.found), set(part.ended))
                for site, until in part.rests.items():
                    disk.rests[site] = max(disk.rests.get(site, 0.0), until)
            self.member.admitted(order.key)
        elif isinstance(order, DropParcel):
            disk.aside.pop(order.key, None)
        elif isinstance(order, MarkAway):
            disk.away |= {url for url in disk.known | disk.collected if order.slots.has(slot_of(url))}
            self.member.marked_away(order.slots)
        elif isinstance(order, OfferAgain):
            offered = {link for page in disk.pages for link in self.world.links[page]} | {SEED_URL}
            self.divide(disk, {url: 0 for url in offered if order.slots.has(slot_of(url))}, set())
            self.member.offered(order.number)

    def tell(self, order: TellSlots, disk: Disk) -> None:
        here = {url for url in (disk.known | disk.collected) - disk.away if order.slots.has(slot_of(url))}
        known, collected = frozenset(here - disk.collected), frozenset(here & disk.collected)
        if not order.parcel:
            self.divide(disk, dict.fromkeys(known, 0), set(collected))
            return
        told = disk.rests if self.world.faults.tells_rests else {}
        rests = {site: until for site, until in told.items() if order.slots.has(SITE_SLOTS[site])}
        about: dict[str, Any] = {"parcel": order.parcel}
        begin = {**about, "part": "begin", "slots": ranges_of(order.slots), "table": self.number}
        self.put(disk, order.receiver, Packet(MessageKind.PARCEL, self.number, begin))
        self.put(
            disk, order.receiver, Packet(MessageKind.PARCEL, self.number, {**about, "part": "rows"}, known, rests=rests)
        )
        self.put(
            disk, order.receiver, Packet(MessageKind.PARCEL, self.number, {**about, "part": "rows"}, ended=collected)
        )
        end = {**about, "part": "end", "rows": len(here)}
        self.put(disk, order.receiver, Packet(MessageKind.PARCEL, self.number, end))

    # Instructions.

    def do(self, instructions: list[MemberInstruction]) -> None:
        for each in instructions:
            if self.member is None or self.is_over:
                return
            getattr(self, f"do_{type(each).__name__}", self.later)(each)

    def later(self, order: MemberInstruction) -> None:
        """Leave an order to the next checkpoint."""
        assert isinstance(order, TellSlots | AdmitParcel | DropParcel | MarkAway | OfferAgain)
        self.orders.append(order)

    def do_ArmTimer(self, order: ArmTimer) -> None:  # noqa: N802 - by the name of the instruction
        self.armed_at = order.at

    def do_DisarmTimer(self, order: DisarmTimer) -> None:  # noqa: N802
        self.world.check(2, not self.visits and self.decided is None, "disarmed with visits in flight")
        self.armed_at = None

    def do_HangUp(self, order: HangUp) -> None:  # noqa: N802
        self.visits, self.decided = [], None

    def do_KeepTable(self, order: KeepTable) -> None:  # noqa: N802
        known = self.disk.table
        self.world.check(10, known is None or order.table.version >= known.version, "a lower table is obeyed")
        self.disk.table = order.table
        if self.saving is not None:
            self.saving[1].table = order.table

    def do_OpenSlots(self, order: OpenSlots) -> None:  # noqa: N802
        for site, slot in enumerate(SITE_SLOTS):
            if order.slots.has(slot) and self.world.faults.rests_after_opening:
                self.open_rests[site] = self.world.now + DELAY_SECONDS

    def do_CloseSlots(self, order: CloseSlots) -> None:  # noqa: N802
        self.calls.append(lambda: self.try_landed(order.slots))

    def try_landed(self, slots: SlotSet) -> None:
        assert self.member is not None
        if any(slots.has(slot_of(each.url)) for each in self.visits):
            self.calls.append(lambda: self.try_landed(slots))
        else:
            self.do(self.member.landed(slots))

    def do_DrainSlots(self, order: DrainSlots) -> None:  # noqa: N802
        self.calls.append(lambda: self.try_drained(order.slots))

    def try_drained(self, slots: SlotSet) -> None:
        assert self.member is not None
        waits = {*self.found, *self.ended}
        if self.saving is not None or any(slots.has(slot_of(url)) for url in waits):
            self.calls.append(lambda: self.try_drained(slots))
        else:
            self.do(self.member.drained(slots))

    def do_TakeIn(self, order: TakeIn) -> None:  # noqa: N802
        packet: Packet = order.message.rows
        envelope = order.message.envelope
        self.world.took(self, envelope)
        self.is_dirty = True
        if envelope.kind is MessageKind.PARCEL:
            number = envelope.about["parcel"]
            self.aside.append((ParcelKey(envelope.life, number), packet))
            return
        self.world.check(9, packet.hops <= HOPS_MAX, f"{packet.hops} hops")
        for url in packet.found:
            self.found[url] = max(self.found.get(url, 0), packet.hops + 1)
        self.ended |= packet.ended

    def do_RemoveSent(self, order: RemoveSent) -> None:  # noqa: N802
        self.removed += order.keys

    def do_SendAgain(self, order: SendAgain) -> None:  # noqa: N802
        self.again += order.keys

    def do_EndMember(self, order: EndMember) -> None:  # noqa: N802
        self.is_over, self.reason = True, order.reason
        self.world.check(2, not self.visits, "ended with visits in flight")
        self.member, self.armed_at = None, None

    # What goes over the network.

    def call(self, act: Callable[[Store], Any], done: Callable[[Any], None], failed: Callable[[], None]) -> None:
        """Do something at the store later; the request or the answer may be lost."""

        def run() -> None:
            store = self.world.store
            is_cut = self.world.now < self.cut_until or not store.is_up
            if is_cut and self.rng.random() < 0.95:
                failed()
                return
            result = act(store)
            if is_cut:
                failed()
            elif self.rng.random() < 0.3:
                self.calls.append(lambda: done(result))
            else:
                done(result)

        self.calls.append(run)

    def do_RenewLease(self, order: RenewLease) -> None:  # noqa: N802
        turn, beat, member = order.record.turn, order.record.beat, self.member
        assert member is not None

        def failed() -> None:
            self.do(member.not_renewed(turn, beat))

        def done(revision: int | None) -> None:
            if revision is None:
                failed()
            else:
                self.do(member.renewed(turn, beat, revision, self.clock()))

        self.call(lambda store: store.write(f"agent.{self.name}", order.record, order.revision), done, failed)

    def do_LookAtStore(self, order: LookAtStore) -> None:  # noqa: N802
        member = self.member
        assert member is not None
        self.call(
            lambda store: view_of(store, order),
            lambda view: self.do(member.looked(view, self.clock())),
            lambda: self.do(member.look_failed()),
        )

    def do_WriteTable(self, order: WriteTable) -> None:  # noqa: N802
        member = self.member
        assert member is not None

        def write(store: Store) -> None:
            before = store.values.get("table")
            if store.write("table", order.table, order.revision) is not None:
                self.world.changed(self, before[0] if before else None, order.table)

        self.call(write, lambda _: self.do(member.table_written()), lambda: self.do(member.table_written()))

    def do_FenceAgent(self, order: FenceAgent) -> None:  # noqa: N802
        def fence(store: Store) -> None:
            if store.write(f"agent.{order.record.name}", order.record, order.revision) is not None:
                self.world.fenced(order.record)

        self.call(fence, lambda _: None, lambda: None)

    def do_WriteGrants(self, order: WriteGrants) -> None:  # noqa: N802
        self.call(lambda store: store.write("grants", order.grants, order.revision), lambda _: None, lambda: None)

    def do_DeclareDone(self, order: DeclareDone) -> None:  # noqa: N802
        def declare(store: Store) -> None:
            store.values["done"] = (True, 0)
            self.world.declared()

        self.call(declare, lambda _: None, lambda: None)

    def do_PublishMessage(self, order: PublishMessage) -> None:  # noqa: N802
        member, dispatch = self.member, order.dispatch
        packet = self.disk.outbox.get(dispatch.key)
        assert member is not None
        if packet is None:
            assert not self.world.faults.keeps_published
            return
        envelope = Envelope(
            packet.kind,
            self.name,
            self.disk.life,
            dispatch.key.number,
            dispatch.attempt,
            dispatch.floor,
            packet.table,
            packet.about,
        )

        def publish(store: Store) -> bool:
            is_damaged = self.rng.random() < self.world.faults.damage_message
            is_done = store.append(dispatch.key.receiver, envelope, None if is_damaged else packet)
            if self.rng.random() < self.world.faults.repeat_message:
                store.append(dispatch.key.receiver, envelope, packet)
            return is_done

        def told(*, is_done: bool) -> None:
            if is_done and not self.world.faults.keeps_published:
                self.disk.outbox.pop(dispatch.key, None)
            self.do(member.published(dispatch.key, self.clock(), is_done=is_done))

        self.call(publish, lambda is_done: told(is_done=is_done), lambda: told(is_done=False))

    def do_ReadInbox(self, order: ReadInbox) -> None:  # noqa: N802
        member = self.member
        assert member is not None

        def read(store: Store) -> Any:
            if self.name not in store.streams:
                store.streams[self.name], store.lasts[self.name] = [], 0
            stream = store.streams[self.name]
            if stream and self.rng.random() < self.world.faults.lose_message:
                stream.pop(self.rng.randrange(len(stream)))
            found = next((each for each in stream if each[0] >= order.position), None)
            last = store.lasts[self.name]
            return found or InboxExtent(stream[0][0] if stream else last + 1, last)

        def done(found: Any) -> None:
            now = self.clock()
            if isinstance(found, InboxExtent):
                self.do(member.nothing_read(found, now))
            elif found[2] is None:
                member.damaged_read(found[0], found[1], now)
            else:
                self.do(member.message_read(found[0], AgentMessage(found[1], found[2]), now))

        self.call(read, done, lambda: self.do(member.nothing_read(None, self.clock())))

    def do_TellSeen(self, order: TellSeen) -> None:  # noqa: N802
        def tell(store: Store) -> None:
            store.values[f"seen.{self.name}"] = (order.numbers, 0)

        self.call(tell, lambda _: None, lambda: None)

    def do_PurgeInbox(self, order: PurgeInbox) -> None:  # noqa: N802
        def purge(store: Store) -> None:
            if self.name in store.streams:
                store.streams[self.name] = [each for each in store.streams[self.name] if each[0] >= order.before]

        self.call(purge, lambda _: None, lambda: None)


def admit(disk: Disk, found: set[Url], ended: set[Url]) -> None:
    """Admit rows, as a repository does: what is known of a URL only grows."""
    disk.away -= found | ended
    disk.collected |= ended
    disk.known = (disk.known | found | ended) - disk.collected


def view_of(store: Store, order: LookAtStore) -> StoreView:
    table = store.values.get("table")
    records = {name: store.values.get(f"agent.{name}") for name in order.names}
    return StoreView(
        table[0] if table else None,
        table[1] if table else None,
        {name: SeenRecord(*each) for name, each in records.items() if each},
        {name: store.values.get(f"seen.{name}", ({}, 0))[0] for name in order.receivers},
        is_done="done" in store.values,
    )


class World:
    def __init__(self, seed: int, faults: Faults) -> None:
        self.rng, self.faults = random.Random(seed), faults
        self.now = 0.0
        self.store = Store()
        self.violations: list[tuple[int, str]] = []
        urls = [(site, page) for site in range(len(SITE_SLOTS)) for page in range(PAGES_EACH)]
        self.links = {url: self.rng.sample(urls, 3) for url in urls}
        self.agents: dict[str, Process] = {}
        self.last_visits: dict[int, tuple[float, str]] = {}
        self.asked_rests: dict[int, float] = {}
        self.versions: dict[Version, bytes] = {}
        self.requests: list[Url] = []
        self.is_cold = False
        self.is_done = False
        self.is_partial = False  # the crawl ended without an agent that was given up
        self.server_up_at = 0.0
        self.taken: dict[tuple[str, int, str], int] = {}
        self.durable: set[Url] = set()
        self.add_agent()

    def add_agent(self) -> None:
        name = f"{len(self.agents):02}"
        self.agents[name] = Process(self, name, Disk(f"life{name}"))

    def check(self, number: int, is_right: bool, text: str) -> None:
        if not is_right:
            self.violations.append((number, f"at {self.now:.1f}: {text}"))

    def pages(self) -> set[Url]:
        """Return the pages in all archives."""
        return set[Url]().union(*(each.disk.pages for each in self.agents.values()))

    def truth(self) -> set[Url]:
        found, todo = set(), [SEED_URL]
        while todo:
            url = todo.pop()
            if url not in found:
                found.add(url)
                todo += self.links[url]
        return found

    # Monitors.

    def requested(self, agent: Process, url: Url) -> float:
        """Judge a request as the web does; return until when the host wants to rest."""
        site, member = url[0], agent.member
        assert member is not None
        assert member.table is not None
        tenure = member.table.tenure_of(slot_of(url))
        is_own = tenure.owner == agent.name and tenure.phase is SlotPhase.SETTLED
        self.check(2, is_own, f"{agent.name} visits {url} of {tenure}")
        is_timed = agent.armed_at is not None and agent.clock() < agent.armed_at
        self.check(2, is_timed, f"{agent.name} visits after its lease or without a timer")
        others = [each for each in self.agents.values() if each is not agent]
        together = [each.name for each in others for visit in each.visits if visit.url[0] == site]
        self.check(2, not together, f"{agent.name} and {together} visit site {site}")
        at, name = self.last_visits.get(site, (float("-inf"), ""))
        self.check(4, self.now >= at + DELAY_SECONDS, f"{agent.name} visits site {site}, {name} did at {at:.1f}")
        until = self.asked_rests.get(site, 0.0)
        self.check(4, self.now >= until or self.is_cold, f"{agent.name} visits site {site} before {until:.1f}")
        done = [each.name for each in self.agents.values() if url in each.disk.collected]
        self.check(8, not done or self.is_cold, f"{agent.name} fetches {url} that {done} collected")
        self.last_visits[site] = (self.now, agent.name)
        self.requests.append(url)
        rest = self.now + (30.0 if self.rng.random() < 0.1 else DELAY_SECONDS)
        self.asked_rests[site] = rest
        return rest

    def took(self, agent: Process, envelope: Envelope) -> None:
        durable = agent.disk.save.inbox.get(envelope.life, 0)
        self.check(7, envelope.number > durable, f"{agent.name} takes {envelope.number} again")
        last = self.taken.get((agent.name, agent.disk.turns, envelope.life), durable)
        is_next = envelope.number == max(last + 1, envelope.floor)
        self.check(7, is_next, f"{agent.name} takes {envelope.number} after {last}")
        self.taken[agent.name, agent.disk.turns, envelope.life] = envelope.number

    def changed(self, agent: Process, before: OwnershipTable | None, after: OwnershipTable) -> None:
        """Judge a change of the table."""
        self.check(1, not after.problem(), after.problem())
        self.check(1, before is None or after.version > before.version, "the number of a table does not rise")
        known = self.versions.setdefault(after.version, after.encoded)
        self.check(1, known == after.encoded, "two tables of one version")
        if before is None:
            return
        for site, slot in enumerate(SITE_SLOTS):
            old, new = before.tenure_of(slot), after.tenure_of(slot)
            if old.owner != new.owner and after.number >> 32 == before.number >> 32:
                self.is_cold = self.is_cold or new.cold > old.cold
                visitors = [each.name for each in self.agents.values() for visit in each.visits if visit.url[0] == site]
                self.check(5, not visitors, f"{visitors} visit site {site} while it goes from {old} to {new}")
                is_word = agent.name == old.owner and old.phase is SlotPhase.MOVING
                self.check(3, is_word or old.phase is SlotPhase.HELD, f"{agent.name} changes {old} to {new}")

    def fenced(self, record: AgentRecord) -> None:
        agent = self.agents[record.name]
        is_over = agent.member is None or not agent.member.is_visiting or agent.armed_at is None
        is_ended = agent.armed_at is not None and agent.clock() >= agent.armed_at
        self.check(3, is_over or is_ended, f"{record.name} is fenced before its lease ends")

    def declared(self) -> None:
        """Judge the end: nothing may be left, but with agents that were given up, which tell when they are back."""
        self.is_done = True
        fenced = {name for name in self.agents if self.is_fenced(name)}
        self.is_partial = self.is_partial or bool(fenced)
        left = {
            name: (each.disk.known - each.disk.away, each.disk.outbox)
            for name, each in self.agents.items()
            if (each.disk.known - each.disk.away - each.ended) and not each.is_over and name not in fenced
        }
        self.check(6, not left, f"done, and there is {left}")

    def is_fenced(self, name: str) -> bool:
        record = self.store.values.get(f"agent.{name}")
        return record is not None and record[0].state is MemberState.FENCED

    def check_rows(self) -> None:
        """Judge that no URL is lost which was ever durable."""
        found = set[Url]().union(*(each.disk.urls() for each in self.agents.values()))
        self.check(6, self.durable <= found, f"lost {self.durable - found}")
        self.durable |= found

    # The run.

    def run(self, chaos_steps: int, calm_steps: int = 6_000) -> "World":
        for at in range(chaos_steps):
            self.step()
            self.break_something()
            if at % 10 == 0:
                self.check_rows()
            if self.is_done:
                break
        self.faults = self.faults._replace(
            crash=0, stop=0, cut=0, lose_store=0, server_down=0, lose_message=0, repeat_message=0, damage_message=0
        )
        for at in range(calm_steps):
            self.step()
            if at % 25 == 0:
                self.check_rows()
            if all(each.is_over for each in self.agents.values()):
                break
        return self

    def step(self) -> None:
        self.now += self.rng.choice([0.05, 0.2, 0.5, 1.0])
        self.store.is_up = self.now >= self.server_up_at
        agents = list(self.agents.values())
        self.rng.shuffle(agents)
        for each in agents:
            each.step()

    def break_something(self) -> None:
        odds, rng = self.faults, self.rng
        if rng.random() < 0.01 and len(self.agents) < 4:
            self.add_agent()
        if rng.random() < odds.lose_store:
            self.store.lose()
        if rng.random() < odds.server_down:
            self.server_up_at = self.now + rng.choice([2.0, 8.0, 25.0])
        agent = rng.choice(list(self.agents.values()))
        if agent.member is not None:
            self.break_agent(agent)

    def break_agent(self, agent: Process) -> None:
        odds, rng = self.faults, self.rng
        if rng.random() < odds.crash:
            agent.kill()
        elif rng.random() < odds.stop:
            agent.stop()
        elif rng.random() < odds.cut:
            agent.cut_until = self.now + rng.choice([2.0, 8.0, 20.0, 40.0])
        elif rng.random() < 0.002 and len(self.agents) > 2 and agent.name != "00":
            agent.is_leaving = True
            assert agent.member is not None
            agent.member.leave()
