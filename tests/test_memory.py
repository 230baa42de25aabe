import subprocess
import sys

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


def test_memory_that_was_freed_is_used_again() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    given_back, kept = map(int, done.stdout.split())
    assert kept < given_back / 10 or given_back < 100, "the C library keeps it by itself"
