"""The time that a crawl spends in each step, summed over all pages and saved with the totals.

The steps of visits overlap: a hundred visits that wait for a second are a hundred seconds. The steps of the event loop
(decode, extract, archive, discover, schedule) and of the checkpoint thread (checkpoint, verify, refresh) each run one
at a time. Extraction in another process is included.
"""

from collections.abc import Mapping
from enum import StrEnum

from tarrafa.agent.unsaved import Totals
from tarrafa.records import Failure, Page

_KIND = "microseconds"  # of a total: whole numbers add up without rounding errors
_PER_SECOND = 1_000_000


class CrawlStep(StrEnum):
    """In the order of the life of a page."""

    NAMES = "names"  # look up the address of a host
    CONNECT = "connect"  # with the TLS handshake
    FIRST_BYTE = "first byte"
    BODY = "body"
    FAILED = "failed visits"  # all steps of visits that brought no answer
    DECODE = "decode"  # undo content codings
    EXTRACT = "extract"
    ARCHIVE = "archive"
    DISCOVER = "discover"  # judge and gather the URLs that pages name
    CHECKPOINT = "checkpoint"
    VERIFY = "verify"  # cycles of the repository
    SCHEDULE = "schedule"  # choose the next visits
    REFRESH = "refresh"  # choose collected pages that are visited again


class StepTimes:
    """Times since the last checkpoint. Filled by the event loop, emptied by `take`."""

    def __init__(self) -> None:
        self._seconds = dict.fromkeys(CrawlStep, 0.0)

    def add(self, step: CrawlStep, seconds: float) -> None:
        self._seconds[step] += seconds

    def add_visit(self, got: Page | Failure, seconds: float) -> None:
        """Add the steps of a visit that took so long."""
        if isinstance(got, Failure):
            self._seconds[CrawlStep.FAILED] += seconds
            return
        times, own = got.timings, self._seconds
        connect_seconds = times.connect_seconds + times.tls_seconds
        own[CrawlStep.NAMES] += times.name_seconds
        own[CrawlStep.CONNECT] += connect_seconds
        own[CrawlStep.FIRST_BYTE] += times.first_byte_seconds
        before_seconds = times.name_seconds + connect_seconds + times.first_byte_seconds
        own[CrawlStep.BODY] += max(0.0, times.total_seconds - before_seconds)

    @property
    def counts(self) -> Mapping[str, int]:
        """The times as totals count them."""
        return {f"{_KIND} {step}": round(_PER_SECOND * each) for step, each in self._seconds.items() if each}

    def take(self) -> Mapping[str, int]:
        counts, self._seconds = self.counts, dict.fromkeys(CrawlStep, 0.0)
        return counts


def spent_seconds(totals: Totals) -> dict[str, float]:
    """Return the seconds of each step of a crawl, in the order of the life of a page; without steps that took none."""
    found = totals.named(_KIND)
    return {str(step): found[step] / _PER_SECOND for step in CrawlStep if step in found}
