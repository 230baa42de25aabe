"""The benchmark of real sites, on a folder of three pages."""

import json
import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).parent.parent / "benchmarks" / "bench_real.py"


def benchmark(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARK), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_cost_of_a_real_site_is_told_with_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<title>first</title><a href=sub/two.html>two</a><a href=gone.html>gone</a>")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "two.html").write_text("<title>second</title><p>text")
    done = benchmark("--json", "--sites", str(tmp_path))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])[str(tmp_path)]
    assert found["tarrafa"]["html_pages"] == 2
    assert found["tarrafa"]["requests"] > 3
    assert found["tarrafa"]["cpu_seconds"] > 0
    assert found["scrapy"] == "missing" or found["missing"] == 0


def test_folder_that_is_missing_is_said(tmp_path: Path) -> None:
    done = benchmark("--sites", str(tmp_path / "none"))
    assert done.returncode == 2
    assert "is not a folder" in done.stderr
