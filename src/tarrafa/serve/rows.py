"""Rows of documents and links that concern one URL, found by reading columns from end to end.

There is no index by URL, so that a crawl need not keep one: only the columns that are asked for are read. Every answer
is bounded, whatever the collection holds.
"""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tarrafa.crawl import checkpoint_of
from tarrafa.keep import ARCHIVE_FOLDER, DOCUMENTS, DOCUMENTS_FOLDER, LINKS, LINKS_FOLDER
from tarrafa.keep.added import rows_added

VISITS_LIMIT = 200  # the newest
SOURCES_LIMIT = 2_000  # pages that link to one, of which the best are shown
COPIES_LIMIT = 100

_UNSHOWN = ("host", "site", "text", "headings", "similarity", "usage")
_VISIT_COLUMNS = [name for name in DOCUMENTS.columns.names if name not in _UNSHOWN]
Rows = NDArray[np.int64]

_LINK_COLUMNS = ["source", "fetched_at", "target", "text", "rel", "kind"]


class Agent(NamedTuple):
    """One agent's folder, at its last checkpoint."""

    folder: Path
    checkpoint: int

    @property
    def archive(self) -> Path:
        return self.folder / ARCHIVE_FOLDER

    def documents(self, columns: Sequence[str], start_row: int = 0) -> Iterator[pa.RecordBatch]:
        return rows_added(self.folder / DOCUMENTS_FOLDER, DOCUMENTS, self.checkpoint, columns, start_row)

    def links(self) -> Iterator[pa.RecordBatch]:
        return rows_added(self.folder / LINKS_FOLDER, LINKS, self.checkpoint, _LINK_COLUMNS, 0, ("source",))


class Incoming(NamedTuple):
    source: str
    text: str
    fetched_at: Any  # when the source was visited; a datetime


class Linked(NamedTuple):
    """Links of one URL: rows of its newest visit; of each page that links to it the newest such link."""

    outgoing: list[dict[str, Any]]
    incoming: dict[str, Incoming]
    is_bounded: bool  # there are more pages that link to it


def agents(root: Path) -> list[Agent]:
    found: list[Agent] = []
    for folder in sorted((root / "agents").iterdir()) if (root / "agents").is_dir() else ():
        path = folder / "hosts" / "hosts.sqlite"
        if path.is_file():
            found.append(Agent(folder, checkpoint_of(path).number))
    return found


def visits_of(agent: Agent, url: str) -> list[dict[str, Any]]:
    """The newest visits of the URL by that agent, in the order of time."""
    found: list[dict[str, Any]] = []
    rows = _rows_of(agent, url)
    # Rows keep their numbers when segments are joined, so only what lies between the first and the last is read.
    end = rows[0] if rows else 0
    for batch in agent.documents(_VISIT_COLUMNS, start_row=end) if rows else ():
        found += _taken(batch, _having(batch, "url", [url])).to_pylist()
        end += batch.num_rows
        if end > rows[-1]:
            break
    return found[-VISITS_LIMIT:]


def _rows_of(agent: Agent, url: str) -> list[int]:
    """The numbers of the URL's newest rows."""
    found: list[int] = []
    start = 0
    for batch in agent.documents(["url"]):
        found += (_having(batch, "url", [url]) + start).tolist()
        start += batch.num_rows
        del found[:-VISITS_LIMIT]
    return found


def links_of(agent: Agent, url: str) -> Linked:
    outgoing: list[dict[str, Any]] = []
    incoming: dict[str, Incoming] = {}
    is_bounded = False
    for batch in agent.links():
        for row in _taken(batch, _having(batch, "source", [url])).to_pylist():
            if outgoing and row["fetched_at"] != outgoing[-1]["fetched_at"]:
                outgoing = []
            outgoing.append(row)
        for row in _taken(batch, _having(batch, "target", [url])).to_pylist():
            if row["source"] == url:
                continue
            if len(incoming) < SOURCES_LIMIT or row["source"] in incoming:
                _note(incoming, Incoming(row["source"], row["text"], row["fetched_at"]))
            else:
                is_bounded = True
    return Linked(outgoing, incoming, is_bounded)


def _note(incoming: dict[str, Incoming], link: Incoming) -> None:
    """A later visit wins; of one visit the first link that has words."""
    known = incoming.get(link.source)
    if known is None or link.fetched_at > known.fetched_at or (not known.text and link.fetched_at == known.fetched_at):
        incoming[link.source] = link


def urls_with(agent: Agent, signature: int) -> set[str]:
    """URLs that had that content in some visit."""
    found: set[str] = set()
    for batch in agent.documents(["url", "signature"]):
        rows = np.flatnonzero(batch.column("signature").to_numpy() == np.uint64(signature))
        found.update(_taken(batch, rows).column("url").to_pylist()[:COPIES_LIMIT])
        if len(found) >= COPIES_LIMIT:
            break
    return found


def newest_of(agent: Agent, urls: Collection[str]) -> dict[str, dict[str, Any]]:
    """Of each of the URLs its last visit that brought something: a page that has not changed says what it said."""
    found: dict[str, dict[str, Any]] = {}
    for batch in agent.documents(["url", "fetched_at", "outcome", "signature"]) if urls else ():
        for row in _taken(batch, _having(batch, "url", list(urls))).to_pylist():
            if row["outcome"] != "unchanged":
                found[row["url"]] = row
    return found


def _having(batch: pa.RecordBatch, name: str, values: list[str]) -> Rows:
    """Places of the rows with one of these values."""
    column = batch.column(name)
    wanted = pa.array(values, pa.string())
    if not pa.types.is_dictionary(column.type):
        return np.flatnonzero(pc.is_in(column, value_set=wanted).to_numpy(zero_copy_only=False))
    is_wanted = pc.is_in(column.dictionary, value_set=wanted).to_numpy(zero_copy_only=False)
    return np.flatnonzero(is_wanted[column.indices.to_numpy()]) if is_wanted.any() else np.zeros(0, np.int64)


def _taken(batch: pa.RecordBatch, rows: Rows) -> pa.RecordBatch:
    return batch.take(pa.array(rows))
