"""A block that has grown too large becomes two: the hosts below a hash, and the others.

Nothing is read or written here. Texts and visits are not touched: both halves go on with the files of the whole.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tarrafa.verify.veuniq.block import Block, Columns, Content, Hosts, Run, merged

_SPREAD = 0x9E3779B97F4A7C15


def rows_limit(first: int, rows: int) -> int:
    """With how many rows a block that begins at this hash is split: half of `rows` or more.

    Hosts are spread evenly, so blocks grow alike; with one bound for all, they would all be split at the same time.
    """
    share = (first * _SPREAD >> 32) % 2**32  # of 2**32
    return rows - (rows * share >> 33)


def halves(block: Block, content: Content, next_number: int) -> list[tuple[Block, Content]]:
    """Two blocks of about equal size, or none: a host is never divided, however large it is."""
    edge = _edge(content)
    if edge is None:
        return []
    low = content.hosts.hashes < np.uint64(edge)
    content = content._replace(runs=merged(content.runs, len(content.columns.host)))
    return [
        (_half(block, next_number, block.first, edge), _part(content, low)),
        (_half(block, next_number + 1, edge, block.end), _part(content, ~low)),
    ]


def _edge(content: Content) -> int | None:
    """The hash of the first host of the upper half."""
    order = np.argsort(content.hosts.hashes)
    if len(order) < 2:
        return None
    sizes = np.bincount(content.columns.host, minlength=len(order))[order]
    below = np.cumsum(sizes)[:-1]  # rows below each host but the first
    nearest = int(np.argmin(np.abs(below - len(content.columns.host) / 2)))
    return int(content.hosts.hashes[order[1 + nearest]])


def _half(block: Block, number: int, first: int, end: int) -> Block:
    return replace(block, number=number, first=first, end=end, runs=[], places=[], marks=[], hosts=[])


def _part(content: Content, hosts: NDArray[np.bool_]) -> Content:
    """The rows of some hosts, numbered anew."""
    position = (np.cumsum(hosts) - 1).astype(np.uint32)
    inside = hosts[content.columns.host]
    row = (np.cumsum(inside) - 1).astype(np.uint32)
    columns = Columns(*(column[inside] for column in content.columns))  # type: ignore[arg-type]
    names = [name for name, is_kept in zip(content.hosts.names, hosts.tolist(), strict=True) if is_kept]
    return Content(
        [_part_of_run(run, inside, row) for run in content.runs],
        columns._replace(host=position[columns.host]),
        Hosts(content.hosts.hashes[hosts], names),
    )


def _part_of_run(run: Run, inside: NDArray[np.bool_], row: NDArray[np.uint32]) -> Run:
    kept = inside[run.rows]
    return Run(run.fingerprints[kept], row[run.rows[kept]])
