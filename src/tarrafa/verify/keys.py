"""From URLs to keys, a million at a time: the hash of the host, and the fingerprint of the URL.

Both are XXH64, worked out for many URLs at once by numpy: the same values as `urls.host_hash` and
`urls.fingerprint`, which take one URL each and would cost more than the rest of a cycle. Pieces of equal length go
through the same steps, so they are put side by side, and each step is a few operations on whole columns.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]

# Rows that are worked on together: few enough that their columns stay in the processor's cache.
STEP = 16_384
PAD = b"\0" * 8

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
_SLASHES, _ONES, _HIGHS = (np.uint64(0x0101010101010101 * byte) for byte in (ord("/"), 0x01, 0x80))
# The lowest bit of a byte, multiplied by this, has the number of that byte in the highest.
_WHICH_BYTE = np.uint64(0x0001020304050607)
_HOST_START = len("http://x")
_HOST_WORDS = 4


class Keys(NamedTuple):
    """Two columns about some URLs."""

    hosts: U64
    fingerprints: U64


def texts_of(urls: Sequence[str] | pa.Array) -> pa.LargeStringArray:
    """The URLs one after the other, as columns have them."""
    return urls if isinstance(urls, pa.LargeStringArray) else pa.array(urls, pa.large_string())


def keys_of(urls: Sequence[str] | pa.Array, seed: int) -> Keys:
    """The keys of canonical URLs, by the crawl's secret seed."""
    texts = texts_of(urls)
    if not len(texts):
        return Keys(np.empty(0, np.uint64), np.empty(0, np.uint64))
    edges, buffer = edges_of(texts), texts.buffers()[2]
    # Eight bytes are read at a time: behind the last text there must be some, behind the others there are.
    last = _keys(pa.py_buffer(bytes(buffer[edges[-2] : edges[-1]]) + PAD), edges[-2:] - edges[-2], seed)
    if len(texts) == 1:
        return last
    most = _keys(buffer, edges[:-1], seed)
    return Keys(np.append(most.hosts, last.hosts), np.append(most.fingerprints, last.fingerprints))


def _keys(buffer: pa.Buffer, edges: I64, seed: int) -> Keys:
    text = np.frombuffer(buffer, np.uint8)
    with np.errstate(over="ignore"):
        cuts = _third_slashes(text, edges[:-1])
        hosts = _host_hashes(pieces(buffer, edges, cuts, 0), seed)
        return Keys(hosts, _hashed(text, cuts, edges[1:], hosts))


def _host_hashes(names: pa.LargeStringArray, seed: int) -> U64:
    """Few hosts have many URLs, and telling them apart is cheaper than hashing each."""
    encoded = names.dictionary_encode()
    distinct = encoded.dictionary
    edges = edges_of(distinct)
    text = np.frombuffer(bytes(distinct.buffers()[2][: edges[-1]]) + PAD, np.uint8)
    hashes = _hashed(text, edges[:-1], edges[1:], np.full(len(distinct), seed, np.uint64))
    indices: NDArray[np.int32] = encoded.indices.to_numpy()
    return hashes[indices]


def pieces(buffer: pa.Buffer, edges: I64, cuts: I64, which: int) -> pa.LargeStringArray:
    """Texts that are cut in two: what is before each cut (0), or what is behind it (1)."""
    count = len(cuts)
    # Both by turns, over the same buffer; then every second one.
    both = np.empty(2 * count + 1, np.int64)
    both[0::2], both[1::2] = edges, cuts
    array = pa.LargeStringArray.from_buffers(2 * count, pa.py_buffer(both), buffer)
    return array.take(pa.array(np.arange(which, 2 * count, 2)))


def edges_of(texts: pa.LargeStringArray) -> I64:
    """Where each text begins in their buffer, and where the last ends."""
    return np.frombuffer(texts.buffers()[1], np.int64, len(texts) + 1, 8 * texts.offset)


def _words(text: NDArray[np.uint8], at: I64, count: int) -> U64:
    """For each place of the text the words of eight bytes that stand there: a row for the first ones, and so on.

    Rows lie across in memory: each is read once, which is cheaper than putting them in order before.
    """
    size = 8 * count
    # As one value of that size, a piece is copied by a single move.
    pieces = np.lib.stride_tricks.as_strided(text[:size].view(f"V{size}"), (len(text) - size + 1,), (1,))
    return pieces[at].view("<u8").reshape(-1, count).T


