"""A crawl over sockets whose names come from a name server of the test's own."""

import asyncio
import re
from dataclasses import replace
from pathlib import Path

from fetching import Door, ok, opened
from name_servers import SILENCE, NameServer, Reply, name_server
from tarrafa import wiring
from tarrafa.agent import Agent, CrawlFolder, Progress, RunLimits
from tarrafa.configuration import Configuration, CrawlSection, FetchSection, PolitenessSection
from tarrafa.schedule.lookup_queue import SITE_LOOKUPS_LIMIT

SILENT = [f"n{number}.silent.test" for number in range(300)]
REAL = [f"www.real{number}.test" for number in range(50)]
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


def configured(server: NameServer) -> Configuration:
    """Nothing times out while the test runs."""
    return Configuration(
        crawl=replace(CrawlSection(), scope="any", allow_private=True),
        politeness=replace(PolitenessSection(), delay_seconds=0.0, address_delay_seconds=0.0),
        fetch=replace(
            FetchSection(), name_servers=server.setting, timeout_seconds=600.0, connect_timeout_seconds=600.0
        ),
    )


def page(port: int, names: list[str]) -> bytes:
    return ok("".join(f"<a href=http://{name}:{port}/>.</a>" for name in names).encode(), "Content-Type: text/html")


def test_names_of_a_silent_name_server_keep_no_page_waiting(tmp_path: Path) -> None:
    """The silent names stand first in the page, and none of their lookups ends before the crawl does."""
    agents: list[Agent] = []
    doors: list[Door] = []
    fetched: list[str] = []

    def served(request: bytes) -> bytes:
        name = re.findall(rb"Host: ([^:]+)", request)[0].decode()
        if b"/robots.txt" in request:
            return NOT_FOUND
        fetched.append(name)
        if len(fetched) > len(REAL):
            agents[0].stop()
        return page(doors[0].port, [*SILENT, *REAL] if name == "127.0.0.1" else [])

    async def story() -> Progress:
        async with name_server(lambda name: SILENCE if name in SILENT else Reply(("127.0.0.1",))) as server:
            async with opened(served) as door:
                doors.append(door)
                seeds = (f"http://127.0.0.1:{door.port}/",)
                agents.append(wiring.agent(configured(server), CrawlFolder(tmp_path / "crawl"), seeds, RunLimits()))
                try:
                    told = await agents[0].run(seeds, lambda _: None)
                finally:
                    await agents[0].close()
            assert len([name for name in server.asked if name in SILENT]) == SITE_LOOKUPS_LIMIT
            return told

    told = asyncio.run(story())
    assert sorted(fetched) == sorted(["127.0.0.1", *REAL])
    assert told.resolving == len(SILENT)
