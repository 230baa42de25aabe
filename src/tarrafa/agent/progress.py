"""The progress of a crawl: shown while it runs, written to its folder, and reported at its end."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from tarrafa.agent.refresher import RefreshMode
from tarrafa.errors import WorkError
from tarrafa.texts import quoted


class Ending(StrEnum):
    """Why a crawl has ended."""

    RUNNING = "running"
    DONE = "done"  # no URL is left that may be fetched
    SUSPENDED = "suspended hosts"  # no URL is left but those of hosts that are suspended
    NOTHING = "nothing fetched"  # no URL is left that may be fetched now, and the crawl has no page
    PAGES = "page limit"
    TIME = "time limit"
    ROUND = "round over"  # all pages that were worth a visit in this round were visited again
    STOPPED = "stopped"  # by a signal; the visits in flight were finished
    INTERRUPTED = "interrupted"  # by a second signal, at once
    FAILED = "failed"  # the work could not go on, as on a full disk; `Progress.reason` tells why
    KILLED = "killed"  # found by a later command: the process is gone and has not reported its end


def read_ending(status: Mapping[str, Any], path: Path) -> Ending:
    """Return how a run ended, as its status in a file tells; running if it tells nothing."""
    found = status.get("ending", Ending.RUNNING)
    try:
        return Ending(found)
    except ValueError:
        remedy = "another version of Tarrafa wrote it: use that one, or run the crawl again"
        raise WorkError(f"{path}: the ending {quoted(str(found))} is unknown; {remedy}") from None


class RunLimits(NamedTuple):
    """When a run ends before all is visited."""

    pages: int | None = None  # of the whole crawl; visits that bring no page do not count
    hosts: int | None = None  # of the whole crawl
    seconds: float | None = None  # of this run
    is_waiting: bool = False  # stay until no suspended host has URLs
    mode: RefreshMode = RefreshMode.NOTHING
    refreshes: int | None = None  # visits of a round; None for all pages


class Progress(NamedTuple):
    ending: Ending = Ending.RUNNING
    pages: int = 0  # answers that were kept with a 2xx status
    run_pages: int = 0  # of this run
    visits: int = 0  # requests, whatever came of them: also retries and robots.txt
    run_visits: int = 0
    refreshes: int = 0  # pages that were visited again; not among `pages`
    run_refreshes: int = 0
    refresh_outcomes: Mapping[str, int] = {}  # of the refreshes
    changed: int = 0  # of the refreshes, those that found other content
    run_changed: int = 0
    hook_errors: int = 0  # hooks that raised an error, or gave a field that cannot be stored
    pages_cut: int = 0  # of the pages, those of which a part was left out; `cuts` tells what
    bytes: int = 0  # of bodies that were kept, as received
    hosts: int = 0  # met so far
    known: int = 0  # URLs, as of the last cycle of the repository
    fresh: int = 0  # known and not visited yet
    seconds: float = 0.0  # of this run
    pages_per_second: float = 0.0  # over the last seconds
    visits_per_second: float = 0.0
    bytes_per_second: float = 0.0
    in_flight: int = 0
    in_flight_limit: int = 0
    extracting: int = 0  # of those in flight, visits whose page is expensive and being parsed in the other process
    resolving: int = 0  # hosts whose name is being looked up, or is to be
    ready: int = 0  # addresses that could be visited now
    waiting: int = 0  # hosts whose turn is yet to come
    next_seconds: float | None = None  # until a waiting host, or if there is none a suspended one, may be visited
    suspended: int = 0  # hosts; at the end, those that still have URLs
    suspended_until: float | None = None  # wall-clock time at which the first of them comes back, known at the end
    mode: RefreshMode = RefreshMode.NOTHING  # what the run does with pages that were collected before
    outage_seconds: float | None = None  # since this machine's network seems to be down; None if it is up
    given_up: int = 0
    memory_bytes: int = 0
    disk_bytes: int = 0
    cpu_seconds: float = 0.0  # of this run
    busy_share: float = 0.0  # of the time of the event loop's thread, over the last seconds
    is_saving_late: bool = False  # visits pause until a checkpoint is done
    pages_limit: int | None = None
    seconds_limit: float | None = None
    left_seconds: float | None = None  # until the page limit, at this rate
    last_visits: Sequence[Sequence[str]] = ()  # status or kind of failure, and URL; the newest first
    slowest_hosts: Mapping[str, float] = {}  # the longest of their last visits, in seconds
    outcomes: Mapping[str, int] = {}
    refusals: Mapping[str, int] = {}
    failures: Mapping[str, int] = {}
    cuts: Mapping[str, int] = {}  # pages with a cut body, text, title or list of links
    spent_seconds: Mapping[str, float] = {}  # since the crawl began, summed over concurrent visits
    host_statuses: Mapping[str, Mapping[str, int]] = {}  # hosts that are not visited, and why
    reason: str = ""  # why the run failed

    def told(self) -> dict[str, Any]:
        return self._asdict()

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> "Progress":
        """Return what was told, also by another version: fields that this one does not know are left out.

        An ending that it does not know raises ValueError.
        """
        known = {name: value for name, value in told.items() if name in cls._fields}
        return cls(**{**known, "ending": Ending(told.get("ending", Ending.RUNNING))})