def _third_slashes(text: NDArray[np.uint8], starts: I64) -> I64:
    """Where the path of each URL begins: canonical URLs have two slashes before their host and one after it."""
    found = np.empty_like(starts)
    for first in range(0, len(starts), STEP):
        at = starts[first : first + STEP] + _HOST_START
        rows = np.arange(first, first + len(at))
        while len(at):
            distance = _first_slash(text, at)
            found[rows] = at + distance
            far = np.flatnonzero(distance < 0)
            # Most hosts end within the first words; of the others the next one is looked at.
            rows, at = rows[far], at[far] + 8
    return found


def _first_slash(text: NDArray[np.uint8], at: I64) -> I64:
    """How far it is to the next slash; -1 if that is not among the next words."""
    words = _words(text, at, min(_HOST_WORDS, (len(text) - int(at.max())) // 8))
    words ^= _SLASHES
    marks = (words - _ONES) & ~words & _HIGHS  # the lowest bit that is set belongs to a slash
    distance = np.full(len(at), -1, np.int64)
    for number in range(len(marks) - 1, -1, -1):
        mark = marks[number]
        lowest = (mark & (~mark + np.uint64(1))) >> np.uint64(7)
        place = ((lowest * _WHICH_BYTE) >> np.uint64(56)).view(np.int64)
        distance = np.where(mark != 0, place + 8 * number, distance)
    return distance


def _hashed(text: NDArray[np.uint8], starts: I64, ends: I64, seeds: U64) -> U64:
    """XXH64 of each piece of the text, with a seed for each."""
    lengths = ends - starts
    found = np.empty(len(starts), np.uint64)
    # Of small numbers the order is found many times as fast.
    order = np.argsort(lengths.astype(np.uint16) if lengths.max() < 2**16 else lengths, kind="stable")
    ordered = lengths[order]
    edges = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1], [True]))).tolist()
    for edge, next_edge in pairwise(edges):
        for first in range(edge, next_edge, STEP):
            rows = order[first : min(first + STEP, next_edge)]
            found[rows] = _of_length(text, starts[rows], int(ordered[edge]), seeds[rows])
    return found


def _of_length(text: NDArray[np.uint8], starts: I64, length: int, seeds: U64) -> U64:
    words = _words(text, starts, length // 8 + 1)
    stripes = length // 32
    value = _stripes(words, stripes, seeds) if stripes else seeds + _P5
    value += np.uint64(length)
    for word in words[4 * stripes : length // 8]:
        value ^= _round(np.uint64(0), word)
        value = _rotated(value, 27) * _P1 + _P4
    rest = words[-1]
    if length % 8 >= 4:
        value ^= (rest & np.uint64(0xFFFFFFFF)) * _P1
        value = _rotated(value, 23) * _P2 + _P3
    for place in range(length // 4 * 4 % 8, length % 8):
        value ^= ((rest >> np.uint64(8 * place)) & np.uint64(0xFF)) * _P5
        value = _rotated(value, 11) * _P1
    return _mixed(value)


def _stripes(words: U64, count: int, seeds: U64) -> U64:
    """The stripes of 32 bytes: four sums, which are then folded into one."""
    sums = [seeds + (_P1 + _P2), seeds + _P2, seeds, seeds - _P1]
    for number, word in enumerate(words[: 4 * count]):
        sums[number % 4] = _round(sums[number % 4], word)
    value = _rotated(sums[0], 1) + _rotated(sums[1], 7) + _rotated(sums[2], 12) + _rotated(sums[3], 18)
    for total in sums:
        value ^= _round(np.uint64(0), total)
        value *= _P1
        value += _P4
    return value


def _round(total: U64 | np.uint64, word: U64) -> U64:
    value = word * _P2
    value += total
    value = _rotated(value, 31)
    value *= _P1
    return value


def _rotated(value: U64, bits: int) -> U64:
    high = value << np.uint64(bits)
    high |= value >> np.uint64(64 - bits)
    return high


def _mixed(value: U64) -> U64:
    value ^= value >> np.uint64(33)
    value *= _P2
    value ^= value >> np.uint64(29)
    value *= _P3
    value ^= value >> np.uint64(32)
    return value
