"""A web in a process of its own, so that who crawls it does not serve it too."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tarrafa.errors import WorkError


@contextmanager
def served_apart(*options: str) -> Iterator[str]:
    """The web of `tarrafa web` with these options, on a free port, while the block runs; the address of its front page.

    It ends by itself after three hours, should nobody be there to end it.
    """
    command = [sys.executable, "-m", "tarrafa", "web", "--port", "0", "--json", "--time", "3h", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - it is ours
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            if not line:
                raise WorkError("the made-up web did not start; tarrafa web tells why")
            yield json.loads(line)["url"]
        finally:
            process.terminate()
