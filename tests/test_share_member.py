"""Single steps of a member: joining, pausing, being fenced, a name in use, a lost store."""

from collections.abc import Callable, Mapping

import pytest

from tarrafa.share.agent_record import AgentRecord, MemberState
from tarrafa.share.leader import MemberSettings
from tarrafa.share.lease import LeaseTimes
from tarrafa.share.member import Member, MemberIdentity, MemberSave
from tarrafa.share.member_instructions import (
    ArmTimer,
    DisarmTimer,
    EndMember,
    FenceAgent,
    HangUp,
    KeepTable,
    LookAtStore,
    MemberInstruction,
    OpenSlots,
    RenewLease,
    WriteTable,
)
from tarrafa.share.slots import ALL_SLOTS
from tarrafa.share.store_view import SeenRecord, StoreView
from tarrafa.share.table import OwnershipTable, Registered

TIMES = LeaseTimes()
TABLE = OwnershipTable.founded("00", "life00")
BOTH = TABLE.with_agent("01", Registered("life01"))


def member(table: OwnershipTable | None = TABLE, *, founder: bool = False) -> Member:
    turns = iter(["one", "two", "three"])
    identity = MemberIdentity("00", "life00", "here", is_founder=founder)
    return Member(identity, MemberSettings(TIMES), MemberSave(table=table), lambda: next(turns))


def view(record: AgentRecord | None, table: OwnershipTable | None = TABLE, revision: int = 5) -> StoreView:
    records: Mapping[str, SeenRecord] = {} if record is None else {"00": SeenRecord(record, revision)}
    return StoreView(table, 1 if table else None, records)


def only(kind: type, instructions: list[MemberInstruction]) -> list[MemberInstruction]:
    return [each for each in instructions if isinstance(each, kind)]


def kinds(instructions: list[MemberInstruction]) -> list[type]:
    return [type(each) for each in instructions]


def look(agent: Member, seen: StoreView, now: float) -> list[MemberInstruction]:
    """Let the member look at the store; return what it asks for when it has seen it."""
    while not only(LookAtStore, agent.tick(now)):
        now += 0.1
    return agent.looked(seen, now)


def run_until(
    kind: type, agent: Member, record: AgentRecord, seen: Callable[[AgentRecord], StoreView], now: float
) -> tuple[float, list[MemberInstruction]]:
    """Renew the lease and look at the store until the member asks for something; return when, and that."""
    while now < 60:
        now += 0.5
        todo = agent.tick(now)
        for each in only(RenewLease, todo):
            assert isinstance(each, RenewLease)
            record = each.record
            agent.renewed(record.turn, record.beat, 50, now)
        found = agent.looked(seen(record), now) if only(LookAtStore, todo) else []
        if only(kind, found):
            return now, only(kind, found)
    raise AssertionError("the member never asked for it")


def joined(agent: Member) -> AgentRecord:
    """Let the member join at time 0, as the first at its server."""
    (renewal,) = only(RenewLease, look(agent, view(None), 0.0))
    assert isinstance(renewal, RenewLease)
    assert renewal.revision is None
    found = agent.renewed(renewal.record.turn, renewal.record.beat, 5, 0.1)
    assert kinds(found) == [ArmTimer, OpenSlots]
    assert found == [ArmTimer(TIMES.lease), OpenSlots(ALL_SLOTS)]
    return renewal.record


def test_member_arms_its_timer_before_it_opens_slots() -> None:
    agent = member()
    joined(agent)
    assert agent.is_visiting
    assert agent.is_open(17)


def test_member_that_cannot_renew_hangs_up_and_only_then_disarms() -> None:
    agent = member()
    joined(agent)
    assert not only(HangUp, agent.tick(TIMES.lease - TIMES.hang_up - 0.1))
    assert kinds(agent.tick(TIMES.lease - TIMES.hang_up))[:2] == [HangUp, DisarmTimer]
    assert agent.state is MemberState.PAUSED
    assert not agent.is_open(17)


def test_late_answer_does_not_lengthen_the_lease_beyond_its_sending() -> None:
    agent = member()
    record = joined(agent)
    (renewal,) = only(RenewLease, agent.tick(2.0))
    assert isinstance(renewal, RenewLease)
    assert agent.renewed(record.turn, renewal.record.beat, 6, 6.9) == [ArmTimer(2.0 + TIMES.lease)]


