"""What was found since the last checkpoint."""

from dataclasses import dataclass, field

from tarrafa.agent.hosts import Host
from tarrafa.agent.totals import Totals
from tarrafa.extract import PageLinks
from tarrafa.keep import DocumentRow, Place

Found = dict[str, list[int]]


@dataclass(slots=True)
class Gathering:
    """Filled by the loop, page by page; taken as a whole by a checkpoint, after which nobody changes it."""

    documents: list[DocumentRow] = field(default_factory=list)
    links: list[tuple[str, float, PageLinks]] = field(default_factory=list)  # of each page: URL, time, links
    # URLs that are done with: URL, when, status, place in the archive.
    ended: list[tuple[str, float, int, int, int]] = field(default_factory=list)
    # URLs that were found: the lowest hint, links to it, and how many of these from other hosts.
    found: Found = field(default_factory=dict)
    # The same of long listings, one for each, which were judged before their page was kept. A URL may stand in several.
    listed: list[Found] = field(default_factory=list)
    hosts: dict[str, Host] = field(default_factory=dict)  # about which something is new
    counts: Totals = field(default_factory=Totals)
    size_bytes: int = 0  # of texts and links, roughly

    def __bool__(self) -> bool:
        return bool(self.ended or self.found or self.listed or self.hosts or self.counts)

    @property
    def found_count(self) -> int:
        return len(self.found) + sum(map(len, self.listed))

    def offer(self, url: str, hint: int, is_outside: bool) -> None:
        entry = self.found.get(url)
        if entry is None:
            self.found[url] = [hint, 1, int(is_outside)]
            return
        if hint < entry[0]:
            entry[0] = hint
        entry[1] += 1
        entry[2] += is_outside

    def take(self, judged: "Gathering") -> None:
        """What was found apart, whole; so it costs the same however much it is."""
        self.listed.append(judged.found)
        self.counts.update(judged.counts)

    def end(self, url: str, at: float, status: int, place: Place) -> None:
        self.ended.append((url, at, status, place.file, place.offset))
