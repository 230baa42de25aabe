"""What a piece of work costs this process: time, bytes moved, memory. Linux only, as the figures come from /proc.

Bytes are those that read and write calls moved (`rchar` and `wchar`), whether from the disk or from the system's cache;
what is read through a mapping of a file into memory is not among them.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

_PROCESS = Path("/proc/self")
_QUIET_SECONDS = 0.02
_QUIET_SHARE = 0.1
_QUIET_TRIES = 500


class WorkCost(NamedTuple):
    cpu_seconds: float  # of all threads, also of what goes on in the background after the work
    wall_seconds: float
    read_bytes: int
    written_bytes: int
    held_bytes: int  # memory that is still held after the work
    peak_bytes: int  # memory at the highest, above what was held before


def measured(work: Callable[[], object]) -> WorkCost:
    """Do the work, wait until it is quiet, and say what it cost. What it returns is dropped first."""
    before, held_before = _moved(), _memory("VmRSS")
    _forget_peak()
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    wall = time.perf_counter() - wall
    _wait_until_quiet()
    cpu = time.process_time() - cpu
    peak_bytes, after = _memory("VmHWM"), _moved()
    read, written = after[0] - before[0], after[1] - before[1]
    return WorkCost(cpu, wall, read, written, _memory("VmRSS") - held_before, max(0, peak_bytes - held_before))


def _wait_until_quiet() -> None:
    """A database may go on in threads of its own, which would be charged to whatever is measured next."""
    for _ in range(_QUIET_TRIES):
        cpu = time.process_time()
        time.sleep(_QUIET_SECONDS)
        if time.process_time() - cpu < _QUIET_SECONDS * _QUIET_SHARE:
            return


def _moved() -> tuple[int, int]:
    counts = dict(line.split(": ") for line in (_PROCESS / "io").read_text().splitlines())
    return int(counts["rchar"]), int(counts["wchar"])


def _memory(name: str) -> int:
    for line in (_PROCESS / "status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    return 0


def rss_bytes() -> int:
    return _memory("VmRSS")


def _forget_peak() -> None:
    """Let the system note the highest memory anew from here on; 5 is its word for that."""
    (_PROCESS / "clear_refs").write_text("5")


def disk_bytes(folder: Path) -> int:
    """What the files of a folder take on the disk; a file with holes takes less than its length."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            total += (Path(path) / name).lstat().st_blocks * 512
    return total
