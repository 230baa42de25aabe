"""From URLs to keys, a million at a time: the hash of the host, and the fingerprint of the URL.

Both are XXH64, worked out for all URLs at once by numpy: the same values as `urls.host_hash` and
`urls.fingerprint`, which take one URL each and would cost more than the rest of a cycle. Canonical URLs are ASCII,
so characters are bytes here.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]

# Rows that are worked on together: few enough that their columns stay in the processor's cache.
STEP = 16_384
# After the last text, because eight bytes are read at a time.
PAD = "\0" * 8

_P1, _P2, _P3, _P4, _P5 = (
    np.uint64(prime)
    for prime in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
)


class Keys(NamedTuple):
    """Two columns about some URLs."""

    hosts: U64
    fingerprints: U64


def keys_of(urls: Sequence[str], seed: int) -> Keys:
    """The keys of canonical URLs, by the crawl's secret seed."""
    keys = Keys(np.empty(len(urls), np.uint64), np.empty(len(urls), np.uint64))
    for first in range(0, len(urls), STEP):
        part = slice(first, first + STEP)
        keys.hosts[part], keys.fingerprints[part] = _keys_of_some(urls[part], seed)
    return keys


def _keys_of_some(urls: Sequence[str], seed: int) -> tuple[U64, U64]:
    lengths = np.fromiter(map(len, urls), np.int64, len(urls))
    ends = np.cumsum(lengths)
    starts = ends - lengths
    text = np.frombuffer("".join([*urls, PAD]).encode("ascii"), np.uint8)
    cuts = _third_slashes(text, starts)
    with np.errstate(over="ignore"):
        hosts = xxh64(text, starts, cuts, np.full(len(urls), seed, np.uint64))
        return hosts, xxh64(text, cuts, ends, hosts)


def _third_slashes(text: NDArray[np.uint8], starts: I64) -> I64:
    """Where the path of each URL begins: canonical URLs have two slashes before their host and one after it."""
    slashes = np.flatnonzero(text == ord("/"))
    return slashes[np.searchsorted(slashes, starts) + 2]


def xxh64(text: NDArray[np.uint8], starts: I64, ends: I64, seeds: U64) -> U64:
    """XXH64 of each piece of the text, with a seed for each; the text must end with PAD."""
    words = np.lib.stride_tricks.as_strided(text[:8].view("<u8"), (len(text) - 7,), (1,))
    return _hashed(words, starts, ends - starts, seeds)


def _hashed(words: U64, at: I64, lengths: I64, seeds: U64) -> U64:
    at = at.copy()
    left = lengths.copy()
    value = seeds + _P5
    striped = np.flatnonzero(left >= 32)
    if len(striped):
        value[striped] = _stripes(words, at, left, striped, seeds[striped])
    value += lengths.astype(np.uint64)
    for step in (_eights, _eights, _eights, _four, _ones, _ones, _ones):
        step(words, at, left, value)
    value ^= value >> np.uint64(33)
    value *= _P2
    value ^= value >> np.uint64(29)
    value *= _P3
    value ^= value >> np.uint64(32)
    return value


def _rotated(value: U64, bits: int) -> U64:
    return (value << np.uint64(bits)) | (value >> np.uint64(64 - bits))


def _round(total: U64, word: U64) -> U64:
    return _rotated(total + word * _P2, 31) * _P1


def _stripes(words: U64, at: I64, left: I64, rows: I64, seeds: U64) -> U64:
    """The 32-byte stripes of the rows that have any: four sums each, which are then folded into one."""
    sums = [seeds + _P1 + _P2, seeds + _P2, seeds.copy(), seeds - _P1]
    active = np.arange(len(rows))
    while len(active):
        here = rows[active]
        for lane in range(4):
            sums[lane][active] = _round(sums[lane][active], words[at[here] + 8 * lane])
        at[here] += 32
        left[here] -= 32
        active = active[left[here] >= 32]
    value = _rotated(sums[0], 1) + _rotated(sums[1], 7) + _rotated(sums[2], 12) + _rotated(sums[3], 18)
    for total in sums:
        value = (value ^ _round(np.zeros_like(total), total)) * _P1 + _P4
    return value


def _eights(words: U64, at: I64, left: I64, value: U64) -> None:
    rows = np.flatnonzero(left >= 8)
    word = _round(np.uint64(0), words[at[rows]])  # type: ignore[arg-type]
    value[rows] = _rotated(value[rows] ^ word, 27) * _P1 + _P4
    at[rows] += 8
    left[rows] -= 8


def _four(words: U64, at: I64, left: I64, value: U64) -> None:
    rows = np.flatnonzero(left >= 4)
    word = words[at[rows]] & np.uint64(0xFFFFFFFF)
    value[rows] = _rotated(value[rows] ^ (word * _P1), 23) * _P2 + _P3
    at[rows] += 4
    left[rows] -= 4


def _ones(words: U64, at: I64, left: I64, value: U64) -> None:
    rows = np.flatnonzero(left >= 1)
    word = words[at[rows]] & np.uint64(0xFF)
    value[rows] = _rotated(value[rows] ^ (word * _P5), 11) * _P1
    at[rows] += 1
    left[rows] -= 1
