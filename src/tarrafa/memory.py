"""Memory that is used again and again, as a repository's cycles use it.

By default large pieces of memory go back to the system as soon as they are freed, and the next piece comes as pages
that the system must first clear, one fault for every 4 KB. A cycle of a million URLs frees and takes a gigabyte; on a
virtual machine a fifth of its time was spent on that.
"""

import ctypes
import gc

import pyarrow as pa

_KEPT_BYTES = 512 * 2**20
_GC_THRESHOLDS = (500_000, 20, 100)
# Names of glibc's settings.
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4


def keep_freed_memory() -> None:
    """Let this process keep up to half a gigabyte of what it frees. Nothing happens where the C library is another."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_MMAP_MAX, 0)
        pa.set_memory_pool(pa.system_memory_pool())


def collect_seldom() -> None:
    """Let the collector pass over what is alive by now, and look at the rest seldom: little of ours goes in circles."""
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)
