"""How fresh copies are in truth, now and over time, as a synthetic web tells."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tarrafa.histories import DAY_SECONDS
from tarrafa.rank import fingerprints_of
from tarrafa.refresh import WRONG_DAYS, PastFreshness
from tarrafa.report.web_truth import Copy, CopyTruth, WebTruth
from tarrafa.urls import host_of
from tarrafa.versions import are_mere_visits, are_versions

COPIES_LIMIT = 200_000
_NEVER = float("inf")


class PastCopy(NamedTuple):
    """A version of a page, from when it was fetched until it was replaced or removed."""

    url: str
    at_seconds: float
    until_seconds: float = _NEVER  # for a current copy


class CopySample:
    """Versions of a sample of pages, chosen by the hash of their URLs; at most `limit` versions."""

    def __init__(self, limit: int = COPIES_LIMIT) -> None:
        self._limit = limit
        self._bound = 2**64 - 1  # pages with a greater hash are left out
        # By the hash of the URL. Filled by read, thinned out by _keep_within_limit.
        self._versions: dict[int, list[PastCopy]] = {}
        self._count = 0

    @property
    def share(self) -> float:
        """The share of all pages that are in the sample."""
        return (self._bound + 1) / 2**64

    def read(self, batch: pa.RecordBatch) -> None:
        """Read rows of documents, one for each visit, in the order of writing."""
        outcomes, hashes = batch.column("outcome"), fingerprints_of(batch.column("url"))
        which = np.flatnonzero(~are_mere_visits(outcomes) & (hashes <= np.uint64(self._bound)))
        at_seconds = batch.column("fetched_at").cast(pa.int64()).to_numpy(zero_copy_only=False)[which] / 1e6
        urls, versions = batch.column("url").take(pa.array(which)).to_pylist(), are_versions(outcomes)[which]
        for key, url, at, is_version in zip(
            hashes[which].tolist(), urls, at_seconds.tolist(), versions.tolist(), strict=True
        ):
            self._add(key, url, at, is_version)
        self._keep_within_limit()

    def _add(self, key: int, url: str, at: float, is_version: bool) -> None:
        known = self._versions.get(key)
        if known and known[-1].until_seconds == _NEVER:
            known[-1] = known[-1]._replace(until_seconds=at)
        if is_version:
            self._versions.setdefault(key, []).append(PastCopy(url, at))
            self._count += 1

    def _keep_within_limit(self) -> None:
        while self._count > self._limit and self._bound:
            self._bound >>= 1
            self._versions = {key: known for key, known in self._versions.items() if key <= self._bound}
            self._count = sum(map(len, self._versions.values()))

    def copies(self) -> list[PastCopy]:
        return [copy for known in self._versions.values() for copy in known]


class TrueSums(NamedTuple):
    """Sums over copies whose truth is known; those of parts of a collection can be added."""

    pages: float = 0.0
    importance: float = 0.0
    # By importance:
    fresh: float = 0.0
    age_days: float = 0.0
    wrong: float = 0.0  # copies that have been stale for more than a week
    web_age_days: float = 0.0  # in the web's time

    def plus(self, other: "TrueSums") -> "TrueSums":
        return TrueSums(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    def mean(self, what: float) -> float:
        """Return the mean of a sum by importance."""
        return what / self.importance if self.importance else 0.0

    def as_json(self) -> dict[str, float]:
        return {
            "pages": int(self.pages),
            "freshness": self.mean(self.fresh),
            "age_days": self.mean(self.age_days),
            "wrong_share": self.mean(self.wrong),
            "web_age_days": self.mean(self.web_age_days),
        }


class TrueFreshness(NamedTuple):
    total: TrueSums
    hosts: Mapping[str, TrueSums]  # those that were asked for
    unknown: int  # current copies of which the web cannot tell
    sampled_share: float
    over_time: "PastTruth"

    def as_json(self, points: NDArray[np.float64]) -> dict[str, Any]:
        return {
            **self.total.as_json(),
            "unknown": self.unknown,
            "hosts": {host: sums.as_json() for host, sums in self.hosts.items()},
            "sampled_share": self.sampled_share,
            "over_time": [each._asdict() for each in self.over_time.at(points)],
        }


class PastTruth:
    """When copies were made, replaced, and stale: one entry for each version that is judged."""

    def __init__(self, spans: Iterable[tuple[float, float, float]]) -> None:
        columns = np.array(list(spans), np.float64).reshape(-1, 3).T
        self._at, self._until, self._changed = columns

    def at(self, moments: NDArray[np.float64]) -> list[PastFreshness]:
        """Return how fresh the copies of each moment were, all pages alike."""
        return [self._of(float(moment)) for moment in moments]

    def _of(self, moment: float) -> PastFreshness:
        changed = self._changed[(self._at <= moment) & (moment < self._until)]
        if not len(changed):
            return PastFreshness(moment, 0, 0.0, 0.0)
        ages = np.maximum(moment - changed, 0.0) / DAY_SECONDS
        return PastFreshness(moment, len(changed), float((changed > moment).mean()), float(ages.mean()))


def true_freshness(
    truth: WebTruth, sample: CopySample, importance: Mapping[str, float], hosts: Iterable[str], now: float
) -> TrueFreshness:
    """Return how fresh copies are in truth. Copies of pages without an importance count with the mean, 1."""
    total, unknown, spans = TrueSums(), 0, []
    by_host = dict.fromkeys(hosts, TrueSums())
    copies = sample.copies()
    asked = [Copy(copy.url, copy.at_seconds) for copy in copies]
    for copy, fate in zip(copies, truth.fates(asked), strict=True):
        is_current = copy.until_seconds == _NEVER
        if not fate.is_judged:
            unknown += is_current
            continue
        changed = _NEVER if fate.changed_seconds is None else fate.changed_seconds
        spans.append((copy.at_seconds, copy.until_seconds, changed))
        if is_current:
            sums = _sums_of(fate, importance.get(copy.url, 1.0), max(now - changed, 0.0) / DAY_SECONDS)
            total = total.plus(sums)
            host = host_of(copy.url)
            if host in by_host:
                by_host[host] = by_host[host].plus(sums)
    return TrueFreshness(total, by_host, unknown, sample.share, PastTruth(spans))


def _sums_of(fate: CopyTruth, importance: float, age_days: float) -> TrueSums:
    """Return the sums of one copy."""
    return TrueSums(
        pages=1.0,
        importance=importance,
        fresh=importance * (fate.changed_seconds is None),
        age_days=importance * age_days,
        wrong=importance * (age_days > WRONG_DAYS),
        web_age_days=importance * fate.stale_web_seconds / DAY_SECONDS,
    )
