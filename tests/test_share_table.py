"""Slots, the table of owners, and the plan of the next table."""

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.share.balance import GroupFacts, ParcelBounds, improved, regained
from tarrafa.share.documents import Malformed
from tarrafa.share.routes import HostRoutes, Router
from tarrafa.share.slots import ALL_SLOTS, SLOT_COUNT, HostSlots, SlotSet, slot_of, slot_of_hash
from tarrafa.share.table import OwnershipTable, Registered, SlotPhase, SlotRange, Tenure, parse_table
from tarrafa.urls import fingerprint

SLOTS = st.sets(st.integers(0, SLOT_COUNT - 1), max_size=40)
NAMES = ["00", "01", "02", "03", "04"]
BOUNDS = ParcelBounds()


# Slots.


def test_slot_of_a_host_is_that_of_its_site_and_never_changes() -> None:
    """Stored tables and blocks depend on it."""
    assert slot_of("http://example.org", 1) == 3888
    assert slot_of("https://www.example.org:8443", 1) == 3888
    assert slot_of("http://example.org", 2) != 3888
    assert slot_of_hash(fingerprint("example.org", 1)) == 3888


def test_slots_of_a_column_are_those_of_each_host() -> None:
    hosts = ["http://a.example", "https://b.a.example:81", "http://u:p@c.org", "http://[::1]:8", "http://192.0.2.1"]
    urls = [f"{host}/{path}" for host in hosts for path in ("", "x/y?z=/", "é")]
    column = pa.array(["left out", *urls], pa.large_string()).slice(1)
    for slots in (HostSlots(7), HostSlots(7, hosts_max=1)):
        for _ in range(2):
            assert slots.slots_of(column).tolist() == [slot_of(url[: url.index("/", 8)], 7) for url in urls]
    assert len(HostSlots(7).slots_of(column.slice(0, 0))) == 0


@given(SLOTS, SLOTS)
def test_set_of_slots_is_like_a_set(left: set[int], right: set[int]) -> None:
    one, other = SlotSet.of(left), SlotSet.of(right)
    assert list((one | other).slots()) == sorted(left | right)
    assert list((one & other).slots()) == sorted(left & right)
    assert list((one - other).slots()) == sorted(left - right)
    assert (one.count, bool(one), one == other) == (len(left), bool(left), left == right)
    assert all(one.has(slot) for slot in left)


@given(SLOTS, st.integers(0, 50))
def test_highest_slots_of_a_set(slots: set[int], count: int) -> None:
    assert list(SlotSet.of(slots).last_ones(count).slots()) == sorted(sorted(slots, reverse=True)[:count])


@given(SLOTS)
def test_ranges_cover_a_set_without_touching(slots: set[int]) -> None:
    ranges = list(SlotSet.of(slots).ranges())
    assert [slot for first, last in ranges for slot in range(first, last + 1)] == sorted(slots)
    assert all(before[1] + 1 < after[0] for before, after in pairwise(ranges))


# Tables.


def given_to(table: OwnershipTable, slots: SlotSet, tenure: Tenure) -> OwnershipTable:
    return table.changed(slots, lambda _: tenure)


@st.composite
def tables(draw: st.DrawFn) -> OwnershipTable:
    agents = {name: Registered(f"life{name}", float(draw(st.integers(0, 4)))) for name in NAMES}
    table = OwnershipTable(draw(st.integers(1, 9)), agents, OwnershipTable.founded("00", "a").ranges)
    for _ in range(draw(st.integers(0, 6))):
        owner, other = draw(st.permutations(NAMES))[:2]
        tenures = [
            Tenure(owner),
            Tenure(owner, SlotPhase.MOVING, other),
            Tenure(owner, SlotPhase.OPENING, other, draw(st.integers(0, 5))),
            Tenure(owner, SlotPhase.OPENING, cold=3),
            Tenure(owner, SlotPhase.HELD),
        ]
        table = given_to(table, SlotSet.of(draw(SLOTS)), draw(st.sampled_from(tenures)))
    return table


@given(tables())
def test_table_is_read_as_it_was_written(table: OwnershipTable) -> None:
    found = parse_table(table.encoded)
    assert isinstance(found, OwnershipTable)
    assert (found.version, found.ranges, found.agents) == (table.version, table.ranges, table.agents)


@given(tables())
def test_owners_by_slot_are_those_of_the_ranges(table: OwnershipTable) -> None:
    owners = [table.names[position] for position in table.owner_of_slot]
    assert owners == [each.tenure.owner for each in table.ranges for _ in range(each.first, each.last + 1)]
    union = SlotSet()
    for name in table.names:
        union |= table.slots_of(name)
    assert union == ALL_SLOTS


def test_neighbours_of_one_tenure_are_one_range() -> None:
    table = OwnershipTable.founded("00", "a").with_agent("01", Registered("b"))
    there = table.changed(SlotSet.between(5, 9), lambda _: Tenure("01"))
    assert len(there.ranges) == 3
    assert there.changed(SlotSet.between(0, 99), lambda _: Tenure("00")).ranges == table.ranges


