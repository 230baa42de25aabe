"""The ranks of a crawl: made, kept up with the crawl, and shown by name.

What was read of links and documents is kept in parts, so a second run reads only what was added since. A run that is
killed loses at most two parts, each about a million rows: the one that is made, and the one that is gathered.
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
from tarrafa.disk import FolderLock, map_disk_errors
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
    GraphParts,
    LinkRows,
    Ranks,
    RankSettings,
    RowKind,
    compute,
    fingerprints_of,
    write_generation,
)
from tarrafa.rank.generation import MANIFEST

_DEFAULT_SETTINGS = RankSettings()
# Rows that become a part keep their texts in memory until then; those of a usual crawl take half of that.
_GATHERED_BYTES = 200_000_000

# Called now and then with what is being done, how much of it is done, and of how much: rows, or steps.
Told = Callable[[str, int, int], None]


def _link_rows() -> LinkRows:
    return LinkRows(is_nofollow)


class _Source(NamedTuple):
    kind: RowKind
    folder: Callable[[CrawlPaths], Path]
    layout: TableLayout
    columns: tuple[str, ...]
    repeating: tuple[str, ...]
    gatherer: Callable[[], DocumentRows | LinkRows]


_SOURCES = (
    _Source(RowKind.DOCUMENTS, attrgetter("documents"), DOCUMENTS, DOCUMENT_COLUMNS, ("outcome",), DocumentRows),
    _Source(RowKind.LINKS, attrgetter("links"), LINKS, LINK_COLUMNS, ("source", "rel", "kind"), _link_rows),
)


class Best(NamedTuple):
    """A page or a host among the best."""

    name: str
    rank: float
    facts: dict[str, Any]


def ranks_stamp(root: Path) -> int | None:
    """Changes when ranks are made anew; None while there are none. To open them takes longer."""
    try:
        return (CrawlPaths(root).ranks / MANIFEST).stat().st_mtime_ns
    except OSError:
        return None


def present(root: Path) -> dict[str, AgentRows]:
    """What each agent of a crawl has saved by now: counted, not read."""
    found: dict[str, AgentRows] = {}
    for agent in agents_of(root):
        checkpoint = checkpoint_of(agent.hosts).number
        rows = [count_rows(source.folder(agent), source.layout, checkpoint) for source in _SOURCES]
        found[agent.agent_name] = AgentRows(checkpoint, *rows)
    return found


def is_behind(root: Path, settings: RankSettings = _DEFAULT_SETTINGS) -> bool:
    """Whether there is anything that the ranks do not know. Links are not read."""
    return _is_behind(Ranks.open(CrawlPaths(root).ranks), present(root), settings)


def _is_behind(ranks: Ranks | None, now: dict[str, AgentRows], settings: RankSettings) -> bool:
    if ranks is None or ranks.settings != asdict(settings):
        return True
    return {agent: taken[1:] for agent, taken in ranks.agent_rows.items()} != {
        agent: taken[1:] for agent, taken in now.items()
    }


def update_ranks(folder: CrawlFolder, told: Told, settings: RankSettings = _DEFAULT_SETTINGS) -> Ranks:
    """The ranks of all that the crawl has saved; made anew if anything was added."""
    place = folder.ranks
    with _held(place):
        now = present(folder.root)
        ranks = Ranks.open(place)
        if ranks is not None and not _is_behind(ranks, now, settings):
            return ranks
        parts = GraphParts(place)
        taken = _take(folder.root, parts, now, told)
        # What the threads that read have freed, this one could not use: it goes back to the system.
        pa.default_memory_pool().release_unused()
        former = None if ranks is None else lambda fingerprints: ranks.of(fingerprints).rank
        columns, counts = compute(parts, settings, former, lambda step: told(step, 0, 0))
        told("writing", 0, 0)
        write_generation(place, columns, counts, taken, settings)
    found = Ranks.open(place)
    assert found is not None
    return found


@contextmanager
def _held(place: Path) -> Iterator[None]:
    with map_disk_errors(place):
        place.mkdir(parents=True, exist_ok=True)
        hold = FolderLock(place)
    try:
        yield
    finally:
        hold.release()


def _take(root: Path, parts: GraphParts, now: dict[str, AgentRows], told: Told) -> dict[str, AgentRows]:
    """Everything that was added becomes parts."""
    for agent in parts.agents():
        if agent not in now or _is_older(parts, agent, now[agent]):
            parts.forget(agent)
    total = sum(taken.documents + taken.links for taken in now.values())
    for agent, taken in now.items():
        for source in _SOURCES:
            for _ in _parts_added(CrawlPaths(root, agent), parts, source, taken.checkpoint):
                told("reading", sum(parts.rows(each, kind) for each in now for kind in RowKind), total)
    return {
        agent: AgentRows(taken.checkpoint, parts.rows(agent, RowKind.DOCUMENTS), parts.rows(agent, RowKind.LINKS))
        for agent, taken in now.items()
    }


def _is_older(parts: GraphParts, agent: str, taken: AgentRows) -> bool:
    """Whether the agent has less than was taken from it: an older copy was restored, or the crawl was begun anew."""
    rows = (parts.rows(agent, RowKind.DOCUMENTS), parts.rows(agent, RowKind.LINKS))
    return parts.checkpoint(agent) > taken.checkpoint or rows[0] > taken.documents or rows[1] > taken.links


def _parts_added(agent: CrawlPaths, parts: GraphParts, source: _Source, checkpoint: int) -> Iterator[None]:
    """Each part is durable when its turn ends."""
    with ThreadPoolExecutor(1, "parts") as maker:
        making: Future[None] | None = None
        for rows, gathered in _gathered(agent, parts.rows(agent.agent_name, source.kind), source, checkpoint):
            # A part is made while the rows of the next are gathered. Nobody else looks at the parts in the meantime.
            if making is not None:
                making.result()
                yield
            making = maker.submit(_add_part, parts, agent.agent_name, source.kind, rows, checkpoint, gathered)
        if making is not None:
            making.result()
            yield


def _gathered(
    agent: CrawlPaths, start: int, source: _Source, checkpoint: int
) -> Iterator[tuple[int, DocumentRows | LinkRows]]:
    """The rows from `start`, as many together as one part takes, and how many these are."""
    gathered, rows, size_bytes = source.gatherer(), 0, 0
    folder = source.folder(agent)
    for batch in read_rows_from(folder, source.layout, checkpoint, source.columns, start, source.repeating):
        gathered.add(batch)
        rows, size_bytes = rows + batch.num_rows, size_bytes + batch.nbytes
        if rows >= PART_ROWS or size_bytes >= _GATHERED_BYTES:
            yield rows, gathered
            gathered, rows, size_bytes = source.gatherer(), 0, 0
    if rows:
        yield rows, gathered


def _add_part(
    parts: GraphParts, agent: str, kind: RowKind, rows: int, checkpoint: int, gathered: DocumentRows | LinkRows
) -> None:
    parts.add(agent, kind, rows, checkpoint, gathered.part())


def best_pages(root: Path, ranks: Ranks, count: int) -> list[Best]:
    best = ranks.best(count)
    names, columns = _named(root, ranks, best, "url"), ranks.of(best)
    rows = zip(best.tolist(), *(column.tolist() for column in columns), strict=True)
    return [
        Best(names[number], rank, {"host_rank": host_rank, "links_in": links_in, "links_outside": outside})
        for number, rank, host_rank, links_in, outside in rows
        if number in names
    ]


def best_hosts(root: Path, ranks: Ranks, count: int) -> list[Best]:
    best = ranks.best_hosts(count)
    names = _named(root, ranks, np.array([each.host_hash for each in best], np.uint64), "host")
    return [Best(names[each.host_hash], each.rank, {"pages": each.pages}) for each in best if each.host_hash in names]


def _named(root: Path, ranks: Ranks, wanted: U64, column: str) -> dict[int, str]:
    """The texts of fingerprints, from the documents of which the ranks are made; ends when all are found."""
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
