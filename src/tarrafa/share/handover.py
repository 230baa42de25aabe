"""A slot's way from one owner to the next: the donor's side and the receiver's.

Both sides look at the table and at what is durable, and ask for the next step. A donor that is stopped begins again
with a new parcel; its receiver drops the unfinished one. What the donor told is marked as away only when the slot is
settled elsewhere, and it is told again if its receiver was lost meanwhile.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

from tarrafa.share.member_instructions import (
    AdmitParcel,
    CloseSlots,
    DrainSlots,
    DropParcel,
    MarkAway,
    MemberInstruction,
    ParcelKey,
    TellSlots,
)
from tarrafa.share.slots import SLOT_COUNT, SlotSet
from tarrafa.share.table import OwnershipTable, SlotPhase, Tenure


class ToldSlots(NamedTuple):
    """Slots whose rows were told. They need not be told again unless they were taken cold by a later table."""

    slots: SlotSet
    receiver: str
    parcel: int
    table: int


class DonorSave(NamedTuple):
    """What a checkpoint stores of the donor's side."""

    next_parcel: int = 1
    holding: SlotSet = SlotSet()  # of which this folder has rows that are not away
    told: tuple[ToldSlots, ...] = ()


class Stage(IntEnum):
    """How far the slots of a transfer are."""

    CLOSING = 0
    DRAINING = 1
    TELLING = 2
    TOLD = 3


@dataclass
class Transfer:
    """Slots on their way to one receiver."""

    slots: SlotSet
    stage: Stage = Stage.CLOSING
    parcel: int = 0
    table: int = 0  # by which its rows are told
    is_asked: bool = False


class Donor:
    def __init__(self, name: str, saved: DonorSave) -> None:
        self._name = name
        self._next_parcel, self._holding, self._told = saved
        self._durable = saved
        # By receiver. Filled and emptied by advance.
        self._transfers: dict[str, Transfer] = {}
        # Slots that are being told late or marked away. Filled by advance, emptied by the reports.
        self._late, self._leaving = SlotSet(), SlotSet()
        self._late_table = 0

    @property
    def is_quiet(self) -> bool:
        return not (self._transfers or self._late or self._leaving)

    @property
    def holding(self) -> SlotSet:
        return self._holding

    def is_parked(self, slot: int) -> bool:
        """Return True if new rows of an own slot must wait for the next table: its rows are being told, or were.

        What was told is marked as away as a whole, so nothing may be added to it.
        """
        moving = any(each.stage >= Stage.DRAINING and each.slots.has(slot) for each in self._transfers.values())
        return moving or any(each.slots.has(slot) for each in self._told)

    def saved(self) -> DonorSave:
        return DonorSave(self._next_parcel, self._holding, self._told)

    def committed(self, saved: DonorSave) -> None:
        """Note that a checkpoint is durable, with what `saved` returned at its beginning."""
        self._durable = saved

    def advance(self, table: OwnershipTable) -> list[MemberInstruction]:
        """Return the next steps."""
        self._holding |= table.slots_of(self._name)
        self._told = _without(self._told, table.slots_as(Tenure(self._name)))
        self._begin_transfers(table)
        return [*self._transfer_steps(table), *self._late_steps(table)]

    def landed(self, slots: SlotSet) -> None:
        """Note that no visits are in flight in some slots, and none begins."""
        self._proceed(Stage.CLOSING, slots)

    def drained(self, slots: SlotSet) -> None:
        """Note that nothing waits for some slots."""
        self._proceed(Stage.DRAINING, slots)

    def told(self, slots: SlotSet, parcel: int) -> None:
        """Note that all of these slots is in the outbox, as of the next checkpoint."""
        if not parcel:
            self._late -= slots
            self._told = (*_without(self._told, slots), ToldSlots(slots, "", 0, self._late_table))
            return
        for receiver, each in self._transfers.items():
            if each.parcel == parcel and each.stage is Stage.TELLING:
                each.stage = Stage.TOLD
                self._told = (*_without(self._told, slots), ToldSlots(slots, receiver, parcel, each.table))

    def withdrawn(self, receiver: str) -> None:
        """Note that what was in the outbox for an agent is taken back: its parcels are told anew."""
        self._transfers.pop(receiver, None)
        self._told = tuple(each for each in self._told if each.receiver != receiver)

    def marked_away(self, slots: SlotSet) -> None:
        """Note that the rows of some slots are another agent's, as of the next checkpoint."""
        self._leaving -= slots
        self._holding -= slots
        self._told = _without(self._told, slots)

    def signed(self, table: OwnershipTable) -> OwnershipTable | None:
        """Return the table in which slots are signed over, if a durable outbox has all of them."""
        for receiver, each in self._transfers.items():
            is_durable = any(told.parcel == each.parcel and told.slots == each.slots for told in self._durable.told)
            if each.stage is Stage.TOLD and is_durable:
                return table.given(each.slots, Tenure(receiver, SlotPhase.OPENING, self._name, each.parcel))
        return None

    def _begin_transfers(self, table: OwnershipTable) -> None:
        wanted = {name: self._wanted(table, name) for name in table.agents}
        for name, slots in wanted.items():
            known = self._transfers.get(name)
            if not slots:
                self._transfers.pop(name, None)
            elif known is None or known.slots != slots:
                self._transfers[name] = Transfer(slots)

    def _wanted(self, table: OwnershipTable, receiver: str) -> SlotSet:
        """Return the slots to be told to an agent: they move there, or it opens them and has no parcel to wait for."""
        moving = Tenure(self._name, SlotPhase.MOVING, receiver)
        opening = Tenure(receiver, SlotPhase.OPENING, self._name, 0)
        return table.slots_as(moving, opening)

    def _transfer_steps(self, table: OwnershipTable) -> Iterable[MemberInstruction]:
        for receiver, each in self._transfers.items():
            if each.is_asked or each.stage is Stage.TOLD:
                continue
            each.is_asked = True
            if each.stage is Stage.CLOSING:
                yield CloseSlots(each.slots)
            elif each.stage is Stage.DRAINING:
                yield DrainSlots(each.slots)
            else:
                each.parcel, each.table = self._next_parcel, table.number
                self._next_parcel += 1
                yield TellSlots(each.slots, receiver, each.parcel)

    def _proceed(self, stage: Stage, slots: SlotSet) -> None:
        for each in self._transfers.values():
            if each.stage is stage and each.slots == slots:
                each.stage, each.is_asked = Stage(stage + 1), False

    def _late_steps(self, table: OwnershipTable) -> Iterable[MemberInstruction]:
        """Tell what others took cold; mark as away what was told and is settled elsewhere."""
        foreign = self._holding & table.slots_where(lambda each: self._name not in (each.owner, each.other))
        away = foreign - self._leaving
        for each in self._durable.told:
            done = away & (each.slots - table.cold_since(each.table))
            away -= done
            if done:
                self._leaving |= done
                yield MarkAway(done)
        late = away - self._late - _slots_told(self._told, table)
        if late and not self._late:
            self._late, self._late_table = late, table.number
            yield TellSlots(late, "", 0)


