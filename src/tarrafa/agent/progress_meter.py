"""Measures the progress of a running crawl: counts, rates, memory, CPU time."""

import contextlib
import os
import resource
import sys
from collections import deque
from pathlib import Path
from time import thread_time
from typing import NamedTuple

from tarrafa.agent.brain import Brain
from tarrafa.agent.checkpoints import Checkpoints
from tarrafa.agent.progress import Ending, Progress, RunLimits
from tarrafa.agent.recent_visits import RecentVisits
from tarrafa.agent.step_times import spent_seconds
from tarrafa.agent.unsaved import CHANGED, REFRESHES, Totals
from tarrafa.clock import Clock, Instant, instant_of

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_RATE_SECONDS = 10.0  # window of the rates


class RunStart(NamedTuple):
    """The state of the crawl when this run began."""

    at: float  # monotonic seconds
    cpu_seconds: float
    totals: Totals


class Rates:
    """How much was done per second, over the last seconds."""

    def __init__(self) -> None:
        # Time and counts. Filled by note, which also drops old samples.
        self._samples: deque[tuple[float, tuple[int, ...]]] = deque()

    def note(self, now: float, *counts: int) -> tuple[float, ...]:
        """Add a sample of some counts; return each of them per second."""
        self._samples.append((now, counts))
        while len(self._samples) > 2 and self._samples[1][0] <= now - _RATE_SECONDS:
            self._samples.popleft()
        first = self._samples[0]
        seconds = now - first[0]
        return tuple((last - old) / seconds if seconds > 0 else 0.0 for last, old in zip(counts, first[1], strict=True))


class ProgressMeter:
    """Read by the event loop, about once a second."""

    def __init__(
        self, brain: Brain, checkpoints: Checkpoints, recent: RecentVisits, clock: Clock, limits: RunLimits
    ) -> None:
        self._workbench, self._frontier, self._visits = brain.workbench, brain.frontier, brain.visits
        self._checkpoints = checkpoints
        self._recent = recent
        self._clock = clock
        self._limits = limits
        self._rates = Rates()
        self._began = RunStart(clock.monotonic(), cpu_seconds(), checkpoints.totals)

    def read(self, ending: Ending, extracting: int) -> Progress:
        at = instant_of(self._clock)
        now = at.monotonic
        totals, counts, workbench = self._checkpoints.totals, self._checkpoints.counts, self._workbench.counts(now)
        pages, visits, began = totals["pages"], totals["visits"], self._began.totals
        busy_us = int(1_000_000 * thread_time())
        pages_rate, visits_rate, bytes_rate, busy_rate = self._rates.note(now, pages, visits, totals["bytes"], busy_us)
        left_seconds = None
        if self._limits.pages is not None and pages_rate > 0:
            left_seconds = max(0, self._limits.pages - pages) / pages_rate
        return Progress(
            ending=ending,
            pages=pages,
            run_pages=pages - began["pages"],
            visits=visits,
            run_visits=visits - began["visits"],
            refreshes=totals[REFRESHES],
            refresh_outcomes=totals.named("refresh"),
            run_refreshes=totals[REFRESHES] - began[REFRESHES],
            changed=totals[CHANGED],
            run_changed=totals[CHANGED] - began[CHANGED],
            hook_errors=totals["hook errors"],
            pages_cut=totals["pages cut"],
            bytes=totals["bytes"],
            hosts=totals["hosts"],
            known=counts.known,
            fresh=counts.known - counts.collected,
            seconds=now - self._began.at,
            pages_per_second=pages_rate,
            visits_per_second=visits_rate,
            bytes_per_second=bytes_rate,
            in_flight=self._visits.in_flight,
            in_flight_limit=self._visits.in_flight_limit,
            extracting=extracting,
            resolving=self._visits.resolving,
            ready=workbench.ready,
            waiting=workbench.waiting,
            next_seconds=self._next_seconds(at),
            suspended=self._frontier.count_suspended(),
            mode=self._limits.mode,
            outage_seconds=self._outage_seconds(now),
            given_up=totals["given up"],
            memory_bytes=memory_bytes(),
            disk_bytes=self._checkpoints.disk_bytes,
            cpu_seconds=cpu_seconds() - self._began.cpu_seconds,
            busy_share=busy_rate / 1_000_000,
            is_saving_late=self._checkpoints.is_full,
            pages_limit=self._limits.pages,
            seconds_limit=self._limits.seconds,
            left_seconds=left_seconds,
            last_visits=self._recent.last,
            slowest_hosts=self._recent.slowest(now),
            outcomes=totals.named("outcome"),
            refusals=totals.named("refusal"),
            failures=totals.named("failure"),
            cuts=totals.named("cut"),
            spent_seconds=spent_seconds(totals),
        )

    def _next_seconds(self, at: Instant) -> float | None:
        next_at, until = self._workbench.wake_at(), self._frontier.suspended.until
        if next_at is not None:
            return max(0.0, next_at - at.monotonic)
        return None if until is None else max(0.0, until - at.wall)

    def _outage_seconds(self, now: float) -> float | None:
        began_at = self._visits.outage.began_at
        return None if began_at is None else now - began_at


def memory_bytes() -> int:
    """Return the memory of this process; its peak, on systems without /proc."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE_BYTES
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024


def cpu_seconds() -> float:
    """Return the CPU time of this process and of all that it started, ended or not."""
    return sum(os.times()[:4]) + sum(map(_cpu_seconds_of, _children("self")))


def _cpu_seconds_of(process: str) -> float:
    """Return the CPU time of a process and its descendants; of one that has ended meanwhile, nothing."""
    try:
        # The fields after the name, which may hold spaces and parentheses.
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / _TICKS_PER_SECOND + sum(map(_cpu_seconds_of, _children(process)))


def _children(process: str) -> list[str]:
    """Return the live children of a process; none on systems without /proc."""
    found: list[str] = []
    # A thread that ends meanwhile leaves its children to another.
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{process}/task").iterdir():
            found += (thread / "children").read_text().split()
    return found
