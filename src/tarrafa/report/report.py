"""A report, made from what a crawl has saved in one pass over each part."""

import contextlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tarrafa.agent import CHANGED, REFRESHES, CrawlFolder, HostDatabaseReader, Totals, spent_seconds
from tarrafa.keep import DOCUMENTS, read_batches
from tarrafa.layout import CrawlPaths, agents_of, part_of
from tarrafa.rank import Ranks
from tarrafa.report.counters import DuplicateCounts
from tarrafa.report.document_facts import FIRST_PAGES, REPORT_COLUMNS, DocumentFacts
from tarrafa.report.freshness_facts import FreshnessFacts
from tarrafa.report.host_facts import HostFacts
from tarrafa.report.spent_time import per_1000
from tarrafa.report.true_freshness import CopySample, true_freshness
from tarrafa.report.web_truth import WebTruth
from tarrafa.verify import block_histories, counts_of, known_urls

TOP = 20  # rows of a table
SPANS = 60  # of time
LEVELS = 30
_OTHER_FILES = "other files"  # directly in the folder of the crawl or of an agent
_OF_RUN = ("run_pages", "run_visits", "seconds", "cpu_seconds", "memory_bytes")


class UrlStates(NamedTuple):
    """Known URLs by state, as of the repository's last commit."""

    known: int = 0
    collected: int = 0  # of these: finished, with any outcome
    scheduled: int = 0  # of these: chosen to be fetched next
    waiting: int = 0  # offered, and not verified yet
    hosts: int = 0
    blocks: int = 0

    @property
    def remaining(self) -> int:
        return self.known - self.collected - self.scheduled

    def as_json(self) -> dict[str, Any]:
        return {**self._asdict(), "remaining": self.remaining}


class DiskUsage(NamedTuple):
    part: str
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Report:
    is_running: bool
    in_flight: int  # visits that may be made at the same time
    totals: Totals
    run: Mapping[str, Any]  # figures of the last run; empty if they are lost
    states: UrlStates
    host_statuses: dict[str, dict[str, int]]  # hosts that are not visited, by reason
    documents: DocumentFacts
    hosts: HostFacts
    disk: list[DiskUsage]
    duplicates: DuplicateCounts
    has_ranks: bool
    freshness: FreshnessFacts

    @property
    def seconds(self) -> float:
        """The time from the first page to the last, including pauses."""
        return self.documents.timeline.seconds

    def per_second(self, amount: float) -> float:
        return amount / self.seconds if self.seconds > 0 else 0.0

    @property
    def spent_seconds(self) -> dict[str, float]:
        """The time spent in each step, of all runs."""
        return spent_seconds(self.totals)

    def as_json(self) -> dict[str, Any]:
        documents = self.documents
        return {
            "crawl": self._crawl(),
            "states": self.states.as_json(),
            "outcomes": self.totals.named("outcome"),
            "statuses": documents.statuses.top(TOP).as_json(),
            "refusals": self.totals.named("refusal"),
            "failures": self.totals.named("failure"),
            "host_statuses": self.host_statuses,
            "walls": self.totals.named("wall"),
            "walled_hosts": [each._asdict() for each in self.hosts.walled],
            "mirrors": [each._asdict() for each in self.hosts.mirrors],
            "slowed_patterns": [each.as_json() for each in self.hosts.patterns],
            "media_types": documents.media_types.top(TOP).as_json(),
            "languages": documents.languages.top(TOP).as_json(),
            "hosts": self.hosts.as_json(),
            "space": [each._asdict() for each in self.disk],
            "steps_seconds": {step: seconds.as_json() for step, seconds in self.hosts.steps.items()},
            "spent_seconds": self._spent(),
            "over_time": [span.as_json() for span in documents.timeline.spans(SPANS)],
            "size_bytes": documents.sizes.as_json(),
            "levels": {str(level): count for level, count in sorted(documents.levels.items())[:LEVELS]},
            "copies": self.duplicates.as_json(),
            "freshness": {**self._refreshes(), **self.freshness.as_json(SPANS)},
            "cuts": documents.cuts.top(TOP).as_json(),
            "cut_pages": [{"url": url, "cuts": cuts} for url, cuts in documents.cut_pages],
            "ranks": documents.ranks.as_json() if self.has_ranks else None,
        }

    def _spent(self) -> dict[str, Any]:
        pages = self.totals["pages"]
        return {
            step: {"sum": seconds, "per_1000_pages": per_1000(seconds, pages)}
            for step, seconds in self.spent_seconds.items()
        }

    def _refreshes(self) -> dict[str, Any]:
        count, changed = self.totals[REFRESHES], self.totals[CHANGED]
        return {"refreshes": count, "refreshes_changed": changed, "outcomes": self.totals.named("refresh")}

    def _crawl(self) -> dict[str, Any]:
        timeline, pages, size_bytes = self.documents.timeline, self.totals["pages"], self.totals["bytes"]
        return {
            "running": self.is_running,
            "pages": pages,
            "visits": self.totals["visits"],
            "bytes": size_bytes,
            "hosts": self.totals["hosts"],
            "in_flight": self.in_flight,
            "first_at": timeline.first_at,
            "last_at": timeline.last_at,
            "seconds": self.seconds,
            "pages_per_second": self.per_second(pages),
            "visits_per_second": self.per_second(self.totals["visits"]),
            "bytes_per_second": self.per_second(size_bytes),
            "disk_bytes": sum(each.bytes for each in self.disk),
            "first_pages": min(FIRST_PAGES, self.documents.pages),
            "hosts_of_first_pages": len(self.documents.first_hosts),
            "pages_cut": self.documents.pages_cut,
            "run": dict(self.run),
        }


