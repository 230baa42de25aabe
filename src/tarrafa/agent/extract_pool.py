"""Parse expensive pages in another process: parsing holds the interpreter, and visits would wait."""

import asyncio
import contextlib
from concurrent.futures import BrokenExecutor
from typing import TYPE_CHECKING

from tarrafa.extract import Extract, ExtractOptions, PageFormat, extract
from tarrafa.records import Page

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

TIMEOUT_SECONDS = 60.0
_TRIES = 2


def extract_apart(page: Page, body: bytes, options: ExtractOptions) -> Extract:
    """Run in the other process. Of a long sitemap only the URLs are returned: unpickling blocks the event loop."""
    found = extract(page, body, options)
    return found._replace(listed=found.listed.bare())


def _start() -> "ProcessPoolExecutor":
    """Start the process with a first task. Slow, so it is called in a thread."""
    # Most crawls meet no expensive page and do without these modules.
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    process = ProcessPoolExecutor(1, multiprocessing.get_context("forkserver"))
    process.submit(bool)
    return process


class ExtractPool:
    def __init__(self, options: ExtractOptions) -> None:
        self._options = options
        self._process: ProcessPoolExecutor | None = None  # started for the first page
        self._turn = asyncio.Semaphore(1)  # one page at a time, so that each timeout is its own

    async def extract(self, page: Page, body: bytes) -> Extract:
        """Parse a page. If that takes too long or kills the process, return an empty extract."""
        async with self._turn:
            return await self._extract(page, body)

    async def _extract(self, page: Page, body: bytes) -> Extract:
        for _ in range(_TRIES):
            if self._process is None:
                self._process = await asyncio.to_thread(_start)
            try:
                run = asyncio.get_running_loop().run_in_executor
                async with asyncio.timeout(TIMEOUT_SECONDS):
                    return await run(self._process, extract_apart, page, body, self._options)
            except TimeoutError:
                self.close()
                break
            except BrokenExecutor:  # the process was killed, by this page or by the system
                self.close()
        return Extract(page.url, PageFormat.OTHER, base_url=page.url)

    def close(self) -> None:
        if self._process is not None:
            # A parser that hangs can only be killed.
            for process in list((self._process._processes or {}).values()):
                with contextlib.suppress(OSError):
                    process.kill()
            self._process.shutdown(wait=False, cancel_futures=True)
            self._process = None
