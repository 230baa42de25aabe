"""Plan the next table: pure, so that whichever agent writes it first is right.

`improved` makes one change at a time, the most urgent first: slots of fenced agents are held, slots of lost agents are
taken, and then slots move from agents that have too many to agents that have too few. No more slots move than balance
needs: when an agent joins n others of its weight, 1/(n + 1) of them.
"""

from collections.abc import Mapping
from typing import NamedTuple

from tarrafa.share.slots import SlotSet
from tarrafa.share.table import NOBODY, OwnershipTable, SlotPhase, Tenure


class GroupFacts(NamedTuple):
    """What the planner knows of the agents of a table."""

    weights: Mapping[str, float]  # of agents that are live; 0 for those that leave
    fenced: frozenset[str] = frozenset()
    lost: frozenset[str] = frozenset()  # of the fenced: waited for long enough, or forgotten by an operator
    rows: Mapping[str, int] = {}  # URLs that an agent knows

    @property
    def takers(self) -> dict[str, float]:
        return {name: weight for name, weight in self.weights.items() if weight > 0}


class ParcelBounds(NamedTuple):
    """How much one donor moves at a time. The hosts of these slots rest meanwhile."""

    slots: int = 64
    rows: int = 1_000_000


def improved(table: OwnershipTable, facts: GroupFacts, bounds: ParcelBounds) -> OwnershipTable | None:
    """Return the next table, or None if there is nothing to change."""
    for step in (_with_fenced_held, _without_dead_receivers, _with_lost_taken, _without_lost_donors):
        found = step(table, facts)
        if found is not None:
            return found
    return _with_move(table, facts, bounds)


def regained(table: OwnershipTable, name: str) -> OwnershipTable | None:
    """Return the table in which an agent that came back has its held slots again, or None if it has none."""

    def resumed(tenure: Tenure) -> Tenure:
        return tenure._replace(phase=SlotPhase.OPENING if tenure.other else SlotPhase.SETTLED)

    held = table.slots_where(lambda each: each.owner == name and each.phase is SlotPhase.HELD)
    return table.changed(held, resumed) if held else None


def _with_fenced_held(table: OwnershipTable, facts: GroupFacts) -> OwnershipTable | None:
    def held(tenure: Tenure) -> Tenure:
        if tenure.phase is SlotPhase.OPENING:
            return tenure._replace(phase=SlotPhase.HELD)
        return tenure._replace(phase=SlotPhase.HELD, other=NOBODY)

    slots = table.slots_where(lambda each: each.owner in facts.fenced and each.phase is not SlotPhase.HELD)
    return table.changed(slots, held) if slots else None


def _without_dead_receivers(table: OwnershipTable, facts: GroupFacts) -> OwnershipTable | None:
    """Leave slots with their owner that were to move to a fenced agent."""
    slots = table.slots_where(lambda each: each.phase is SlotPhase.MOVING and each.other in facts.fenced)
    return table.changed(slots, lambda each: each._replace(phase=SlotPhase.SETTLED, other=NOBODY)) if slots else None


def _with_lost_taken(table: OwnershipTable, facts: GroupFacts) -> OwnershipTable | None:
    """Give slots of lost agents to others, who begin anew: cold, unless a donor still has the rows."""
    slots = table.slots_where(lambda each: each.owner in facts.lost and each.phase is SlotPhase.HELD)
    if not slots or not facts.takers:
        return None
    name, room = _neediest(table, facts, slots.count)
    return table.changed(slots.last_ones(room), lambda each: _taken(each, name, table, facts))


def _taken(tenure: Tenure, name: str, table: OwnershipTable, facts: GroupFacts) -> Tenure:
    other = NOBODY if tenure.other in facts.lost or tenure.other == name else tenure.other
    return Tenure(name, SlotPhase.OPENING, other, 0, table.number + 1)


def _without_lost_donors(table: OwnershipTable, facts: GroupFacts) -> OwnershipTable | None:
    slots = table.slots_where(lambda each: each.phase is SlotPhase.OPENING and each.other in facts.lost)
    cold = table.number + 1
    return table.changed(slots, lambda each: Tenure(each.owner, SlotPhase.OPENING, cold=cold)) if slots else None


def _with_move(table: OwnershipTable, facts: GroupFacts, bounds: ParcelBounds) -> OwnershipTable | None:
    """Begin to move slots from one agent that has too many and moves none."""
    surplus = {name: -room for name, room in _room(table, facts, 0).items()}
    for name in sorted(surplus, key=lambda each: (-surplus[each], each)):
        count = min(surplus[name], _parcel_slots(table, name, facts, bounds))
        settled = _settled(table, name)
        if count > 0 and settled and not _is_moving(table, name):
            receiver, room = _neediest(table, facts)
            return _moved(table, settled.last_ones(min(count, room)), receiver)
    return None


def _moved(table: OwnershipTable, slots: SlotSet, receiver: str) -> OwnershipTable:
    return table.changed(slots, lambda each: each._replace(phase=SlotPhase.MOVING, other=receiver))


def _settled(table: OwnershipTable, name: str) -> SlotSet:
    return table.slots_as(Tenure(name))


def _parcel_slots(table: OwnershipTable, name: str, facts: GroupFacts, bounds: ParcelBounds) -> int:
    rows_per_slot = facts.rows.get(name, 0) / max(table.slots_of(name).count, 1)
    return bounds.slots if rows_per_slot == 0 else max(1, min(bounds.slots, int(bounds.rows / rows_per_slot)))


def _is_moving(table: OwnershipTable, donor: str) -> bool:
    """Return True if an agent gives slots away, or has rows to tell of slots that it gave away."""

    def is_given(each: Tenure) -> bool:
        return (each.owner if each.phase is SlotPhase.MOVING else each.other) == donor

    return bool(table.slots_where(is_given))


def _destined(table: OwnershipTable, name: str) -> int:
    """Return how many slots an agent will have when nothing moves any more."""
    return table.slots_where(lambda each: (each.other if each.phase is SlotPhase.MOVING else each.owner) == name).count


def _room(table: OwnershipTable, facts: GroupFacts, free_count: int) -> dict[str, int]:
    """Return how many slots each live agent lacks, if so many more are theirs; negative if it has too many."""
    destined = {name: _destined(table, name) for name in facts.weights}
    total, weights = sum(destined.values()) + free_count, sum(facts.weights.values())
    if not weights:
        return {}
    targets = {name: int(total * weight / weights) for name, weight in facts.weights.items()}
    # What is left over after rounding stays where it is.
    takers = sorted(facts.takers, key=lambda name: (targets[name] - destined[name], name))
    for name in takers[: total - sum(targets.values())]:
        targets[name] += 1
    return {name: targets[name] - destined[name] for name in facts.weights}


def _neediest(table: OwnershipTable, facts: GroupFacts, free_count: int = 0) -> tuple[str, int]:
    room = _room(table, facts, free_count)
    name = min(facts.takers, key=lambda each: (-room[each], each))
    return name, room[name]
