"""Find the documents whose anchor texts differ in new ranks.

Ranks come in generations, and an index remembers the generation of its anchor texts. For a new one, every fetched page
is checked by fingerprint, without reading its row. Only pages whose anchor texts changed are read and indexed again.
After a kill, what was committed is not done again.
"""

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tarrafa.keep import DOCUMENTS
from tarrafa.keep.segment_reader import read_rows_from
from tarrafa.layout import CrawlPaths
from tarrafa.rank import U64, Ranks, fingerprints_of
from tarrafa.urls import fingerprint
from tarrafa.versions import are_mere_visits, are_versions

I64 = NDArray[np.int64]


class LastFetched(NamedTuple):
    """Pages whose last visit fetched them: the number of that row, and the fingerprint of the URL."""

    rows: I64
    keys: U64


def ranks_id(ranks: Ranks) -> str:
    """Identify ranks. Generations alone do not: they start again when the folder was removed."""
    made_of = json.dumps([ranks.agent_rows, ranks.settings, ranks.counts], sort_keys=True)
    return f"{ranks.generation}-{fingerprint(made_of):016x}"


def last_fetched(agent: CrawlPaths, checkpoint: int, rows_count: int) -> LastFetched:
    """Return the fetched pages among the first `rows_count` rows of documents."""
    keys, kinds = [np.zeros(0, np.uint64)], [np.zeros((2, 0), np.bool_)]
    for batch in read_rows_from(agent.documents, DOCUMENTS, checkpoint, ("url", "outcome"), 0, ("outcome",)):
        keys.append(fingerprints_of(batch.column("url")))
        outcomes = batch.column("outcome")
        kinds.append(np.stack([are_mere_visits(outcomes), are_versions(outcomes)]))
    every, (is_left, is_added) = np.concatenate(keys)[:rows_count], np.concatenate(kinds, axis=1)[:, :rows_count]
    counting = np.flatnonzero(~is_left)[::-1]
    found, places = np.unique(every[counting], return_index=True)
    rows = counting[places]
    return LastFetched(rows[is_added[rows]], found[is_added[rows]])


def read_rows_numbered(
    agent: CrawlPaths, checkpoint: int, columns: Sequence[str], rows: I64, batch_rows: int
) -> Iterator[tuple[pa.RecordBatch, I64]]:
    """Yield rows of documents by their sorted numbers, `batch_rows` at a time, with these numbers."""
    start = int(rows[0]) if len(rows) else 0
    for batch in read_rows_from(agent.documents, DOCUMENTS, checkpoint, columns, start) if len(rows) else ():
        first, end = np.searchsorted(rows, (start, start + batch.num_rows)).tolist()
        for some in range(first, end, batch_rows):
            wanted = rows[some : min(some + batch_rows, end)]
            yield batch.take(pa.array(wanted - start)), wanted
        if end == len(rows):
            return
        start += batch.num_rows