def _without(told: Iterable[ToldSlots], slots: SlotSet) -> tuple[ToldSlots, ...]:
    left = (each._replace(slots=each.slots - slots) for each in told)
    return tuple(each for each in left if each.slots)


def _slots_told(told: Iterable[ToldSlots], table: OwnershipTable) -> SlotSet:
    """Return the slots that need not be told again, though the checkpoint may not be durable yet."""
    found = SlotSet()
    for each in told:
        found |= each.slots - table.cold_since(each.table)
    return found


class AsideParcel(NamedTuple):
    """A parcel that arrives. Its rows are stored aside until the table says that its slots are ours."""

    key: ParcelKey
    sender: str
    slots: SlotSet
    table: int  # the sender's
    rows: int = 0
    is_complete: bool = False
    is_broken: bool = False  # a part of it was given up, or the counts differ
    is_admitted: bool = False


class ReceiverSave(NamedTuple):
    """What a checkpoint stores of the receiver's side."""

    parcels: tuple[AsideParcel, ...] = ()
    dropped: tuple[tuple[str, int], ...] = ()  # by life: the highest number of a parcel that was dropped


class Receiver:
    def __init__(self, name: str, saved: ReceiverSave) -> None:
        self._name = name
        # Filled by take, emptied by advance.
        self._parcels = {each.key: each for each in saved.parcels}
        self._dropped = dict(saved.dropped)
        self._durable = saved
        self._asked: set[ParcelKey] = set()

    @property
    def is_quiet(self) -> bool:
        return not self._parcels

    def saved(self) -> ReceiverSave:
        return ReceiverSave(tuple(self._parcels.values()), tuple(self._dropped.items()))

    def committed(self, saved: ReceiverSave) -> None:
        """Note that a checkpoint is durable, with what `saved` returned at its beginning."""
        self._durable = saved

    def take(self, key: ParcelKey, sender: str, about: dict[str, Any], rows_count: int) -> list[MemberInstruction]:
        """Note a part of a parcel; return which parcels it makes useless. Wrong headers break the parcel."""
        if about.get("part") == "begin":
            return self._begin(key, sender, about)
        known = self._parcels.get(key)
        if known is None:
            # Its beginning was given up.
            self._parcels[key] = AsideParcel(key, sender, SlotSet(), 0, is_broken=True)
        elif about.get("part") == "end":
            is_broken = known.is_broken or about.get("rows") != known.rows
            self._parcels[key] = known._replace(is_complete=True, is_broken=is_broken)
        else:
            self._parcels[key] = known._replace(rows=known.rows + rows_count)
        return []

    def _begin(self, key: ParcelKey, sender: str, about: dict[str, Any]) -> list[MemberInstruction]:
        slots, table = _slots_of(about.get("slots")), about.get("table")
        dropped = [each.key for each in self._parcels.values() if each.key.life == key.life and not each.is_admitted]
        self._forget(dropped)
        number = table if isinstance(table, int) else 0
        self._parcels[key] = AsideParcel(key, sender, slots or SlotSet(), number, is_broken=not slots or not number)
        return [DropParcel(each) for each in dropped]

    def given_up(self, life: str) -> None:
        """Note that a message was given up: the parcels that it may belong to are broken."""
        for key, each in self._parcels.items():
            if key.life == life and not each.is_complete:
                self._parcels[key] = each._replace(is_broken=True)

    def advance(self, table: OwnershipTable) -> list[MemberInstruction]:
        """Return which parcels are to be admitted or dropped."""
        found: list[MemberInstruction] = []
        useless = [each.key for each in self._parcels.values() if self._is_useless(each, table)]
        self._forget(useless)
        found += [DropParcel(key) for key in useless]
        for key, each in self._parcels.items():
            is_ready = each.is_complete and not (each.is_broken or each.is_admitted)
            if is_ready and key not in self._asked and self._opening(each, table):
                self._asked.add(key)
                found.append(AdmitParcel(key))
        return found

    def admitted(self, key: ParcelKey) -> None:
        """Note that a parcel is admitted, as of the next checkpoint."""
        if key in self._parcels:
            self._parcels[key] = self._parcels[key]._replace(is_admitted=True)

    def signed(self, table: OwnershipTable) -> OwnershipTable | None:
        """Return the table in which slots are settled here, or told again because their parcel is broken."""
        cold = table.slots_as(Tenure(self._name, SlotPhase.OPENING))
        if cold:
            return table.given(cold, Tenure(self._name))
        for each in self._durable.parcels:
            opening = self._opening(each, table)
            if opening and each.is_admitted:
                return table.given(opening, Tenure(self._name))
            if opening and each.is_broken:
                return table.given(opening, Tenure(self._name, SlotPhase.OPENING, each.sender))
        missing = table.slots_where(lambda each: self._is_missing(each, table))
        return table.changed(missing, lambda each: each._replace(parcel=0)) if missing else None

    def _is_missing(self, tenure: Tenure, table: OwnershipTable) -> bool:
        """Return True if a slot waits for a parcel that was dropped: it must be told again."""
        if tenure.owner != self._name or tenure.phase is not SlotPhase.OPENING or not tenure.parcel:
            return False
        key = ParcelKey(table.agents[tenure.other].life, tenure.parcel)
        return key not in self._parcels and tenure.parcel <= dict(self._durable.dropped).get(key.life, 0)

    def _opening(self, parcel: AsideParcel, table: OwnershipTable) -> SlotSet:
        """Return the slots that wait for this parcel."""
        if parcel.sender not in table.agents or table.agents[parcel.sender].life != parcel.key.life:
            return SlotSet()
        wanted = Tenure(self._name, SlotPhase.OPENING, parcel.sender, parcel.key.number)
        return table.slots_as(wanted)

    def _is_useless(self, parcel: AsideParcel, table: OwnershipTable) -> bool:
        """Return True if no slot will wait for this parcel any more."""
        if self._opening(parcel, table) or table.number <= parcel.table:
            return False
        held = Tenure(self._name, SlotPhase.HELD, parcel.sender, parcel.key.number)
        coming = Tenure(parcel.sender, SlotPhase.MOVING, self._name)
        return not table.slots_as(held, coming) & parcel.slots

    def _forget(self, keys: Iterable[ParcelKey]) -> None:
        for key in keys:
            del self._parcels[key]
            self._asked.discard(key)
            self._dropped[key.life] = max(self._dropped.get(key.life, 0), key.number)


def _slots_of(ranges: Any) -> SlotSet | None:
    """Return the slots of ranges in a message, or None if they are wrong."""
    found = SlotSet()
    try:
        for first, last in ranges:
            if not (isinstance(first, int) and isinstance(last, int) and 0 <= first <= last < SLOT_COUNT):
                return None
            found |= SlotSet.between(first, last)
    except (TypeError, ValueError):
        return None
    return found or None


def ranges_of(slots: SlotSet) -> list[list[int]]:
    """Return slots as they stand in a message."""
    return [list(each) for each in slots.ranges()]
