"""Memory that is used again and again, as a repository's cycles use it, and memory that is looked at here and there.

By default large pieces of memory go back to the system as soon as they are freed, and the next piece comes as pages
that the system must first clear, one fault for every 4 KB. A cycle of a million URLs frees and takes a gigabyte; on a
virtual machine a fifth of its time was spent on that.
"""

import ctypes
import gc
import mmap
import os

_KEPT_BYTES = 512 * 2**20
_GC_THRESHOLDS = (500_000, 20, 100)
# Names of glibc's settings.
_TRIM_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -4, -8
_HEAP_BYTES = 1_200 * 2**20  # for which large pages are asked; only those that are used are taken
_LARGE_PAGE_BYTES = 2 * 2**20
_EVERYTHING_BYTES = 2**31 - 1


def keep_freed_memory() -> None:
    """Let this process keep up to half a gigabyte of what it frees. Nothing happens where the C library is another."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_MMAP_MAX, 0)
        # Imported late, for it starts a thread: see `take_large_pages`.
        import pyarrow as pa

        pa.set_memory_pool(pa.system_memory_pool())


def take_large_pages() -> None:
    """Let all threads of this process have one heap, in pages of 2 MB where the system has them, and keep it.

    Who looks here and there in hundreds of megabytes waits for the places of pages about as long as for what stands in
    them, and large pages are few. To be called first of all: any thread that is there before, and be it one that only
    waits, has brought a heap of its own, which later threads share.
    """
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt") and hasattr(mmap, "MADV_HUGEPAGE"):
        library.mallopt(_ARENA_MAX, 1)
        library.mallopt(_MMAP_MAX, 0)
        library.mallopt(_TRIM_THRESHOLD, _EVERYTHING_BYTES)
        _ask_for_large_pages(library)


def _ask_for_large_pages(library: ctypes.CDLL) -> None:
    """The heap grows by all of it in one piece; what is asked for the piece holds for whatever stands there later."""
    library.malloc.argtypes, library.malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
    library.free.argtypes = [ctypes.c_void_p]
    library.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    place = library.malloc(_HEAP_BYTES)
    if place is not None:
        before = -place % _LARGE_PAGE_BYTES
        library.madvise(place + before, _HEAP_BYTES - before - _LARGE_PAGE_BYTES, mmap.MADV_HUGEPAGE)
        library.free(place)


def collect_seldom() -> None:
    """Let the collector pass over what is alive by now, and look at the rest seldom: little of ours goes in circles."""
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)
