"""What links say of their target: the texts that one clicks on, with a vote for each host that uses them.

A host has one vote for a text and a target, on however many of its pages the link stands. A text that a host uses for
many targets, such as "read more", says nothing about any of them, and has no vote there.
"""

from typing import NamedTuple

import numpy as np

from tarrafa.rank.columns import I64, U32, Marks, packed, runs, unpacked
from tarrafa.rank.weights import Groups

_PIECE_ROWS = 1 << 17  # that stay in the processor's cache


class Anchors(NamedTuple):
    """By node: the texts of a node stand together, best first."""

    starts: I64  # where the texts of each node begin, and where the last end
    texts: U32
    votes: U32


def anchors_of(groups: Groups, no_text: int, nodes_count: int, texts_max: int, targets_max: int) -> Anchors:
    """`no_text` is the number of the empty text; -1 if there is none."""
    counts = _tells(groups, targets_max)
    if no_text >= 0:
        counts &= groups.texts != no_text
    pairs = packed(groups.targets, groups.texts)[counts]
    pairs.sort()
    starts, votes = runs(pairs)
    targets, texts = unpacked(pairs[starts])
    del pairs
    order = _best_first(targets, votes, texts_max)
    of_node = np.bincount(targets[order], minlength=nodes_count)
    return Anchors(np.concatenate([[0], np.cumsum(of_node)]), texts[order], votes[order].astype(np.uint32))


def _tells(groups: Groups, targets_max: int) -> Marks:
    """Which groups have a text that their host does not use for many targets."""
    uses = packed(groups.hosts, groups.texts)
    ordered = np.sort(uses)
    # What stands so many places further too stands there more often than that.
    later = ordered[targets_max:]
    vague = np.unique(later[later == ordered[: len(later)]])
    del ordered, later
    tells = np.ones(len(uses), np.bool_)
    for first in range(0, len(uses) if len(vague) else 0, _PIECE_ROWS):
        piece = uses[first : first + _PIECE_ROWS]
        places = np.minimum(np.searchsorted(vague, piece), len(vague) - 1)
        tells[first : first + _PIECE_ROWS] = vague[places] != piece
    return tells


def _best_first(targets: U32, votes: I64, texts_max: int) -> I64:
    """Rows by target, then by votes, `texts_max` of each target at most. They come sorted by target and text."""
    starts, counts = runs(targets)
    order = np.arange(len(targets))
    if len(targets):
        # Where no text of a target has two votes there is nothing to order.
        uneven = np.flatnonzero(np.repeat(np.maximum.reduceat(votes, starts) > 1, counts))
        keys = packed(targets[uneven], np.uint32(0xFFFFFFFF) - np.minimum(votes[uneven], 0xFFFFFFFF).astype(np.uint32))
        order[uneven] = uneven[np.argsort(keys, kind="stable")]
    return order[np.arange(len(order)) - np.repeat(starts, counts) < texts_max]
