"""Parse expensive pages in another process: parsing holds the interpreter, and visits would wait."""

import asyncio
import contextlib
import re
from concurrent.futures import BrokenExecutor
from typing import TYPE_CHECKING, cast

import numpy as np
from isal import isal_zlib

from tarrafa.extract import Extract, Format, Options, extract
from tarrafa.records import Page

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

LARGE_BYTES = 200_000
# Smaller ones take as long when they have very many tags, or fewer that nobody closes: for each of these the parser may
# look through all that are open. Or very many attributes, which are known by what stands before their names or values.
_DENSE_BYTES, _DENSE_TAGS, _NESTED_TAGS, _UNCLOSED_TAGS = 10_000, 4_000, 2_000, 1_000
_BUSY_BYTES, _BUSY_WORDS = 50_000, 20_000
_IS_BEFORE_WORD = bytes(octet in b" \t\n\f\r/=" for octet in range(256))
# Or when they are a list of addresses.
_ADDRESSES = re.compile(rb"(?:\xef\xbb\xbf)?\s*+https?://")
_LESS = ord("<")
_PACKED_BYTES = 100_000  # of a sitemap that is a gzip file, unpacked
_GZIP_MAGIC, _GZIP_WINDOW = b"\x1f\x8b", 31
# The package's type stubs take the class for an instance.
_DamagedError = cast("type[Exception]", isal_zlib.IsalError)
TIMEOUT_SECONDS = 60.0
_TRIES = 2


def is_large(body: bytes) -> bool:
    """Whether to read it takes more than a few milliseconds."""
    if body.startswith(_GZIP_MAGIC):
        return _is_large_unpacked(body)
    if len(body) < _DENSE_BYTES:
        return False
    return len(body) >= LARGE_BYTES or _is_dense(body) or _is_busy(body) or _ADDRESSES.match(body) is not None


def _is_dense(body: bytes) -> bool:
    tags = int(np.count_nonzero(np.frombuffer(body, np.uint8) == _LESS))  # half of the time that `count` takes
    if tags <= _NESTED_TAGS:
        return False
    return tags > _DENSE_TAGS or tags - 2 * body.count(b"</") > _UNCLOSED_TAGS


def _is_busy(body: bytes) -> bool:
    """Each word may be an attribute. Of what is white space, or stands for it, only the last counts."""
    if len(body) < _BUSY_BYTES:
        return False
    is_before = np.frombuffer(body.translate(_IS_BEFORE_WORD), np.bool_)
    return int(np.count_nonzero(is_before[:-1] > is_before[1:])) > _BUSY_WORDS


def _is_large_unpacked(packed: bytes) -> bool:
    try:
        return len(isal_zlib.decompressobj(_GZIP_WINDOW).decompress(packed, _PACKED_BYTES)) >= _PACKED_BYTES
    except _DamagedError:
        return False


def extract_apart(page: Page, body: bytes, options: Options) -> Extract:
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
    def __init__(self, options: Options) -> None:
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
        return Extract(page.url, Format.OTHER, base_url=page.url)

    def close(self) -> None:
        if self._process is not None:
            # A parser that hangs can only be killed.
            for process in list((self._process._processes or {}).values()):
                with contextlib.suppress(OSError):
                    process.kill()
            self._process.shutdown(wait=False, cancel_futures=True)
            self._process = None
