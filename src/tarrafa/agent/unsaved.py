"""What was found since the last checkpoint."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tarrafa.extract import PageLinks
from tarrafa.keep import DocumentRow, Place

# Of each URL: the lowest priority, links to it, how many of these come from other hosts, the lowest depth, the kind.
# Lists, because they change; in the order of the columns of a batch.
PRIORITY, LINKS, OUTSIDE, DEPTH, KIND = range(5)
FoundUrls = dict[str, list[int]]
# Totals: pages that were visited again, and of these, those with other content.
REFRESHES, CHANGED = "refreshes", "refreshes changed"


class Totals(Counter[str]):
    """Counts since a crawl began: `pages`, `visits`, `bytes`, `hosts`; by kind: `outcome gone`, `cut links`, …"""

    def plus(self, *others: Mapping[str, int]) -> "Totals":
        total = Totals(self)
        for each in others:
            total.update(each)
        return total

    def named(self, kind: str) -> dict[str, int]:
        """Return the counts of one kind, by what follows its name."""
        return {key.removeprefix(f"{kind} "): n for key, n in sorted(self.items()) if key.startswith(f"{kind} ")}


class CollectedVisit(NamedTuple):
    """A visit and its outcome, in the order of the columns of a batch: see `verify.Collected`."""

    url: str
    at_seconds: float
    status: int
    file: int  # of the content, in the archive
    offset: int
    change: int = 0
    signature: int = 0
    similarity: int = 0
    content_seconds: float = math.nan
    cache_seconds: float = 0.0


@dataclass(slots=True)
class Unsaved:
    """Filled by the event loop, page by page; taken whole by a checkpoint, after which nothing changes it."""

    documents: list[DocumentRow] = field(default_factory=list)
    links: list[tuple[str, float, PageLinks]] = field(default_factory=list)  # of each page: URL, time, links
    ended: list[CollectedVisit] = field(default_factory=list)
    found: FoundUrls = field(default_factory=dict)
    # What long sitemaps list, one dictionary for each. A URL may stand in several.
    listed: list[FoundUrls] = field(default_factory=list)
    weights: dict[str, int] = field(default_factory=dict)  # that found URLs gained; missing for 0
    counts: Totals = field(default_factory=Totals)
    size_bytes: int = 0  # of texts and links, estimated
    is_torn: bool = False  # a page is in the archive and only a part of it here: this must not be saved

    def __bool__(self) -> bool:
        return bool(self.ended or self.found or self.listed or self.counts)

    @property
    def found_count(self) -> int:
        return len(self.found) + sum(map(len, self.listed))

    def offer(self, url: str, priority: int, depth: int, kind: int, is_outside: bool) -> None:
        entry = self.found.get(url)
        if entry is None:
            self.found[url] = [priority, 1, int(is_outside), depth, kind]
            return
        entry[PRIORITY], entry[DEPTH] = min(entry[PRIORITY], priority), min(entry[DEPTH], depth)
        entry[KIND] = max(entry[KIND], kind)
        entry[LINKS] += 1
        entry[OUTSIDE] += is_outside

    def merge_listed(self, other: "Unsaved") -> None:
        """Take what a long sitemap lists, whole, so that the cost does not depend on its length."""
        self.listed.append(other.found)
        self.counts.update(other.counts)

    def merge_again(self, other: "Unsaved") -> None:
        """Take what was found in a page that was read before: its links are not counted once more."""
        for url, (priority, _, _, depth, kind) in other.found.items():
            entry = self.found.setdefault(url, [priority, 0, 0, depth, kind])
            entry[PRIORITY], entry[DEPTH] = min(entry[PRIORITY], priority), min(entry[DEPTH], depth)
            entry[KIND] = max(entry[KIND], kind)
        for found in other.listed:
            for entry in found.values():
                entry[LINKS] = entry[OUTSIDE] = 0
        self.listed += other.listed
        self.counts.update(other.counts)

    def end(self, url: str, at: float, status: int, place: Place) -> None:
        """Note the outcome of a visit of which nothing more is known."""
        self.ended.append(CollectedVisit(url, at, status, place.file, place.offset))
