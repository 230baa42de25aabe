"""One contract for every channel: in memory, and over a real NATS server on loopback."""

import asyncio
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trustme

from tarrafa.errors import InputError
from tarrafa.share.channel import Channel, ChannelDownError, InboxExtent, PublishRefusal
from tarrafa.share.memory_channel import MemoryChannel, MemoryStore
from tarrafa.share.nats_channel import NatsAccess, NatsChannel
from tarrafa.share.nats_server import NatsServer, ServerListen
from tarrafa.task_process import python_command

MEGABYTE = 1 << 20
Open = Callable[[], Awaitable[Channel]]
Case = Callable[[Channel, Channel], Awaitable[None]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    found = NatsServer(tmp_path_factory.mktemp("nats"))
    yield found
    found.stop()


@asynccontextmanager
async def two_channels(kind: str, server: NatsServer, crawl: str) -> AsyncIterator[tuple[Channel, Channel]]:
    channels: list[Channel] = []
    try:
        if kind == "memory":
            store = MemoryStore()
            channels += [MemoryChannel(store), MemoryChannel(store)]
        else:
            channels += [await NatsChannel.connected(NatsAccess(server.url), crawl) for _ in range(2)]
        yield channels[0], channels[1]
    finally:
        for each in channels:
            await each.close()


async def revision_is_given_once(one: Channel, other: Channel) -> None:
    """Guarantee 1."""
    assert await one.read("table") is None
    assert await one.replace("table", b"x", 7) is None
    first = await one.create("table", b"a")
    assert first is not None
    assert await other.create("table", b"b") is None
    found = await other.read("table")
    assert found == (b"a", first)
    results = await asyncio.gather(*(each.replace("table", b"c", first) for each in (one, other)))
    assert sorted(result is None for result in results) == [False, True]
    assert await one.replace("table", b"d", first) is None
    revision = await one.put("agent.00", b"mine")
    assert await other.read("agent.00") == (b"mine", revision)
    assert await other.replace("agent.00", b"fenced", revision) == revision + 1


async def agents_that_make_the_store_at_once_make_one(one: Channel, other: Channel) -> None:
    """Guarantee 1, when the store has just been lost."""
    results = await asyncio.gather(*(each.create("table", b"a") for each in (one, other, one, other)))
    assert sorted(result is None for result in results) == [False, True, True, True]


async def inbox_keeps_order_until_it_is_purged(one: Channel, other: Channel) -> None:
    """Guarantee 2."""
    assert await other.next("01", 1) is None
    assert await other.extent("01") is None
    await other.purge("01", 5)
    await other.open_inbox("01", MEGABYTE)
    await other.open_inbox("01", MEGABYTE)
    assert await other.extent("01") == InboxExtent(1, 0)
    assert await other.next("01", 0) is None
    for at in range(1, 6):
        assert (
            await one.publish("01", {"number": str(at), "about": '{"a": [1, "é\\u00e9"]}'}, bytes([at]) * at, f"id{at}")
            == at
        )
    sequence, found = 0, []
    while (message := await other.next("01", sequence)) is not None:
        found.append((message.sequence, message.headers["number"], message.body))
        assert message.headers["about"] == '{"a": [1, "é\\u00e9"]}'
        sequence = message.sequence + 1
    assert found == [(at, str(at), bytes([at]) * at) for at in range(1, 6)]
    await other.purge("01", 4)
    assert await other.extent("01") == InboxExtent(4, 5)
    message = await other.next("01", 1)
    assert message is not None
    assert message.sequence == 4
    await other.purge("01", 6)
    assert await other.extent("01") == InboxExtent(6, 5)


async def message_is_taken_once(one: Channel, other: Channel) -> None:
    """Guarantee 3."""
    await other.open_inbox("01", MEGABYTE)
    first = await one.publish("01", {}, b"a", "00.life.1.0")
    assert await one.publish("01", {}, b"a", "00.life.1.0") == first
    assert await one.publish("01", {}, b"a", "00.life.1.1") == 2
    assert await other.extent("01") == InboxExtent(1, 2)


async def full_or_missing_inbox_refuses(one: Channel, other: Channel) -> None:
    """Guarantee 4."""
    assert await one.publish("02", {}, b"a", "a") is PublishRefusal.MISSING
    await other.open_inbox("02", 20_000)
    taken = 0
    while await one.publish("02", {}, b"x" * 4_000, f"id{taken}") is not PublishRefusal.FULL:
        taken += 1
        assert taken < 6
    assert await other.extent("02") == InboxExtent(1, taken)
    await other.purge("02", taken)
    assert isinstance(await one.publish("02", {}, b"x" * 4_000, "more"), int)


async def question_names_who_answers(one: Channel, other: Channel) -> None:
    """Guarantee 6, too: one that does not answer is missing at the deadline."""

    async def upper(body: bytes) -> bytes:
        return body.upper()

    async def never(_: bytes) -> bytes:
        await asyncio.sleep(3_600)
        return b""

    await one.answer("status", "00", upper)
    await other.answer("status", "01", upper)
    await other.answer("status", "02", never)
    assert await one.ask("status", ["00", "01", "02", "03"], b"how", 0.5) == {"00": b"HOW", "01": b"HOW"}


async def nudge_wakes_the_one_that_listens(one: Channel, other: Channel) -> None:
    heard = asyncio.Event()
    await other.listen("01", heard.set)
    await one.nudge("00")
    await one.nudge("01")
    async with asyncio.timeout(30):
        await heard.wait()


@pytest.mark.parametrize("kind", ["memory", "nats"])
@pytest.mark.parametrize(
    "case",
    [
        revision_is_given_once,
        agents_that_make_the_store_at_once_make_one,
        inbox_keeps_order_until_it_is_purged,
        message_is_taken_once,
        full_or_missing_inbox_refuses,
        question_names_who_answers,
        nudge_wakes_the_one_that_listens,
    ],
    ids=lambda case: case.__name__,
)
def test_contract_of_channels(kind: str, case: Case, server: NatsServer) -> None:
    async def run() -> None:
        async with two_channels(kind, server, case.__name__.replace("_", "")) as (one, other):
            await case(one, other)

    asyncio.run(run())


# The real server.


async def _retried(action: Callable[[], Awaitable[object]]) -> object:
    """Do something until the server answers, as agents do."""
    for _ in range(200):
        try:
            return await action()
        except ChannelDownError:
            await asyncio.sleep(0.1)
    raise AssertionError("the server never answered")


def test_values_and_messages_survive_kill_and_restart_of_the_server_and_the_channel_connects_again(
    tmp_path: Path,
) -> None:
    server = NatsServer(tmp_path)

    async def run() -> None:
        channel = await NatsChannel.connected(NatsAccess(server.url, answer_seconds=1.0), "c")
        revision = await channel.create("table", b"a")
        assert revision is not None
        await channel.open_inbox("00", MEGABYTE)
        assert await channel.publish("00", {}, b"x", "id") == 1
        server.kill()
        assert not server.is_healthy()
        with pytest.raises(ChannelDownError):
            await channel.read("table")
        server.restart()
        assert server.is_healthy()
        assert await _retried(lambda: channel.read("table")) == (b"a", revision)
        assert await channel.replace("table", b"b", revision) is not None
        message = await channel.next("00", 1)
        assert message is not None
        assert message.body == b"x"
        await channel.close()

    try:
        asyncio.run(run())
    finally:
        server.stop()


def test_lost_store_is_seen_as_empty_and_made_again(tmp_path: Path) -> None:
    server = NatsServer(tmp_path)

    async def run() -> None:
        channel = await NatsChannel.connected(NatsAccess(server.url), "c")
        revision = await channel.create("table", b"a")
        assert revision is not None
        await channel.open_inbox("00", MEGABYTE)
        await channel.publish("00", {}, b"x", "id")
        server.kill()
        shutil.rmtree(tmp_path / "store")
        server.restart()
        assert await _retried(lambda: channel.read("table")) is None
        assert await channel.next("00", 1) is None
        assert await channel.publish("00", {}, b"x", "id") is PublishRefusal.MISSING
        assert await channel.replace("table", b"b", revision) is None
        assert await channel.create("table", b"b") != revision
        await channel.open_inbox("00", MEGABYTE)
        assert await channel.publish("00", {}, b"x", "id") == 1
        await channel.close()

    try:
        asyncio.run(run())
    finally:
        server.stop()


def test_unreachable_server_is_an_error_that_names_it() -> None:
    with pytest.raises(ChannelDownError, match=r"nats://127\.0\.0\.1:9"):
        asyncio.run(NatsChannel.connected(NatsAccess("nats://127.0.0.1:9", answer_seconds=0.5), "c"))


def test_token_and_tls_keep_strangers_out(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    issued = authority.issue_cert("127.0.0.1")
    issued.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    issued.cert_chain_pems[0].write_to_path(str(tmp_path / "certificate.pem"))
    listen = ServerListen("0.0.0.0", 0, "secret", str(tmp_path / "certificate.pem"), str(tmp_path / "key.pem"))
    server = NatsServer(tmp_path / "nats", listen)
    access = NatsAccess(server.url, "secret", str(tmp_path / "authority.pem"))

    async def run(access: NatsAccess) -> None:
        channel = await NatsChannel.connected(access, "c")
        assert await channel.create(secrets.token_hex(4), b"1") is not None
        await channel.close()

    try:
        assert server.url.startswith("tls://127.0.0.1:")
        asyncio.run(run(access))
        for wrong in (access._replace(token=""), access._replace(token="guess")):
            with pytest.raises(ChannelDownError):
                asyncio.run(run(wrong._replace(answer_seconds=0.5)))
        assert (tmp_path / "nats/server.conf").stat().st_mode & 0o077 == 0
    finally:
        server.stop()


@pytest.mark.parametrize("listen", [ServerListen("0.0.0.0"), ServerListen("192.0.2.1"), ServerListen("nats.example")])
def test_server_that_others_can_reach_wants_a_token(listen: ServerListen, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="set a token"):
        NatsServer(tmp_path, listen)
    assert list(tmp_path.iterdir()) == []


def test_server_wants_certificate_and_key_together(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="both a certificate and its key"):
        NatsServer(tmp_path, ServerListen(certificate="a.pem"))


def test_address_of_another_machine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot listen on"):
        NatsServer(tmp_path, ServerListen("192.0.2.1", token="secret"))


CHILD = """
import sys, time
from pathlib import Path
from tarrafa.share.nats_server import NatsServer
server = NatsServer(Path(sys.argv[1]))
print(server.process_id, flush=True)
time.sleep(3600)
"""


def is_running(process_id: int) -> bool:
    """Return True if a process runs; one that has ended and waits for its parent does not."""
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_server_ends_when_the_process_that_started_it_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen(python_command(CHILD, str(tmp_path)), stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        process_id = int(parent.stdout.readline())
        assert is_running(process_id)
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
    while is_running(process_id):
        time.sleep(0.05)


def test_stopped_server_is_not_healthy_and_starts_at_the_same_port(tmp_path: Path) -> None:
    server = NatsServer(tmp_path)
    port = server.port
    server.stop()
    assert not server.is_healthy()
    server.restart()
    assert (server.port, server.is_healthy()) == (port, True)
    server.stop()


def test_missing_program_says_what_to_install(tmp_path: Path) -> None:
    code = "from pathlib import Path; from tarrafa.share.nats_server import NatsServer; NatsServer(Path('x'))"
    fake = "import sysconfig; sysconfig.get_path = lambda name: '/nowhere'"
    done = subprocess.run(
        [sys.executable, "-c", f"{fake}; {code}"],
        env={"PATH": "/nowhere"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "install tarrafa[cluster]" in done.stderr
