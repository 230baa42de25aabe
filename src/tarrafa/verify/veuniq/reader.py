"""Read a repository as it was at one commit, and check every invariant of its files."""

from collections.abc import Iterator, Sequence
from heapq import nlargest
from itertools import pairwise
from operator import itemgetter

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tarrafa.errors import DamagedError
from tarrafa.histories import Histories, PageHistory, Phase, host_rates, taken
from tarrafa.verify.contract import (
    HASHES,
    BlockHistories,
    HostUrls,
    Known,
    KnownPage,
    Scheduled,
    UrlOrder,
    UrlPlace,
    UrlState,
    by_priority,
    checked_keys,
    first_placed,
)
from tarrafa.verify.keys import keys_of
from tarrafa.verify.page_histories import page_histories, phase_counts, positions_of, with_importance
from tarrafa.verify.veuniq.block import (
    COLLECTED,
    REMAINING,
    SCHEDULED,
    Block,
    BlockContent,
    RowColumns,
    edges_of_hosts,
    find,
    order_keys,
    ordered,
    url_columns,
)
from tarrafa.verify.veuniq.block_files import BlockFiles
from tarrafa.verify.veuniq.repository_state import RepositoryState
from tarrafa.verify.veuniq.spills import Spill, read_spill

# What a visit says of a known URL.
_KNOWN_FACTS = ("at_seconds", "status", "file", "offset")
_SLASHES = 3  # a canonical URL has at least so many


