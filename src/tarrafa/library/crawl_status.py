"""The state of a crawl: its last progress report, corrected by what is saved, and whether it runs."""

from contextlib import closing
from typing import Any, NamedTuple

from tarrafa.agent import (
    CHANGED,
    REFRESHES,
    CrawlFolder,
    Ending,
    HostDatabaseReader,
    Progress,
    read_ending,
    spent_seconds,
)


class CrawlStatus(NamedTuple):
    progress: Progress
    is_running: bool
    saved_pages: int

    def told(self) -> dict[str, Any]:
        return {**self.progress.told(), "running": self.is_running, "saved_pages": self.saved_pages}


def status_of_crawl(folder: CrawlFolder) -> CrawlStatus:
    """Return the state of a crawl, while it runs or later."""
    with closing(HostDatabaseReader(folder.hosts)) as database:
        saved, host_statuses = database.checkpoint(), database.host_statuses()
    is_running = folder.is_locked()
    # The size of the last report is old as soon as an index or ranks are made.
    report = {**folder.read_status(), "host_statuses": host_statuses, "disk_bytes": folder.disk_bytes()}
    ending = read_ending(report, folder.status)
    # Asked again: a crawl may have begun in the meantime.
    is_running = is_running or folder.is_locked()
    if ending is Ending.RUNNING and not is_running:
        ending = Ending.KILLED
    if ending in (Ending.KILLED, Ending.FAILED, Ending.INTERRUPTED):
        # It has not saved its last report's figures.
        report |= {name: saved.totals[name] for name in ("pages", "visits", "bytes", "hosts")}
        report |= {"refreshes": saved.totals[REFRESHES], "changed": saved.totals[CHANGED]}
        report |= {"spent_seconds": spent_seconds(saved.totals)}
    return CrawlStatus(Progress.of({**report, "ending": ending}), is_running, saved.totals["pages"])
