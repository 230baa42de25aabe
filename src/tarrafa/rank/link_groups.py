"""Groups of links: those from one host with the same target and text. They decide what a link weighs.

A link that a template repeats on most pages of a host counts like a few links. A group on more than `share` of the
host's pages weighs as much as `few` links.
"""

from typing import NamedTuple

import numpy as np

from tarrafa.rank.arrays import F32, I64, U32, U64, distinct_hashes

# Odd numbers that mix hashes.
_MIXES = tuple(map(np.uint64, (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)))


class LinkGroups(NamedTuple):
    """A row for each group."""

    hosts: U32
    targets: U32
    texts: U32


def weigh_links(links: LinkGroups, pages: I64, share: float, few: int) -> tuple[F32, LinkGroups]:
    """Return the weight of each link, and the groups of the links.

    `links` has all links to some targets, with the hosts of their sources; `pages` the pages of each host with links.
    """
    _, firsts, numbers = distinct_hashes(_mix(*links))
    groups = LinkGroups(*(column[firsts] for column in links))
    counts = np.bincount(numbers)
    is_template = (counts > few) & (counts > share * pages[groups.hosts])
    return np.where(is_template, few / np.maximum(counts, 1), 1).astype(np.float32)[numbers], groups


def _mix(*columns: U32) -> U64:
    """Hash some columns together. Among a billion links, the odds that any two groups collide are 1 in 37."""
    found = np.zeros(len(columns[0]), np.uint64)
    for column, mix in zip(columns, _MIXES, strict=True):
        found ^= column
        found *= mix
        found ^= found >> np.uint64(32)
    return found
