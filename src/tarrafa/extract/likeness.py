"""When do two texts say the same, or nearly? A signature for the first, a similarity hash for the second.

Both see a text folded: no accents, no case, and whatever is neither letter nor digit as a space. The signature does not
see the spaces either, so a page that was only tidied up has its old one. They are stored, so they never change: the
tests hold their values.

The similarity hash is made of the runs of three words, each of which has a hash. The range of these hashes is divided
into 64 shares, and the lowest hash of each share gives one bit: MinHash by one permutation. Texts that share most of
their runs have mostly the same minima and differ in few bits; unrelated ones in about 32. Of a long text the first part
counts.
"""

import sys
import unicodedata
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import xxhash

from tarrafa.extract import bounds

# Bits in which the hashes of two texts may differ to call them near copies of each other.
NEAR_BITS = 16

_SPACE = 0x20
_UTF_16 = "utf-16-le" if sys.byteorder == "little" else "utf-16-be"
# Where folding changes anything: not among the signs of Chinese and Korean, surrogates, and units for private use.
_CHANGING = ((0, 0x3400), (0xA000, 0xAC00), (0xF900, 0x10000))
_WORD_BYTES = 4  # of a word count the last ones, with what stands before it if it is shorter
_BEFORE = b" " * _WORD_BYTES
# Odd numbers by which the words of a run are multiplied.
_LAST, _SECOND, _FIRST = np.uint32(0x9E3779B1), np.uint32(0x85EBCA77), np.uint32(0xC2B2AE3D)
_SHARE_BITS = 6
_UPPER_HALF = np.uint32(1 << 31)

_Hashes = npt.NDArray[np.uint32]


def likeness(main: str, rest: str) -> tuple[int, int]:
    """The signature of both texts, and the similarity hash of the main one, or of both if that says too little."""
    first, second = fold(main), fold(rest)
    return signature(first + second), similarity(first) or similarity(b"%b %b" % (first, second))


def fold(text: str) -> bytes:
    """In UTF-8: letters without accents and in lower case, digits, and a space for every other sign."""
    try:
        # Most texts of the west, by a table that is always at hand.
        folded = text.encode("latin-1").translate(_latin_folding())
    except UnicodeEncodeError:
        return _folded_wide(text)
    return folded if folded.isascii() else folded.decode("latin-1").encode()


def _folded_wide(text: str) -> bytes:
    folded = _folding().of(np.frombuffer(text.encode(_UTF_16, "replace"), np.uint16))
    units: bytes = folded[folded != 0].tobytes()
    return units.decode(_UTF_16, "replace").encode()


def signature(folded: bytes) -> int:
    """0 for a text without letters and digits."""
    units = np.frombuffer(folded, np.uint8)
    letters = units.compress(units != _SPACE)
    return xxhash.xxh3_64_intdigest(letters.data) if len(letters) else 0


def similarity(folded: bytes) -> int:
    """0 for fewer than three words."""
    runs = _runs(folded[: bounds.SIMILARITY_BYTES])
    if not len(runs):
        return 0
    runs.sort()
    starts, odds = _shares()
    # Where a share has no hash, the first of the next that has one stands in; after the last comes the first.
    lowest = runs.take(runs.searchsorted(starts), mode="wrap")
    return int.from_bytes(np.packbits(lowest * odds >= _UPPER_HALF).tobytes(), "big")


def _runs(folded: bytes) -> _Hashes:
    """A hash of each run of three words."""
    padded = np.frombuffer(b"%b%b " % (_BEFORE, folded), np.uint8)
    is_space = padded == _SPACE
    (ends,) = (is_space[1:] > is_space[:-1]).nonzero()
    windows: _Hashes = np.ndarray(len(padded) - _WORD_BYTES + 1, "<u4", padded, strides=(1,))
    words = windows.take(ends - (_WORD_BYTES - 1))
    runs: _Hashes = words[2:] * _LAST + words[1:-1] * _SECOND + words[:-2] * _FIRST
    return runs


@lru_cache(maxsize=1)
def _shares() -> tuple[_Hashes, _Hashes]:
    """Where each share begins, and the odd number that chooses its bit."""
    numbers = range(1 << _SHARE_BITS)
    starts = [number << 32 - _SHARE_BITS for number in numbers]
    odds = [xxhash.xxh32_intdigest(bytes([number])) | 1 for number in numbers]
    return np.array(starts, np.uint32), np.array(odds, np.uint32)


@lru_cache(maxsize=1)
def _latin_folding() -> bytes:
    """What each of the first 256 units becomes. None of them becomes nothing, or more than a byte holds."""
    return bytes(_folded(chr(unit)) for unit in range(256))


class _Folding:
    """What each unit of UTF-16 becomes: a letter without accent in lower case, itself, a space, or 0 for nothing.

    To work all of it out takes as long as a hundred pages, and most texts hold few scripts: so it is done for 256 units
    when one of them is met.
    """

    def __init__(self) -> None:
        self._table = np.arange(1 << 16, dtype=np.uint16)
        self._is_done = np.zeros(1 << 8, np.bool_)

    def of(self, units: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint16]:
        is_met = np.bincount(units >> 8, minlength=1 << 8) > 0
        for part in (is_met & ~self._is_done).nonzero()[0].tolist():
            self._work_out(part << 8)
        self._is_done |= is_met
        folded: npt.NDArray[np.uint16] = self._table.take(units)
        return folded

    def _work_out(self, start: int) -> None:
        if any(first <= start < end for first, end in _CHANGING):
            end = start + (1 << 8)
            self._table[start:end] = [_folded(chr(unit)) for unit in range(start, end)]


@lru_cache(maxsize=1)
def _folding() -> _Folding:
    return _Folding()


def _folded(char: str) -> int:
    # A version of Unicode that is the same in every Python; what it does not know stays as it is.
    known = unicodedata.ucd_3_2_0
    category = known.category(char)
    if category == "Mn":
        return 0
    if category[0] not in "LNCM" or category == "Cc":
        return _SPACE
    parts = known.normalize("NFD", char) if known.decomposition(char) else char
    plain = parts[0] if all(known.category(mark) == "Mn" for mark in parts[1:]) else char
    lower = plain.lower() if category[0] == "L" else plain
    return ord(lower) if len(lower) == 1 and ord(lower) < 1 << 16 else ord(char)
