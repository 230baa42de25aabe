"""Mercator-B, and Polybot: a buffer of fingerprints is sorted, and merged with a sorted file in one pass."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tarrafa.lab.engines.merging import LAYOUT, Merging, combined
from tarrafa.lab.engines.offers import U64, Bits
from tarrafa.lab.engines.sorted_file import Part, SortedFile, Values, write_sorted


class MercatorB(Merging):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder, _verify)


def _verify(
    central: SortedFile, target: Path, keys: U64, values: Values, _texts: list[str]
) -> tuple[SortedFile, Bits, Values]:
    order = np.argsort(keys)
    keys, values = keys[order], tuple(column[order] for column in values)
    known, before = np.zeros(len(keys), np.bool_), tuple(np.zeros_like(column) for column in values)
    edges = np.searchsorted(LAYOUT.parts_of(keys), np.arange((1 << LAYOUT.part_bits) + 1)).tolist()

    def merged() -> Iterator[Part]:
        for part, first, end in zip(central.parts(LAYOUT), edges[:-1], edges[1:], strict=True):
            given = tuple(column[first:end] for column in values)
            places, hit = part.find(keys[first:end])
            there = part.values_at(places, hit)
            known[first:end] = hit
            for column, found in zip(before, there, strict=True):
                column[first:end] = found
            both = zip(combined(there, given), given, strict=True)
            yield part.put(places, hit, keys[first:end], tuple(np.where(hit, *pair) for pair in both))

    file, back = write_sorted(target, merged()), np.argsort(order)
    return file, known[back], tuple(column[back] for column in before)
