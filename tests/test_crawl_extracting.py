"""Small pages are read together, large ones in another process; visits never wait for either."""

import asyncio
import os
import time
from collections.abc import Sequence

import pytest

from tarrafa.crawl.extracting import BESIDE_BYTES, TOGETHER_BYTES, TOGETHER_COUNT, Extracting
from tarrafa.extract import Extract, Format, Links, Options, extract, extract_all
from tarrafa.records import Page

A = "http://a.example"


def page(body: str, number: int = 0) -> Page:
    return Page(f"{A}/{number}", 200, (("Content-Type", "text/html"),), body.encode(), at=5.0)


async def read(extracting: Extracting, pages: Sequence[Page]) -> list[Extract]:
    return await asyncio.gather(*(extracting.extract(each, each.body) for each in pages))


# Small pages.


@pytest.fixture
def heaps(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The URLs that were read together, each time."""
    found: list[list[str]] = []

    def noted(sources: Sequence[tuple[Page, bytes]], options: Options) -> list[Extract]:
        found.append([page.url for page, _ in sources])
        return extract_all(sources, options)

    monkeypatch.setattr("tarrafa.crawl.extracting.extract_all", noted)
    return found


def test_pages_of_one_moment_are_read_together_and_each_gets_its_own(heaps: list[list[str]]) -> None:
    pages = [page(f"<title>{number}</title><a href=/x{number}>x</a>", number) for number in range(TOGETHER_COUNT + 3)]
    found = asyncio.run(read(Extracting(Options()), pages))
    assert found == [extract(each, each.body) for each in pages]
    urls = [each.url for each in pages]
    assert heaps == [urls[:TOGETHER_COUNT], urls[TOGETHER_COUNT:]]


def test_no_more_is_read_together_than_visits_can_wait_for(heaps: list[list[str]]) -> None:
    body = "<p>x" * (TOGETHER_BYTES // 4 // 2)
    asyncio.run(read(Extracting(Options()), [page(body, number) for number in range(5)]))
    assert [len(heap) for heap in heaps] == [2, 2, 1]


def test_page_alone_waits_for_no_other(heaps: list[list[str]]) -> None:
    async def one_by_one() -> list[list[Extract]]:
        return [await read(extracting, [each]) for each in pages]

    extracting, pages = Extracting(Options()), [page("<p>x", number) for number in range(3)]
    asyncio.run(one_by_one())
    assert [len(heap) for heap in heaps] == [1, 1, 1]


def test_visit_that_is_given_up_meanwhile_costs_the_others_nothing() -> None:
    async def given_up() -> Extract:
        tasks = [asyncio.create_task(extracting.extract(each, each.body)) for each in pages]
        await asyncio.sleep(0)
        tasks[0].cancel()
        return await tasks[1]

    extracting, pages = Extracting(Options()), [page("<title>t</title>", number) for number in range(2)]
    assert asyncio.run(given_up()).document.title == "t"


def test_error_is_raised_by_everybody_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is expected here; but a visit that waited for ever would stop the crawl without a word."""

    def broken(sources: Sequence[tuple[Page, bytes]], options: Options) -> list[Extract]:
        raise MemoryError

    async def read_both() -> list[BaseException | Extract]:
        both = (extracting.extract(page("<p>x"), b"<p>x") for _ in range(2))
        return await asyncio.gather(*both, return_exceptions=True)

    monkeypatch.setattr("tarrafa.crawl.extracting.extract_all", broken)
    extracting = Extracting(Options())
    assert [type(each) for each in asyncio.run(read_both())] == [MemoryError, MemoryError]


# Large pages.


def slow_or_not(page: Page, body: bytes, options: Options) -> Extract:
    """In the other process."""
    if body.startswith(b"slow"):
        time.sleep(30)
    return extract(page, body, options)


def deadly(page: Page, body: bytes, options: Options) -> Extract:
    """In the other process, which ends with it."""
    os._exit(1)


def test_large_page_is_read_beside_as_it_would_be_here() -> None:
    extracting = Extracting(Options())
    large = page("<title>t</title>" + "<p>word <a href=/1>one</a></p>" * (BESIDE_BYTES // 20))
    assert asyncio.run(read(extracting, [large])) == [extract(large, large.body)]
    assert extracting._beside is not None
    extracting.close()
    assert extracting._beside is None


def test_large_pages_that_take_too_long_cost_the_others_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tarrafa.crawl.extracting.extract", slow_or_not)
    monkeypatch.setattr("tarrafa.crawl.extracting.BESIDE_TIMEOUT_SECONDS", 3.0)
    filler = "<p>x" * (BESIDE_BYTES // 4)
    bodies = [f"slow {filler}", *(f"<a href=/{number}>one</a>{filler}" for number in range(4))]
    extracting = Extracting(Options())
    slow, *others = asyncio.run(read(extracting, [page(body) for body in bodies]))
    extracting.close()
    assert slow.links == Links()
    assert [[link.target for link in each.links] for each in others] == [[f"{A}/{n}"] for n in range(4)]


def test_process_that_dies_is_tried_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tarrafa.crawl.extracting.extract", deadly)
    extracting = Extracting(Options())
    (found,) = asyncio.run(read(extracting, [page("<a href=/1>one</a>" + "<p>x" * (BESIDE_BYTES // 4))]))
    extracting.close()
    assert found.format is Format.OTHER