class RepositoryReader:
    """Answers from blocks as they were at one commit."""

    def __init__(self, files: BlockFiles, state: RepositoryState, order: UrlOrder = by_priority) -> None:
        self._order = order
        self._files = files
        self._state = state
        self._blocks = state.blocks
        self._seed = state.seed

    def lookup(self, url: str) -> Known | None:
        """Return what is known of a URL. Its text is compared, because another URL may have the same fingerprint."""
        if not url.isascii() or url.count("/") < _SLASHES:
            return None
        keys = keys_of([url], self._seed)
        block = self._block_of(int(keys.hosts[0]))
        content = self._files.load(block)
        row = find(content.runs, keys.fingerprints)
        if row[0] < 0:
            return None
        known = next(self._known(block, content.columns, row))
        return known if known.url == url else None

    def row_of(self, url: str) -> int | None:
        """Return the row of a known URL in its block."""
        keys = keys_of([url], self._seed)
        row = int(find(self._files.load(self._block_of(int(keys.hosts[0]))).runs, keys.fingerprints)[0])
        return None if row < 0 else row

    def urls_of(self, host: str) -> Iterator[Known]:
        keys = keys_of([host + "/"], self._seed)
        block = self._block_of(int(keys.hosts[0]))
        content = self._files.load(block)
        position = content.hosts.positions(keys.hosts)[0]
        if position >= 0:
            yield from self._known(block, content.columns, np.flatnonzero(content.columns.host == position))

    def locate(self, url: str) -> UrlPlace | None:
        """Return where a URL stands among those of its host; None for an unknown one."""
        known = self.lookup(url)
        if known is None:
            return None
        keys = keys_of([url], self._seed)
        content = self._files.load(self._block_of(int(keys.hosts[0])))
        columns, row = content.columns, int(find(content.runs, keys.fingerprints)[0])
        left = np.flatnonzero((columns.host == columns.host[row]) & (columns.state != COLLECTED))
        if columns.state[row] == COLLECTED:
            return UrlPlace(known, UrlState.COLLECTED, 0, len(left))
        # Scheduled ones come first; both are in the order of the repository.
        own_keys = order_keys(columns, left, self._order)
        queue = left[np.lexsort((own_keys, columns.state[left] != SCHEDULED))]
        state = UrlState.SCHEDULED if columns.state[row] == SCHEDULED else UrlState.REMAINING
        return UrlPlace(known, state, int(np.flatnonzero(queue == row)[0]), len(left))

    def host_urls(self, host: str, next_count: int) -> HostUrls:
        """Count the URLs of a host; return the first of those that come next."""
        keys = keys_of([host + "/"], self._seed)
        block = self._block_of(int(keys.hosts[0]))
        content = self._files.load(block)
        position = content.hosts.positions(keys.hosts)[0]
        if position < 0:
            return HostUrls()
        columns = content.columns
        states = columns.state[columns.host == position]
        remaining, scheduled, collected = (int((states == each).sum()) for each in (REMAINING, SCHEDULED, COLLECTED))
        rows = np.flatnonzero((columns.host == position) & (columns.state == SCHEDULED))
        rows = rows[ordered(columns, rows, order_keys(columns, rows, self._order), next_count)]
        return HostUrls(remaining, scheduled, collected, tuple(self._files.urls(block, columns.origin[rows])))

    def hosts_left(self, limit: int) -> list[tuple[str, int]]:
        """Return the hosts with most URLs that are not collected, and how many these are; the most first."""
        found: list[tuple[str, int]] = []
        for block in self._blocks:
            if block.rows > block.collected:
                content = self._files.load(block)
                left = np.bincount(content.columns.host[content.columns.state != COLLECTED])
                most = np.argsort(-left, kind="stable")[:limit].tolist()
                found += [(content.hosts.names[host], int(left[host])) for host in most if left[host]]
        return nlargest(limit, found, key=itemgetter(1))

    def _block_of(self, host: int) -> Block:
        return next(block for block in self._blocks if block.first <= host < block.end)

    def _known(self, block: Block, columns: RowColumns, rows: NDArray[np.int64]) -> Iterator[Known]:
        chosen = RowColumns(*(column[rows] for column in columns))  # type: ignore[arg-type]
        urls = self._files.urls(block, chosen.origin)
        collected = chosen.state == COLLECTED
        visits = iter(self._files.visits_of(block, chosen.origin[collected]))
        histories = iter(self._page_histories(block, columns, rows[collected]))
        for number, url in enumerate(urls):
            _, _, priority, links, outside, depth, kind, _, weight = (int(column[number]) for column in chosen)
            known = Known(url, False, priority, links, outside, depth, kind, weight=weight)
            if collected[number]:
                visit = next(visits)
                facts = {name: visit[name].item() for name in _KNOWN_FACTS}
                known = known._replace(collected=True, history=next(histories), **facts)
            yield known

    def _page_histories(self, block: Block, columns: RowColumns, rows: NDArray[np.int64]) -> list[PageHistory]:
        """Return the histories of collected rows of a block."""
        if not len(rows):
            return []
        histories, mean_rate = self._files.histories(block), self._state.mean_rate()
        hosts = columns.host[histories.row]
        rates = host_rates(hosts, histories.shape, histories.days, mean_rate)
        own = taken(histories, positions_of(histories, rows))
        return page_histories(_with_importance(own, columns), rates[columns.host[rows]])

    def histories(self, block: Block) -> BlockHistories:
        """Return the histories of a block: see `Repository.histories`."""
        found, columns, names = self._files.histories(block), self._files.rows(block), self._files.hosts(block).names
        hosts = columns.host[found.row].astype(np.int64)
        return BlockHistories(_with_importance(found, columns), hosts, names)

    def rows_of(self, block: Block, urls: Sequence[str]) -> NDArray[np.int64]:
        """Return the rows of URLs in a block: see `Repository.rows_of`."""
        fingerprints = keys_of(urls, self._seed).fingerprints
        order = np.argsort(fingerprints, kind="stable")
        rows = np.empty(len(order), np.int64)
        rows[order] = find(self._files.runs(block), fingerprints[order])
        return rows

    def known_pages(self, block: Block, rows: NDArray[np.uint32]) -> list[KnownPage]:
        """Return collected URLs of a block: see `Repository.known_pages`."""
        if not len(rows):
            return []
        histories, columns = self._files.histories(block), self._files.rows(block)
        histories = taken(histories, positions_of(histories, rows))
        origins = columns.origin[rows]
        visits = self._files.visits_of(block, origins)
        contents = (visits[name].tolist() for name in ("file", "offset", "signature", "similarity"))
        urls, depths = self._files.urls(block, origins), columns.depth[rows].tolist()
        facts = histories.visited.astype(np.float64).tolist(), visits["status"].tolist()
        phases, rest = map(Phase, histories.phase.tolist()), (columns.kind[rows].tolist(), histories.failures.tolist())
        return [KnownPage(*page) for page in zip(urls, depths, *facts, phases, *contents, *rest, strict=True)]

    def urls(self, blocks: Sequence[Block]) -> Iterator[Known]:
        """Yield all known URLs of blocks."""
        for block in blocks:
            if block.rows:
                yield from self._known(block, self._files.load(block).columns, np.arange(block.rows))

    def scheduled(self, block: Block, per_host: int) -> Iterator[Scheduled]:
        """Yield the scheduled URLs of each host of the block: see `Repository.scheduled`."""
        content = self._files.load(block)
        columns = content.columns
        rows = np.flatnonzero(columns.state == SCHEDULED)
        columns_of_urls = url_columns(columns, rows)
        keys = checked_keys(self._order(columns_of_urls), len(rows))
        chosen = ordered(columns, rows, first_placed(keys, columns_of_urls), per_host)
        rows, keys = rows[chosen], keys[chosen]
        urls = self._files.urls(block, columns.origin[rows])
        left = np.bincount(columns.host[columns.state != COLLECTED])
        for first, end in pairwise(edges_of_hosts(columns, rows).tolist()):
            own, host = rows[first:end], int(columns.host[rows[first]])
            depths, kinds = columns.depth[own].tolist(), columns.kind[own].tolist()
            weights = columns.weight[own]
            facts = depths, kinds, int(left[host]), float(keys[first:end].min())
            yield Scheduled(
                content.hosts.names[host], urls[first:end], *facts, weights.tolist() if weights.any() else []
            )


