"""VEUNIQ on fingerprints: the engine of production.

The repository is divided into blocks by ranges of host hashes. A cycle verifies one block, the one with most URLs
waiting, in one sequential pass over sorted fingerprints. URLs of other blocks are set aside in one file, the spill. A
block that grows too large is split.

    engine        the cycle, the commit, and the queries
    block         a block, and what a cycle does to it, without files
    cycle_writer  a block verified, and its files written
    spills        URLs that wait for their block, in memory and on disk
    repository_state  blocks and spills, as the manifest describes them
    snapshots     reading without a lock, while a crawl works or where nothing may be written
    block_files   the files of a block
    stored_files  files known by size and checksum, and the manifest
    reader        queries, and the check of every invariant on disk
    text_columns  URLs as Arrow columns

Not done here: keeping the text of a URL in memory, or writing it twice.
"""

from tarrafa.verify.veuniq.cycle_writer import RepositoryBounds
from tarrafa.verify.veuniq.engine import Veuniq
from tarrafa.verify.veuniq.snapshots import (
    block_histories,
    counts_of,
    histories_beside,
    host_urls,
    hosts_left,
    is_repository,
    is_waiting,
    known_urls,
    locate,
    look_up,
    problems_of,
)

__all__ = [
    "RepositoryBounds",
    "Veuniq",
    "block_histories",
    "counts_of",
    "histories_beside",
    "host_urls",
    "hosts_left",
    "is_repository",
    "is_waiting",
    "known_urls",
    "locate",
    "look_up",
    "problems_of",
]
