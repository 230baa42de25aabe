"""From URLs to keys, a million at a time: the hash of the host, and the fingerprint of the URL.

Both are computed by column, with the same values as `urls.host_hash` and `urls.fingerprint` give for one URL. The host
here is everything before the path, credentials included.
"""

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from tarrafa.hashes import I64, U64, bytes_of, edges_of, first_places, span_hashes
from tarrafa.urls import HOST_START


class Keys(NamedTuple):
    """Two columns about some URLs."""

    hosts: U64
    fingerprints: U64


def texts_of(urls: Sequence[str] | pa.Array) -> pa.LargeStringArray:
    """Return the URLs as an Arrow column."""
    return urls if isinstance(urls, pa.LargeStringArray) else pa.array(urls, pa.large_string())


def keys_of(urls: Sequence[str] | pa.Array, seed: int) -> Keys:
    """Return the keys of canonical URLs, by the crawl's secret seed."""
    texts = texts_of(urls)
    data, edges = bytes_of(texts), edges_of(texts)
    hosts = span_hashes(data, edges[:-1], path_starts(texts), seed)
    return Keys(hosts, span_hashes(data, edges[:-1], edges[1:], seed))


def path_starts(texts: pa.LargeStringArray) -> I64:
    """Return where among the bytes the path of each canonical URL begins: at the first slash behind its host."""
    return first_places(texts, ord("/"), HOST_START)
