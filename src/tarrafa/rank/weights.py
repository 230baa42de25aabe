"""What a link weighs: a link that a template repeats on most pages of a host counts like a few.

The menu of a host says what the host thinks, once; a thousand pages that carry it do not say it a thousand times. Links
with the same target and text from one host are a group. A group that stands on more than `share` of the host's pages
weighs as much as `few` links.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tarrafa.rank.columns import F32, U32, U64, distinct, joined, runs, used_numbers

_PIECE_ROWS = 1 << 17
# Odd numbers by which hashes are mixed.
_MIXES = tuple(map(np.uint64, (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)))


class Groups(NamedTuple):
    """A row for each host, target and text that stand together in any link."""

    hosts: U32
    targets: U32
    texts: U32


def weights_of(sources: U32, targets: U32, texts: U32, hosts: U32, share: float, few: int) -> tuple[F32, Groups]:
    """The weight of each link, and the groups of all links.

    `hosts` has the host of each node, and is sorted. So are the links by their source: those of a host stand together.
    """
    weights = np.empty(len(sources), np.float32)
    pages = np.bincount(hosts[used_numbers(len(hosts), sources)], minlength=int(hosts.max(initial=0)) + 1)
    found: list[Groups] = []
    for piece in _by_host(sources, hosts):
        own_hosts, own_targets, own_texts = hosts[sources[piece]], targets[piece], texts[piece]
        _, leaders, numbers = distinct(_mixed(own_hosts, own_targets, own_texts))
        counts = np.bincount(numbers)
        found.append(Groups(own_hosts[leaders], own_targets[leaders], own_texts[leaders]))
        is_template = (counts > few) & (counts > share * pages[found[-1].hosts])
        weights[piece] = np.where(is_template, few / counts, 1).astype(np.float32)[numbers]
    columns = zip(*found, strict=True) if found else ([], [], [])
    return weights, Groups(*(joined(list(column), np.uint32) for column in columns))


def _by_host(sources: U32, hosts: U32) -> Iterator[slice]:
    """Pieces of links that stay in the processor's cache. A piece ends with a host: groups lie within one."""
    first_nodes, _ = runs(hosts)
    edges = np.append(np.searchsorted(sources, first_nodes.astype(np.uint32)), len(sources))
    first = 0
    while first < len(sources):
        fitting = int(edges[np.searchsorted(edges, first + _PIECE_ROWS, "right") - 1])
        end = max(fitting, int(edges[np.searchsorted(edges, first, "right")]))
        yield slice(first, end)
        first = end


def _mixed(*columns: U32) -> U64:
    """64 bits of some columns together. Among a billion links the odds that any two groups meet are 1 in 37."""
    found = np.zeros(len(columns[0]), np.uint64)
    for column, mix in zip(columns, _MIXES, strict=True):
        found ^= column
        found *= mix
        found ^= found >> np.uint64(32)
    return found
