"""Large pages are read in another process, and whatever one does, the others are read."""

import asyncio
import gzip
import os
import time
from collections.abc import Sequence

import pytest

from tarrafa.agent.extract_pool import LARGE_BYTES, ExtractPool, is_large
from tarrafa.extract import Extract, Format, Links, Options, extract
from tarrafa.records import Page

A = "http://a.example"


def page(body: str) -> Page:
    return Page(f"{A}/", 200, (("Content-Type", "text/html"),), body.encode(), at=5.0)


async def read(pool: ExtractPool, pages: Sequence[Page]) -> list[Extract]:
    return await asyncio.gather(*(pool.extract(each, each.body) for each in pages))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"<p>word" * 2_000, False),
        (b"longer words " * 9_000, False),
        (b"<b>bold</b>" * 1_900, False),
        (b"<p>" * 2_300 + b"</p>" * 1_400 + b"words " * 1_000, False),
        (b"<div>" * 2_100, True),
        (b"<p a b c d e f g h i j k>" * 3_000, True),
        (b"<p a=''b=''c=''d=''>" * 4_000, True),
        (b"<p a b c d e f g h i j k>" * 900, False),
        (b"<p>" + b"word " * 40_000, True),
        (b"<b>" * 10_000, True),
        (gzip.compress(os.urandom(1_000)), False),
        (gzip.compress(os.urandom(30_000)), False),
        (gzip.compress(b"<url>" * 30_000), True),
        (gzip.compress(os.urandom(30_000))[:10_000], False),
        (b"\x1f\x8b" + os.urandom(30_000), False),
        (b"\n http://a.example/" * 2_000, True),
        (b"http://a.example/\n" * 200, False),
        (b"", False),
    ],
    ids=[
        *(
            "small",
            "few tags",
            "closed tags",
            "tags of which many are closed",
            "tags that nobody closes",
            "very many attributes",
            "very many attributes with values",
            "attributes",
            "large",
            "very many tags",
            "small and packed",
            "packed",
            "packed and long",
            "packed and cut",
        ),
        *("damaged", "addresses", "few addresses", "empty"),
    ],
)
def test_large_is_what_takes_long_to_read(body: bytes, expected: bool) -> None:
    assert is_large(body) is expected


def slow_or_not(page: Page, body: bytes, options: Options) -> Extract:
    """In the other process."""
    if body.startswith(b"slow"):
        time.sleep(30)
    return extract(page, body, options)


def deadly(page: Page, body: bytes, options: Options) -> Extract:
    """In the other process, which ends with it."""
    os._exit(1)


def test_page_is_read_beside_as_it_would_be_here() -> None:
    pool = ExtractPool(Options())
    large = page("<title>t</title>" + "<p>word <a href=/1>one</a></p>" * (LARGE_BYTES // 20))
    assert asyncio.run(read(pool, [large])) == [extract(large, large.body)]
    assert pool._process is not None
    pool.close()
    assert pool._process is None


def test_pages_that_take_too_long_cost_the_others_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tarrafa.agent.extract_pool.extract_apart", slow_or_not)
    monkeypatch.setattr("tarrafa.agent.extract_pool.TIMEOUT_SECONDS", 3.0)
    filler = "<p>x" * (LARGE_BYTES // 4)
    bodies = [f"slow {filler}", *(f"<a href=/{number}>one</a>{filler}" for number in range(4))]
    pool = ExtractPool(Options())
    slow, *others = asyncio.run(read(pool, [page(body) for body in bodies]))
    pool.close()
    assert slow.links == Links()
    assert [[link.target for link in each.links] for each in others] == [[f"{A}/{n}"] for n in range(4)]


def test_process_that_was_killed_between_two_pages_is_replaced() -> None:
    async def read_both() -> list[Extract]:
        first = await read(pool, [large])
        assert pool._process
        for process in list(pool._process._processes.values()):
            process.kill()
            process.join()
        return [*first, *await read(pool, [large])]

    pool = ExtractPool(Options())
    large = page("<title>t</title>" + "<p>word" * (LARGE_BYTES // 5))
    first, second = asyncio.run(read_both())
    pool.close()
    assert first == second == extract(large, large.body)


def test_process_that_dies_is_tried_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tarrafa.agent.extract_pool.extract_apart", deadly)
    pool = ExtractPool(Options())
    (found,) = asyncio.run(read(pool, [page("<a href=/1>one</a>" + "<p>x" * (LARGE_BYTES // 4))]))
    pool.close()
    assert found.format is Format.OTHER
