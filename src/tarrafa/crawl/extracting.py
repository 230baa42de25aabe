"""Pages are read without making visits wait: small ones that came together at once, large ones in another process."""

import asyncio
import contextlib
import multiprocessing
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from tarrafa.extract import Extract, Format, Options, extract, extract_all
from tarrafa.records import Page

# Larger bodies are read in another process: parsing holds the interpreter, and visits would wait.
BESIDE_BYTES = 200_000
BESIDE_TIMEOUT_SECONDS = 60.0
_TRIES = 2
# Small pages are read so many at a time, and about so much of them: a few milliseconds' work.
TOGETHER_COUNT, TOGETHER_BYTES = 16, BESIDE_BYTES


class Extracting:
    def __init__(self, options: Options) -> None:
        self._options = options
        # Small pages, and where what they say is waited for. Filled by _extract_soon, emptied by _extract_waiting.
        self._waiting: deque[tuple[Page, bytes, asyncio.Future[Extract]]] = deque()
        self._beside: ProcessPoolExecutor | None = None  # made for the first large page
        self._turn = asyncio.Semaphore(1)  # one large page at a time, so that each has the process for itself

    async def extract(self, page: Page, body: bytes) -> Extract:
        """A large page is left without what it says if that takes too long."""
        if len(body) < BESIDE_BYTES:
            return await self._extract_soon(page, body)
        async with self._turn:
            return await self._extract_beside(page, body)

    def _extract_soon(self, page: Page, body: bytes) -> asyncio.Future[Extract]:
        """In the next turn of the loop, when all pages that came in this one are known."""
        loop = asyncio.get_running_loop()
        found: asyncio.Future[Extract] = loop.create_future()
        self._waiting.append((page, body, found))
        if len(self._waiting) == 1:
            loop.call_soon(self._extract_waiting)
        return found

    def _extract_waiting(self) -> None:
        together: list[tuple[Page, bytes, asyncio.Future[Extract]]] = []
        size_bytes = 0
        while self._waiting and len(together) < TOGETHER_COUNT and size_bytes < TOGETHER_BYTES:
            together.append(self._waiting.popleft())
            size_bytes += len(together[-1][1])
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._extract_waiting)
        try:
            extracts = extract_all([(page, body) for page, body, _ in together], self._options)
        except Exception as error:  # noqa: BLE001 - whoever waits for it raises it, and stops the agent
            for _, _, found in together:
                if not found.done():
                    found.set_exception(error)
            return
        for (_, _, found), each in zip(together, extracts, strict=True):
            if not found.done():
                found.set_result(each)

    async def _extract_beside(self, page: Page, body: bytes) -> Extract:
        for _ in range(_TRIES):
            if self._beside is None:
                self._beside = ProcessPoolExecutor(1, multiprocessing.get_context("forkserver"))
            work = asyncio.get_running_loop().run_in_executor(self._beside, extract, page, body, self._options)
            try:
                async with asyncio.timeout(BESIDE_TIMEOUT_SECONDS):
                    return await work
            except TimeoutError:
                self.close()
                break
            except BrokenProcessPool:  # it was killed, by this page or by the system
                self.close()
        return Extract(page.url, Format.OTHER, base_url=page.url)

    def close(self) -> None:
        if self._beside is not None:
            # There is no other way to end one that does not.
            for process in list((self._beside._processes or {}).values()):
                with contextlib.suppress(OSError):
                    process.kill()
            self._beside.shutdown(wait=False, cancel_futures=True)
            self._beside = None
