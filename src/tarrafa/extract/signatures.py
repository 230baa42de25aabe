"""Recognise texts that say the same, by their signature, or nearly the same, by their similarity hash.

Both are made of the folded text: no accents, no case, and a space for every character that is neither letter nor digit.
The signature ignores the spaces as well, so a page that was only reformatted keeps it. Both are stored, so they must
never change: the tests hold their values.

The similarity hash is MinHash by one permutation. Every run of three words has a hash; the range of hashes is divided
into 64 shares, and the lowest hash of each share gives one bit. Texts that share most of their runs differ in few bits,
unrelated texts in about 32. Of a long text, the first part counts.
"""

import sys
import unicodedata
from functools import cache

import numpy as np
import numpy.typing as npt
import xxhash

from tarrafa.extract import bounds

# Two texts are near-duplicates if their hashes differ in at most this many bits.
NEAR_BITS = 16

_SPACE = 0x20
_UTF_16 = "utf-16-le" if sys.byteorder == "little" else "utf-16-be"
# Where folding changes anything: not in Chinese and Korean, surrogates, and private use.
_CHANGING = (range(0x3400), range(0xA000, 0xAC00), range(0xF900, 0x10000))
_WORD_BYTES = 4  # the last bytes of a word count, with what stands before it if it is shorter
_BEFORE = b" " * _WORD_BYTES
# Odd factors for the words of a run.
_LAST, _SECOND, _FIRST = np.uint32(0x9E3779B1), np.uint32(0x85EBCA77), np.uint32(0xC2B2AE3D)
_SHARE_BITS = 6
_UPPER_HALF = np.uint32(1 << 31)

_Hashes = npt.NDArray[np.uint32]


def sign(main: str, rest: str) -> tuple[int, int]:
    """Return the signature of both texts, and the similarity hash of the main one, or of both if that is too short."""
    first, second = fold(main), fold(rest)
    return signature(first + second), similarity(first) or similarity(b"%b %b" % (first, second))


def fold(text: str) -> bytes:
    """Return letters without accents and in lower case, digits, and a space for every other character, in UTF-8."""
    try:
        # Most texts of western languages; takes a fifth of the time.
        folded = text.encode("latin-1").translate(_latin_table())
    except UnicodeEncodeError:
        return _fold_wide(text)
    return folded if folded.isascii() else folded.decode("latin-1").encode()


def _fold_wide(text: str) -> bytes:
    folded = _folding_table().take(np.frombuffer(text.encode(_UTF_16, "replace"), np.uint16))
    units: bytes = folded[folded != 0].tobytes()
    return units.decode(_UTF_16, "replace").encode()


def signature(folded: bytes) -> int:
    """Return 64 bits of a folded text; 0 if it has no letters and digits."""
    units = np.frombuffer(folded, np.uint8)
    letters = units.compress(units != _SPACE)
    return xxhash.xxh3_64_intdigest(letters.data) if len(letters) else 0


def similarity(folded: bytes) -> int:
    """Return the similarity hash of a folded text; 0 if it has fewer than three words."""
    runs = _runs(folded[: bounds.SIMILARITY_BYTES])
    if not len(runs):
        return 0
    runs.sort()
    starts, odds = _shares()
    # A share without a hash takes the first hash of the next share that has one; the first share follows the last.
    lowest = runs.take(runs.searchsorted(starts), mode="wrap")
    return int.from_bytes(np.packbits(lowest * odds >= _UPPER_HALF).tobytes(), "big")


def _runs(folded: bytes) -> _Hashes:
    """Return a hash of each run of three words."""
    padded = np.frombuffer(b"%b%b " % (_BEFORE, folded), np.uint8)
    is_space = padded == _SPACE
    (ends,) = (is_space[1:] > is_space[:-1]).nonzero()
    windows: _Hashes = np.ndarray(len(padded) - _WORD_BYTES + 1, "<u4", padded, strides=(1,))
    words = windows.take(ends - (_WORD_BYTES - 1))
    runs: _Hashes = words[2:] * _LAST + words[1:-1] * _SECOND + words[:-2] * _FIRST
    return runs


@cache
def _shares() -> tuple[_Hashes, _Hashes]:
    """Return where each share begins, and the odd factor that chooses its bit."""
    numbers = range(1 << _SHARE_BITS)
    starts = [number << 32 - _SHARE_BITS for number in numbers]
    odds = [xxhash.xxh32_intdigest(bytes([number])) | 1 for number in numbers]
    return np.array(starts, np.uint32), np.array(odds, np.uint32)


@cache
def _latin_table() -> bytes:
    """Return the folded form of each of the first 256 characters. All of them fit into one byte."""
    return bytes(_folded(chr(unit)) for unit in range(256))


@cache
def _folding_table() -> npt.NDArray[np.uint16]:
    """Return the folded form of each unit of UTF-16: a letter, the unit itself, a space, or 0 for nothing."""
    table = np.arange(1 << 16, dtype=np.uint16)
    for units in _CHANGING:
        table[units.start : units.stop] = [_folded(chr(unit)) for unit in units]
    return table


def _folded(char: str) -> int:
    # This version of Unicode is the same in every Python. Characters that it does not know stay as they are.
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
