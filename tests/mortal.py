"""Work that dies: children are forked which do it and are killed somewhere on the way.

Each line of standard input is `folder number`: the child dies at the n-th call or return of any function, or lives to
the end of its work if the number is 0. The answer is a line, `killed` or `ended`.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

Work = Callable[[Path], None]


def fork_children(work: Work) -> None:
    for line in sys.stdin:
        folder, number = line.rstrip("\n").split("\t")
        child = os.fork()
        if child == 0:
            _live(work, Path(folder), int(number))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        sys.stdout.write("killed\n" if os.WIFSIGNALED(status) else "ended\n")
        sys.stdout.flush()


def _live(work: Work, folder: Path, number: int) -> None:
    left = [number]

    def reached(*_: object) -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    if number:
        sys.setprofile(reached)
    work(folder)
