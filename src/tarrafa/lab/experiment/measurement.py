"""Measure what a piece of work costs this process: time, bytes moved, memory. Linux only, by /proc.

Bytes are those that read and write calls moved (`rchar` and `wchar`), from the disk or from the page cache. Reads
through a memory-mapped file are not counted.
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
    cpu_seconds: float  # of all threads, including background work that follows
    wall_seconds: float
    read_bytes: int
    written_bytes: int
    held_bytes: int  # growth of memory after the work
    peak_bytes: int  # peak of memory, above that before the work


def measure_cost(work: Callable[[], object]) -> WorkCost:
    """Do the work, wait until the process is idle, and return the cost. The result of the work is dropped first."""
    before, held_before = _moved_bytes(), _memory("VmRSS")
    _forget_peak()
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    wall = time.perf_counter() - wall
    _wait_until_quiet()
    cpu = time.process_time() - cpu
    peak_bytes, after = _memory("VmHWM"), _moved_bytes()
    read, written = after[0] - before[0], after[1] - before[1]
    return WorkCost(cpu, wall, read, written, _memory("VmRSS") - held_before, max(0, peak_bytes - held_before))


def _wait_until_quiet() -> None:
    """Wait until background threads are idle; otherwise their work would be charged to the next measurement."""
    for _ in range(_QUIET_TRIES):
        cpu = time.process_time()
        time.sleep(_QUIET_SECONDS)
        if time.process_time() - cpu < _QUIET_SECONDS * _QUIET_SHARE:
            return


def _moved_bytes() -> tuple[int, int]:
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
    """Reset the peak of memory; Linux takes the code 5 for that."""
    (_PROCESS / "clear_refs").write_text("5")


def allocated_bytes(folder: Path) -> int:
    """Return the disk space of a folder's files; a sparse file takes less than its length."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            total += (Path(path) / name).lstat().st_blocks * 512
    return total
