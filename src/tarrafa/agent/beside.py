"""Large pages are read in another process: parsing holds the interpreter, and visits would wait."""

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


def read_there(page: Page, body: bytes, options: ExtractOptions) -> Extract:
    """In the other process. What nobody asks of a long listing stays there: while it is brought here, visits wait."""
    found = extract(page, body, options)
    return found._replace(listed=found.listed.bare())


def _started() -> "ProcessPoolExecutor":
    """It starts with its first work, which takes long enough to be done in a thread."""
    # Many crawls meet no large page, and start the sooner without these.
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    process = ProcessPoolExecutor(1, multiprocessing.get_context("forkserver"))
    process.submit(bool)
    return process


class Beside:
    def __init__(self, options: ExtractOptions) -> None:
        self._options = options
        self._process: ProcessPoolExecutor | None = None  # made for the first page
        self._turn = asyncio.Semaphore(1)  # one page at a time, so that each has the process for itself

    async def extract(self, page: Page, body: bytes) -> Extract:
        """Without what the page says if that takes too long."""
        async with self._turn:
            return await self._extract(page, body)

    async def _extract(self, page: Page, body: bytes) -> Extract:
        for _ in range(_TRIES):
            if self._process is None:
                self._process = await asyncio.to_thread(_started)
            try:
                work = asyncio.get_running_loop().run_in_executor(self._process, read_there, page, body, self._options)
                async with asyncio.timeout(TIMEOUT_SECONDS):
                    return await work
            except TimeoutError:
                self.close()
                break
            except BrokenExecutor:  # it was killed, by this page or by the system, perhaps long ago
                self.close()
        return Extract(page.url, PageFormat.OTHER, base_url=page.url)

    def close(self) -> None:
        if self._process is not None:
            # There is no other way to end one that does not.
            for process in list((self._process._processes or {}).values()):
                with contextlib.suppress(OSError):
                    process.kill()
            self._process.shutdown(wait=False, cancel_futures=True)
            self._process = None
