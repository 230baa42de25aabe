"""From a page as it was received to what it says: undo the content coding, then parse.

Ordinary pages are parsed on the event loop, in micro-batches. Pages that are expensive to parse go to another process.
"""

import asyncio
from collections.abc import Sequence
from time import perf_counter
from typing import NamedTuple

from tarrafa.agent.url_cleaner import UrlCleaner
from tarrafa.extract import LARGE_BYTES, Cut, Extract, ExtractOptions, PageFormat, extract, extract_all, is_expensive
from tarrafa.fetch import Decoded, decode
from tarrafa.records import Page
from tarrafa.task_process import ProcessEndedError, TaskProcess

TIMEOUT_SECONDS = 60.0
_START_SECONDS = 60.0  # for the other process to start
_BLANK = Page("http://blank.invalid/", 200, (("Content-Type", "text/html"),), b"<p>", at=0.0)
_TRIES = 2


class DecodedPage(NamedTuple):
    """A page, and its body without content coding."""

    page: Page
    body: bytes  # to be parsed: empty if the coding is unknown
    size_bytes: int
    truncated: bool
    seconds: float = 0.0  # that the decoding took

    @property
    def is_expensive(self) -> bool:
        return is_expensive(self.body)


class ParsedPage(NamedTuple):
    page: Page
    extract: Extract
    size_bytes: int  # without content coding
    cuts: tuple[Cut, ...] = ()
    apart_seconds: float = 0.0  # that the other process took


class TimedExtract(NamedTuple):
    extract: Extract
    seconds: float


def extract_apart(page: Page, body: bytes, options: ExtractOptions) -> TimedExtract:
    """Run in the other process. Titles of a long sitemap are left out: unpickling blocks the event loop."""
    began = perf_counter()
    found = extract(page, body, options)
    return TimedExtract(found._replace(listed=found.listed.bare()), perf_counter() - began)


class ExtractPool:
    def __init__(self, options: ExtractOptions) -> None:
        self._options = options
        self._process: TaskProcess | None = None  # started for the first page
        self._turn = asyncio.Semaphore(1)  # one page at a time, so that each timeout is its own

    async def extract(self, page: Page, body: bytes) -> TimedExtract:
        """Parse a page. If that takes too long or kills the process, return an empty extract."""
        async with self._turn:
            return await self._extract(page, body)

    async def _extract(self, page: Page, body: bytes) -> TimedExtract:
        for _ in range(_TRIES):
            try:
                process = self._process or await self._start()
                found = await _extract_in(process, page, body, self._options, TIMEOUT_SECONDS)
            except ProcessEndedError:  # it was killed, by this page or by the system
                self.close()
                continue
            if found is not None:
                return found
            self.close()
            break
        unread = Extract(page.url, PageFormat.OTHER, base_url=page.url, cuts=(Cut.LINKS, Cut.TEXT))
        return TimedExtract(unread, 0.0)

    async def _start(self) -> TaskProcess:
        """Start the process and let it parse a blank page, so that no timeout includes its start and its imports."""
        self._process = TaskProcess()
        if await _extract_in(self._process, _BLANK, _BLANK.body, self._options, _START_SECONDS) is None:
            raise ProcessEndedError
        return self._process

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.close()


async def _extract_in(
    process: TaskProcess, page: Page, body: bytes, options: ExtractOptions, timeout_seconds: float
) -> TimedExtract | None:
    """Return what the process finds; None if it takes too long. Then, and if the caller is cancelled, it is killed."""
    task = asyncio.ensure_future(asyncio.to_thread(process.run, extract_apart, page, body, options))
    try:
        done, _ = await asyncio.wait([task], timeout=timeout_seconds)
        return await task if done else None
    finally:
        if not task.done():
            # A parser that hangs can only be killed. Then the thread ends at once.
            process.kill()
            await asyncio.wait([task])
            task.exception()


class PageReader:
    def __init__(self, options: ExtractOptions, body_limit_bytes: int, cleaner: UrlCleaner | None = None) -> None:
        self.options = options
        self._cleaner = cleaner
        self._body_limit_bytes = body_limit_bytes
        self._pool = ExtractPool(options)

    async def decode(self, page: Page) -> DecodedPage:
        """Undo the content coding: at once, or in a thread if the body turns out to be large or damaged."""
        decoded, seconds = _timed_decode(page, min(LARGE_BYTES, self._body_limit_bytes))
        # Between two codings a body may have been larger than in the end.
        if decoded.truncated and (len(decoded.body) >= LARGE_BYTES or not page.truncated):
            decoded, more_seconds = await asyncio.to_thread(_timed_decode, page, self._body_limit_bytes)
            seconds += more_seconds
        body, truncated, is_unknown = decoded
        return DecodedPage(page, b"" if is_unknown else body, len(body), truncated, seconds)

    def parse(self, decoded: Sequence[DecodedPage]) -> list[ParsedPage]:
        """Parse ordinary pages, on the calling thread."""
        extracts = extract_all([each[:2] for each in decoded], self.options)
        return [self._parsed(each, found) for each, found in zip(decoded, extracts, strict=True)]

    async def parse_apart(self, decoded: DecodedPage) -> ParsedPage:
        """Parse an expensive page in the other process."""
        found, seconds = await self._pool.extract(decoded.page, decoded.body)
        return self._parsed(decoded, found)._replace(apart_seconds=seconds)

    def _parsed(self, decoded: DecodedPage, found: Extract) -> ParsedPage:
        cuts = tuple(dict.fromkeys((Cut.BODY, *found.cuts))) if decoded.truncated else found.cuts
        if self._cleaner is not None:
            found = self._cleaner.clean_extract(found)
        return ParsedPage(decoded.page, found, decoded.size_bytes, cuts)

    def close(self) -> None:
        self._pool.close()


def _timed_decode(page: Page, limit_bytes: int) -> tuple[Decoded, float]:
    began = perf_counter()
    return decode(page, limit_bytes), perf_counter() - began
