"""Chance as a seam: numbers that follow from a seed and a purpose, the same on every machine and every Python.

They come from SHAKE-128 over the text of seed and purpose, in whole numbers only: no float whose last bit depends on
the machine, no generator whose sequence depends on the version. `random` promises neither.
"""

import hashlib
import struct
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

WORD_BITS = 32
WORD_MAX = 1 << WORD_BITS


def draws(seed: str, count: int) -> tuple[int, ...]:
    """`count` numbers of 32 bits that follow from `seed`."""
    return struct.unpack(f"<{count}I", hashlib.shake_128(seed.encode()).digest(4 * count))


class Chance:
    """An endless stream of draws from one seed, for where their number is not known before."""

    _BATCH = 64

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._batch_count = 0
        self._waiting: list[int] = []

    def word(self) -> int:
        if not self._waiting:
            self._waiting = list(reversed(draws(f"{self._seed}/{self._batch_count}", self._BATCH)))
            self._batch_count += 1
        return self._waiting.pop()

    def below(self, limit: int) -> int:
        """A whole number from 0 to limit - 1."""
        return (self.word() * limit) >> WORD_BITS

    def happens(self, share: float) -> bool:
        return self.word() < share * WORD_MAX

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self.below(len(choices))]
