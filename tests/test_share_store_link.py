"""Members over real channels: two agents share a crawl, in memory and over a NATS server."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

from tarrafa.share.agent_record import MemberState
from tarrafa.share.channel import Channel
from tarrafa.share.handover import ranges_of
from tarrafa.share.leader import MemberSettings
from tarrafa.share.lease import LeaseTimes
from tarrafa.share.member import AgentFacts, Member, MemberIdentity, MemberSave
from tarrafa.share.member_instructions import (
    AdmitParcel,
    CloseSlots,
    DrainSlots,
    MarkAway,
    MemberInstruction,
    TakeIn,
    TellSlots,
)
from tarrafa.share.memory_channel import MemoryChannel, MemoryStore
from tarrafa.share.messages import SCHEMAS, MessageKind, pack_rows
from tarrafa.share.nats_channel import NatsAccess, NatsChannel
from tarrafa.share.nats_server import NatsServer
from tarrafa.share.numbers import SendKey
from tarrafa.share.slots import SLOT_COUNT
from tarrafa.share.store_link import StoredMessage, StoreLink
from tarrafa.share.table import SlotPhase

URLS = ["http://a.example/", "http://b.example/x"]


class SmallAgent:
    """An agent without visits, whose checkpoints are done at once. Its time passes by steps."""

    def __init__(self, name: str, channel: Channel) -> None:
        self.now = 0.0
        identity = MemberIdentity(name, f"life{name}", "here", is_founder=name == "00")
        settings = MemberSettings(LeaseTimes(), page_limit=100)
        self.member = Member(identity, settings, MemberSave(), lambda: "turn")
        self.link = StoreLink(self.member, name, identity.life, channel, self, lambda: self.now)
        self.outbox: dict[SendKey, StoredMessage] = {}
        self.taken: list[str] = []
        self.seen_kinds: set[str] = set()

    def read(self, key: SendKey) -> StoredMessage:
        return self.outbox[key]

    async def step(self) -> None:
        self.now += 0.1
        await self.do(self.member.tick(self.now))
        if self.member.needs_checkpoint:
            self.member.checkpoint_begun()
            await self.do(self.member.checkpoint_done())

    async def do(self, instructions: list[MemberInstruction]) -> None:
        for each in instructions:
            self.seen_kinds.add(type(each).__name__)
            await self.do(await self.link.carry_out(each) if self.link.handles(each) else self.own(each))

    def own(self, order: MemberInstruction) -> list[MemberInstruction]:
        if isinstance(order, CloseSlots):
            return self.member.landed(order.slots)
        if isinstance(order, DrainSlots):
            return self.member.drained(order.slots)
        if isinstance(order, TellSlots):
            self.tell(order)
        elif isinstance(order, AdmitParcel):
            self.member.admitted(order.key)
        elif isinstance(order, MarkAway):
            self.member.marked_away(order.slots)
        elif isinstance(order, TakeIn) and order.message.rows.num_columns:
            self.taken += order.message.rows["url"].to_pylist()
        return []

    def tell(self, order: TellSlots) -> None:
        columns = [pa.array([1] * len(URLS), kind) for kind in SCHEMAS["found"].types[1:]]
        rows = pa.Table.from_arrays([pa.array(URLS, pa.large_string()), *columns], schema=SCHEMAS["found"])
        nothing = SCHEMAS["none"].empty_table()
        self.put(order, "begin", nothing, {"slots": ranges_of(order.slots), "table": self.table_number})
        self.put(order, "rows", rows, {})
        self.put(order, "end", nothing, {"rows": len(URLS)})
        self.member.told(order.slots, order.parcel)

    def put(self, order: TellSlots, part: str, rows: pa.Table, about: Mapping[str, object]) -> None:
        key = SendKey(order.receiver, self.member.number_for(order.receiver))
        name = "found" if rows.num_columns else "none"
        headers = {"parcel": order.parcel, "part": part, **about}
        self.outbox[key] = StoredMessage(
            MessageKind.PARCEL, self.table_number, headers, name, rows.num_rows, pack_rows(rows)
        )

    @property
    def table_number(self) -> int:
        assert self.member.table is not None
        return self.member.table.number


def is_shared(agents: list[SmallAgent]) -> bool:
    table = agents[0].member.table
    if table is None or any(each.member.table is None for each in agents):
        return False
    is_settled = {each.tenure.phase for each in table.ranges} == {SlotPhase.SETTLED}
    return is_settled and table.slots_of("01").count == SLOT_COUNT // 2


async def share_slots(channels: list[Channel]) -> None:
    agents = [SmallAgent(f"{at:02}", channel) for at, channel in enumerate(channels)]
    for _ in range(4_000):
        for each in agents:
            await each.step()
        if is_shared(agents) and not agents[1].seen_kinds.isdisjoint({"OpenSlots"}):
            break
    assert is_shared(agents)
    assert [each.member.state for each in agents] == [MemberState.ACTIVE] * 2
    assert set(agents[1].taken) == set(URLS)
    for each in agents:
        each.member.report(AgentFacts(is_idle=True))
    for _ in range(400):
        for each in agents:
            await each.step()
    # Nothing is left anywhere, so both have ended.
    assert all("EndMember" in each.seen_kinds for each in agents)
    assert "WriteGrants" in agents[0].seen_kinds
    assert not agents[0].member.is_open(0)
    assert agents[0].link.damaged_count == 0


def test_two_agents_share_a_crawl_in_memory() -> None:
    store = MemoryStore()
    asyncio.run(share_slots([MemoryChannel(store), MemoryChannel(store)]))


@contextmanager
def served(folder: Path) -> Iterator[NatsServer]:
    server = NatsServer(folder)
    try:
        yield server
    finally:
        server.stop()


def test_two_agents_share_a_crawl_over_nats(tmp_path: Path) -> None:
    async def run(server: NatsServer) -> None:
        channels: list[Channel] = [await NatsChannel.connected(NatsAccess(server.url), "c") for _ in range(2)]
        try:
            await share_slots(channels)
        finally:
            for each in channels:
                await each.close()

    with served(tmp_path) as server:
        asyncio.run(run(server))


@pytest.mark.parametrize("value", [b"", b"{}", b"\xff", b'{"number": 1}'])
def test_wrong_documents_in_the_store_stop_nothing(value: bytes) -> None:
    """Another program wrote into the bucket. The agent does not obey, and visits nothing."""

    async def run() -> None:
        store = MemoryStore()
        channel = MemoryChannel(store)
        for key in ("table", "grants", "forgotten", "agent.00", "seen.01"):
            await channel.put(key, value)
        agent = SmallAgent("00", channel)
        for _ in range(50):
            await agent.step()
        assert agent.member.state is MemberState.JOINING
        assert not agent.member.is_open(0)

    asyncio.run(run())


def test_damaged_message_is_counted_and_its_successor_read() -> None:
    async def run() -> None:
        channel = MemoryChannel(MemoryStore())
        agent = SmallAgent("00", channel)
        await channel.open_inbox("00", 1 << 20)
        await channel.publish("00", {"v": "9"}, b"?", "id")
        for _ in range(50):
            await agent.step()
        assert agent.link.damaged_count == 1
        assert "version" in agent.link.last_damage
        assert agent.member.is_visiting
        assert agent.member.is_open(0)

    asyncio.run(run())
