"""Ranks on disk: columns that are mapped into memory, and a manifest that names the current ones.

    ranks/
    ├── manifest.json           generation, files with sizes and checksums, rows of each agent, counts, settings
    ├── generation-00000007/    a numpy file for each column; see `generation_writer`
    ├── parts-2/                what was read so far; see `graph_parts`
    └── held-by                 the process that has locked the folder

1. The manifest is replaced atomically: a reader sees the old generation or the new one.
2. A reader that has a generation open can go on using it after its files are removed.
3. Opening a generation checks the size and checksum of every file.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self, get_args, get_type_hints

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from tarrafa.errors import DamagedError
from tarrafa.rank.arrays import F32, I64, U32, U64, Mask, find_rows, fingerprints_of, host_hashes_of, sorted_rows
from tarrafa.rank.pagerank import DAMPING, ITERATIONS_MAX, TOLERANCE

FORMAT = 3
MANIFEST = "manifest.json"
_OPENING_TRIES = 5
_REMEDY = "remove the folder, then run tarrafa rank again"


class AgentRows(NamedTuple):
    """The rows of an agent that went into the ranks."""

    checkpoint: int
    documents: int
    links: int


@dataclass(frozen=True, slots=True)
class RankSettings:
    damping: float = DAMPING
    tolerance: float = TOLERANCE
    iterations_max: int = ITERATIONS_MAX
    # A link on more than this share of a host's pages belongs to a template, and counts like a few links.
    template_share: float = 0.5
    template_few: int = 5
    anchors_max: int = 20  # texts for one target
    anchor_targets_max: int = 20  # a text that one host uses for more targets says nothing


class RankCounts(NamedTuple):
    pages: int  # fetched pages, copies included
    urls: int  # pages, and all targets of links
    hosts: int
    links: int  # pairs of nodes with a link
    copies: int
    redirects: int
    anchors: int  # pairs of a target and a text
    iterations: int


class GenerationColumns(NamedTuple):
    """The columns of a generation; each is a file of that name."""

    urls: U64  # fingerprints, sorted
    rank: F32
    host_rank: F32
    links_in: U32
    links_outside: U32
    nodes: U32  # for each URL: the number of its node
    representatives: U64  # for each node: the fingerprint of its representative; 0 if that was not fetched
    anchor_starts: I64  # for each node, and where the last one ends
    anchor_texts: U32
    anchor_votes: U32
    text_edges: I64
    text_bytes: NDArray[np.uint8]
    hosts: U64  # hashes, sorted
    host_ranks: F32
    host_pages: U32  # fetched pages


# The type of each column's values, as its annotation says: NDArray[np.uint64] is ndarray[shape, dtype[np.uint64]].
COLUMN_TYPES: dict[str, np.dtype[Any]] = {
    name: np.dtype(get_args(get_args(kind)[1])[0]) for name, kind in get_type_hints(GenerationColumns).items()
}


class RankColumns(NamedTuple):
    """Values for some URLs; 0 if a URL is unknown."""

    rank: F32  # the mean of all nodes is 1
    host_rank: F32  # the mean of all hosts is 1
    links_in: U32  # nodes that link to the URL's node
    links_outside: U32  # those of other hosts among them


class BestHost(NamedTuple):
    host_hash: int
    rank: float
    pages: int


class Ranks:
    """One generation, open for reading."""

    def __init__(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        self.generation: int = manifest["generation"]
        self.agent_rows = {agent: AgentRows(*rows) for agent, rows in manifest["agent_rows"].items()}
        self.counts = RankCounts(**manifest["counts"])
        self.settings: dict[str, Any] = manifest["settings"]
        place, files = folder / generation_name(self.generation), manifest["files"]
        columns = (_open_column(place / f"{name}.npy", *files[name]) for name in GenerationColumns._fields)
        self._columns = GenerationColumns(*columns)

    @classmethod
    def open(cls, folder: Path) -> Self | None:
        """Open the current ranks of a folder; None if there are none yet."""
        for _ in range(_OPENING_TRIES):
            manifest = read_manifest(folder)
            if manifest is None:
                return None
            try:
                return cls(folder, manifest)
            except FileNotFoundError:
                # The generation may have been replaced since the manifest was read.
                continue
        raise DamagedError(f"{folder} lacks files that its manifest names; {_REMEDY}")

    def of(self, fingerprints: U64) -> RankColumns:
        """Return the ranks and link counts of URLs."""
        rows, is_known = find_rows(self._columns.urls, fingerprints)
        columns = self._columns
        values = (columns.rank, columns.host_rank, columns.links_in, columns.links_outside)
        return RankColumns(*(_pick(column, rows, is_known) for column in values))

    def lookup_many(self, urls: Sequence[str] | pa.Array) -> F32:
        """Return the rank of each URL; 0 if it is unknown. The URLs are canonical."""
        fingerprints = fingerprints_of(urls if isinstance(urls, pa.Array) else pa.array(urls, pa.large_string()))
        # Sorted, they are looked up in one run through the column.
        order = sorted_rows(fingerprints)
        rows, is_known = find_rows(self._columns.urls, fingerprints[order])
        found = np.empty(len(order), np.float32)
        found[order] = _pick(self._columns.rank, rows, is_known)
        return found

    def lookup_hosts(self, urls: pa.Array) -> F32:
        """Return the rank of each URL's host; 0 if the host is unknown. The URLs are canonical."""
        rows, is_known = find_rows(self._columns.hosts, host_hashes_of(urls))
        return _pick(self._columns.host_ranks, rows, is_known)

    def anchors(self, fingerprints: U64) -> list[list[tuple[str, int]]]:
        """Return the texts of links to each URL, with the number of hosts that use them, best first."""
        rows, is_known = find_rows(self._columns.urls, fingerprints)
        return [
            self._anchors(int(self._columns.nodes[row])) if known else []
            for row, known in zip(rows.tolist(), is_known.tolist(), strict=True)
        ]

    def _anchors(self, node: int) -> list[tuple[str, int]]:
        columns = self._columns
        first, end = columns.anchor_starts[node : node + 2].tolist()
        texts, votes = columns.anchor_texts[first:end].tolist(), columns.anchor_votes[first:end].tolist()
        return [(self._text(text), count) for text, count in zip(texts, votes, strict=True)]

    def _text(self, number: int) -> str:
        start, end = self._columns.text_edges[number : number + 2].tolist()
        return self._columns.text_bytes[start:end].tobytes().decode("utf-8", "replace")

    def best(self, count: int) -> U64:
        """Return the fingerprints of the best fetched pages, best first; of copies, only the representative."""
        pages = self._columns.representatives[self._columns.representatives != 0]
        ranks = self.of(pages).rank
        # Equal ranks are ordered by fingerprint, so that the order is always the same.
        best: U64 = pages[np.lexsort((pages, -ranks))[:count]]
        return best

    def best_hosts(self, count: int) -> list[BestHost]:
        """Return the best hosts with fetched pages, best first."""
        hosts, ranks, pages = self._columns.hosts, self._columns.host_ranks, self._columns.host_pages
        visited = np.flatnonzero(pages)
        order = visited[np.lexsort((hosts[visited], -ranks[visited]))[:count]]
        rows = zip(hosts[order].tolist(), ranks[order].tolist(), pages[order].tolist(), strict=True)
        return [BestHost(*row) for row in rows]


