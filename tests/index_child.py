"""A process that forks children which index a crawl and die.

Each line of standard input is `folder number`: the child dies at the n-th call or return of any function, or lives to
the end of its work if the number is 0. The answer is a line, `killed` or `ended`.
"""

import os
import signal
import sys
from pathlib import Path
from threading import Event

from tarrafa.collection import indexing
from tarrafa.collection.indexing import Indexing

# So that there are many commits in a short life.
indexing.COMMIT_ROWS = 30
indexing._BATCH_ROWS = 10


def work(folder: Path) -> None:
    with Indexing(folder) as found:
        found.catch_up(lambda done, total: None, Event())


def live(folder: Path, number: int) -> None:
    left = [number]

    def reached(*_: object) -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    if number:
        sys.setprofile(reached)
    work(folder)


def main() -> None:
    for line in sys.stdin:
        folder, number = line.rstrip("\n").split("\t")
        child = os.fork()
        if child == 0:
            live(Path(folder), int(number))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        sys.stdout.write("killed\n" if os.WIFSIGNALED(status) else "ended\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
