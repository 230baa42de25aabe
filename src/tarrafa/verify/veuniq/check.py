"""Every invariant of a repository on disk, checked: what `tarrafa repository verify` asks.

1. The blocks' ranges follow one another and cover all hashes.
2. Every file that the manifest names is there and is what was written.
3. The runs of a block are sorted, have no fingerprint in common, and name each row once.
4. A row's host is known, its hash is that of its text, and lies in the block's range.
5. The text of a row has the row's fingerprint.
6. A collected row has a visit.
7. As many URLs wait for a block as the manifest says.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tarrafa.errors import DamagedError
from tarrafa.verify.keys import keys_of
from tarrafa.verify.veuniq.block import COLLECTED, HASHES, Block, Content
from tarrafa.verify.veuniq.shelf import Shelf, Spill


def problems(shelf: Shelf, blocks: list[Block], spills: list[Spill], seed: int) -> Iterator[str]:
    """One line for each thing that is wrong; none for a sound repository."""
    edges = [0, *(block.end for block in blocks)]
    if [block.first for block in blocks] != edges[:-1] or edges[-1] != HASHES:
        yield "the blocks do not cover all hashes, each once"
    for block in blocks:
        try:
            for problem in _block_problems(shelf, block, spills, seed):
                yield f"block {block.number}: {problem}"
        except DamagedError as error:
            yield f"block {block.number}: {error}"


def _block_problems(shelf: Shelf, block: Block, spills: list[Spill], seed: int) -> Iterator[str]:
    content = shelf.load(block)
    waiting = sum(len(part) for spill in spills if spill.cycle > block.since for part in shelf.read_spill(spill, block))
    if waiting != block.waiting:
        yield f"{waiting:,} URLs wait, not {block.waiting:,}"
    yield from _run_problems(content, block.rows)
    if not block.rows:
        return
    yield from _host_problems(content, block, seed)
    yield from _text_problems(content, shelf.texts(block, content.columns.origin), seed)
    visited = np.isin(content.columns.origin, shelf.visits(block)["origin"])
    if not (visited | (content.columns.state != COLLECTED)).all():
        yield "a collected URL has no visit"


def _run_problems(content: Content, rows: int) -> Iterator[str]:
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


def _host_problems(content: Content, block: Block, seed: int) -> Iterator[str]:
    hosts = content.hosts
    if len(hosts.names) != len(hosts.hashes) or int(content.columns.host.max()) >= len(hosts.names):
        yield "a row has no host"
        return
    if not np.array_equal(keys_of([f"{name}/" for name in hosts.names], seed).hosts, hosts.hashes):
        yield "a host's hash is not that of its text"
    if int(hosts.hashes.min()) < block.first or int(hosts.hashes.max()) >= block.end:
        yield "a host belongs to another block"


def _text_problems(content: Content, urls: pa.LargeStringArray, seed: int) -> Iterator[str]:
    keys = keys_of(urls, seed)
    if not np.array_equal(keys.hosts, content.hosts.hashes[content.columns.host]):
        yield "a URL is not of its row's host"
    if not np.array_equal(keys.fingerprints, _by_row(content)):
        yield "a URL's text does not have its row's fingerprint"


def _by_row(content: Content) -> NDArray[np.uint64]:
    fingerprints = np.zeros(len(content.columns.host), np.uint64)
    for run in content.runs:
        fingerprints[run.rows] = run.fingerprints
    return fingerprints
