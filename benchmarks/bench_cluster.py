"""Measure what several agents cost: the exchange of found URLs, and how many slots move when an agent joins.

CPU seconds for a million found URLs: choosing their owners, the filter of URLs sent already, packing, publishing to a
real NATS server on loopback, and reading them back. The CPU of the server is counted. A share of the URLs was found
before, as with the links of templates.
"""

import argparse
import asyncio
import json
import os
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tarrafa.hashes import hashes_of
from tarrafa.share.balance import GroupFacts, ParcelBounds, improved
from tarrafa.share.messages import (
    ROWS_MAX,
    SCHEMAS,
    AgentMessage,
    Envelope,
    MessageKind,
    pack_message,
    pack_rows,
    unpack_message,
)
from tarrafa.share.nats_channel import NatsAccess, NatsChannel
from tarrafa.share.nats_server import NatsServer
from tarrafa.share.routes import Router
from tarrafa.share.sent_filter import FoundRows, SentFilter
from tarrafa.share.slots import SLOT_BITS, SLOT_COUNT, HostSlots
from tarrafa.share.table import OwnershipTable, Registered, SlotPhase, Tenure

SEED = 7
INBOX_BYTES = 1 << 30
MILLION = 1_000_000


class Meter:
    """CPU seconds by step, of this process and of the server."""

    def __init__(self, server: int) -> None:
        self._server = Path(f"/proc/{server}/stat")
        self.seconds: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        own, other = time.process_time(), self._server_seconds()
        yield
        self._add(name, time.process_time() - own)
        self._add("server", self._server_seconds() - other)

    def _server_seconds(self) -> float:
        fields = self._server.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _add(self, name: str, seconds: float) -> None:
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds


def urls_of(draw: random.Random, hosts: list[str], count: int) -> list[str]:
    return [
        f"{draw.choice(hosts)}/section-{draw.randrange(10**4)}/page-{draw.randrange(10**8)}.html?id={draw.randrange(999)}"
        for _ in range(count)
    ]


def hosts_of(draw: random.Random, count: int) -> list[str]:
    return [f"https://www.site-{draw.randrange(10**6)}.example{draw.randrange(50)}.org" for _ in range(count)]


def found_columns(count: int) -> dict[str, Any]:
    draw = np.random.default_rng(SEED)
    kinds = dict(zip(SCHEMAS["found"].names[1:], SCHEMAS["found"].types[1:], strict=True))
    found = {name: draw.integers(1, 9, count).astype(kind.to_pandas_dtype()) for name, kind in kinds.items()}
    found["weight"][:] = 0
    return found


def group_of(count: int) -> OwnershipTable:
    table = OwnershipTable(1, {f"{at:02}": Registered(f"life{at}") for at in range(count)}, founded().ranges)
    return balanced(table)[0]


def founded() -> OwnershipTable:
    return OwnershipTable.founded("00", "life0")


def balanced(table: OwnershipTable) -> tuple[OwnershipTable, int]:
    """Return the table at which nothing moves any more, and how many slots have moved."""
    moved, facts = 0, GroupFacts(dict.fromkeys(table.agents, 1.0))
    while (found := improved(table, facts, ParcelBounds())) is not None:
        moving = found.slots_where(lambda each: each.phase is SlotPhase.MOVING)
        moved += moving.count
        table = found.changed(moving, lambda each: Tenure(each.other))
    return table, moved


def moved_share(agents: int) -> float:
    """Return the share of slots that move when one agent joins so many others."""
    table = group_of(agents).with_agent("new", Registered("new"))
    return balanced(table)[1] / SLOT_COUNT


