"""The event loop of an agent by itself: closing past a failing part, and what a restart does before its first visit."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from brains import BrainDriver
from crawls import ServedWeb, hasty, served
from tarrafa import wiring
from tarrafa.agent import Agent, Checkpoints, CrawlFolder, Ending, HostTable, Ingest, Progress, RunLimits, Totals
from tarrafa.clock import SystemClock
from tarrafa.configuration import load
from tarrafa.errors import WorkError
from tarrafa.keep import Archive
from tarrafa.records import Transport
from tarrafa.verify import RepositoryBounds, Veuniq

PARTS = ["checkpoints", "transport", "ingest", "archive", "hosts"]


class Part:
    """A part of an agent that notes its end, and may fail at it."""

    def __init__(self, name: str, closed: list[str], failing: set[str]) -> None:
        self._name, self._closed, self._failing = name, closed, failing
        self.totals = Totals()

    def close(self) -> Any:
        self._closed.append(self._name)
        if self._name in self._failing:
            raise WorkError(f"{self._name} fails")
        if self._name == "checkpoints":
            return asyncio.sleep(0)  # it is awaited
        return None

    def flush(self) -> None:
        self._closed.append("flush")
        if "flush" in self._failing:
            raise WorkError("the disk is full")


def agent_of(closed: list[str], failing: set[str]) -> Agent:
    parts = {name: Part(name, closed, failing) for name in PARTS}
    brain = BrainDriver().brain._replace(hosts=cast("HostTable", parts["hosts"]))
    return Agent(
        brain,
        cast("Transport", parts["transport"]),
        cast("Archive", parts["archive"]),
        cast("Ingest", parts["ingest"]),
        cast("Checkpoints", parts["checkpoints"]),
        SystemClock(),
        RunLimits(),
    )


@pytest.mark.parametrize("failing", [*([name] for name in [*PARTS, "flush"]), PARTS, [*PARTS, "flush"]])
def test_every_part_is_closed_once_and_in_order_whatever_part_fails(failing: list[str]) -> None:
    closed: list[str] = []
    agent = agent_of(closed, set(failing))
    if failing == ["flush"]:
        asyncio.run(agent.close())  # what is not flushed is fetched again
    else:
        with pytest.raises(WorkError, match="fails"):
            asyncio.run(agent.close())
    assert closed == ["checkpoints", "transport", "ingest", "flush", "archive", "hosts"]


# A restart.

# Blocks of 200 rows, so that a crawl of a few pages has many.
BOUNDS = RepositoryBounds(rows=200)


class CycleCounter(logging.Handler):
    """Counts the cycles of a run."""

    def __init__(self) -> None:
        super().__init__()
        self.cycles = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.cycles += record.getMessage() == "cycle"


@contextlib.contextmanager
def counted() -> Iterator[CycleCounter]:
    handler, logger = CycleCounter(), logging.getLogger("tarrafa")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield handler
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def run(web: ServedWeb, root: Path, pages: int, report: Callable[[Progress], None] = lambda _: None) -> Progress:
    folder = CrawlFolder(root)

    async def story() -> Progress:
        agent = wiring.agent(load(hasty(root.parent)), folder, (web.url,), RunLimits(pages), bounds=BOUNDS)
        try:
            return await agent.run((web.url,), report)
        finally:
            await agent.close()

    hold = folder.lock()
    try:
        return asyncio.run(story())
    finally:
        hold.release()


def test_restarted_crawl_runs_one_cycle_before_its_first_visit(tmp_path: Path) -> None:
    """Many blocks have URLs that wait to be verified; they are verified as visits run short.

    The first report comes with the step that begins the first visits.
    """
    cycles: list[int] = []
    with served("--hosts", "40", "--pages", "3000", "--rng-seed", "6") as web:
        assert run(web, tmp_path / "crawl", 400).ending is Ending.PAGES
        with Veuniq(CrawlFolder(tmp_path / "crawl").repository, bounds=BOUNDS) as repository:
            assert len(repository.blocks()) > 3
            assert repository.counts().waiting > 0
        with counted() as handler:
            told = run(web, tmp_path / "crawl", 800, lambda _: cycles.append(handler.cycles))
    assert told.ending is Ending.PAGES
    assert cycles[0] == 1
    assert handler.cycles > 1
