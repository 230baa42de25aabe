"""A process that forks children which work on a repository and die at a given moment.

Each line of standard input is `folder kind number name`; the answer is a line with the child's end: `killed` or
`ended`. `step` kills at the n-th time that the step of that name is reached, `call` at the n-th call or return of any
function; `count` kills nothing and answers with the number of calls and returns.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from sample_batches import batches
from tarrafa.verify import Batch, RepositoryBounds, Veuniq, drain

BATCHES = batches(seed=5, count=5)
BOUNDS = RepositoryBounds(rows=200)  # so that blocks are split on the way
SEED = 11


def offer(repository: Veuniq, offered: list[Batch]) -> None:
    for batch in offered:
        repository.cycle(batch)
    for _ in drain(repository, len(BATCHES)):
        pass


def countdown(number: int) -> Callable[..., None]:
    left = [number]

    def reached(*_: object) -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return reached


def work(folder: Path, kind: str, number: int, name: str) -> None:
    die = countdown(number)
    if kind == "call":
        sys.setprofile(die)
    step = (lambda reached: die() if reached == name else None) if kind == "step" else (lambda _reached: None)
    repository = Veuniq(folder, bounds=BOUNDS, seed=SEED, step=step)
    offer(repository, BATCHES)
    repository.close()


def count_calls(folder: Path) -> int:
    calls = [0]

    def count(*_: object) -> None:
        calls[0] += 1

    sys.setprofile(count)
    work(folder, "count", -1, "")
    sys.setprofile(None)
    return calls[0]


def answer(folder: Path, kind: str, number: int, name: str) -> str:
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        if kind == "count":
            os.write(tell, str(count_calls(folder)).encode())
        else:
            work(folder, kind, number, name)
        os._exit(0)
    os.close(tell)
    _, status = os.waitpid(child, 0)
    with os.fdopen(told) as answers:
        counted = answers.read()
    return counted or ("killed" if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL else "ended")


def main() -> None:
    for line in sys.stdin:
        folder, kind, number, name = line.rstrip("\n").split("\t")
        sys.stdout.write(answer(Path(folder), kind, int(number), name) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
