"""The hosts of a repository by their hashes, sorted, in a file that is written anew when there are new ones."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from tarrafa.lab.engines.offers import U64
from tarrafa.verify.veuniq.disk import Stored, read_file, write_file


class HostList(NamedTuple):
    hashes: U64
    stored: list[Stored]  # one, or none yet

    def with_new(self, hashes: U64, folder: Path, name: str) -> "HostList":
        """With these, in a file of that name if any of them is new."""
        sought = np.unique(hashes)
        sought = sought[~self.holds(sought)]
        if not len(sought):
            return self
        whole = np.insert(self.hashes, np.searchsorted(self.hashes, sought), sought)
        return HostList(whole, [write_file(folder, name, [whole], len(whole))])

    def holds(self, hashes: U64) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which of these are here."""
        places = np.searchsorted(self.hashes, hashes)
        known = np.zeros(len(hashes), np.bool_)
        inside = places < len(self.hashes)
        known[inside] = self.hashes[places[inside]] == hashes[inside]
        return known


def read_hosts(folder: Path, stored: list[list[object]]) -> HostList:
    """As the manifest says."""
    files = [Stored(*each) for each in stored]  # type: ignore[arg-type]
    hashes = [np.frombuffer(read_file(folder, file), np.uint64) for file in files]
    return HostList(np.concatenate([np.empty(0, np.uint64), *hashes]), files)
