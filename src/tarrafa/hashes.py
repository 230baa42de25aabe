"""Hashes of whole columns of texts: XXH64, the same values as `urls.fingerprint` has for one."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

# So many are hashed one by one in a tenth of the time that it takes to load polars, which then hashes far faster.
# Many crawls never have more at a time.
FEW_TEXTS = 100_000

U64 = NDArray[np.uint64]


def hashes_of(texts: pa.Array, seed: int = 0) -> U64:
    if len(texts) <= FEW_TEXTS:
        return hashes_of_few(texts.cast(pa.large_binary()).to_pylist(), seed)
    return column_hashes(texts, seed)


def hashes_of_few(texts: Sequence[bytes], seed: int = 0) -> U64:
    """For whoever has them in UTF-8, one by one."""
    # To make a number of each, and then a column of the numbers, takes longer than to read all of them as one.
    return np.frombuffer(b"".join([xxhash.xxh64_digest(text, seed) for text in texts]), ">u8").astype(np.uint64)


def column_hashes(texts: Any, seed: int = 0) -> U64:
    """For whoever has loaded polars anyway: of a column of Arrow or polars, or of a list."""
    import polars as pl
    import polars_hash as plh

    column = pl.Series("text", texts, dtype=pl.String).to_frame()
    found: U64 = column.select(plh.col("text").nchash.xxhash64(seed=seed)).to_series().to_numpy()
    return found
