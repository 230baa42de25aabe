"""What was found since the last checkpoint."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

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


@dataclass(slots=True)
class Unsaved:
    """Filled by the event loop, page by page; taken whole by a checkpoint, after which nothing changes it."""

    documents: list[DocumentRow] = field(default_factory=list)
    links: list[tuple[str, float, PageLinks]] = field(default_factory=list)  # of each page: URL, time, links
    # URLs whose outcome is known: URL, when, status, file and offset in the archive.
    ended: list[tuple[str, float, int, int, int]] = field(default_factory=list)
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

    def end(self, url: str, at: float, status: int, place: Place) -> None:
        self.ended.append((url, at, status, place.file, place.offset))
