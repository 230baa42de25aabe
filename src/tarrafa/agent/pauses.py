"""Hosts that are to be left alone for a while, written down at once: a kill must not let them be visited too early.

The book of hosts learns of it with the next checkpoint. Until then it stands here: a line for each time, in a file for
each checkpoint to come. At a start what is here is newer than the book. Lines are given to the system and not synced:
a machine without power may forget the last of them.
"""

import contextlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tarrafa.agent.hosts import Host
from tarrafa.disk import map_disk_errors


class Pause(NamedTuple):
    name: str
    standing: str
    until: float  # seconds since the Unix epoch
    reason: str
    asides: int
    failing: int

    def put_on(self, host: Host) -> None:
        _, host.standing, host.until, host.reason, host.asides, host.failing = self


class Pauses:
    """Written by the loop alone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with map_disk_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            # Files that no checkpoint has made needless. Filled by write and by a process that was killed, emptied by
            # `remove`.
            self._files = sorted(folder.glob("*.jsonl"))
        self._next = 1 + max((int(path.stem) for path in self._files if path.stem.isdigit()), default=0)
        self._descriptor: int | None = None

    def read(self) -> list[Pause]:
        """What an earlier process has left, the oldest first. A line that was cut tells nothing."""
        found: list[Pause] = []
        with map_disk_errors(self._folder):
            lines = [line for path in self._files for line in path.read_bytes().splitlines()]
        for line in lines:
            with contextlib.suppress(ValueError, TypeError):
                found.append(Pause(*json.loads(line)))
        return found

    def write(self, host: Host) -> None:
        pause = Pause(host.name, str(host.standing), host.until, str(host.reason), host.asides, host.failing)
        with map_disk_errors(self._folder):
            if self._descriptor is None:
                path = self._folder / f"{self._next:08d}.jsonl"
                self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
                self._files.append(path)
                self._next += 1
            os.write(self._descriptor, json.dumps(pause).encode() + b"\n")

    def turn(self) -> list[Path]:
        """The files so far: the checkpoint that is beginning knows all that is in them. What comes goes to another."""
        files, self._files = self._files, []
        self.close()
        return files

    def remove(self, files: Iterable[Path]) -> None:
        with map_disk_errors(self._folder):
            for path in files:
                path.unlink(missing_ok=True)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
