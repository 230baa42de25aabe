"""When do two texts say the same, or nearly? A signature for the first, a similarity hash for the second.

Both see a text folded: no accents, no case, and whatever is neither letter nor digit as one space. So a page that was
only tidied up has its old signature. They are stored, so they never change: the tests hold their values.

The similarity hash is Charikar's: each of the 64 bits is the majority among the hashes of runs of three words. Texts
that share most of these runs differ in few bits; unrelated ones in about 32. Of a long text the first part counts, and
there the 512 runs with the lowest hashes, which are mostly the same in two texts that are alike.
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

_RUN_WORDS = 3
_KEPT_RUNS = 512
_SPACE = 0x20
_UTF_16 = "utf-16-le" if sys.byteorder == "little" else "utf-16-be"
# Where folding changes anything: not among the signs of Chinese and Korean, surrogates, and units for private use.
_CHANGING = ((0, 0x3400), (0xA000, 0xAC00), (0xF900, 0x10000))
_ODD = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)

# Of UTF-16; as bytes where none is larger than that.
_Units = npt.NDArray[np.uint16] | npt.NDArray[np.uint8]
_Hashes = npt.NDArray[np.uint64]


def likeness(main: str, rest: str) -> tuple[int, int]:
    """The signature of both texts, and the similarity hash of the main one, or of both if that says too little."""
    both, main_units = _folded_in_turn(main, rest)
    signature = xxhash.xxh3_64_intdigest(both.astype("<u2", copy=False).data) if len(both) else 0
    return signature, similarity(both[:main_units]) or similarity(both)


def fold(text: str) -> npt.NDArray[np.uint16]:
    """The text in units of UTF-16, each word followed by one space."""
    return _folded_in_turn(text, "")[0].astype(np.uint16)


def _folded_in_turn(main: str, rest: str) -> tuple[_Units, int]:
    """One text folded, then the other; and how many units the first became."""
    both = f" {main} {rest} "
    folded: _Units
    try:
        # Most texts of the west, by a table that is always at hand.
        folded = np.frombuffer(both.encode("latin-1").translate(_latin_folding()), np.uint8)
        end = len(both) - len(rest) - 1
    except UnicodeEncodeError:
        folded, end = _folded_wide(both, rest)
    is_word = folded != _SPACE
    # Of each run of spaces the one that follows a word; the very first follows none.
    keep = is_word[1:] | is_word[:-1]
    return folded[1:][keep], int(np.count_nonzero(keep[: end - 1]))


def _folded_wide(both: str, rest: str) -> tuple[_Units, int]:
    """What the texts become, whatever is in them, and where the first of them ends."""
    units = both.encode(_UTF_16, "replace")
    end = (len(units) - len(f"{rest} ".encode(_UTF_16, "replace"))) // 2
    folded = _folding().take(np.frombuffer(units, np.uint16))
    is_something = folded != 0
    return folded[is_something], int(np.count_nonzero(is_something[:end]))


def similarity(folded: _Units) -> int:
    """0 for fewer than four words."""
    runs = _runs(folded[: bounds.SIMILARITY_CHARS])
    if not len(runs):
        return 0
    if len(runs) > _KEPT_RUNS:
        runs = np.partition(runs, _KEPT_RUNS)[:_KEPT_RUNS]
    # The lowest hashes begin with zeros, so their other bits are spread over them.
    counts = _bit_counts(runs * _ODD)
    return int.from_bytes(np.packbits(counts * 2 > len(runs)).tobytes(), "big")


def _bit_counts(hashes: _Hashes) -> npt.NDArray[np.uint16]:
    """How many of the hashes have each bit set. Each bit becomes a byte, and eight bytes are added up as one number."""
    if len(hashes) < _KEPT_RUNS:
        hashes = np.concatenate((hashes, np.zeros(_KEPT_RUNS - len(hashes), np.uint64)))
    # No byte of a sum overflows: each row is four hashes, so there are 128 of them to add.
    bits = np.unpackbits(hashes.astype("<u8", copy=False).view(np.uint8))
    rows = bits.view(np.uint64).reshape(-1, 4 * 8)
    counts: npt.NDArray[np.uint16] = np.add.reduce(np.add.reduce(rows).view(np.uint8).reshape(4, 64), dtype=np.uint16)
    return counts


def _runs(folded: _Units) -> _Hashes:
    """A hash of each run of words: its units times powers of an odd number, wherever in the text it stands."""
    powers, inverses = _powers()
    ends = np.flatnonzero(folded == _SPACE)
    sums = folded.astype(np.uint64)
    sums *= powers[: len(folded)]
    sums = np.cumsum(sums, out=sums)[ends]
    return _mixed((sums[_RUN_WORDS:] - sums[:-_RUN_WORDS]) * inverses[ends[:-_RUN_WORDS]])


def _mixed(hashes: _Hashes) -> _Hashes:
    hashes = (hashes ^ (hashes >> _HALF)) * _MIX
    return hashes ^ (hashes >> _HALF)


@lru_cache(maxsize=1)
def _powers() -> tuple[_Hashes, _Hashes]:
    inverse = np.uint64(pow(int(_ODD), -1, 1 << 64))
    count = bounds.SIMILARITY_CHARS
    return np.cumprod(np.full(count, _ODD), dtype=np.uint64), np.cumprod(np.full(count, inverse), dtype=np.uint64)


@lru_cache(maxsize=1)
def _latin_folding() -> bytes:
    """What each of the first 256 units becomes. None of them becomes nothing, or more than a byte holds."""
    return bytes(_folded(chr(unit)) for unit in range(256))


@lru_cache(maxsize=1)
def _folding() -> npt.NDArray[np.uint16]:
    """What each unit of UTF-16 becomes: a letter without accent in lower case, itself, a space, or 0 for nothing."""
    table = np.arange(1 << 16, dtype=np.uint16)
    for first, end in _CHANGING:
        table[first:end] = [_folded(chr(unit)) for unit in range(first, end)]
    return table


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