def make_report(
    folder: CrawlFolder,
    in_flight: int,
    policy: str = "optimal",
    now: float | None = None,
    truth: WebTruth | None = None,
) -> Report:
    """Report what is saved now. What a running crawl saves meanwhile may or may not be included.

    `policy` is the one by which pages are visited again; `now` is the wall-clock time. `truth` is
    asked how fresh the copies are in truth.
    """
    ranks = Ranks.open(folder.ranks)
    freshness = FreshnessFacts(policy, time.time() if now is None else now)
    freshness.copies = None if truth is None else CopySample()
    documents, hosts, totals = DocumentFacts(ranks, freshness), HostFacts(), Totals()
    host_statuses: dict[str, dict[str, int]] = {}
    agents = list(agents_of(folder.root))
    for agent in agents:
        with closing(HostDatabaseReader(agent.hosts)) as database:
            number, _, agent_totals = database.checkpoint()
            _add_statuses(host_statuses, database.host_statuses())
            hosts.read(database)
        totals.update(agent_totals)
        freshness.read_histories(block_histories(agent.repository))
        documents.read(read_batches(agent.documents, DOCUMENTS, number, REPORT_COLUMNS))
    if truth is not None:
        _ask(truth, freshness, agents)
    status = folder.read_status()
    return Report(
        is_running=folder.is_locked(),
        in_flight=in_flight,
        totals=totals,
        run={name: status[name] for name in _OF_RUN if name in status},
        states=_states(agents),
        host_statuses=host_statuses,
        documents=documents,
        hosts=hosts,
        disk=_disk_usage(folder.root),
        duplicates=documents.duplicates.counts(),
        has_ranks=ranks is not None,
        freshness=freshness,
    )


def _ask(truth: WebTruth, freshness: FreshnessFacts, agents: Iterable[CrawlPaths]) -> None:
    assert freshness.copies is not None
    urls = {copy.url for copy in freshness.copies.copies()}
    importance = {
        known.url: known.history.importance
        for agent in agents
        for known in known_urls(agent.repository)
        if known.history is not None and known.url in urls
    }
    hosts = [each.host for each in freshness.top]
    freshness.true = true_freshness(truth, freshness.copies, importance, hosts, freshness.now)


def _add_statuses(into: dict[str, dict[str, int]], added: Mapping[str, Mapping[str, int]]) -> None:
    for status, reasons in added.items():
        counts = into.setdefault(status, {})
        for reason, count in reasons.items():
            counts[reason] = counts.get(reason, 0) + count


def _states(agents: Iterable[CrawlPaths]) -> UrlStates:
    counts = [counts_of(agent.repository) for agent in agents]
    return UrlStates(**{name: sum(getattr(each, name) for each in counts) for name in UrlStates._fields})


def _disk_usage(root: Path) -> list[DiskUsage]:
    """Return the size of each folder, those of all agents together; the largest first."""
    found: dict[str, list[int]] = {}
    for path, size_bytes in _sizes(root):
        counts = found.setdefault(part_of(path, root) or _OTHER_FILES, [0, 0])
        counts[0] += 1
        counts[1] += size_bytes
    usage = (DiskUsage(part, *counts) for part, counts in found.items())
    return sorted(usage, key=lambda each: (-each.bytes, each.part))


def _sizes(root: Path) -> Iterator[tuple[Path, int]]:
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder, name)
            # A file may vanish meanwhile.
            with contextlib.suppress(OSError):
                yield path, path.stat().st_size
