"""The stream of pages between a crawl's thread and a program's event loop."""

import asyncio
from collections.abc import Coroutine
from threading import Thread
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tarrafa.agent import DecodedPage, ParsedPage
from tarrafa.extract import Extract, PageFormat
from tarrafa.library.crawled_page import CrawledPage
from tarrafa.library.page_stream import PageStream
from tarrafa.records import Page


def made_page(number: int) -> CrawledPage:
    page = Page(f"http://a.example/{number}", 200, (), b"", at=0.0)
    return CrawledPage(DecodedPage(page, b"", 0, False), ParsedPage(page, Extract(page.url, PageFormat.HTML), 0), 0)


def in_thread(work: Coroutine[Any, Any, None]) -> Thread:
    thread = Thread(target=asyncio.run, args=(work,))
    thread.start()
    return thread


async def produce(stream: PageStream, count: int, producers: int) -> None:
    """Put numbered pages, by several tasks as the visits of a crawl."""
    numbers = iter(range(count))

    async def visit() -> None:
        for _ in range(-(-count // producers)):
            await stream.has_room()
            number = next(numbers, None)
            if number is not None:
                stream.put(made_page(number))

    await asyncio.gather(*(visit() for _ in range(producers)))
    stream.end()


async def taken(stream: PageStream) -> list[str]:
    found = []
    while (page := await stream.take()) is not None:
        found.append(page.url.path)
    return found


@given(limit=st.integers(1, 5), count=st.integers(0, 40), producers=st.integers(1, 6))
def test_every_page_comes_once_and_in_order(limit: int, count: int, producers: int) -> None:
    stream = PageStream(limit)
    thread = in_thread(produce(stream, count, producers))
    assert asyncio.run(taken(stream)) == [f"/{number}" for number in range(count)]
    thread.join()


def test_no_more_pages_wait_than_the_limit_beside_those_under_way() -> None:
    async def run() -> None:
        stream, stored = PageStream(4), 0

        async def visit(number: int) -> None:
            nonlocal stored
            await stream.has_room()
            stream.put(made_page(number))
            stored += 1

        visits = 3
        tasks = [asyncio.create_task(visit(number)) for number in range(visits)]
        for number in range(visits, 30):
            done, _ = await asyncio.wait(tasks, timeout=0, return_when=asyncio.FIRST_COMPLETED)
            tasks = [task for task in tasks if task not in done]
            if len(tasks) < visits:
                tasks.append(asyncio.create_task(visit(number)))
            await asyncio.sleep(0)
        assert 4 <= stored <= 4 + visits
        assert await stream.take() is not None
        stream.leave()
        await asyncio.gather(*tasks)
        assert await stream.take() is None

    asyncio.run(run())


def test_consumer_that_leaves_frees_the_crawl() -> None:
    async def run(stream: PageStream) -> None:
        assert await stream.take() is not None
        stream.leave()

    stream = PageStream(1)
    thread = in_thread(produce(stream, 50, 3))
    asyncio.run(run(stream))
    thread.join()


def test_consumer_whose_loop_is_closed_does_not_fail_the_crawl() -> None:
    async def wait_in_vain(stream: PageStream) -> None:
        waiting = asyncio.create_task(stream.take())
        await asyncio.sleep(0)
        waiting.cancel()

    stream = PageStream()
    asyncio.run(wait_in_vain(stream))
    stream.put(made_page(1))
    stream.end()
    assert asyncio.run(taken(stream)) == ["/1"]
