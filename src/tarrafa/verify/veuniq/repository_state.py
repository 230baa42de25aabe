"""The state of a repository as its manifest describes it: the blocks, and the spills with URLs that wait for them."""

from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarrafa.errors import InputError
from tarrafa.verify.contract import RepositoryCounts
from tarrafa.verify.page_histories import mean_rate_of
from tarrafa.verify.veuniq.block import Block, StoredTexts
from tarrafa.verify.veuniq.spills import Spill, open_spill
from tarrafa.verify.veuniq.stored_files import StoredFile, read_manifest

FORMAT = 7
_BLOCK_FIELDS = tuple(each.name for each in fields(Block))
_LISTED_FILES = ("runs", "row_index", "row_state", "row_weight", "hosts", "visits", "histories")


class RepositoryState(NamedTuple):
    """What the manifest says."""

    seed: int
    cycle: int
    batch: int
    next_block: int
    blocks: list[Block]  # by range
    spills: list[Spill]

    def firsts(self) -> NDArray[np.uint64]:
        return np.array([block.first for block in self.blocks], np.uint64)

    def manifest(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "seed": self.seed,
            "cycle": self.cycle,
            "batch": self.batch,
            "next_block": self.next_block,
            "blocks": [[getattr(block, name) for name in _BLOCK_FIELDS] for block in self.blocks],
            "spills": [(spill.cycle, spill.stored, spill.stored_index) for spill in self.spills],
        }

    def file_names(self) -> set[str]:
        """Return the names of all files that count."""
        return {stored.name for stored in self._files()}

    def mean_rate(self) -> float:
        """Return how often a page changes: see `Repository.mean_rate`."""
        return mean_rate_of(sum(block.rate_sum for block in self.blocks), self._collected())

    def _collected(self) -> int:
        return sum(block.collected for block in self.blocks)

    def counts(self) -> RepositoryCounts:
        blocks = self.blocks
        return RepositoryCounts(
            known=sum(block.rows for block in blocks),
            collected=self._collected(),
            scheduled=sum(block.scheduled for block in blocks),
            hosts=sum(block.hosts_count for block in blocks),
            blocks=len(blocks),
            waiting=sum(block.waiting for block in blocks),
            # The halves of a split block share files.
            disk_bytes=sum({stored.name: stored.size_bytes for stored in self._files()}.values()),
            phases=tuple(map(sum, zip(*(block.phases for block in blocks), strict=True))),
        )

    def _files(self) -> list[StoredFile]:
        spills = [stored for spill in self.spills for stored in (spill.stored, spill.stored_index)]
        return [*(stored for block in self.blocks for stored in block.files()), *spills]


def read_state(folder: Path) -> RepositoryState | None:
    """Return the state of the last commit, or None for a new repository; refuse another format."""
    found = read_manifest(folder)
    if found is None:
        return None
    if found["format"] != FORMAT:
        raise InputError(f"{folder} has format {found['format']}; this version reads format {FORMAT}")
    spills = [open_spill(folder, cycle, StoredFile(*s), StoredFile(*i)) for cycle, s, i in found["spills"]]
    blocks = [_block_from(each) for each in found["blocks"]]
    return RepositoryState(found["seed"], found["cycle"], found["batch"], found["next_block"], blocks, spills)


def _block_from(values: list[Any]) -> Block:
    block = Block(**dict(zip(_BLOCK_FIELDS, values, strict=True)))
    for name in _LISTED_FILES:
        setattr(block, name, [StoredFile(*stored) for stored in getattr(block, name)])
    block.phases = tuple(block.phases)
    block.texts = [StoredTexts(first, StoredFile(*stored)) for first, stored in block.texts]
    return block
