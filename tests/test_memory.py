import subprocess
import sys

import pytest

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

# How much the process grows by buffers of a given size that a thread fills and frees, all but the last.
RETURNED = """
import sys
from threading import Thread

import numpy as np

from tarrafa.memory import return_freed_memory, return_large_blocks

left = []

def fill(size_bytes, count):
    buffers = [np.ones(size_bytes, np.uint8) for _ in range(count)]
    left.append(buffers[-1])

def rss_bytes():
    return 4096 * int(open("/proc/self/statm").read().split()[1])

return_large_blocks()
size_bytes = int(sys.argv[1])
before = rss_bytes()
thread = Thread(target=fill, args=(size_bytes, 200_000_000 // size_bytes))
thread.start()
thread.join()
if size_bytes < 2**20:
    return_freed_memory()
print(rss_bytes() - before)
"""


def test_memory_that_was_freed_is_used_again() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    given_back, kept = map(int, done.stdout.split())
    assert kept < given_back / 10 or given_back < 100, "the C library keeps it by itself"


@pytest.mark.parametrize("size_bytes", [10_000, 8_000_000], ids=["small and trimmed", "large"])
def test_memory_that_a_thread_freed_is_returned(size_bytes: int) -> None:
    command = [sys.executable, "-c", RETURNED, str(size_bytes)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 30_000_000