def test_restored_table_is_above_all_that_may_have_followed_the_lost_one() -> None:
    known = OwnershipTable.founded("00", "a").renumbered(17)
    lost = known.renumbered(4_000_000)
    assert known.restored().version > lost.version
    assert known.restored().restored().version > lost.restored().version


GOOD: dict[str, Any] = json.loads(OwnershipTable.founded("00", "abc").encoded)


@pytest.mark.parametrize(
    "change",
    [
        {"number": -1},
        {"number": True},
        {"number": 2**70},
        {"agents": {"00": ["a b", 1.0]}},
        {"agents": {"../etc": ["a", 1.0]}},
        {"agents": {"00": ["a", float("nan")]}},
        {"agents": {"00": ["a", -1]}},
        {"agents": []},
        {"slots": []},
        {"slots": [[0, 4095, "01", "", "settled", 0, 0]]},
        {"slots": [[0, 4094, "00", "", "settled", 0, 0]]},
        {"slots": [[1, 4095, "00", "", "settled", 0, 0]]},
        {"slots": [[0, 9, "00", "", "settled", 0, 0], [9, 4095, "00", "", "settled", 0, 0]]},
        {"slots": [[0, 4095, "00", "", "moving", 0, 0]]},
        {"slots": [[0, 4095, "00", "00", "moving", 0, 0]]},
        {"slots": [[0, 4095, "00", "", "opening", 3, 0]]},
        {"slots": [[0, 4095, "00", "", "flying", 0, 0]]},
        {"slots": [[0, 4095, "00", "", "settled", 0]]},
        {"slots": [[0, 4095, "00", "", "settled", 0, 0]] * 5_000},
    ],
)
def test_wrong_table_is_malformed(change: Mapping[str, Any]) -> None:
    assert isinstance(parse_table(json.dumps({**GOOD, **change}).encode()), Malformed)


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"null", b"\xff", b"[" * 100_000, b" " * (2 << 20)])
def test_text_that_is_no_table_is_malformed(data: bytes) -> None:
    assert isinstance(parse_table(data), Malformed)


@given(st.binary(max_size=200), st.integers(0, 80))
def test_damaged_table_is_malformed_or_a_table_without_problems(noise: bytes, at: int) -> None:
    data = OwnershipTable.founded("00", "abc").encoded
    found = parse_table(data[:at] + noise + data[at + len(noise) :])
    assert isinstance(found, Malformed) or not found.problem()


# The plan.


def settle(table: OwnershipTable) -> OwnershipTable:
    """Let all that moves arrive."""
    moving = table.slots_where(lambda each: each.phase is not SlotPhase.SETTLED and each.phase is not SlotPhase.HELD)
    return table.changed(moving, lambda each: Tenure(each.other if each.phase is SlotPhase.MOVING else each.owner))


def planned(table: OwnershipTable, facts: GroupFacts, bounds: ParcelBounds = BOUNDS) -> tuple[OwnershipTable, int]:
    """Return the table at which nothing is left to improve, and how many slots have moved."""
    moved, table = 0, settle(table)
    for _ in range(1_000):
        found = improved(table, facts, bounds)
        if found is None:
            return table, moved
        assert found.number == table.number + 1
        assert not found.problem()
        moved += (found.slots_where(lambda each: each.phase is SlotPhase.MOVING)).count
        table = settle(found)
    raise AssertionError("the plan never ends")


def group(count: int) -> OwnershipTable:
    agents = {f"{at:02}": Registered(f"life{at}") for at in range(count)}
    table = OwnershipTable(1, agents, OwnershipTable.founded("00", "a").ranges)
    return planned(table, GroupFacts(dict.fromkeys(agents, 1.0)))[0]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 30])
def test_agent_that_joins_gets_its_part_and_nothing_else_moves(count: int) -> None:
    table = group(count)
    joined = table.with_agent("new", Registered("b"))
    found, moved = planned(joined, GroupFacts(dict.fromkeys(joined.agents, 1.0)))
    assert moved == found.slots_of("new").count == SLOT_COUNT // (count + 1)
    for name in table.agents:
        assert not found.slots_of(name) - table.slots_of(name)


@pytest.mark.parametrize("count", [2, 3, 8])
def test_agent_that_leaves_gives_all_away_and_nothing_else_moves(count: int) -> None:
    table = group(count)
    weights = {name: float(name != "01") for name in table.agents}
    found, moved = planned(table, GroupFacts(weights))
    assert moved == table.slots_of("01").count
    assert not found.slots_of("01")


