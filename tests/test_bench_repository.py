"""The benchmark of engines, on a tiny repository."""

import json
import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).parent.parent / "benchmarks" / "bench_repository.py"
KEYS = {
    *("engine", "known", "cpu_seconds", "wall_seconds", "read_bytes", "written_bytes", "peak_rss_bytes"),
    *("bytes_per_url", "cycles"),
}
TINY = ("--known", "8000", "--cycle-urls", "5000", "--cycles", "2")


def benchmark(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARK), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_a_json_line_for_each_engine(tmp_path: Path) -> None:
    done = benchmark(*TINY, "--engines", "veuniq,memory", "--json", "--dir", str(tmp_path))
    assert done.returncode == 0, done.stderr
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    assert [report["engine"] for report in reports] == ["veuniq", "memory"]
    assert all(report.keys() >= KEYS for report in reports)
    assert all(report["known"] >= 8000 and report["cycles"] == 2 for report in reports)
    assert reports[0]["written_bytes"] > 5000
    assert list(tmp_path.iterdir()) == []


def test_a_table_with_the_ratio_to_veuniq() -> None:
    done = benchmark(*TINY, "--engines", "veuniq")
    assert done.returncode == 0, done.stderr
    head, line = done.stdout.splitlines()
    assert head.split()[0] == "engine"
    assert line.split()[0] == "veuniq"
    assert line.split()[-1] == "1.0"
    assert "measured: cycle" in done.stderr


def test_bad_arguments_are_said_in_a_line() -> None:
    done = benchmark(*TINY, "--engines", "nosuch")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "unknown engine 'nosuch'" in done.stderr
    assert benchmark("--known", "0").returncode == 2
    assert benchmark("--known", "10000000000000").returncode == 2
    assert benchmark("--dir", "no/such/folder").returncode == 2
