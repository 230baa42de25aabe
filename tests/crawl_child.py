"""A process that forks children which run `tarrafa` and are killed.

Each line of standard input is a JSON list: seconds until the kill, or null to live on; then the arguments. The answer
is a line, the exit code or `killed`. All is loaded before, so that a child is at work from its first moment.
"""

import json
import os
import signal
import sys
import threading

from tarrafa.cli.app import run


def live(words: list[str]) -> None:
    out = os.open(os.devnull, os.O_WRONLY)
    os.dup2(out, 1)
    os._exit(run(words))


def main() -> None:
    for line in sys.stdin:
        seconds, *words = json.loads(line)
        child = os.fork()
        if child == 0:
            live(words)
        timer = threading.Timer(seconds or 0, os.kill, (child, signal.SIGKILL))
        if seconds is not None:
            timer.start()
        _, status = os.waitpid(child, 0)
        timer.cancel()
        sys.stdout.write("killed\n" if os.WIFSIGNALED(status) else f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
