"""A process that forks children which index a crawl and die: see `mortal`."""

from pathlib import Path
from threading import Event

from mortal import fork_children
from tarrafa.collection import indexing
from tarrafa.collection.indexing import Indexing

# So that there are many commits in a short life.
indexing.COMMIT_ROWS = 30
indexing._BATCH_ROWS = 10


def work(folder: Path) -> None:
    with Indexing(folder) as found:
        found.catch_up(lambda done, total: None, Event())


if __name__ == "__main__":
    fork_children(work)
