"""The benchmark of the crawl, on a few pages."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parent.parent / "benchmarks" / "bench_crawl.py"


def benchmark(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARK), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_what_a_crawl_costs_and_does_wrong_is_one_object() -> None:
    done = benchmark("--pages", "40", "--peers", "", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    ours = report["tarrafa"]
    assert report["hosts"] == 2_000
    assert ours["pages"] == 40 < ours["visits"]
    assert ours["cpu_seconds_per_1000_pages"] == pytest.approx(1000 * ours["cpu_seconds"] / 40, rel=0.1)
    assert ours.keys() >= {"start_cpu_seconds", "cpu_seconds_per_1000_further_pages", "pages_per_second"}
    assert ours["peak_rss_bytes"] > 10_000_000
    assert ours["robots_violations"] == ours["malformed"] == 0


def test_bad_arguments_are_said() -> None:
    for arguments in (("--pages", "0"), ("--peers", "nosuch"), ("--pages", "many")):
        done = benchmark(*arguments)
        assert done.returncode == 2
        assert "--pages" in done.stderr
