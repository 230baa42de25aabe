"""A process that forks children which index a crawl and are killed: see `mortal`."""

from pathlib import Path

from mortal import fork_children
from tarrafa.collection import indexer
from tarrafa.collection.indexer import Indexer, StopFlag

# Small batches give many commits in a short time.
indexer.COMMIT_ROWS = 30
indexer.BATCH_ROWS = 10


def work(folder: Path) -> None:
    with Indexer(folder) as found:
        found.update(lambda done, total: None, StopFlag())


if __name__ == "__main__":
    fork_children(work)
