"""How well a crawl of a synthetic web kept out of its traps: visits spent in them, and real pages found.

A visit counts if its answer was stored. The real pages are those that a perfect crawl collects.
"""

from typing import NamedTuple

from tarrafa.agent import CrawlFolder, checkpoint_of
from tarrafa.keep import DOCUMENTS, read_batches
from tarrafa.lab.web import SyntheticWeb, Truth
from tarrafa.lab.web.resources import is_trap

_COLUMNS = ["url", "outcome"]


class TrapFigures(NamedTuple):
    visits: int
    trap_visits: int
    real_pages: int
    real_pages_found: int

    @property
    def trap_share(self) -> float:
        """The share of the visits that were spent in traps."""
        return self.trap_visits / self.visits if self.visits else 0.0

    @property
    def real_pages_found_share(self) -> float:
        return self.real_pages_found / self.real_pages if self.real_pages else 1.0


def trap_figures(folder: CrawlFolder, web: SyntheticWeb) -> TrapFigures:
    """Compare what a crawl has saved with the truth about the web, which must have the plan that was served."""
    visits, traps, fetched = 0, 0, set[str]()
    number = checkpoint_of(folder.hosts).number
    for batch in read_batches(folder.documents, DOCUMENTS, number, _COLUMNS):
        for row in batch.to_pylist():
            visits += 1
            traps += in_trap(web, row["url"])
            if row["outcome"] == "fetched":
                fetched.add(row["url"])
    real = Truth(web).collectable()
    return TrapFigures(visits, traps, len(real), len(real & fetched))


def in_trap(web: SyntheticWeb, url: str) -> bool:
    """Return True if the URL belongs to a trap of this web, or to another name of a host."""
    authority, _, rest = url.removeprefix("http://").partition("/")
    host = web.hosts.find(authority)
    return host is not None and (host.authority != authority or is_trap(host, f"/{rest}"))