def _pick(column: NDArray[Any], rows: I64, is_known: Mask) -> NDArray[Any]:
    if not len(column):
        return np.zeros(len(rows), column.dtype)
    return np.where(is_known, column[rows], column.dtype.type(0))


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """Read the manifest; None if there is none of this version, because ranks can be computed again."""
    path = folder / MANIFEST
    try:
        outer = json.loads(path.read_text())
        body = outer["manifest"]
        if xxhash.xxh3_64_intdigest(body.encode()) == outer["sum"]:
            found: dict[str, Any] = json.loads(body)
            return found if found["format"] == FORMAT else None
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise DamagedError(f"{path} is damaged; {_REMEDY}")


def generation_name(generation: int) -> str:
    return f"generation-{generation:08d}"


def file_checksum(path: Path) -> int:
    with path.open("rb") as file:
        total = xxhash.xxh3_64()
        while chunk := file.read(1 << 20):
            total.update(chunk)
    return total.intdigest()


def _open_column(path: Path, size_bytes: int, checksum: int) -> NDArray[Any]:
    """Map a column into memory, after checking its file."""
    if path.stat().st_size != size_bytes or file_checksum(path) != checksum:
        raise DamagedError(f"{path} was changed since it was written; {_REMEDY}")
    mapped: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    # A plain array over the same memory is faster to access than a memmap.
    return np.asarray(mapped)
