"""The rows of documents by URL: which of them are current, for any number of rows in little memory.

One pass reads only URLs and outcomes. The fingerprints of URLs go to a temporary file, in which the rows of a range of
fingerprints are found together, one range after the other. In memory are two bytes for each row, and one range.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarrafa.hashes import U64, hashes_of
from tarrafa.keep.row_writers import DOCUMENTS
from tarrafa.keep.segment_reader import read_rows_from
from tarrafa.versions import are_mere_visits, are_versions

I64 = NDArray[np.int64]
Mask = NDArray[np.bool_]

_RANGE_ROWS = 4_000_000  # rows in memory at a time, on average
_SCAN_ROWS = 1 << 20
_KEY_BITS = 64


class UrlGroups(NamedTuple):
    """Rows of some URLs: those of one URL together, in the order of writing."""

    keys: U64  # fingerprints
    rows: I64  # numbers of rows
    groups: I64  # for each of them: the number of its URL, from 0
    is_version: Mask
    is_mere: Mask

    def newest(self, chosen: Mask) -> I64:
        """Return the last chosen one of each group that has any, as places in `rows`."""
        places = np.flatnonzero(chosen)
        is_last = np.ones(len(places), np.bool_)
        is_last[:-1] = self.groups[places[1:]] != self.groups[places[:-1]]
        return places[is_last]

    def current(self) -> I64:
        """Return the current row of each group (see `versions`), as places in `rows`."""
        has_others = np.zeros(int(self.groups[-1]) + 1 if len(self.groups) else 0, np.bool_)
        has_others[self.groups[~self.is_mere]] = True
        return self.newest(~self.is_mere | ~has_others[self.groups])


def url_groups(folder: Path, checkpoint: int, range_rows: int = _RANGE_ROWS) -> Iterator[UrlGroups]:
    """Yield the rows of all URLs up to a checkpoint, in parts. URLs are told apart by fingerprint."""
    with tempfile.TemporaryFile() as file:
        mere, versions = [np.zeros(0, np.bool_)], [np.zeros(0, np.bool_)]
        for batch in read_rows_from(folder, DOCUMENTS, checkpoint, ("url", "outcome"), 0, ("outcome",)):
            file.write(hashes_of(batch.column("url")).tobytes())
            mere.append(are_mere_visits(batch.column("outcome")))
            versions.append(are_versions(batch.column("outcome")))
        file.flush()
        is_mere, is_version = np.concatenate(mere), np.concatenate(versions)
        if not len(is_mere):
            return
        keys: U64 = np.memmap(file, np.uint64, "r", shape=(len(is_mere),))
        bits = max(0, (len(keys) // range_rows).bit_length())
        for number in range(1 << bits):
            rows = _rows_in(keys, number, _KEY_BITS - bits)
            order = np.argsort(keys[rows], kind="stable")
            rows = rows[order]
            own = keys[rows]
            groups = np.cumsum(np.concatenate([[False], own[1:] != own[:-1]])) if len(own) else np.zeros(0, np.int64)
            yield UrlGroups(own, rows, groups.astype(np.int64), is_version[rows], is_mere[rows])


def _rows_in(keys: U64, number: int, shift: int) -> I64:
    """Return the rows whose keys begin with the bits of a number."""
    found = []
    for start in range(0, len(keys), _SCAN_ROWS):
        some = keys[start : start + _SCAN_ROWS]
        is_own = some >> np.uint64(shift) == number if shift < _KEY_BITS else np.ones(len(some), np.bool_)
        found.append(start + np.flatnonzero(is_own))
    return np.concatenate(found)


def current_rows(folder: Path, checkpoint: int, range_rows: int = _RANGE_ROWS) -> Mask:
    """Return True for each row of documents that is the current one of its URL."""
    found = [np.zeros(0, np.int64)]
    count = 0
    for groups in url_groups(folder, checkpoint, range_rows):
        found.append(groups.rows[groups.current()])
        count += len(groups.rows)
    mask = np.zeros(count, np.bool_)
    for rows in found:
        mask[rows] = True
    return mask
