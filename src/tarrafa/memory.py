"""Settings of the memory allocator and of the garbage collector, for a whole process.

By default the C library returns large blocks of memory to the system as soon as they are freed, and the next block
costs a page fault for every 4 KB. The cycles of a repository free and allocate large blocks again and again.
"""

import ctypes
import gc

import pyarrow as pa

_KEPT_BYTES = 512 * 2**20
_GC_THRESHOLDS = (500_000, 20, 100)
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # options of glibc's mallopt


def keep_freed_memory() -> None:
    """Let this process keep up to half a gigabyte of freed memory. Does nothing if the C library is not glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_MMAP_MAX, 0)
        pa.set_memory_pool(pa.system_memory_pool())


def collect_seldom() -> None:
    """Exempt all current objects from garbage collection, and collect the others rarely: few are in cycles."""
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)