async def exchange(meter: Meter, access: NatsAccess, urls_count: int, repeated: float) -> dict[str, Any]:
    """Send found URLs from one agent to another through all steps; return what they cost for each million."""
    draw = random.Random(SEED)
    hosts, router = hosts_of(draw, 20_000), Router(group_of(2))
    sender, receiver = [await NatsChannel.connected(access, "bench") for _ in range(2)]
    await receiver.open_inbox("01", INBOX_BYTES)
    host_slots, sent_filter, columns = HostSlots(SEED), SentFilter(), found_columns(4 * ROWS_MAX)
    known: list[str] = []
    waiting: list[pa.Table] = []
    found_count = sent_count = number = 0
    while sent_count < urls_count:
        fresh = urls_of(draw, hosts, round(len(columns["links"]) * (1 - repeated)))
        urls = [*fresh, *draw.choices(known or fresh, k=len(columns["links"]) - len(fresh))]
        known = fresh if len(known) > MILLION else [*known, *fresh]
        found_count += len(urls)
        texts = pa.array(urls, pa.large_string())
        with meter.step("owners"):
            owners = router.owners_of(host_slots.slots_of(texts).astype(np.uint64) << np.uint64(64 - SLOT_BITS))
            others = np.flatnonzero(owners == 1)
            texts = texts.take(others)
        with meter.step("filter"):
            names = ("priority", "depth", "links", "outside", "weight")
            picked = sent_filter.pick(FoundRows(hashes_of(texts, SEED), *(columns[name][others] for name in names)))
            rows = pa.table({"url": texts, **{name: column[others] for name, column in columns.items()}})
            rows = rows.take(picked.rows).set_column(2, "links", [picked.links]).cast(SCHEMAS["found"])
        waiting.append(rows)
        if sum(each.num_rows for each in waiting) >= ROWS_MAX:
            number += 1
            batch = pa.concat_tables(waiting)
            waiting = [batch.slice(ROWS_MAX)]
            sent_count += ROWS_MAX
            await send(meter, sender, batch.slice(0, ROWS_MAX).combine_chunks(), number)
    received = await receive_all(meter, receiver)
    assert received == sent_count
    for each in (sender, receiver):
        await each.close()
    return per_million(meter.seconds, sent_count, found_count)


async def send(meter: Meter, channel: NatsChannel, rows: pa.Table, number: int) -> None:
    with meter.step("send"):
        envelope = Envelope(MessageKind.FOUND, "00", "life", number, 0, 1, 1)
        message = pack_message(envelope, "found", rows.num_rows, pack_rows(rows))
        assert await channel.publish("01", message.headers, message.body, envelope.unique_id) == number


async def receive_all(meter: Meter, channel: NatsChannel) -> int:
    sequence = count = 0
    with meter.step("receive"):
        while (message := await channel.next("01", sequence)) is not None:
            found = unpack_message(message.headers, message.body)
            assert isinstance(found, AgentMessage)
            count, sequence = count + found.rows.num_rows, message.sequence + 1
    return count


def per_million(seconds: dict[str, float], sent_count: int, found_count: int) -> dict[str, Any]:
    sent, found = MILLION / sent_count, MILLION / found_count
    steps = {name: seconds[name] * sent for name in ("send", "receive", "server")}
    chosen = {name: seconds[name] * found for name in ("owners", "filter")}
    return {
        "urls_found": found_count,
        "urls_sent": sent_count,
        **{f"{name}_cpu_per_million": round(value, 3) for name, value in {**steps, **chosen}.items()},
        "exchange_cpu_per_million": round(sum(steps.values()), 3),
        "exchange_and_choice_cpu_per_million": round(sum(steps.values()) + sum(chosen.values()), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--urls", type=int, default=MILLION, help="URLs to send")
    parser.add_argument("--repeated", type=float, default=0.5, help="share of found URLs that were found before")
    parser.add_argument("--json", action="store_true", help="print only the figures, as JSON")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = NatsServer(Path(folder))
        try:
            meter = Meter(server.process_id)
            figures = asyncio.run(exchange(meter, NatsAccess(server.url), arguments.urls, arguments.repeated))
        finally:
            server.stop()
    for agents in (1, 2, 7):
        figures[f"moved_share_{agents}_to_{agents + 1}"] = round(moved_share(agents), 4)
    if not arguments.json:
        for name, value in figures.items():
            print(f"{name:40} {value}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
