"""Settings of the memory allocator and of the garbage collector, for a whole process.

Two needs are opposed. A process that runs cycle after cycle of a large repository allocates and frees the same large
blocks again and again; it is fastest if it keeps them. A crawl runs for days beside other programs; it should return
what it does not use.
"""

import ctypes
import gc

import pyarrow as pa

_KEPT_BYTES = 512 * 2**20
_GC_THRESHOLDS = (500_000, 20, 100)
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -3, -4, -8  # options of glibc's mallopt
# Blocks from this size on are returned to the system as soon as they are freed.
_LARGE_BYTES = 4 * 2**20
# The heap shrinks only by more than this: new memory is expensive, because the system clears it first.
_SPARE_BYTES = 64 * 2**20


def keep_freed_memory() -> None:
    """Let this process keep up to half a gigabyte of freed memory. Does nothing if the C library is not glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_MMAP_MAX, 0)
        pa.set_memory_pool(pa.system_memory_pool())


def return_large_blocks() -> None:
    """Let this process return large blocks when they are freed, and all threads share one heap.

    By default glibc gives each thread a heap of its own, and what one thread has freed is of no use to the others.
    Does nothing if the C library is not glibc.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_ARENA_MAX, 1)
        mallopt(_MMAP_THRESHOLD, _LARGE_BYTES)
        mallopt(_TRIM_THRESHOLD, _SPARE_BYTES)
        pa.set_memory_pool(pa.system_memory_pool())


def return_freed_memory() -> None:
    """Return all freed memory to the system, also small blocks: that of glibc, and that of Arrow's own allocator."""
    if "mimalloc" in pa.supported_memory_backends():
        pa.mimalloc_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def collect_seldom() -> None:
    """Exempt all current objects from garbage collection, and collect the others rarely: few are in cycles."""
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)
