"""The benchmark of refreshing, on a small collection and a folder of three pages."""

import json
import os
import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).parent.parent / "benchmarks" / "bench_refresh.py"


def benchmark(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARK), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_choosing_and_a_round_are_measured_beside_others(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text("<title>first</title><a href=two.html>two</a><a href=three.html>three</a>")
    for name in ("two", "three"):
        (site / f"{name}.html").write_text(f"<title>{name}</title><p>text of {name}")
    for path in site.iterdir():
        os.utime(path, (1_700_000_000, 1_700_000_000))  # what was written just now is not asked for by its date
    done = benchmark("--pages", "3000", "--site", str(site), "--dir", str(tmp_path), "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["pages"] == 3_000
    ours = found["choice"]["tarrafa"]
    assert 10 <= ours["chosen"] <= 100  # about one in a hundred
    assert all(each["chosen"] == ours["chosen"] and each["cpu_seconds"] >= 0 for each in found["choice"].values())
    assert all(each["peak_rss_bytes"] > 1e7 for each in found["choice"].values())
    assert found["round"]["first"]["pages"] == 3
    assert found["round"]["again"]["requests"] == 3
    assert found["round"]["again"]["unchanged"] >= 2  # one in twenty is asked without a condition


def test_what_is_wrong_with_the_arguments_is_said(tmp_path: Path) -> None:
    for words, said in ((("--pages", "0"), "--pages"), (("--site", str(tmp_path / "none")), "is not a folder")):
        done = benchmark(*words)
        assert (done.returncode, said in done.stderr) == (2, True)
