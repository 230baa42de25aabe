"""Large pages are read in another process, and whatever one does, the others are read."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tarrafa.agent.page_reader import ExtractPool, TimedExtract
from tarrafa.extract import LARGE_BYTES, Extract, ExtractOptions, PageFormat, PageLinks, extract
from tarrafa.records import Page

A = "http://a.example"


def all_children() -> set[int]:
    threads = Path("/proc/self/task").iterdir()
    return {int(word) for thread in threads for word in (thread / "children").read_text().split()}


# Other tests of this process may have left helpers of multiprocessing. Filled before each test.
_strangers: set[int] = set()


@pytest.fixture(autouse=True)
def _know_strangers() -> None:
    _strangers.clear()
    _strangers.update(all_children())


def children() -> list[int]:
    """The processes that this test has started."""
    return sorted(all_children() - _strangers)


def page(body: str) -> Page:
    return Page(f"{A}/", 200, (("Content-Type", "text/html"),), body.encode(), at=5.0)


async def read(pool: ExtractPool, pages: Sequence[Page]) -> list[Extract]:
    return [found for found, _ in await asyncio.gather(*(pool.extract(each, each.body) for each in pages))]


def slow_or_not(page: Page, body: bytes, options: ExtractOptions) -> TimedExtract:
    """In the other process."""
    if body.startswith(b"slow"):
        time.sleep(600)
    return TimedExtract(extract(page, body, options), 1.0)


def deadly(page: Page, body: bytes, options: ExtractOptions) -> Extract:
    """In the other process, which ends with it."""
    os._exit(1)


def test_page_is_read_beside_as_it_would_be_here() -> None:
    pool = ExtractPool(ExtractOptions())
    large = page("<title>t</title>" + "<p>word <a href=/1>one</a></p>" * (LARGE_BYTES // 20))
    assert asyncio.run(read(pool, [large])) == [extract(large, large.body)]
    assert len(children()) == 1
    pool.close()
    assert children() == []


def test_pages_that_take_too_long_cost_the_others_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tarrafa.agent.page_reader.extract_apart", slow_or_not)
    monkeypatch.setattr("tarrafa.agent.page_reader.TIMEOUT_SECONDS", 4.0)
    bodies = ["slow", *(f"<a href=/{number}>one</a>" for number in range(4))]
    pool = ExtractPool(ExtractOptions())
    slow, *others = asyncio.run(read(pool, [page(body) for body in bodies]))
    pool.close()
    assert slow.links == PageLinks()
    assert [[link.target for link in each.links] for each in others] == [[f"{A}/{n}"] for n in range(4)]


def test_process_that_was_killed_between_two_pages_is_replaced() -> None:
    async def read_both() -> list[Extract]:
        first = await read(pool, [large])
        for process in children():
            os.kill(process, signal.SIGKILL)
        return [*first, *await read(pool, [large])]

    pool = ExtractPool(ExtractOptions())
    large = page("<title>t</title>" + "<p>word" * (LARGE_BYTES // 5))
    first, second = asyncio.run(read_both())
    pool.close()
    assert first == second == extract(large, large.body)


def test_process_that_dies_is_tried_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tarrafa.agent.page_reader.extract_apart", deadly)
    pool = ExtractPool(ExtractOptions())
    (found,) = asyncio.run(read(pool, [page("<a href=/1>one</a>" + "<p>x" * (LARGE_BYTES // 4))]))
    pool.close()
    assert found.format is PageFormat.OTHER


AGENT = """
import asyncio, time
from tarrafa.agent.page_reader import ExtractPool
from tarrafa.extract import ExtractOptions
from tarrafa.records import Page

page = Page("http://a.example/", 200, (), b"<p>word", at=5.0)
pool = ExtractPool(ExtractOptions())
asyncio.run(pool.extract(page, page.body))
print("read", flush=True)
time.sleep(600)
"""


def test_process_ends_with_an_agent_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    command = [sys.executable, str(tmp_path / "agent.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "read\n"
        process.kill()
        # The other process has the same standard error, which is closed when both have ended.
        assert process.communicate(timeout=600.0) == ("", "")


def test_ctrl_c_is_left_to_the_agent() -> None:
    """In a terminal it reaches every process; the agent finishes its pages first."""

    async def read_both() -> list[Extract]:
        first = await read(pool, [large])
        (process,) = children()
        os.kill(process, signal.SIGINT)
        second = await read(pool, [large])
        assert children() == [process]
        return [*first, *second]

    pool = ExtractPool(ExtractOptions())
    large = page("<title>t</title>" + "<p>word" * (LARGE_BYTES // 5))
    first, second = asyncio.run(read_both())
    pool.close()
    assert first == second == extract(large, large.body)
