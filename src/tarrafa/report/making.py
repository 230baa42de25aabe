"""A report: made of what a crawl has saved, in one pass over each part."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from tarrafa.agent import CrawlFolder, HostBook
from tarrafa.agent.totals import Totals
from tarrafa.keep import DOCUMENTS, read_batches
from tarrafa.layout import agents_of
from tarrafa.rank import Ranks
from tarrafa.report.copies import Copied
from tarrafa.report.documents import COLUMNS, FIRST_PAGES, DocumentFacts
from tarrafa.report.hosts import HostFacts
from tarrafa.report.space import Space, space_of
from tarrafa.report.states import States, joined, states_of

TOP = 20  # rows of a table whose texts strangers choose
MOMENTS = 60  # spans of time
LEVELS = 30


@dataclass(frozen=True, slots=True)
class Report:
    is_running: bool
    in_flight: int  # pages that may be fetched at the same time
    totals: Totals
    run: Mapping[str, Any]  # what the last run told of itself; empty if that is lost
    states: States
    standings: dict[str, dict[str, int]]  # hosts that are not visited, and why
    documents: DocumentFacts
    hosts: HostFacts
    space: list[Space]
    copied: Copied
    has_ranks: bool

    @property
    def seconds(self) -> float:
        """From the first page to the last, pauses included."""
        return self.documents.timeline.seconds

    def per_second(self, amount: float) -> float:
        return amount / self.seconds if self.seconds > 0 else 0.0

    def told(self) -> dict[str, Any]:
        """For JSON."""
        documents = self.documents
        return {
            "crawl": self._crawl(),
            "states": self.states.told(),
            "outcomes": self.totals.named("outcome"),
            "statuses": documents.statuses.top(TOP).told(),
            "refusals": self.totals.named("refusal"),
            "failures": self.totals.named("failure"),
            "standings": self.standings,
            "media_types": documents.media_types.top(TOP).told(),
            "languages": documents.languages.top(TOP).told(),
            "hosts": self.hosts.told(),
            "space": [each.told() for each in self.space],
            "steps_seconds": {step: spread.told() for step, spread in self.hosts.steps.items()},
            "over_time": [moment.told() for moment in documents.timeline.moments(MOMENTS)],
            "size_bytes": documents.sizes.told(),
            "levels": {str(level): count for level, count in sorted(documents.levels.items())[:LEVELS]},
            "copies": self.copied.told(),
            "ranks": documents.ranks.told() if self.has_ranks else None,
        }

    def _crawl(self) -> dict[str, Any]:
        timeline, pages, size_bytes = self.documents.timeline, self.totals["pages"], self.totals["bytes"]
        return {
            "running": self.is_running,
            "pages": pages,
            "bytes": size_bytes,
            "hosts": self.totals["hosts"],
            "in_flight": self.in_flight,
            "first_at": timeline.first_at,
            "last_at": timeline.last_at,
            "seconds": self.seconds,
            "pages_per_second": self.per_second(pages),
            "bytes_per_second": self.per_second(size_bytes),
            "disk_bytes": sum(each.bytes for each in self.space),
            "first_pages": min(FIRST_PAGES, self.documents.pages),
            "hosts_of_first_pages": len(self.documents.first_hosts),
            "truncated": self.documents.truncated,
            "run": dict(self.run),
        }


_OF_RUN = ("run_pages", "seconds", "cpu_seconds", "memory_bytes")


def make_report(folder: CrawlFolder, in_flight: int) -> Report:
    """Of all that is saved now; what a running crawl saves meanwhile may or may not be there."""
    ranks = Ranks.open(folder.ranks)
    documents, hosts, totals = DocumentFacts(ranks), HostFacts(), Totals()
    standings: dict[str, dict[str, int]] = {}
    agents = list(agents_of(folder.root))
    for agent in agents:
        with closing(HostBook(agent.hosts)) as book:
            number, _, agent_totals = book.checkpoint()
            _add_standings(standings, book.standings())
        totals.update(agent_totals)
        documents.read(read_batches(agent.documents, DOCUMENTS, number, COLUMNS))
        hosts.read(agent.hosts)
    status = folder.read_status()
    return Report(
        is_running=folder.is_locked(),
        in_flight=in_flight,
        totals=totals,
        run={name: status[name] for name in _OF_RUN if name in status},
        states=joined([states_of(agent.repository) for agent in agents]),
        standings=standings,
        documents=documents,
        hosts=hosts,
        space=space_of(folder.root),
        copied=documents.copies.found(),
        has_ranks=ranks is not None,
    )


def _add_standings(into: dict[str, dict[str, int]], added: Mapping[str, Mapping[str, int]]) -> None:
    for standing, reasons in added.items():
        counts = into.setdefault(standing, {})
        for reason, count in reasons.items():
            counts[reason] = counts.get(reason, 0) + count
