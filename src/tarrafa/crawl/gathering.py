"""What was found since the last checkpoint."""

from dataclasses import dataclass, field

from tarrafa.crawl.hosts import Host
from tarrafa.crawl.totals import Totals
from tarrafa.extract import Links
from tarrafa.keep import DocumentRow, Place


@dataclass(slots=True)
class Gathering:
    """Filled by the loop, page by page; taken as a whole by a checkpoint, after which nobody changes it."""

    documents: list[DocumentRow] = field(default_factory=list)
    links: list[tuple[str, float, Links]] = field(default_factory=list)  # of each page: URL, time, links
    # URLs that are done with: URL, when, status, place in the archive.
    ended: list[tuple[str, float, int, int, int]] = field(default_factory=list)
    # URLs that were found: the lowest hint, links to it, and how many of these from other hosts.
    found: dict[str, list[int]] = field(default_factory=dict)
    hosts: dict[str, Host] = field(default_factory=dict)  # about which something is new
    counts: Totals = field(default_factory=Totals)
    size_bytes: int = 0  # of texts and links, roughly

    def __bool__(self) -> bool:
        return bool(self.ended or self.found or self.hosts or self.counts)

    def offer(self, url: str, hint: int, is_outside: bool) -> None:
        entry = self.found.get(url)
        if entry is None:
            self.found[url] = [hint, 1, int(is_outside)]
            return
        if hint < entry[0]:
            entry[0] = hint
        entry[1] += 1
        entry[2] += is_outside

    def end(self, url: str, at: float, status: int, place: Place) -> None:
        self.ended.append((url, at, status, place.file, place.offset))
