"""Remove old versions of pages from the folder of a crawl that does not run, by the bounds of its configuration.

The links that ranks have read already are in parts of their own. The parts of an agent whose links are removed are
forgotten first, so that the next ranks read its links again.
"""

from contextlib import ExitStack
from functools import partial
from pathlib import Path

from tarrafa.agent import CrawlFolder, checkpoint_of
from tarrafa.clock import Clock, SystemClock
from tarrafa.configuration import KeepSection
from tarrafa.disk import FolderLock, map_disk_errors
from tarrafa.keep.retention import RemovedVersions, StepReport, VersionBounds, remove_versions
from tarrafa.layout import agents_of
from tarrafa.rank import GraphParts

_CLOCK = SystemClock()


def bounds_of(section: KeepSection) -> VersionBounds:
    return VersionBounds(section.versions, section.version_age_seconds)


def prune_versions(
    folder: CrawlFolder,
    bounds: VersionBounds,
    report: StepReport = lambda _: None,
    *,
    clock: Clock = _CLOCK,
    is_dry: bool = False,
) -> RemovedVersions:
    """Remove the versions beyond the bounds; with `is_dry`, only count them.

    Raise LockedError if the crawl runs, or if its ranks are being made.
    """
    total = RemovedVersions()
    with ExitStack() as stack:
        if not is_dry:
            stack.callback(folder.lock().release)
            _lock_ranks(folder.ranks, stack)
        for agent in agents_of(folder.root):
            number, end, _ = checkpoint_of(agent.hosts)
            forget = partial(_forget_links, folder.ranks, agent.agent_name)
            found = remove_versions(agent, number, end, bounds, clock.now(), report, before_links=forget, is_dry=is_dry)
            total = RemovedVersions(*map(sum, zip(total, found, strict=True)))
    return total


def _lock_ranks(place: Path, stack: ExitStack) -> None:
    if place.is_dir():
        with map_disk_errors(place):
            stack.callback(FolderLock(place).release)


def _forget_links(place: Path, agent: str) -> None:
    """Remove the parts with links that were read already."""
    if place.is_dir():
        GraphParts(place).forget(agent)
