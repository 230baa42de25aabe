"""How fresh the copies of a collection are believed to be, now and over time, and what its visits found."""

import heapq
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tarrafa.histories import Phase, host_rates
from tarrafa.rank import fingerprints_of
from tarrafa.refresh import (
    CHANGED,
    ENDED,
    UNCHANGED,
    FreshnessSums,
    PastFreshness,
    VisitSample,
    freshness_at,
    freshness_by_host,
)
from tarrafa.report.true_freshness import CopySample, TrueFreshness
from tarrafa.verify import BlockHistories
from tarrafa.versions import MERE_VISITS

_TOP = 20
# What a row of documents says about its page. Failures and challenges of bot walls say nothing.
_FOUND = {"fetched": CHANGED, "unchanged": UNCHANGED}
_NOTHING = tuple(outcome for outcome in MERE_VISITS if outcome not in _FOUND)


class HostFreshness(NamedTuple):
    host: str
    sums: FreshnessSums

    def as_json(self) -> dict[str, Any]:
        return {"host": self.host, **self.sums.as_json()}


class FreshnessFacts:
    """Filled by `read_histories` and `read_documents`."""

    def __init__(self, policy: str, now: float) -> None:
        self.policy = policy
        self.now = now
        self.total = FreshnessSums()
        self.phases = np.zeros(len(Phase), np.int64)
        self.sample = VisitSample()
        self.copies: CopySample | None = None  # read if a synthetic web is asked for the truth
        self.true: TrueFreshness | None = None
        self._top: list[HostFreshness] = []
        self._first_at, self._last_at = float("inf"), 0.0

    def read_histories(self, blocks: Iterable[tuple[BlockHistories, float]]) -> None:
        """Read the histories of all blocks, each with the mean rate of all pages."""
        for block, mean_rate in blocks:
            if len(block.hosts):
                self._read_block(block, mean_rate)

    def _read_block(self, block: BlockHistories, mean_rate: float) -> None:
        histories, hosts = block.histories, block.hosts
        self.phases += np.bincount(histories.phase, minlength=len(Phase))[: len(Phase)]
        rates = host_rates(hosts, histories.shape, histories.days, mean_rate)[hosts]
        found = freshness_by_host(histories, rates, hosts, len(block.host_names), self.now)
        for each in found:
            self.total = self.total.plus(each)
        named = (HostFreshness(*each) for each in zip(block.host_names, found, strict=True) if each[1].pages)
        # Ties are ordered by name, so the result is reproducible.
        self._top = heapq.nsmallest(_TOP, [*self._top, *named], key=lambda each: (-each.sums.pages, each.host))

    def read_documents(self, batch: pa.RecordBatch) -> None:
        """Read rows of documents, one for each visit."""
        if self.copies is not None:
            self.copies.read(batch)
        batch = batch.filter(pc.invert(pc.is_in(batch.column("outcome"), pa.array(_NOTHING))))
        if not batch.num_rows:
            return
        at_seconds = batch.column("fetched_at").cast(pa.int64()).to_numpy(zero_copy_only=False) / 1e6
        self._first_at = min(self._first_at, float(at_seconds.min()))
        self._last_at = max(self._last_at, float(at_seconds.max()))
        self.sample.add(fingerprints_of(batch.column("url")), at_seconds, _found(batch.column("outcome")))

    @property
    def top(self) -> list[HostFreshness]:
        """The hosts with most copies."""
        return self._top

    def over_time(self, points: int) -> list[PastFreshness]:
        """Return how fresh the collection was at moments from the first visit until now."""
        return freshness_at(self.sample.visits(), self._moments(points))

    def _moments(self, points: int) -> NDArray[np.float64]:
        if not self._last_at:
            return np.empty(0)
        return np.linspace(self._first_at, max(self.now, self._last_at), points + 1)[1:]

    def as_json(self, points: int) -> dict[str, Any]:
        return {
            "policy": self.policy,
            "at": self.now,
            **self.total.as_json(),
            "phases": {phase.name.lower(): int(count) for phase, count in zip(Phase, self.phases, strict=True)},
            "hosts": [each.as_json() for each in self.top],
            "sampled_share": self.sample.share,
            "over_time": [each._asdict() for each in self.over_time(points)],
            "true": None if self.true is None else self.true.as_json(self._moments(points)),
        }


def _found(outcomes: pa.Array) -> NDArray[np.uint8]:
    found = np.full(len(outcomes), ENDED, np.uint8)
    for outcome, code in _FOUND.items():
        found[pc.equal(outcomes, outcome).to_numpy(zero_copy_only=False)] = code
    return found
