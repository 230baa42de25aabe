"""From URLs to keys, a million at a time: the hash of the host, and the fingerprint of the URL.

Both are worked out for whole columns: the same values as `urls.host_hash` and `urls.fingerprint`, which take one URL
each and would cost more than the rest of a cycle. Of few URLs it is done one by one, which spares the start of what
works on columns.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tarrafa.hashes import FEW_TEXTS, U64, hashes_of, hashes_of_few

I64 = NDArray[np.int64]

# Rows that are worked on together: few enough that their columns stay in the processor's cache.
STEP = 16_384
PAD = b"\0" * 8

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
    return _keys_of_few(texts, seed) if len(texts) <= FEW_TEXTS else keys_of_many(texts, seed)


def _keys_of_few(texts: pa.LargeStringArray, seed: int) -> Keys:
    urls = texts.view(pa.large_binary()).to_pylist()
    hosts = [url[: url.index(b"/", _HOST_START)] for url in urls]
    return Keys(hashes_of_few(hosts, seed), hashes_of_few(urls, seed))


def keys_of_many(texts: pa.LargeStringArray, seed: int) -> Keys:
    """The same for a column of one URL or more."""
    # Few hosts have many URLs, and telling them apart is cheaper than hashing each.
    hosts = pieces(texts.buffers()[2], edges_of(texts), _cuts(texts), 0).dictionary_encode()
    indices: NDArray[np.int32] = hosts.indices.to_numpy()
    return Keys(hashes_of(hosts.dictionary, seed)[indices], hashes_of(texts, seed))


def _cuts(texts: pa.LargeStringArray) -> I64:
    """Where in their buffer the path of each URL begins."""
    edges, buffer = edges_of(texts), texts.buffers()[2]
    # Eight bytes are read at a time: behind the last text there must be some, behind the others there are.
    last = np.frombuffer(bytes(buffer[edges[-2] : edges[-1]]) + PAD, np.uint8)
    cut = edges[-2] + _third_slashes(last, np.zeros(1, np.int64))
    return np.append(_third_slashes(np.frombuffer(buffer, np.uint8), edges[:-2]), cut)


def pieces(buffer: pa.Buffer, edges: I64, cuts: I64, which: int) -> pa.LargeStringArray:
    """Texts that are cut in two: what is before each cut (0), or what is behind it (1)."""
    text, count = np.frombuffer(buffer, np.uint8), len(cuts)
    lengths = np.stack((cuts - edges[:-1], edges[1:] - cuts), axis=1)
    ends = np.append(0, np.cumsum(lengths[:, which]))
    found = np.empty(ends[-1], np.uint8)
    for first in range(0, count, STEP):
        end = min(first + STEP, count)
        # Both by turns: every second one is wanted.
        both = lengths[first:end].ravel()
        is_wanted = np.repeat(np.arange(len(both)) % 2 == which, both)
        found[ends[first] : ends[end]] = text[edges[first] : edges[end]][is_wanted]
    return pa.LargeStringArray.from_buffers(count, pa.py_buffer(ends), pa.py_buffer(found))


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
