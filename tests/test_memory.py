import subprocess
import sys
from pathlib import Path

# A process of its own: the setting holds for a whole process.
PROGRAM = """
import resource
import numpy as np
from tarrafa.memory import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        np.ones(50_000_000, np.uint8)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

given_back = faults()
keep_freed_memory()
faults()
print(given_back, faults())
"""

# What a thread allocates, and whether the system was asked for large pages there.
LARGE_PAGES = """
from threading import Thread
from tarrafa.memory import take_large_pages

take_large_pages()
import pyarrow as pa

buffers = []
thread = Thread(target=lambda: buffers.append(pa.allocate_buffer(50_000_000)))
thread.start()
thread.join()
for line in open("/proc/self/smaps"):
    first, *rest = line.split()
    if "-" in first:
        start, end = (int(each, 16) for each in first.split("-"))
    elif first == "VmFlags:" and start <= buffers[0].address < end:
        print("hg" in rest)
"""


def test_what_threads_allocate_stands_in_large_pages_where_the_system_has_them() -> None:
    done = subprocess.run([sys.executable, "-c", LARGE_PAGES], capture_output=True, text=True, check=True)
    assert done.stdout == f"{Path('/sys/kernel/mm/transparent_hugepage').exists()}\n"


def test_memory_that_was_freed_is_used_again() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    given_back, kept = map(int, done.stdout.split())
    assert kept < given_back / 10 or given_back < 100, "the C library keeps it by itself"
