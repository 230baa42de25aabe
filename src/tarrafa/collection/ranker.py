"""Compute the ranks of a crawl, and name the best pages and hosts.

The columns read from links and documents are stored in parts, so a later run reads only rows added since. A run that is
killed loses at most two parts of about a million rows each: the one being written, and the one being collected.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tarrafa.agent import CrawlFolder, checkpoint_of
from tarrafa.disk import FolderLock, make_folder, map_disk_errors
from tarrafa.keep import DOCUMENTS, LINKS, count_rows
from tarrafa.keep.segment_reader import TableLayout, read_rows_from
from tarrafa.layout import CrawlPaths, agents_of
from tarrafa.obey import is_nofollow
from tarrafa.rank import (
    DOCUMENT_COLUMNS,
    LINK_COLUMNS,
    PART_ROWS,
    U64,
    AgentRows,
    DocumentRows,
    GenerationWriter,
    GraphParts,
    LinkRows,
    Ranks,
    RankSettings,
    RowKind,
    Scratch,
    compute,
    fingerprints_of,
)
from tarrafa.rank.generation import MANIFEST

_DEFAULT_SETTINGS = RankSettings()
# Rows that become a part have their texts in memory until then; at most so many bytes.
PART_BYTES = 200_000_000

# Called regularly with the step, how much of it is done, and the total.
RankProgress = Callable[[str, int, int], None]


def _link_rows() -> LinkRows:
    return LinkRows(is_nofollow)


class _Source(NamedTuple):
    kind: RowKind
    folder: Callable[[CrawlPaths], Path]
    layout: TableLayout
    columns: tuple[str, ...]
    repeating: tuple[str, ...]
    collector: Callable[[], DocumentRows | LinkRows]


_SOURCES = (
    _Source(RowKind.DOCUMENTS, attrgetter("documents"), DOCUMENTS, DOCUMENT_COLUMNS, ("outcome",), DocumentRows),
    _Source(RowKind.LINKS, attrgetter("links"), LINKS, LINK_COLUMNS, ("source", "rel", "kind"), _link_rows),
)


class RankedName(NamedTuple):
    """A page or a host with its rank."""

    name: str
    rank: float
    facts: dict[str, Any]


def ranks_stamp(root: Path) -> int | None:
    """Return a number that changes with each update of the ranks; None if there are none. Cheaper than opening them."""
    try:
        return (CrawlPaths(root).ranks / MANIFEST).stat().st_mtime_ns
    except OSError:
        return None


def count_saved_rows(root: Path) -> dict[str, AgentRows]:
    """Count the rows that each agent has saved."""
    found: dict[str, AgentRows] = {}
    for agent in agents_of(root):
        checkpoint = checkpoint_of(agent.hosts).number
        rows = [count_rows(source.folder(agent), source.layout, checkpoint) for source in _SOURCES]
        found[agent.agent_name] = AgentRows(checkpoint, *rows)
    return found


def is_behind(root: Path, settings: RankSettings = _DEFAULT_SETTINGS) -> bool:
    """Return True if rows were added since the ranks were made. Links are not read."""
    return _is_behind(Ranks.open(CrawlPaths(root).ranks), count_saved_rows(root), settings)


def _is_behind(ranks: Ranks | None, now: dict[str, AgentRows], settings: RankSettings) -> bool:
    if ranks is None or ranks.settings != asdict(settings):
        return True
    return {agent: taken[1:] for agent, taken in ranks.agent_rows.items()} != {
        agent: taken[1:] for agent, taken in now.items()
    }


def update_ranks(folder: CrawlFolder, report: RankProgress, settings: RankSettings = _DEFAULT_SETTINGS) -> Ranks:
    """Return the ranks of everything saved; compute them again if anything was added."""
    place = folder.ranks
    ranks = Ranks.open(place)
    if ranks is not None and not _is_behind(ranks, count_saved_rows(folder.root), settings):
        # Nothing has to be written, so the ranks of another user can be shown.
        return ranks
    with _lock(place):
        now = count_saved_rows(folder.root)
        ranks = Ranks.open(place)
        if ranks is not None and not _is_behind(ranks, now, settings):
            return ranks
        parts = GraphParts(place)
        taken = _add_parts(folder.root, parts, now, report)
        # Memory freed by the reading threads is of no use to this one; return it to the system.
        pa.default_memory_pool().release_unused()
        former = None if ranks is None else lambda fingerprints: ranks.of(fingerprints).rank
        with map_disk_errors(place), Scratch(place) as scratch, GenerationWriter(place) as generation:
            counts = compute(parts, generation, settings, former, lambda step: report(step, 0, 0), scratch)
            report("writing", 0, 0)
            generation.commit(counts, taken, settings)
    found = Ranks.open(place)
    assert found is not None
    return found


@contextmanager
def _lock(place: Path) -> Iterator[None]:
    with map_disk_errors(place):
        make_folder(place)
        hold = FolderLock(place)
    try:
        yield
    finally:
        hold.release()


def _add_parts(root: Path, parts: GraphParts, now: dict[str, AgentRows], report: RankProgress) -> dict[str, AgentRows]:
    """Store everything added as parts; return the rows that are in parts now."""
    for agent in parts.agents():
        if agent not in now or _is_older(parts, agent, now[agent]):
            parts.forget(agent)
    total = sum(taken.documents + taken.links for taken in now.values())
    for agent, taken in now.items():
        for source in _SOURCES:
            for _ in _add_parts_of(CrawlPaths(root, agent), parts, source, taken.checkpoint):
                report("reading", sum(parts.rows(each, kind) for each in now for kind in RowKind), total)
    return {
        agent: AgentRows(taken.checkpoint, parts.rows(agent, RowKind.DOCUMENTS), parts.rows(agent, RowKind.LINKS))
        for agent, taken in now.items()
    }


def _is_older(parts: GraphParts, agent: str, taken: AgentRows) -> bool:
    """Return True if the agent has fewer rows than its parts: the crawl was begun anew or restored from a copy."""
    rows = (parts.rows(agent, RowKind.DOCUMENTS), parts.rows(agent, RowKind.LINKS))
    return parts.checkpoint(agent) > taken.checkpoint or rows[0] > taken.documents or rows[1] > taken.links


def _add_parts_of(agent: CrawlPaths, parts: GraphParts, source: _Source, checkpoint: int) -> Iterator[None]:
    """Store the rows of one agent and kind; yields after each part, which is durable then."""
    with ThreadPoolExecutor(1, "parts") as maker:
        making: Future[None] | None = None
        for rows, collected in _collect(agent, parts.rows(agent.agent_name, source.kind), source, checkpoint):
            # One thread writes a part while this one collects the rows of the next. Neither reads `parts` meanwhile.
            if making is not None:
                making.result()
                yield
            making = maker.submit(_add_part, parts, agent.agent_name, source.kind, rows, checkpoint, collected)
        if making is not None:
            making.result()
            yield


def _collect(
    agent: CrawlPaths, start: int, source: _Source, checkpoint: int
) -> Iterator[tuple[int, DocumentRows | LinkRows]]:
    """Yield the rows from `start`, those of one part at a time, with their number."""
    collected, rows, size_bytes = source.collector(), 0, 0
    folder = source.folder(agent)
    for batch in read_rows_from(folder, source.layout, checkpoint, source.columns, start, source.repeating):
        collected.add(batch)
        rows, size_bytes = rows + batch.num_rows, size_bytes + batch.nbytes
        if rows >= PART_ROWS or size_bytes >= PART_BYTES:
            yield rows, collected
            collected, rows, size_bytes = source.collector(), 0, 0
    if rows:
        yield rows, collected


def _add_part(
    parts: GraphParts, agent: str, kind: RowKind, rows: int, checkpoint: int, collected: DocumentRows | LinkRows
) -> None:
    parts.add(agent, kind, rows, checkpoint, collected.part())


def best_pages(root: Path, ranks: Ranks, count: int) -> list[RankedName]:
    best = ranks.best(count)
    names, columns = _named(root, ranks, best, "url"), ranks.of(best)
    rows = zip(best.tolist(), *(column.tolist() for column in columns), strict=True)
    return [
        RankedName(names[number], rank, {"host_rank": host_rank, "links_in": links_in, "links_outside": outside})
        for number, rank, host_rank, links_in, outside in rows
        if number in names
    ]


def best_hosts(root: Path, ranks: Ranks, count: int) -> list[RankedName]:
    best = ranks.best_hosts(count)
    names = _named(root, ranks, np.array([each.host_hash for each in best], np.uint64), "host")
    return [
        RankedName(names[each.host_hash], each.rank, {"pages": each.pages}) for each in best if each.host_hash in names
    ]


def _named(root: Path, ranks: Ranks, wanted: U64, column: str) -> dict[int, str]:
    """Return the texts of fingerprints, found in the documents that the ranks were made from."""
    found: dict[int, str] = {}
    for agent, taken in ranks.agent_rows.items():
        folder = CrawlPaths(root, agent).documents
        for batch in read_rows_from(folder, DOCUMENTS, taken.checkpoint, [column], 0):
            texts = batch.column(0)
            numbers = fingerprints_of(texts)
            for row in np.flatnonzero(np.isin(numbers, wanted)).tolist():
                found[int(numbers[row])] = texts[row].as_py()
            if len(found) == len(wanted):
                return found
    return found