def test_fenced_member_hangs_up_and_joins_as_a_new_turn() -> None:
    agent = member()
    record = joined(agent)
    found = look(agent, view(record._replace(state=MemberState.FENCED)), 1.0)
    assert kinds(found)[:2] == [HangUp, DisarmTimer]
    (renewal,) = only(RenewLease, found)
    assert isinstance(renewal, RenewLease)
    assert (renewal.record.turn, renewal.record.state, renewal.revision) == ("two", MemberState.JOINING, 5)


def test_answer_for_an_earlier_turn_is_not_taken_for_this_one() -> None:
    agent = member()
    record = joined(agent)
    look(agent, view(record._replace(state=MemberState.FENCED)), 1.0)
    assert agent.renewed(record.turn, record.beat, 9, 1.2) == []
    assert not agent.is_visiting


def test_name_of_another_folder_is_refused() -> None:
    found = look(member(), view(AgentRecord("00", "other", "x")), 0.0)
    assert found == [EndMember("another folder has the name 00", is_failure=True)]


def test_copy_of_a_running_folder_ends_the_one_that_was_replaced() -> None:
    agent = member()
    record = joined(agent)
    found = look(agent, view(record._replace(turn="thief"), revision=9), 1.0)
    assert kinds(found)[:3] == [HangUp, DisarmTimer, EndMember]
    assert found[2] == EndMember("another process uses a copy of the folder of agent 00", is_failure=True)


def test_folder_from_another_machine_waits_until_the_lease_there_has_ended() -> None:
    agent = member()
    record = AgentRecord("00", "life00", "x", machine="there")
    assert not only(RenewLease, look(agent, view(record), 0.0))
    assert not only(RenewLease, look(agent, view(record), TIMES.lease))
    assert only(RenewLease, look(agent, view(record), TIMES.fence_after + 0.5))


def test_restart_on_the_same_machine_does_not_wait() -> None:
    record = AgentRecord("00", "life00", "x", machine="here")
    (renewal,) = only(RenewLease, look(member(), view(record), 0.0))
    assert isinstance(renewal, RenewLease)
    assert renewal.revision == 5


def test_lost_store_pauses_and_is_restored_when_all_old_leases_have_ended() -> None:
    agent = member()
    joined(agent)
    found = look(agent, view(None, None), 1.0)
    assert kinds(found)[:2] == [HangUp, DisarmTimer]
    (renewal,) = only(RenewLease, found)
    assert isinstance(renewal, RenewLease)
    agent.renewed(renewal.record.turn, renewal.record.beat, 50, 1.0)
    now, (order,) = run_until(WriteTable, agent, renewal.record, lambda record: view(record, None, 50), 1.0)
    assert not agent.is_visiting
    assert now >= 1.0 + TIMES.fence_after
    assert isinstance(order, WriteTable)
    assert (order.revision, order.table.ranges) == (None, TABLE.ranges)
    assert order.table.number > 2**32


def test_lower_table_is_not_obeyed() -> None:
    agent = member(BOTH)
    found = look(agent, view(None, TABLE), 0.0)
    assert not only(KeepTable, found)
    assert agent.table is BOTH


@pytest.mark.parametrize(("founder", "wanted"), [(True, [KeepTable, WriteTable]), (False, [])])
def test_only_the_founder_makes_the_first_table(founder: bool, wanted: list[type]) -> None:
    agent = member(None, founder=founder)
    (renewal,) = only(RenewLease, look(agent, view(None, None), 0.0))
    assert isinstance(renewal, RenewLease)
    agent.renewed(renewal.record.turn, renewal.record.beat, 5, 0.0)
    found = look(agent, view(renewal.record, None), 1.0)
    assert [kind for kind in kinds(found) if kind in (KeepTable, WriteTable)] == wanted


def test_agent_that_is_not_heard_of_is_fenced_after_lease_and_margin() -> None:
    agent = member(BOTH)
    (renewal,) = only(RenewLease, look(agent, view(None, BOTH), 0.0))
    assert isinstance(renewal, RenewLease)
    other = SeenRecord(AgentRecord("01", "life01", "x", state=MemberState.PAUSED), 3)
    agent.renewed(renewal.record.turn, renewal.record.beat, 50, 0.0)

    def seen(record: AgentRecord) -> StoreView:
        return StoreView(BOTH, 1, {"00": SeenRecord(record, 50), "01": other})

    now, fenced = run_until(FenceAgent, agent, renewal.record, seen, 0.0)
    assert now >= TIMES.fence_after
    assert fenced == [FenceAgent(AgentRecord("01", "life01", "x", state=MemberState.FENCED), 3)]
