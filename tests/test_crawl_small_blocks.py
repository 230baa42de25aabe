"""Crawls over real sockets with blocks of 200 rows: blocks split and batches spill while hosts are scheduled."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawls import ServedWeb, documents, hasty, pages_fetched, served
from tarrafa import wiring
from tarrafa.agent import CrawlFolder, Ending, Progress, RunLimits
from tarrafa.configuration import load
from tarrafa.verify import Quota, RepositoryBounds, Veuniq

# A host that has more URLs than the quota is scheduled several times.
BOUNDS = RepositoryBounds(rows=200, quota=Quota(scheduled=50, refill_below=10))


@pytest.fixture(scope="module")
def web() -> Iterator[ServedWeb]:
    with served("--hosts", "20", "--pages", "500", "--rng-seed", "6") as found:
        yield found


def crawled(web: ServedWeb, root: Path, pages: int | None = None) -> Progress:
    """Crawl in this process, until done or until the crawl has so many pages."""
    folder = CrawlFolder(root)

    async def run() -> Progress:
        agent = wiring.agent(configuration, folder, (web.url,), RunLimits(pages), bounds=BOUNDS)
        try:
            return await agent.run((web.url,), lambda _: None)
        finally:
            await agent.close()

    configuration = load(hasty(root.parent))
    hold = folder.lock()
    try:
        return asyncio.run(run())
    finally:
        hold.release()


def blocks_count(root: Path) -> int:
    with Veuniq(CrawlFolder(root).repository, bounds=BOUNDS) as repository:
        assert list(repository.problems()) == []
        return len(repository.blocks())


def test_crawl_with_small_blocks_ends_with_exactly_the_pages_of_the_truth(web: ServedWeb, tmp_path: Path) -> None:
    root = tmp_path / "crawl"
    assert crawled(web, root).ending is Ending.DONE
    assert pages_fetched(root, web) == web.collectable()
    assert blocks_count(root) > 5


def test_crawl_with_small_blocks_that_is_stopped_twice_ends_with_the_same_pages(web: ServedWeb, tmp_path: Path) -> None:
    root = tmp_path / "crawl"
    for pages in (60, 250):
        assert crawled(web, root, pages).ending is Ending.PAGES
        assert [row["outcome"] for row in documents(root)].count("fetched") == pages
    assert crawled(web, root).ending is Ending.DONE
    assert pages_fetched(root, web) == web.collectable()
    assert blocks_count(root) > 5
