"""The ownership table: which agent owns which slot, and what moves.

A table is a value; a change makes another one with a higher number, written by compare-and-set. Tables are totally
ordered by `version`: the number, then the digest. The number has two halves: the upper one counts the times that the
table was written again after the store had lost it, so what follows such a loss is above all that was before it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import xxhash
from numpy.typing import NDArray

from tarrafa.share.documents import COUNT_MAX, NAME, TOKEN, FieldReader, Malformed, checked_count, packed
from tarrafa.share.slots import SLOT_COUNT, SlotSet

AGENTS_MAX = 4_096
WEIGHT_MAX = 1e6
_ERA_BITS = 32
NOBODY = ""
_NO_SLOTS = SlotSet()


class SlotPhase(StrEnum):
    """Where a slot is on its way from one owner to the next."""

    SETTLED = "settled"  # the owner visits its hosts
    MOVING = "moving"  # the owner has closed it, or will, and tells its rows to `other`
    OPENING = "opening"  # the owner waits for the parcel of `other`, or for nothing if there is no other
    HELD = "held"  # the owner is fenced; with an `other`, it was opening


class Tenure(NamedTuple):
    """What a table says of a slot."""

    owner: str
    phase: SlotPhase = SlotPhase.SETTLED
    other: str = NOBODY  # moving: the next owner; opening, held: the one before, if it has rows to tell
    parcel: int = 0  # opening: the number of the parcel to wait for; 0 if `other` has still to tell one
    cold: int = 0  # the number of the table by which it was last taken from an owner that is lost


class SlotRange(NamedTuple):
    first: int
    last: int
    tenure: Tenure

    @property
    def slots(self) -> SlotSet:
        return SlotSet.between(self.first, self.last)


class Registered(NamedTuple):
    """An agent that has joined. It stays here when it leaves: its pages belong to the collection."""

    life: str  # of its folder
    weight: float = 1.0


Version: TypeAlias = tuple[int, str]


class OwnershipTable:
    """Immutable. Every slot has exactly one owner, and every owner is registered."""

    def __init__(self, number: int, agents: Mapping[str, Registered], ranges: Iterable[SlotRange]) -> None:
        self.number = number
        self.agents = dict(agents)
        self.ranges = tuple(ranges)

    @staticmethod
    def founded(name: str, life: str, weight: float = 1.0) -> "OwnershipTable":
        """Return the first table of a crawl: its first agent owns all slots."""
        return OwnershipTable(1, {name: Registered(life, weight)}, [SlotRange(0, SLOT_COUNT - 1, Tenure(name))])

    @cached_property
    def version(self) -> Version:
        return self.number, xxhash.xxh3_64_hexdigest(self.encoded)

    @cached_property
    def encoded(self) -> bytes:
        """The table as JSON."""
        agents = {name: [each.life, each.weight] for name, each in self.agents.items()}
        slots = [
            [first, last, owner, other, phase, parcel, cold]
            for first, last, (owner, phase, other, parcel, cold) in self.ranges
        ]
        return packed({"number": self.number, "agents": agents, "slots": slots})

    @cached_property
    def _by_tenure(self) -> dict[Tenure, SlotSet]:
        return _joined_slots((each.tenure, each.slots) for each in self.ranges)

    @cached_property
    def _by_warm_tenure(self) -> dict[Tenure, SlotSet]:
        return _joined_slots((tenure._replace(cold=0), slots) for tenure, slots in self._by_tenure.items())

    def slots_where(self, is_meant: Callable[[Tenure], bool]) -> SlotSet:
        found = SlotSet()
        for tenure, slots in self._by_tenure.items():
            if is_meant(tenure):
                found |= slots
        return found

    def slots_as(self, *tenures: Tenure) -> SlotSet:
        """Return the slots with one of these tenures, whenever they were taken cold."""
        found = SlotSet()
        for each in tenures:
            found |= self._by_warm_tenure.get(each, _NO_SLOTS)
        return found

    def cold_since(self, number: int) -> SlotSet:
        """Return the slots that a table above this number took from a lost owner."""
        return self.slots_where(lambda each: each.cold > number)

    def slots_of(self, owner: str) -> SlotSet:
        return self.slots_where(lambda tenure: tenure.owner == owner)

    @cached_property
    def owner_of_slot(self) -> NDArray[np.uint16]:
        """By slot: the position of its owner in `names`."""
        position = {name: at for at, name in enumerate(self.names)}
        counts = [last - first + 1 for first, last, _ in self.ranges]
        return np.repeat(np.array([position[each.tenure.owner] for each in self.ranges], np.uint16), counts)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self.agents))

    def tenure_of(self, slot: int) -> Tenure:
        return next(each.tenure for each in self.ranges if each.first <= slot <= each.last)

    def changed(self, slots: SlotSet, change: Callable[[Tenure], Tenure]) -> "OwnershipTable":
        """Return the next table, with a change of some slots."""
        return OwnershipTable(self.number + 1, self.agents, _merged(_changed(self.ranges, slots, change)))

    def given(self, slots: SlotSet, tenure: Tenure) -> "OwnershipTable":
        """Return the next table, with some slots under a tenure; their marks stay."""
        return self.changed(slots, lambda old: tenure._replace(cold=old.cold))

    def renumbered(self, number: int) -> "OwnershipTable":
        return OwnershipTable(number, self.agents, self.ranges)

    def with_agent(self, name: str, agent: Registered) -> "OwnershipTable":
        return OwnershipTable(self.number + 1, {**self.agents, name: agent}, self.ranges)

    def restored(self) -> "OwnershipTable":
        """Return the table that is written after the store has lost this one: above all that may have followed it."""
        return self.renumbered(((self.number >> _ERA_BITS) + 1 << _ERA_BITS) + (self.number & (1 << _ERA_BITS) - 1) + 1)

    def problem(self) -> str:
        """Return what makes the table unusable, or an empty text."""
        covered = list(chain.from_iterable((each.first, each.last + 1) for each in self.ranges))
        if covered[:1] != [0] or covered[-1:] != [SLOT_COUNT] or covered[1:-1:2] != covered[2::2]:
            return "the ranges do not cover each slot once"
        if any(each.first > each.last for each in self.ranges):
            return "a range is empty"
        tenures = {each.tenure for each in self.ranges}
        strangers = {name for each in tenures for name in (each.owner, each.other or each.owner)} - set(self.agents)
        return f"{min(strangers)} is not registered" if strangers else _phase_problem(tenures)


def _joined_slots(parts: Iterable[tuple[Tenure, SlotSet]]) -> dict[Tenure, SlotSet]:
    found: dict[Tenure, SlotSet] = {}
    for tenure, slots in parts:
        found[tenure] = found.get(tenure, _NO_SLOTS) | slots
    return found


def _phase_problem(tenures: Iterable[Tenure]) -> str:
    for owner, phase, other, parcel, _ in tenures:
        if other == owner:
            return f"a slot moves from {owner} to itself"
        if (phase is SlotPhase.MOVING and not other) or (phase is SlotPhase.SETTLED and other):
            return f"a slot is {phase} with {other or 'nobody'} as the other"
        if parcel and not (other and phase in (SlotPhase.OPENING, SlotPhase.HELD)):
            return f"a slot is {phase} and waits for a parcel"
    return ""


def _changed(ranges: Iterable[SlotRange], slots: SlotSet, change: Callable[[Tenure], Tenure]) -> Iterator[SlotRange]:
    for each in ranges:
        inside, outside = each.slots & slots, each.slots - slots
        parts = [*((first, last, change(each.tenure)) for first, last in inside.ranges())]
        parts += ((first, last, each.tenure) for first, last in outside.ranges())
        yield from (SlotRange(*part) for part in sorted(parts))


def _merged(ranges: Iterable[SlotRange]) -> Iterator[SlotRange]:
    """Join neighbours of one tenure."""
    last: SlotRange | None = None
    for each in ranges:
        if last is not None and last.tenure == each.tenure:
            last = last._replace(last=each.last)
            continue
        if last is not None:
            yield last
        last = each
    if last is not None:
        yield last


def parse_table(data: bytes) -> OwnershipTable | Malformed:
    """Return the table of a document, or why it is none."""
    try:
        fields = FieldReader(data)
        agents = {_name(name): _agent(agent) for name, agent in fields.mapping("agents", AGENTS_MAX).items()}
        table = OwnershipTable(fields.count("number"), agents, map(_range, fields.list("slots", SLOT_COUNT)))
    except (ValueError, TypeError, RecursionError) as error:
        return Malformed(f"a table of owners: {error}")
    problem = table.problem()
    return Malformed(f"a table of owners: {problem}") if problem else table


def _name(value: object) -> str:
    if not isinstance(value, str) or not NAME.fullmatch(value):
        raise ValueError(f"{value!r:.80} is no name")
    return value


def _agent(value: Any) -> Registered:
    life, weight = value
    if not isinstance(life, str) or not TOKEN.fullmatch(life):
        raise ValueError(f"{life!r:.80} is no life")
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= WEIGHT_MAX:
        raise ValueError(f"{weight!r:.80} is no weight")
    return Registered(life, float(weight))


def _range(value: Any) -> SlotRange:
    first, last, owner, other, phase, parcel, cold = value
    tenure = Tenure(
        _name(owner),
        SlotPhase(phase),
        other if other == NOBODY else _name(other),
        checked_count(parcel, "parcel"),
        checked_count(cold, "cold", COUNT_MAX),
    )
    return SlotRange(checked_count(first, "first", SLOT_COUNT - 1), checked_count(last, "last", SLOT_COUNT - 1), tenure)