@given(tables(), st.dictionaries(st.sampled_from(NAMES), st.sampled_from([0.0, 1.0, 2.0]), min_size=1))
def test_plan_ends_in_balance_by_weight(table: OwnershipTable, weights: dict[str, float]) -> None:
    """From any table, with any agents dead: those that are not live lose their slots when they are lost."""
    dead = frozenset(NAMES) - set(weights)
    found, _ = planned(table, GroupFacts(weights, dead, dead), ParcelBounds(slots=900))
    total = sum(weights.values())
    # A held slot of a live agent is its own to take back.
    for name in weights:
        found = regained(found, name) or found
    found, _ = planned(found, GroupFacts(weights, dead, dead), ParcelBounds(slots=900))
    if total:
        assert {each.tenure.phase for each in found.ranges} == {SlotPhase.SETTLED}
        for name, weight in weights.items():
            assert abs(found.slots_of(name).count - SLOT_COUNT * weight / total) < len(NAMES)


def test_donor_moves_one_parcel_at_a_time() -> None:
    table = OwnershipTable.founded("00", "a").with_agent("01", Registered("b"))
    facts = GroupFacts({"00": 1.0, "01": 1.0}, rows={"00": 4_096_000_000})
    first = improved(table, facts, BOUNDS)
    assert first is not None
    assert first.slots_where(lambda each: each.phase is SlotPhase.MOVING).count == 1  # a slot has a million rows
    assert improved(first, facts, BOUNDS) is None
    opening = first.changed(
        first.slots_where(lambda each: each.phase is SlotPhase.MOVING),
        lambda _: Tenure("01", SlotPhase.OPENING, "00", 1),
    )
    assert improved(opening, facts, BOUNDS) is None


def test_slots_of_a_fenced_agent_are_held_and_resume_where_they_were() -> None:
    table = group(2)
    mine = table.slots_of("01")
    opening = mine.last_ones(10)
    table = table.changed(opening, lambda _: Tenure("01", SlotPhase.OPENING, "00", 4))
    held = improved(table, GroupFacts({"00": 1.0}, frozenset({"01"})), BOUNDS)
    assert held is not None
    assert improved(held, GroupFacts({"00": 1.0}, frozenset({"01"})), BOUNDS) is None
    assert held.slots_of("01") == mine
    assert held.slots_where(lambda each: each.phase is SlotPhase.HELD) == mine
    back = regained(held, "01")
    assert back is not None
    assert back.ranges == table.ranges
    assert regained(back, "01") is None


def test_slots_that_were_to_move_to_a_fenced_agent_stay() -> None:
    table = group(2).with_agent("02", Registered("c"))
    moving = improved(table, GroupFacts(dict.fromkeys(table.agents, 1.0)), BOUNDS)
    assert moving is not None
    found = improved(moving, GroupFacts({"00": 1.0, "01": 1.0}, frozenset({"02"})), BOUNDS)
    assert found is not None
    assert found.ranges == table.ranges


def test_slots_of_a_lost_agent_begin_anew_and_are_marked_cold() -> None:
    table = group(2)
    lost = table.slots_of("01")
    found, _ = planned(table, GroupFacts({"00": 1.0}, frozenset({"01"})))
    taken = improved(found, GroupFacts({"00": 1.0}, frozenset({"01"}), frozenset({"01"})), BOUNDS)
    assert taken is not None
    assert {taken.tenure_of(slot) for slot in lost.slots()} == {Tenure("00", SlotPhase.OPENING, cold=taken.number)}


def test_slots_that_a_lost_agent_was_opening_are_told_again_by_their_donor() -> None:
    table = group(3)
    slots = table.slots_of("01").last_ones(9)
    table = table.changed(slots, lambda _: Tenure("01", SlotPhase.HELD, "00", 4))
    facts = GroupFacts({"00": 0.0, "02": 1.0}, frozenset({"01"}), frozenset({"01"}))
    found = improved(improved(table, facts, BOUNDS) or table, facts, BOUNDS)
    assert found is not None
    assert found.tenure_of(next(slots.slots())) == Tenure("02", SlotPhase.OPENING, "00", 0, found.number)


# Routes.


@given(st.dictionaries(st.integers(0, 2**64 - 1), st.sampled_from([*NAMES, "99"]), max_size=30), tables())
def test_host_with_a_route_goes_there_and_all_others_by_slot(owners: dict[int, str], table: OwnershipTable) -> None:
    router = Router(table, HostRoutes.of(owners))
    hosts = [*owners, *(host ^ 1 for host in owners), 0, 2**64 - 1]
    wanted = [
        owners[host] if owners.get(host, "99") != "99" else table.tenure_of(slot_of_hash(host)).owner for host in hosts
    ]
    found = router.owners_of(np.array(hosts, np.uint64))
    assert [router.names[at] for at in found] == wanted
    assert [router.owner_of(host) for host in hosts] == wanted
    assert all(router.is_by_route(host) == (owners.get(host, "99") != "99") for host in hosts)


def test_ranges_of_another_table_are_kept_apart() -> None:
    """A tenure that differs only in its mark is another range."""
    table = OwnershipTable.founded("00", "a").changed(SlotSet.between(0, 9), lambda each: each._replace(cold=2))
    assert [(each.first, each.last) for each in table.ranges] == [(0, 9), (10, SLOT_COUNT - 1)]
    assert SlotRange(0, 9, Tenure("00", cold=2)) in table.ranges
