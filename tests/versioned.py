"""A crawl whose pages were visited several times, written by the writers of production."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tarrafa.agent import Checkpoint, CrawlFolder, HostDatabase, Totals
from tarrafa.clock import VirtualClock
from tarrafa.collection.indexer import Indexer, StopFlag
from tarrafa.keep import (
    BEGINNING,
    DOCUMENTS,
    LINKS,
    ArchiveSettings,
    DocumentRow,
    DocumentWriter,
    Link,
    LinkWriter,
    join_segments,
    open_archive,
)
from tarrafa.records import Page
from tarrafa.urls import fingerprint
from tarrafa.verify import Veuniq

BEGAN = 1_763_000_000.0  # 13 November 2025
DAY = 86_400.0
STATUSES = {"fetched": 200, "unchanged": 304, "gone": 410, "redirected": 301, "failed": 503}


class VersionedCrawl:
    """Visits are a day apart. Nothing counts before `save`."""

    def __init__(self, root: Path, file_limit_bytes: int = 1_000_000) -> None:
        self.folder = CrawlFolder(root)
        self.folder.lock().release()
        Veuniq(self.folder.repository).close()
        self.folder.hosts.parent.mkdir(parents=True)
        self.now = BEGAN
        self.checkpoint = 0
        settings = ArchiveSettings(file_limit_bytes=file_limit_bytes)
        self.archive = open_archive(self.folder.archive, BEGINNING, VirtualClock(BEGAN), settings)
        self._documents = DocumentWriter(self.folder.documents, 0)
        self._links = LinkWriter(self.folder.links, 0)
        self._book = HostDatabase(self.folder.hosts)

    def visit(
        self, url: str, text: str = "", outcome: str = "fetched", links: Sequence[Link] = (), **more: Any
    ) -> None:
        """Store a visit of the next day; its signature is that of its text."""
        self.now += DAY
        status = more.pop("status", STATUSES.get(outcome, 404))
        body = f"<title>{text.partition(' ')[0]}</title>{text}".encode() if outcome == "fetched" else b""
        stored = self.archive.append(Page(url, status, (("Content-Type", "text/html"),), body, self.now, reason="R"))
        self._documents.add(
            DocumentRow(
                url,
                self.now,
                outcome,
                status,
                media_type="text/html",
                encoding="utf-8",
                language="en",
                title=text.partition(" ")[0],
                text=text,
                signature=fingerprint(text) if text else 0,
                size_bytes=len(body),
                digest=stored.digest,
                archive_file=stored.place.file,
                archive_offset=stored.place.offset,
                **more,
            )
        )
        self._links.add(url, self.now, links)

    def save(self) -> None:
        end = self.archive.sync()
        self.checkpoint += 1
        self._documents.sync(self.checkpoint)
        self._links.sync(self.checkpoint)
        self._book.commit(Checkpoint(self.checkpoint, end, Totals()))

    def join(self) -> None:
        join_segments(self.folder.documents, DOCUMENTS, self.checkpoint)
        join_segments(self.folder.links, LINKS, self.checkpoint)

    def index(self, is_new: bool = False) -> int:
        with Indexer(self.folder.root, is_new) as indexer:
            return indexer.update(lambda *_: None, StopFlag()).rows

    def close(self) -> None:
        self.archive.close()
        self._book.close()
