"""One run of a crawl in its folder: check what was given, lock the folder, run the agent, write how it ended.

Who calls decides on the event loop and on signals: the command line installs handlers, a program keeps its own.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

from tarrafa import wiring
from tarrafa.agent import (
    Agent,
    CrawlFolder,
    CrawlHooks,
    Ending,
    Progress,
    RefreshMode,
    RunLimits,
    end_round,
    touch_round,
)
from tarrafa.configuration import Configuration, HostTables, require_contact, to_crawl_toml
from tarrafa.errors import InputError, TarrafaError
from tarrafa.schedule import Seeds
from tarrafa.texts import printable
from tarrafa.urls import host_of


class CrawlRequest(NamedTuple):
    """What is to be crawled, how, and where."""

    folder: CrawlFolder
    configuration: Configuration
    seeds: Seeds = Seeds()
    limits: RunLimits = RunLimits()
    hooks: CrawlHooks | None = None


class CrawlRun:
    """A crawl whose folder is locked."""

    def __init__(self, request: CrawlRequest, seeds: tuple[str, ...]) -> None:
        self._request = request
        self._seeds = seeds
        self._report: Callable[[Progress], None] = lambda _: None
        self.last: Progress | None = None  # the last report; None before the first

    async def run(self, report: Callable[[Progress], None], started: Callable[[Agent], None]) -> Progress:
        """Crawl to the end, and close the agent in any case. `report` is called about once a second."""
        request, self._report = self._request, report
        agent = wiring.agent(request.configuration, request.folder, self._seeds, request.limits, hooks=request.hooks)
        started(agent)
        try:
            return await agent.run(self._seeds, self._note)
        finally:
            await _close(agent, has_failed=sys.exc_info()[0] is not None)

    def _note(self, progress: Progress) -> None:
        self.last = progress
        self._request.folder.write_status(progress.told())
        if self._request.limits.mode is not RefreshMode.NOTHING:
            touch_round(self._request.folder.round)
        self._report(progress)

    def end(self, progress: Progress) -> Progress:
        """Write how the run ended; the folder is measured again, because the end has changed it."""
        folder = self._request.folder
        if is_round_over(progress.ending, self._request.limits.mode):
            end_round(folder.round)
        progress = progress._replace(disk_bytes=folder.disk_bytes())
        folder.write_status(progress.told())
        return progress

    def fail(self, error: BaseException) -> None:
        """Write how the run failed over its last report, or over that of the run before if it made none."""
        told: dict[str, object] = {}
        with suppress(TarrafaError):
            told = self._request.folder.read_status() if self.last is None else self.last.told()
        is_interrupted = isinstance(error, KeyboardInterrupt)
        ending = {"ending": Ending.INTERRUPTED, "reason": ""} if is_interrupted else {"ending": Ending.FAILED}
        reason = printable(str(error) or repr(error))
        self._request.folder.write_last_status({**told, "reason": reason, **ending})


def is_round_over(ending: Ending, mode: RefreshMode) -> bool:
    """Return True if the next command begins a round of its own. A round lasts as long as its --time."""
    if ending in (Ending.DONE, Ending.ROUND, Ending.NOTHING):
        return True
    return mode is RefreshMode.ROUND and ending is Ending.TIME


@contextmanager
def begin_run(request: CrawlRequest) -> Iterator[CrawlRun]:
    """Check what was given, lock the folder, and store seeds and configuration in it."""
    check_request(request)
    hold = request.folder.lock()
    try:
        clean = wiring.url_cleaner(request.configuration).clean
        seeds = request.folder.add_seeds(tuple(dict.fromkeys(map(clean, request.seeds.urls))))
        _require_contact(request.configuration, seeds.urls)
        text = to_crawl_toml(request.configuration)
        request.folder.keep_configuration(text, is_private=request.configuration.has_secrets)
        yield CrawlRun(request, seeds.urls)
    finally:
        hold.release()


def check_request(request: CrawlRequest) -> None:
    """Raise InputError for what cannot be crawled, before anything is written."""
    folder, configuration, given = request.folder, request.configuration, request.seeds
    if not given.urls and not folder.exists():
        raise InputError("there are no seeds; give some, for example: tarrafa crawl example.org --dir DIR")
    _require_contact(configuration, given.urls)
    wiring.check(configuration, given.urls)
    wiring.require_seed_in_scope(configuration, (*folder.known_seeds().urls, *given.urls))


def _require_contact(configuration: Configuration, urls: Sequence[str]) -> None:
    require_contact(configuration.crawl.user_agent, map(host_of, urls), HostTables(configuration.hosts))


async def _close(agent: Agent, *, has_failed: bool) -> None:
    """Close the agent. After a failure, what fails on the way must not hide it."""
    try:
        await agent.close()
    except (TarrafaError, OSError):
        if not has_failed:
            raise
