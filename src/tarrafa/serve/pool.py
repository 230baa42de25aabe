"""Work that takes a while, beside the loop: a few threads, and a bounded number of those who wait for them."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import TypeVar

from tarrafa.serve.asking import RefusedError

Made = TypeVar("Made")


class Pool:
    """Used from one event loop."""

    def __init__(self, name: str, workers: int, waiting_limit: int) -> None:
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix=name)
        self._limit = workers + waiting_limit
        self._count = 0  # raised and lowered by run

    async def run(self, work: Callable[[], Made]) -> Made:
        if self._count >= self._limit:
            raise RefusedError("busy", HTTPStatus.SERVICE_UNAVAILABLE)
        self._count += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self._count -= 1

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
