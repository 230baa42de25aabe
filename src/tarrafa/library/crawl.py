"""Start a crawl from Python: `crawl` for one call, `Crawl` for hooks and for pages as they come."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from datetime import timedelta
from pathlib import Path

from tarrafa.agent import CrawlFolder, Progress, RefreshMode, RunLimits
from tarrafa.errors import InputError
from tarrafa.library.collection import Collection
from tarrafa.library.crawl_run import CrawlRequest
from tarrafa.library.crawled_page import CrawledPage
from tarrafa.library.hook_runner import make_runner
from tarrafa.library.hooks import AnyFunction, Hooks
from tarrafa.library.page_stream import PageStream
from tarrafa.library.running_crawl import RunningCrawl
from tarrafa.library.settings import configuration_of, key_of, seconds_of
from tarrafa.schedule import Seeds, read_seed

Duration = str | float | timedelta


def crawl(
    seeds: str | Iterable[str] = (),
    *,
    dir: str | Path,  # noqa: A002 - named as the option of the command
    pages: int | None = None,
    hosts: int | None = None,
    time: Duration | None = None,
    wait: bool = False,
    forever: bool = False,
    again: bool = False,
    strict: bool = False,
    hooks: Hooks | None = None,
    config: str | Path | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    **settings: object,
) -> Collection:
    """Crawl from seeds to the end, or continue a crawl, and return its collection.

    The arguments are the options of `tarrafa crawl`; each setting has the name of its configuration key.
    """
    made = Crawl(
        seeds,
        dir=dir,
        pages=pages,
        hosts=hosts,
        time=time,
        wait=wait,
        forever=forever,
        again=again,
        strict=strict,
        config=config,
        **settings,
    )
    if hooks is not None:
        made.hooks.extend(hooks)
    if on_progress is not None:
        made.on_progress(on_progress)
    return made.run()


class Crawl:
    """A crawl with hooks. `run` it, or go over its pages with `async for`; both may be done again to continue.

    crawl = tarrafa.Crawl(seeds=["https://example.org"], dir="example")

    @crawl.on_page
    def keep(page): page.fields["price"] = page.select("span.price").text()
    """

    def __init__(
        self,
        seeds: str | Iterable[str] = (),
        *,
        dir: str | Path,  # noqa: A002 - named as the option of the command
        pages: int | None = None,
        hosts: int | None = None,
        time: Duration | None = None,
        wait: bool = False,
        forever: bool = False,
        again: bool = False,
        strict: bool = False,
        config: str | Path | None = None,
        **settings: object,
    ) -> None:
        """Check the arguments; nothing is read or written before the crawl runs."""
        self.hooks = Hooks()
        self.dir = _folder(dir)
        self._seeds = tuple(map(read_seed, [seeds] if isinstance(seeds, str) else seeds))
        seconds = None if time is None else seconds_of(time)
        mode = _mode(forever=forever, again=again)
        if mode is not RefreshMode.NOTHING and pages is not None:
            raise InputError("pages is not for forever or again: a page visited again is no page more; use time")
        self._limits = RunLimits(_count("pages", pages), _count("hosts", hosts), seconds, wait, mode)
        self._is_strict = strict
        self._file = None if config is None else Path(config)
        for name in settings:
            key_of(name)
        self._settings = settings
        self._reporters: list[Callable[[Progress], None]] = []
        self._running: RunningCrawl | None = None
        self.progress = Progress()  # of the last run, about once a second

    def __repr__(self) -> str:
        return f"<Crawl in {self.dir}>"

    def on_page(self, hook: AnyFunction) -> AnyFunction:
        """Call the function with each page before it is stored. It may change fields and links, or drop the page."""
        return self.hooks.on_page(hook)

    def on_url(self, hook: AnyFunction) -> AnyFunction:
        """Call the function with each found URL that is in scope; the URL is visited if it returns True."""
        return self.hooks.on_url(hook)

    def on_progress(self, reporter: AnyFunction) -> AnyFunction:
        """Call the function with a progress report about once a second."""
        self._reporters.append(reporter)
        return reporter

    def run(self) -> Collection:
        """Crawl to the end and return the collection. Ctrl-C stops the crawl and is raised when all is saved."""
        self._start(None).wait()
        return Collection(self.dir)

    def stop(self) -> None:
        """Let the crawl end: visits in flight are finished and everything is saved. May be called from any thread."""
        if self._running is not None:
            self._running.stop()

    def __aiter__(self) -> AsyncIterator[CrawledPage]:
        """Start the crawl; its pages come as they are stored. Leaving the loop stops the crawl and saves it."""
        loop, stream = asyncio.get_running_loop(), PageStream()
        return PageIterator(loop, stream, self._start(stream))

    async def finish(self) -> Collection:
        """Stop the crawl if it runs, wait until everything is saved, and return the collection."""
        if self._running is not None:
            self._running.stop()
            await self._running.saved()
            self._running.ended.result()
        return Collection(self.dir)

    def _start(self, stream: PageStream | None) -> RunningCrawl:
        if self._running is not None and not self._running.ended.done():
            raise InputError(f"the crawl in {self.dir} runs already; stop it first")
        folder = CrawlFolder(self.dir)
        request = CrawlRequest(
            folder,
            configuration_of(self._settings, folder, self._file),
            Seeds(self._seeds),
            self._limits,
            make_runner(self.hooks, folder, self._is_strict, stream) if self.hooks or stream is not None else None,
        )
        self._running = RunningCrawl(request, self._report, stream.end if stream is not None else _nothing)
        return self._running

    def _report(self, progress: Progress) -> None:
        self.progress = progress
        for reporter in self._reporters:
            reporter(progress)


class PageIterator:
    """The pages of a running crawl. The crawl stops when the iterator is gone, as after `break`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, stream: PageStream, running: RunningCrawl) -> None:
        self._stream = stream
        self._running = running
        # It keeps the event loop of the program from ending before the crawl is saved.
        self._keeper = loop.create_task(_keep(running), name="tarrafa crawl")

    def __aiter__(self) -> "PageIterator":
        return self

    async def __anext__(self) -> CrawledPage:
        page = await self._stream.take()
        if page is None:
            await asyncio.shield(self._keeper)
            self._running.ended.result()
            raise StopAsyncIteration
        return page

    async def aclose(self) -> None:
        """Stop the crawl, and return when it is saved."""
        self._leave()
        await asyncio.shield(self._keeper)

    def _leave(self) -> None:
        self._stream.leave()
        self._running.stop()

    def __del__(self) -> None:
        self._leave()


async def _keep(running: RunningCrawl) -> None:
    """Wait for the end of a crawl. Cancelling stops the crawl, and is otherwise ignored until it has saved."""
    is_saved = False
    while not is_saved:
        try:
            await running.saved()
            is_saved = True
        except asyncio.CancelledError:
            running.stop()


def _mode(*, forever: bool, again: bool) -> RefreshMode:
    if forever and again:
        raise InputError("forever and again are exclusive: the first goes on for ever; give one of them")
    return RefreshMode.FOREVER if forever else RefreshMode.AGAIN if again else RefreshMode.NOTHING


def _folder(given: str | Path) -> Path:
    if not str(given).strip():
        raise InputError("the name of a folder is empty; give for example dir='crawl'")
    return Path(given)


def _count(name: str, value: int | None) -> int | None:
    if value is not None and (not isinstance(value, int) or value < 1):
        raise InputError(f"{name} must be a whole number from 1, not {value!r}")
    return value


def _nothing() -> None:
    """Do nothing."""
