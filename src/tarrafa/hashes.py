"""Hash whole columns of texts, with the same values as `urls.fingerprint` gives for one.

The hash is XXH64 of the text followed by 1 to 32 zero bytes, which make its length a multiple of 32. XXH64 reads
stripes of 32 bytes, so no text leaves a remainder, and numpy can take the same stripe of many texts in one step.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]

# Texts of one step: few enough that their columns stay in the processor's cache.
_STEP = 16_384
_STRIPE_BYTES = 32
_LANES = 4  # words of eight bytes in a stripe
_STRIPE = np.dtype(f"V{_STRIPE_BYTES}")  # numpy copies a value of this type by a single move
# By count: the first so many bytes of a stripe.
_FIRST_BYTES = np.frombuffer(
    b"".join(b"\xff" * count + b"\0" * (_STRIPE_BYTES - count) for count in range(_STRIPE_BYTES)), _STRIPE
)
# The constants of XXH64.
_PRIME_1, _PRIME_2, _PRIME_3, _PRIME_4 = (
    np.uint64(prime) for prime in (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63)
)
_LANE_BITS = (1, 7, 12, 18)


def hashes_of(texts: Any, seed: int = 0) -> U64:
    """Return the hash of each text of an Arrow column: an array or a chunked array, encoded as a dictionary or not."""
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    texts = texts.cast(pa.large_binary())
    edges = edges_of(texts)
    return span_hashes(bytes_of(texts), edges[:-1], edges[1:], seed)


def edges_of(texts: pa.Array) -> I64:
    """Return where each text of a large column begins among its bytes, and where the last ends."""
    return np.frombuffer(texts.buffers()[1] or bytes(8), np.int64, len(texts) + 1, 8 * texts.offset)


def bytes_of(texts: pa.Array) -> NDArray[np.uint8]:
    """Return the bytes of a column of texts, one text after the other."""
    return np.frombuffer(texts.buffers()[2] or b"", np.uint8)


def first_places(texts: pa.Array, byte: int, skip: int) -> I64:
    """Return where among the bytes each text of a large column has a byte first, its first `skip` bytes left out.

    Each text must have it.
    """
    data, edges = bytes_of(texts), edges_of(texts)
    found = np.empty(len(texts), np.int64)
    for first in range(0, len(texts), _STEP):
        part = edges[first : first + _STEP + 1]
        places = part[0] + np.flatnonzero(data[part[0] : part[-1]] == byte)
        found[first : first + _STEP] = places[np.searchsorted(places, part[:-1] + skip)]
    return found


def span_hashes(data: NDArray[np.uint8], starts: I64, ends: I64, seed: int = 0) -> U64:
    """Return the hashes of texts that stand in this order among the bytes."""
    found = np.empty(len(starts), np.uint64)
    for first in range(0, len(starts), _STEP):
        rows = slice(first, first + _STEP)
        part = data[starts[first] : ends[rows][-1]]
        # A stripe is read as a whole, also where the last text ends within it.
        text = np.zeros(len(part) + _STRIPE_BYTES, np.uint8)
        text[: len(part)] = part
        found[rows] = _hashes(text, starts[rows] - starts[first], ends[rows] - starts[rows], seed)
    return found


def _hashes(text: NDArray[np.uint8], starts: I64, lengths: I64, seed: int) -> U64:
    """Hash some texts together, stripe by stripe; those with most stripes come first."""
    stripes = lengths // _STRIPE_BYTES + 1
    most = int(stripes.max())
    order = np.argsort((most - stripes).astype(np.min_scalar_type(most)), kind="stable")
    starts, lengths = starts[order], lengths[order]
    pieces = np.lib.stride_tricks.as_strided(text[:_STRIPE_BYTES].view(_STRIPE), (len(text) - _STRIPE_BYTES + 1,), (1,))
    lanes = np.tile(_first_lanes(seed), (len(order), 1))
    # By number of a stripe: how many texts have it.
    counts = (len(order) - np.cumsum(np.bincount(stripes, minlength=most + 1))).tolist()
    for number, (count, longer) in enumerate(pairwise(counts)):
        at = number * _STRIPE_BYTES
        words = _words(pieces[starts[:count] + at])
        words[longer:] &= _words(_FIRST_BYTES[lengths[longer:count] - at])
        _add(lanes[:count], words)
    found = np.empty(len(order), np.uint64)
    found[order] = _ended(np.ascontiguousarray(lanes.T), stripes[order] * _STRIPE_BYTES)
    return found


def _words(pieces: NDArray[np.void]) -> U64:
    return pieces.view("<u8").reshape(-1, _LANES)


def _first_lanes(seed: int) -> U64:
    lanes = (int(_PRIME_1) + int(_PRIME_2), int(_PRIME_2), 0, -int(_PRIME_1))
    return np.array([(seed + lane) % 2**64 for lane in lanes], np.uint64)


def _add(lanes: U64, words: U64) -> None:
    """Add one stripe of each text to its lanes. The words are used up."""
    words *= _PRIME_2
    lanes += words
    np.left_shift(lanes, np.uint64(31), out=words)
    lanes >>= np.uint64(33)
    lanes |= words
    lanes *= _PRIME_1


def _ended(lanes: U64, lengths: I64) -> U64:
    """Return the hashes; the lanes, a row each, are used up."""
    found = np.zeros(len(lengths), np.uint64)
    for lane, bits in zip(lanes, _LANE_BITS, strict=True):
        found += lane << np.uint64(bits) | lane >> np.uint64(64 - bits)
    rounds = np.zeros_like(lanes)
    _add(rounds, lanes)
    for lane in rounds:
        found ^= lane
        found *= _PRIME_1
        found += _PRIME_4
    found += lengths.astype(np.uint64)
    for bits, prime in ((33, _PRIME_2), (29, _PRIME_3)):
        found ^= found >> np.uint64(bits)
        found *= prime
    found ^= found >> np.uint64(32)
    return found
