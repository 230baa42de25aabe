"""The benchmark of breadth and traps, on tiny webs."""

import json
import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).parent.parent / "benchmarks" / "bench_breadth.py"
TINY = ("--hosts", "20", "--pages", "120", "--hostile-hosts", "12", "--hostile-pages", "60", "--time", "20s")


def benchmark(*arguments: str) -> str:
    command = [sys.executable, str(BENCHMARK), *TINY, "--delay", "0s", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_last_line_is_one_json_object_with_the_shares() -> None:
    *lines, last = benchmark("--json").splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "hosts in the first 1,000 pages",
        "answers of the hostile web",
        "real pages found",
        "answers of the hostile web with names",
        "real pages found",
        "ending of the hostile crawl",
    ]
    told = json.loads(last)
    assert list(told)[:3] == ["hosts_in_first_1000_pages", "trap_share", "real_pages_found_share"]
    assert 5 < told["hosts_in_first_1000_pages"] <= 20
    assert 0.0 < told["real_pages_found_share"] <= 1.0
    assert told["real_pages_found_share_with_names"] == 1.0
    assert 0.0 < told["trap_share_with_names"] < 1.0
    assert told["trap_share"] == round(told["trapped"] / told["answers"], 4)