def _with_importance(histories: Histories, columns: RowColumns) -> Histories:
    return with_importance(histories, columns.outside[histories.row], columns.depth[histories.row])


def problems(files: BlockFiles, blocks: list[Block], spills: list[Spill], seed: int) -> Iterator[str]:
    """Check every invariant, and yield one line for each that does not hold:

    1. The ranges of the blocks follow one another and cover all hashes.
    2. Every file that the manifest names exists and is what was written.
    3. The runs of a block are sorted, have no fingerprint in common, and name each row once.
    4. The host of a row is known, has the hash of its text, and lies in the range of the block.
    5. The text of a row has the row's fingerprint.
    6. A collected row has a visit.
    7. As many URLs wait for a block as the manifest says.
    8. Each collected row has one history, and no other row has one; as many are in each phase as the manifest says.
    """
    edges = [0, *(block.end for block in blocks)]
    if [block.first for block in blocks] != edges[:-1] or edges[-1] != HASHES:
        yield "the blocks do not cover all hashes, each once"
    for block in blocks:
        try:
            for problem in _block_problems(files, block, spills, seed):
                yield f"block {block.number}: {problem}"
        except DamagedError as error:
            yield f"block {block.number}: {error}"


def _block_problems(files: BlockFiles, block: Block, spills: list[Spill], seed: int) -> Iterator[str]:
    content = files.load(block)
    waiting = sum(len(part) for spill in spills for part in read_spill(files.folder, spill, block.first, block.since))
    if waiting != block.waiting:
        yield f"{waiting:,} URLs wait, not {block.waiting:,}"
    yield from _run_problems(content, block.rows)
    if not block.rows:
        return
    yield from _host_problems(content, block, seed)
    yield from _text_problems(content, files.texts(block, content.columns.origin), seed)
    visited = np.isin(content.columns.origin, files.visits(block)["origin"])
    if not (visited | (content.columns.state != COLLECTED)).all():
        yield "a collected URL has no visit"
    yield from _history_problems(content.columns, files.histories(block), block.phases)


def _history_problems(columns: RowColumns, histories: Histories, phases: tuple[int, ...]) -> Iterator[str]:
    if not np.array_equal(np.sort(histories.row), np.flatnonzero(columns.state == COLLECTED)):
        yield "a collected URL has no history, or another URL has one"
    if int(histories.phase.max(initial=0)) >= len(Phase):
        yield "a history is in no known phase"
    elif phase_counts(histories) != phases:
        yield "the phases of the histories are not those that the manifest counts"


def _run_problems(content: BlockContent, rows: int) -> Iterator[str]:
    if len(content.columns.host) != rows:
        yield f"{len(content.columns.host):,} rows, not {rows:,}"
    fingerprints = np.concatenate([np.empty(0, np.uint64), *(run.fingerprints for run in content.runs)])
    if not all((run.fingerprints[1:] > run.fingerprints[:-1]).all() for run in content.runs):
        yield "a run is not sorted"
    if len(np.unique(fingerprints)) != rows:
        yield "a fingerprint stands twice"
    named = np.concatenate([np.empty(0, np.uint32), *(run.rows for run in content.runs)])
    if not np.array_equal(np.sort(named), np.arange(rows)):
        yield "the runs do not name each row once"


def _host_problems(content: BlockContent, block: Block, seed: int) -> Iterator[str]:
    hosts = content.hosts
    if len(hosts.names) != len(hosts.hashes) or int(content.columns.host.max()) >= len(hosts.names):
        yield "a row has no host"
        return
    if not np.array_equal(keys_of([f"{name}/" for name in hosts.names], seed).hosts, hosts.hashes):
        yield "a host's hash is not that of its text"
    if int(hosts.hashes.min()) < block.first or int(hosts.hashes.max()) >= block.end:
        yield "a host belongs to another block"


def _text_problems(content: BlockContent, urls: pa.LargeStringArray, seed: int) -> Iterator[str]:
    keys = keys_of(urls, seed)
    if not np.array_equal(keys.hosts, content.hosts.hashes[content.columns.host]):
        yield "a URL is not of its row's host"
    if not np.array_equal(keys.fingerprints, _by_row(content)):
        yield "a URL's text does not have its row's fingerprint"


def _by_row(content: BlockContent) -> NDArray[np.uint64]:
    fingerprints = np.zeros(len(content.columns.host), np.uint64)
    for run in content.runs:
        fingerprints[run.rows] = run.fingerprints
    return fingerprints
