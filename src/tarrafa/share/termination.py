"""Detect that nothing is left anywhere: all agents idle in two looks, with the same counts of work.

An agent is idle when it has nothing to fetch or to verify, no message that a checkpoint lacks, and an empty outbox:
all that it sent is in the checkpoints of the receivers. Its `work` rises whenever it stops being idle. If each record
of the second look was written after the first look, and all say idle with the counts of the first, then all agents were
idle at one moment in between. Nothing was on its way then, so nothing can begin any more.
"""

from collections.abc import Mapping
from typing import NamedTuple

from tarrafa.share.agent_record import AgentRecord, MemberState
from tarrafa.share.table import OwnershipTable, SlotPhase

# An agent that ended, or was given up, and has no slots. What it alone knows is told when it comes back.
_ENDED = frozenset({MemberState.GONE, MemberState.FENCED})


class _IdleRecord(NamedTuple):
    turn: str
    work: int
    beat: int


class Termination:
    """Fed with looks at the records of all registered agents."""

    def __init__(self) -> None:
        # By name, of the first of two looks. Filled and emptied by is_done.
        self._first: dict[str, _IdleRecord] = {}
        self._number = 0

    def is_done(self, table: OwnershipTable, records: Mapping[str, AgentRecord]) -> bool:
        """Return True if this look proves that the crawl is done."""
        found = _idle_records(table, records)
        if found is None:
            self._first = {}
            return False
        is_same = table.number == self._number and found.keys() == self._first.keys()
        if not is_same or any(not _is_unchanged(self._first[name], found[name]) for name in found):
            self._first, self._number = found, table.number
            return False
        return all(found[name].beat > self._first[name].beat for name in found)


def _is_unchanged(first: _IdleRecord, second: _IdleRecord) -> bool:
    return first.turn == second.turn and first.work == second.work


def _idle_records(table: OwnershipTable, records: Mapping[str, AgentRecord]) -> dict[str, _IdleRecord] | None:
    """Return the records of all agents, or None if one is not idle or is missing."""
    if table.slots_where(lambda each: each.phase is not SlotPhase.SETTLED):
        return None
    found = {}
    for name in table.agents:
        record = records.get(name)
        if record is not None and record.state in _ENDED and not table.slots_of(name):
            continue
        if record is None or record.state is not MemberState.ACTIVE or not record.is_idle:
            return None
        found[name] = _IdleRecord(record.turn, record.work, record.beat)
    return found
