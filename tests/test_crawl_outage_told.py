"""A crawl over sockets through an outage: its events, and all of its pages in the end."""

import asyncio
import json
import logging
import random
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fetching import Door, ok, opened
from tarrafa import wiring
from tarrafa.agent import CrawlFolder, Ending, RunLimits
from tarrafa.configuration import Configuration, CrawlSection, PolitenessSection
from tarrafa.logs import JsonFormatter

HOSTS_COUNT, PAGES_COUNT, PAGES_BEFORE = 6, 30, 40
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
LIMITS = RunLimits(seconds=300.0, is_waiting=True)
HASTE = Configuration(
    crawl=replace(CrawlSection(), allow_private=True),
    politeness=replace(PolitenessSection(), delay_seconds=0.0, address_delay_seconds=0.0, back_off_seconds=0.001),
)


class CutWeb:
    """Hosts whose first page links to all others. All break every connection off from a moment on, until `mend`."""

    def __init__(self) -> None:
        self.answered_count = 0
        self.is_cut = False

    def serve(self, request: bytes) -> bytes | None:
        if self.is_cut:
            return None
        path = request.split(b" ")[1].decode()
        if path == "/robots.txt":
            return NOT_FOUND
        self.answered_count += 1
        self.is_cut = self.answered_count == PAGES_BEFORE
        links = "".join(f"<a href=/{number}>.</a>" for number in range(1, PAGES_COUNT)) if path == "/" else ""
        # Pages that were alike would be taken for a trap.
        words = " ".join(random.Random(f"{self.answered_count} {word}").randbytes(3).hex() for word in range(50))
        return ok(f"<p>{words} {links}".encode(), "Content-Type: text/html")


class OutageWatch(logging.Handler):
    """Keeps the events of outages, and mends the web when one has begun."""

    def __init__(self, web: CutWeb) -> None:
        super().__init__()
        self._web = web
        self.entries: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        entry = json.loads(JsonFormatter().format(record))
        if entry["event"].startswith("outage "):
            self.entries.append(entry)
            self._web.is_cut = False


def test_outage_is_told_as_it_begins_and_ends_and_no_page_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tarrafa.schedule.outage.PROBE_MIN_SECONDS", 0.01)
    web = CutWeb()
    watch, logger = OutageWatch(web), logging.getLogger("tarrafa")
    level = logger.level

    async def story() -> tuple[Ending, int, dict[str, int]]:
        async with AsyncExitStack() as stack:
            doors: list[tuple[str, Door]] = []
            for number in range(1, HOSTS_COUNT + 1):
                address = f"127.0.0.{number}"
                doors.append((address, await stack.enter_async_context(opened(web.serve, address))))
            seeds = tuple(f"http://{address}:{door.port}/" for address, door in doors)
            agent = wiring.agent(
                HASTE, CrawlFolder(tmp_path / "crawl"), seeds, RunLimits(seconds=300.0, is_waiting=True)
            )
            try:
                told = await agent.run(seeds, lambda _: None)
            finally:
                await agent.close()
            return told.ending, told.pages, dict(told.outcomes)

    logger.addHandler(watch)
    logger.setLevel(logging.INFO)  # a level that is assigned is not seen by loggers that were asked before
    try:
        assert asyncio.run(story()) == (Ending.DONE, HOSTS_COUNT * PAGES_COUNT, {"fetched": HOSTS_COUNT * PAGES_COUNT})
    finally:
        logger.removeHandler(watch)
        logger.setLevel(level)
    assert [entry["event"] for entry in watch.entries] == ["outage begun", "outage ended"]
    assert watch.entries[1]["seconds"] > 0
