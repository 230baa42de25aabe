"""Anchor texts: what links say about their targets.

Each group of links gives its text one vote for its target, however many pages of the host have the link. A text that a
host uses for many targets, such as "read more", says nothing about any of them and has no vote there.

Groups come by host and text, so that the targets of each can be counted. Votes are split again, by target.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tarrafa.rank.arrays import I64, U32, find_rows, flatten_texts, pack_pairs, restore_texts, runs, unpack_pairs
from tarrafa.rank.bucket_file import BucketFile
from tarrafa.rank.generation import RankSettings
from tarrafa.rank.generation_writer import GenerationWriter
from tarrafa.rank.graph import Graph
from tarrafa.rank.graph_parts import RowKind
from tarrafa.rank.link_groups import LinkGroups
from tarrafa.rank.scratch import Scratch

_UNUSED, _WANTED = np.uint32(0xFFFFFFFF), np.uint32(0xFFFFFFFE)


class Anchors(NamedTuple):
    """A row for each text of each target, by target, the best first."""

    targets: U32
    texts: U32
    votes: U32


def write_anchors(
    graph: Graph, groups: BucketFile, edges: I64, generation: GenerationWriter, settings: RankSettings, scratch: Scratch
) -> int:
    """Write the columns of anchor texts; return how many pairs of a target and a text there are.

    `edges` are the nodes at which buckets of targets begin, and the number of nodes.
    """
    votes = split_votes(groups, edges, settings.anchor_targets_max, scratch)
    groups.close()
    texts, places = BucketFile(scratch, 1, np.uint32), np.full(graph.texts_count, _UNUSED)
    count = 0
    generation.append("anchor_starts", np.zeros(1))
    for bucket, (first, end) in enumerate(pairwise(edges.tolist())):
        found = count_anchors(votes.read(bucket, 0), votes.read(bucket, 1), settings.anchors_max)
        of_node = np.bincount(found.targets - np.uint32(first), minlength=end - first)
        generation.append("anchor_starts", count + np.cumsum(of_node))
        generation.append("anchor_votes", found.votes)
        texts.append(found.texts)
        places[found.texts] = _WANTED
        count += len(found.texts)
    _write_texts(graph, generation, places)
    for numbers in texts.batches(0):
        generation.append("anchor_texts", places[numbers])
    return count


def _write_texts(graph: Graph, generation: GenerationWriter, places: U32) -> None:
    """Write the wanted texts in the order in which parts have them, and the place of each into `places`."""
    count = size_bytes = 0
    generation.append("text_edges", np.zeros(1))
    for part, (edges, data) in enumerate(graph.parts.columns(RowKind.LINKS, "text_edges", "text_bytes")):
        numbers = graph.texts(part)
        wanted = np.flatnonzero(places[numbers] == _WANTED)
        places[numbers[wanted]] = np.arange(count, count + len(wanted))
        own_edges, own_bytes = flatten_texts(restore_texts(edges, data).take(pa.array(wanted)))
        generation.append("text_edges", size_bytes + own_edges[1:])
        generation.append("text_bytes", own_bytes)
        count, size_bytes = count + len(wanted), size_bytes + len(own_bytes)


def split_votes(groups: BucketFile, edges: I64, targets_max: int, scratch: Scratch) -> BucketFile:
    """Return the targets and texts of all specific groups, in buckets of targets."""
    votes = BucketFile(scratch, len(edges) - 1, np.uint32, np.uint32)
    for bucket in range(groups.buckets_count):
        columns = LinkGroups(*(groups.read(bucket, column) for column in range(3)))
        kept = specific_groups(columns, targets_max)
        votes.add(np.searchsorted(edges, kept.targets, "right") - 1, kept.targets, kept.texts)
    return votes


def specific_groups(groups: LinkGroups, targets_max: int) -> LinkGroups:
    """Return the groups whose host uses their text for at most `targets_max` targets.

    For each host and text in it, `groups` must have all groups.
    """
    uses = pack_pairs(groups.hosts, groups.texts)
    ordered = np.sort(uses)
    # A use that is equal to the one `targets_max` places before it occurs more often than that.
    later = ordered[targets_max:]
    vague = np.unique(later[later == ordered[: len(later)]])
    del ordered, later
    _, is_vague = find_rows(vague, uses)
    return LinkGroups(*(column[~is_vague] for column in groups))


def count_anchors(targets: U32, texts: U32, texts_max: int) -> Anchors:
    """Count the votes of texts for targets; each row is a vote."""
    pairs = pack_pairs(targets, texts)
    pairs.sort()
    starts, votes = runs(pairs)
    targets, texts = unpack_pairs(pairs[starts])
    del pairs
    order = _best_first(targets, votes, texts_max)
    return Anchors(targets[order], texts[order], votes[order].astype(np.uint32))


def _best_first(targets: U32, votes: I64, texts_max: int) -> I64:
    """Return rows by target, then by votes, at most `texts_max` of each target. They come sorted by target."""
    keys = pack_pairs(targets, np.uint32(0xFFFFFFFF) - np.minimum(votes, 0xFFFFFFFF).astype(np.uint32))
    order = np.argsort(keys, kind="stable")
    starts, counts = runs(targets)
    return order[np.arange(len(order)) - np.repeat(starts, counts) < texts_max]
