"""Groups of links: those from one host with the same target and text. They decide what a link weighs and what it says.

*Weights*: a link that a template repeats on most pages of a host counts like a few links. A group on more than `share`
of the host's pages weighs as much as `few` links.

*Anchors*: each group gives its text one vote for its target, however many pages of the host have the link. A text that
a host uses for many targets, such as "read more", says nothing about any of them and has no vote there.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tarrafa.rank.arrays import (
    F32,
    I64,
    U32,
    U64,
    Mask,
    distinct_hashes,
    find_rows,
    join_arrays,
    pack_pairs,
    runs,
    unpack_pairs,
    used_numbers,
)

_CHUNK_ROWS = 1 << 17  # rows that fit into the processor's cache
# Odd numbers that mix hashes.
_MIXES = tuple(map(np.uint64, (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)))


class LinkGroups(NamedTuple):
    """A row for each group."""

    hosts: U32
    targets: U32
    texts: U32


class Anchors(NamedTuple):
    """The texts of links to each node, best first."""

    starts: I64  # where the texts of each node begin, and where the last ones end
    texts: U32
    votes: U32


def weigh_links(sources: U32, targets: U32, texts: U32, hosts: U32, share: float, few: int) -> tuple[F32, LinkGroups]:
    """Return the weight of each link, and the groups of all links.

    `hosts` has the host of each node and is sorted. The links are sorted by source, so those of a host are adjacent.
    """
    weights = np.empty(len(sources), np.float32)
    pages = np.bincount(hosts[used_numbers(len(hosts), sources)], minlength=int(hosts.max(initial=0)) + 1)
    found: list[LinkGroups] = []
    for chunk in _chunks_by_host(sources, hosts):
        own_hosts, own_targets, own_texts = hosts[sources[chunk]], targets[chunk], texts[chunk]
        _, firsts, numbers = distinct_hashes(_mix(own_hosts, own_targets, own_texts))
        counts = np.bincount(numbers)
        found.append(LinkGroups(own_hosts[firsts], own_targets[firsts], own_texts[firsts]))
        is_template = (counts > few) & (counts > share * pages[found[-1].hosts])
        weights[chunk] = np.where(is_template, few / counts, 1).astype(np.float32)[numbers]
    columns = zip(*found, strict=True) if found else ([], [], [])
    return weights, LinkGroups(*(join_arrays(list(column), np.uint32) for column in columns))


def _chunks_by_host(sources: U32, hosts: U32) -> Iterator[slice]:
    """Split links into chunks that fit into the cache. A chunk ends with a host, because groups lie within one."""
    first_nodes, _ = runs(hosts)
    edges = np.append(np.searchsorted(sources, first_nodes.astype(np.uint32)), len(sources))
    first = 0
    while first < len(sources):
        fitting = int(edges[np.searchsorted(edges, first + _CHUNK_ROWS, "right") - 1])
        end = max(fitting, int(edges[np.searchsorted(edges, first, "right")]))
        yield slice(first, end)
        first = end


def _mix(*columns: U32) -> U64:
    """Hash some columns together. Among a billion links, the odds that any two groups collide are 1 in 37."""
    found = np.zeros(len(columns[0]), np.uint64)
    for column, mix in zip(columns, _MIXES, strict=True):
        found ^= column
        found *= mix
        found ^= found >> np.uint64(32)
    return found


def count_anchors(groups: LinkGroups, no_text: int, nodes_count: int, texts_max: int, targets_max: int) -> Anchors:
    """Count the votes of texts. `no_text` is the number of the empty text; -1 if there is none."""
    counts = _is_specific(groups, targets_max)
    if no_text >= 0:
        counts &= groups.texts != no_text
    pairs = pack_pairs(groups.targets, groups.texts)[counts]
    pairs.sort()
    starts, votes = runs(pairs)
    targets, texts = unpack_pairs(pairs[starts])
    del pairs
    order = _best_first(targets, votes, texts_max)
    of_node = np.bincount(targets[order], minlength=nodes_count)
    return Anchors(np.concatenate([[0], np.cumsum(of_node)]), texts[order], votes[order].astype(np.uint32))


def _is_specific(groups: LinkGroups, targets_max: int) -> Mask:
    """Return True for groups whose host uses their text for at most `targets_max` targets."""
    uses = pack_pairs(groups.hosts, groups.texts)
    ordered = np.sort(uses)
    # A use that is equal to the one `targets_max` places before it occurs more often than that.
    later = ordered[targets_max:]
    vague = np.unique(later[later == ordered[: len(later)]])
    del ordered, later
    _, is_vague = find_rows(vague, uses)
    return ~is_vague


def _best_first(targets: U32, votes: I64, texts_max: int) -> I64:
    """Return rows by target, then by votes, at most `texts_max` of each target. They come sorted by target."""
    keys = pack_pairs(targets, np.uint32(0xFFFFFFFF) - np.minimum(votes, 0xFFFFFFFF).astype(np.uint32))
    order = np.argsort(keys, kind="stable")
    starts, counts = runs(targets)
    return order[np.arange(len(order)) - np.repeat(starts, counts) < texts_max]
