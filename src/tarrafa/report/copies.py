"""How many pages say the same? Counted by their signatures, within a bound.

When there are more than fit, only signatures that end in a zero bit are kept, then in two, and so on. A signature is a
hash, so what is kept is a fair share, and the counts are multiplied by it. Below the bound they are exact.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

U64 = NDArray[np.uint64]
PAIRS_LIMIT = 4_000_000


class Copied(NamedTuple):
    """A page that was visited twice counts once with each content that it had."""

    pages: int  # that have a signature
    contents: int  # different ones among them
    most: int  # pages of one content
    is_exact: bool

    @property
    def copies(self) -> int:
        return self.pages - self.contents

    def told(self) -> dict[str, Any]:
        return {**self._asdict(), "copies": self.copies}


class Copies:
    def __init__(self, pairs_limit: int = PAIRS_LIMIT) -> None:
        self._pairs_limit = pairs_limit
        self._zeros = 0  # bits in which a signature must end
        # Signatures and the fingerprints of their URLs. Filled by add, joined and thinned when they are many.
        self._parts: list[tuple[U64, U64]] = []
        self._count = 0

    def add(self, signatures: U64, urls: U64) -> None:
        """A signature of 0 is none."""
        self._keep(signatures[signatures != 0], urls[signatures != 0])
        while self._count > self._pairs_limit:
            signatures, urls = self._joined()
            if len(signatures) > self._pairs_limit // 2:
                self._zeros += 1
            self._parts, self._count = [], 0
            self._keep(signatures, urls)

    def _keep(self, signatures: U64, urls: U64) -> None:
        is_kept = signatures & np.uint64((1 << self._zeros) - 1) == 0
        self._parts.append((signatures[is_kept], urls[is_kept]))
        self._count += int(is_kept.sum())

    def _joined(self) -> tuple[U64, U64]:
        """Each pair once, by signature."""
        signatures = np.concatenate([np.empty(0, np.uint64), *(part[0] for part in self._parts)])
        urls = np.concatenate([np.empty(0, np.uint64), *(part[1] for part in self._parts)])
        order = np.lexsort((urls, signatures))
        signatures, urls = signatures[order], urls[order]
        is_first = np.ones(len(order), np.bool_)
        is_first[1:] = (signatures[1:] != signatures[:-1]) | (urls[1:] != urls[:-1])
        return signatures[is_first], urls[is_first]

    def found(self) -> Copied:
        _, counts = np.unique(self._joined()[0], return_counts=True)
        share = 1 << self._zeros
        most = int(counts.max()) if len(counts) else 0
        return Copied(int(counts.sum()) * share, len(counts) * share, most, share == 1)
