"""Helpers for tests of ranks: small crawls, and lookups in their ranks."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tarrafa.agent import Checkpoint, CrawlFolder, HostDatabase, Totals
from tarrafa.collection.ranker import update_ranks
from tarrafa.keep import BEGINNING, DocumentRow, DocumentWriter, Link, LinkWriter
from tarrafa.rank import RankColumns, Ranks, RankSettings
from tarrafa.urls import fingerprint

A, B, C, D = (f"http://{name}.test/" for name in "abcd")


def link(target: str, text: str = "", rel: str = "", kind: str = "a") -> Link:
    return target, text, rel, kind, 0


@dataclass
class Crawl:
    """The documents and links of one agent, checkpoint by checkpoint."""

    root: Path
    checkpoint: int = 0
    now: float = 1000.0
    rows: list[DocumentRow] = field(default_factory=list)
    links: list[tuple[str, float, Sequence[Link]]] = field(default_factory=list)

    @property
    def folder(self) -> CrawlFolder:
        return CrawlFolder(self.root)

    def visit(self, url: str, *links: Link, **facts: object) -> None:
        self.now += 1
        values: dict[str, object] = {"outcome": "fetched", "status": 200, **facts}
        self.rows.append(DocumentRow(url, self.now, **values))  # type: ignore[arg-type]
        self.links.append((url, self.now, links))

    def commit(self) -> None:
        documents = DocumentWriter(self.folder.documents, self.checkpoint)
        links = LinkWriter(self.folder.links, self.checkpoint)
        for row in self.rows:
            documents.add(row)
        for page in self.links:
            links.add(*page)
        self.checkpoint += 1
        documents.sync(self.checkpoint)
        links.sync(self.checkpoint)
        self.rows, self.links = [], []
        book = HostDatabase(self.folder.hosts)
        book.commit(Checkpoint(self.checkpoint, BEGINNING, Totals()))
        book.close()

    def ranks(self, settings: RankSettings | None = None) -> Ranks:
        self.commit()
        return update_ranks(self.folder, lambda *_: None, settings or RankSettings(tolerance=1e-10))


def of(ranks: Ranks, *urls: str) -> RankColumns:
    return ranks.of(np.array([fingerprint(url) for url in urls], np.uint64))


def anchors(ranks: Ranks, url: str) -> list[tuple[str, int]]:
    return ranks.anchors(np.array([fingerprint(url)], np.uint64))[0]
