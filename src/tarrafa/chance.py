"""Random numbers from a seed, the same on every machine and in every version of Python.

They come from SHAKE-128 over the text of the seed, in integers only: no float whose last bit depends on the machine, no
generator whose sequence depends on the version. `random` promises neither.
"""

import hashlib
import struct
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

WORD_BITS = 32
WORD_MAX = 1 << WORD_BITS


def draws(seed: str, count: int) -> tuple[int, ...]:
    """Return `count` numbers of 32 bits that follow from `seed`."""
    return struct.unpack(f"<{count}I", hashlib.shake_128(seed.encode()).digest(4 * count))


class Chance:
    """An endless stream of random numbers from one seed, for when their count is not known before."""

    _BATCH = 64

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._batch_count = 0
        self._buffer: list[int] = []

    def word(self) -> int:
        if not self._buffer:
            self._buffer = list(reversed(draws(f"{self._seed}/{self._batch_count}", self._BATCH)))
            self._batch_count += 1
        return self._buffer.pop()

    def below(self, limit: int) -> int:
        """Return an integer from 0 to limit - 1."""
        return (self.word() * limit) >> WORD_BITS

    def happens(self, share: float) -> bool:
        """Return True with the probability `share`."""
        return self.word() < share * WORD_MAX

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self.below(len(choices))]
