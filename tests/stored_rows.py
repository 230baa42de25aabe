"""Shared by the tests of finding rows: documents and links of an agent, written as a crawl does."""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from tarrafa.keep import DOCUMENTS, LINKS, DocumentRow, DocumentWriter, LinkWriter, join_segments, read_batches
from tarrafa.keep.finder import Finder
from tarrafa.keep.segment_reader import TableLayout
from tarrafa.layout import CrawlPaths

A, B, C, D = (f"http://{name}.test/" for name in "abcd")
URLS = [A, B, C, D, f"{A}1", f"{A}é"]

LEADS = st.lists(st.tuples(st.sampled_from(URLS), st.sampled_from(["", "x", "y"])), max_size=4)
VISIT = st.tuples(
    st.sampled_from(URLS),
    st.sampled_from(["fetched", "unchanged", "failed", "gone"]),
    st.sampled_from([0, 1, 2**64 - 1]),
    LEADS,
)


class Rows:
    """The rows of an agent, written as a crawl would."""

    def __init__(self, paths: CrawlPaths) -> None:
        self.paths = paths
        self.checkpoint = 0
        self._now = 1.5e9

    def add(self, visits: Sequence[tuple[str, str, int, Sequence[tuple[str, str]]]]) -> None:
        """URL, outcome, signature and links of each visit, up to a checkpoint."""
        documents = DocumentWriter(self.paths.documents, self.checkpoint)
        links = LinkWriter(self.paths.links, self.checkpoint)
        for url, outcome, signature, leads in visits:
            self._now += 0.25
            documents.add(DocumentRow(url, self._now, outcome, 200, title=f"{self._now}", signature=signature))
            links.add(url, self._now, [(target, text, "", "a", place) for place, (target, text) in enumerate(leads)])
        self.checkpoint += 1
        documents.sync(self.checkpoint)
        links.sync(self.checkpoint)

    def join(self) -> None:
        join_segments(self.paths.documents, DOCUMENTS, self.checkpoint)
        join_segments(self.paths.links, LINKS, self.checkpoint)

    def scanned(self, layout: TableLayout) -> list[dict[str, Any]]:
        found = read_batches(self.paths.agent / layout.name, layout, self.checkpoint)
        return [row for batch in found for row in batch.to_pylist()]

    def finder(self) -> Finder:
        """With a file for every catalogue."""
        return Finder(self.paths, few_rows=0)
