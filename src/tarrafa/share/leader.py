"""What one agent does for all: fence the dead, write the next table, grant pages, and see that the crawl is done.

There is no election. Each write is a compare-and-set, so two agents that act at once do no harm. To spare work the live
agent with the lowest name acts; only fencing, which may concern that one, is done by the others after a while.
"""

from collections.abc import Mapping
from typing import NamedTuple

from tarrafa.share.agent_record import AgentRecord, MemberState
from tarrafa.share.balance import GroupFacts, ParcelBounds, improved
from tarrafa.share.grants import GrantUse, granted_more
from tarrafa.share.lease import LeaseTimes, LeaseWatch
from tarrafa.share.member_instructions import DeclareDone, FenceAgent, MemberInstruction, WriteGrants
from tarrafa.share.store_view import StoreView
from tarrafa.share.table import OwnershipTable, Version
from tarrafa.share.termination import Termination

_BALANCED = frozenset({MemberState.ACTIVE, MemberState.LEAVING})
_ENDED = frozenset({MemberState.FENCED, MemberState.GONE})


class MemberSettings(NamedTuple):
    times: LeaseTimes = LeaseTimes()
    look_seconds: float = 1.0  # between looks at the store
    poll_seconds: float = 0.5  # between reads of an empty inbox
    takeover_seconds: float = 900.0  # after which a fenced agent is lost; infinity for never
    parcel: ParcelBounds = ParcelBounds()
    page_limit: int | None = None  # of all agents together


class Leader:
    """Every member has one; see above which of them acts."""

    def __init__(self, name: str, settings: MemberSettings) -> None:
        self._name, self._settings = name, settings
        self._watch, self._end = LeaseWatch(settings.times), Termination()
        # By name: since when an agent is fenced or gone. Filled and emptied by look.
        self._ended_since: dict[str, float] = {}

    def look(self, table: OwnershipTable | None, view: StoreView, now: float) -> None:
        """Note what the store says of all agents."""
        for name, seen in view.records.items():
            self._watch.see(name, seen.revision, now)
        for name in (table.agents if table else {}).keys() - view.records.keys():
            self._watch.see(name, 0, now)
        ended = [name for name, each in view.right_records().items() if each.state in _ENDED]
        self._ended_since = {name: self._ended_since.get(name, now) for name in ended}

    def has_ended(self, name: str) -> bool:
        """Return True if an agent is fenced or gone."""
        return name in self._ended_since

    def is_stale(self, name: str, revision: int, now: float) -> bool:
        """Note a revision of an agent's record; return True if its lease has ended."""
        self._watch.see(name, revision, now)
        return self._watch.may_fence(name, now)

    def is_highest(self, version: Version, view: StoreView, now: float) -> bool:
        """Return True if no live agent has seen a higher table than this one, or the same and has a higher name."""
        mine = (version, self._name)
        live = [each for name, each in view.right_records().items() if not self._watch.may_fence(name, now)]
        return all((each.highest, each.name) <= mine for each in live if each.is_live)

    def next_table(self, table: OwnershipTable, view: StoreView, own: AgentRecord, now: float) -> OwnershipTable | None:
        """Return the next table if this agent has to write it."""
        records = view.right_records()
        if self._rank(records) or self._fences(table, view, now):
            return None
        return improved(table, self._group_facts(table, {**records, self._name: own}, view, now), self._settings.parcel)

    def steps(self, table: OwnershipTable, view: StoreView, now: float) -> list[MemberInstruction]:
        """Return what else has to be done."""
        records = view.right_records()
        fences = self._fences(table, view, now)
        if fences or self._rank(records):
            return [*fences]
        if self._end.is_done(table, records):
            return [DeclareDone()]
        grants = self._grants(records, view)
        return [WriteGrants(grants, view.grants_revision)] if grants else []

    def _rank(self, records: Mapping[str, AgentRecord]) -> int:
        """Return how many live agents come before this one."""
        return sum(each.is_live and name < self._name for name, each in records.items())

    def _fences(self, table: OwnershipTable, view: StoreView, now: float) -> list[FenceAgent]:
        records = view.right_records()
        late = now - self._rank(records) * self._settings.times.beat
        others = [name for name in table.agents if name != self._name and self._watch.may_fence(name, late)]
        return [self._fence(name, table, view) for name in others if name not in records or records[name].is_live]

    def _fence(self, name: str, table: OwnershipTable, view: StoreView) -> FenceAgent:
        seen = view.records.get(name)
        record = view.right_records().get(name, AgentRecord(name, table.agents[name].life, "none"))
        return FenceAgent(record._replace(state=MemberState.FENCED), seen.revision if seen else None)

    def _grants(self, records: Mapping[str, AgentRecord], view: StoreView) -> dict[str, int] | None:
        if self._settings.page_limit is None:
            return None
        live = {name: each for name, each in records.items() if each.is_live}
        uses = {name: GrantUse(each.pages, each.returned, not each.is_idle) for name, each in live.items()}
        return granted_more(self._settings.page_limit, view.grants, uses)

    def _group_facts(
        self, table: OwnershipTable, records: Mapping[str, AgentRecord], view: StoreView, now: float
    ) -> GroupFacts:
        known = {name: each for name, each in records.items() if name in table.agents}
        active = {name: each for name, each in known.items() if each.state in _BALANCED}
        fenced = {name for name, each in known.items() if each.state is MemberState.FENCED}
        gone = {name for name, each in known.items() if each.state is MemberState.GONE}
        lost = {name for name in fenced if name in view.forgotten or self._is_waited_for(name, now)}
        weights = {name: 0.0 if each.state is MemberState.LEAVING else each.weight for name, each in active.items()}
        rows = {name: each.rows for name, each in active.items()}
        return GroupFacts(weights, frozenset(fenced | gone), frozenset(lost | gone), rows)

    def _is_waited_for(self, name: str, now: float) -> bool:
        return now - self._ended_since.get(name, now) >= self._settings.takeover_seconds
