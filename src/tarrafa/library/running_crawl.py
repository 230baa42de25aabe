"""A crawl in a thread of its own, with an event loop of its own.

The thread that started it may wait, go on, or run an event loop. Nothing is ever written to its loop but callbacks.
"""

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from threading import Lock, Thread

import uvloop

from tarrafa.agent import Agent, Ending, Progress
from tarrafa.errors import WorkError
from tarrafa.library.crawl_run import CrawlRequest, CrawlRun, begin_run

_LOOK_SECONDS = 0.2


class RunningCrawl:
    def __init__(self, request: CrawlRequest, report: Callable[[Progress], None], on_end: Callable[[], None]) -> None:
        """Start the thread. Both functions are called in it: `report` about once a second, `on_end` at the end."""
        self._request = request
        self._report = report
        self._on_end = on_end
        self._lock = Lock()
        # All by the lock: set when the agent runs.
        self._loop: asyncio.AbstractEventLoop | None = None
        self._agent: Agent | None = None
        self._task: asyncio.Task[Progress] | None = None
        self._is_stopped = False
        self.ended: Future[Progress] = Future()  # or the error
        # What the program has set in its context holds in hooks, too.
        work = contextvars.copy_context().run
        self._thread = Thread(target=work, args=(self._work,), name="tarrafa crawl")
        self._thread.start()

    def stop(self) -> None:
        """Begin no more visits; those in flight are finished, and everything is saved. Returns at once."""
        with self._lock:
            self._is_stopped = True
            if self._loop is not None and self._agent is not None:
                self._loop.call_soon_threadsafe(self._agent.stop)

    def _cancel(self) -> None:
        """End at once; what is not saved yet is read back from the archive by the next run."""
        with self._lock:
            if self._loop is not None and self._task is not None:
                self._loop.call_soon_threadsafe(self._task.cancel)

    def wait(self) -> Progress:
        """Wait for the end. Ctrl-C stops the crawl and is raised when it is saved; a second one ends it at once."""
        try:
            self._join()
        except KeyboardInterrupt:
            self.stop()
            try:
                self._join()
            except KeyboardInterrupt:
                self._cancel()
                self._join()
            raise
        return self.ended.result()

    def _join(self) -> None:
        """Wait for the end, and look now and then for a signal that another thread has received.

        Not by joining the thread: Python 3.11 takes a thread for ended when Ctrl-C interrupts that.
        """
        while not self.ended.done():
            with suppress(TimeoutError):
                self.ended.exception(_LOOK_SECONDS)
        self._thread.join()

    async def saved(self) -> None:
        """Wait for the end without blocking the event loop. The error of the crawl is not raised."""
        ended = asyncio.wrap_future(self.ended)
        await asyncio.wait([ended])
        ended.exception()  # else it would be logged as never retrieved
        self._thread.join()  # it has nothing more to do

    def _work(self) -> None:
        try:
            progress = self._run()
        except BaseException as error:  # noqa: BLE001 - the thread that waits raises it
            self._on_end()
            self.ended.set_exception(error)
        else:
            self._on_end()
            self.ended.set_result(progress)

    def _run(self) -> Progress:
        with begin_run(self._request) as run:
            try:
                with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                    progress = runner.run(self._main(run))
            except asyncio.CancelledError:
                interrupt = KeyboardInterrupt()
                run.fail(interrupt)
                raise interrupt from None
            except BaseException as error:
                run.fail(error)
                raise
            ended = run.end(progress)
            self._report(ended)
            return _checked(ended)

    async def _main(self, run: CrawlRun) -> Progress:
        try:
            return await run.run(self._report, self._started)
        finally:
            with self._lock:
                self._loop = self._agent = self._task = None

    def _started(self, agent: Agent) -> None:
        with self._lock:
            self._loop, self._agent, self._task = asyncio.get_running_loop(), agent, asyncio.current_task()
            if self._is_stopped:
                agent.stop()


def _checked(progress: Progress) -> Progress:
    """Raise WorkError for a crawl without any page, which would otherwise look like an empty site."""
    if progress.ending is Ending.NOTHING:
        reasons = [
            *(f"hosts {status}: {reason}" for status, own in progress.host_statuses.items() for reason in own),
            *(f"visits failed: {kind}" for kind in progress.failures),
            *(f"URLs refused: {reason}" for reason in progress.refusals),
            *(f"URLs {outcome}" for outcome in progress.outcomes),
        ]
        raise WorkError(f"nothing was fetched ({', '.join(reasons) or 'no URL could be visited'})")
    return progress
