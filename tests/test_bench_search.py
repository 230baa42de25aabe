"""The benchmark of search, on a tiny collection."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import bench_search
import search_mariadb
from search_collection import VOCABULARY, Collection, questions

BENCHMARK = Path(__file__).parents[1] / "benchmarks" / "bench_search.py"
KINDS = {"any", "all", "not", "phrase", "near", "deep", "rare", "common", "common_phrase"}


def collection(count: int) -> Collection:
    draw = np.random.default_rng(1)
    words = [f"w{number}" for number in range(VOCABULARY)]
    return Collection(draw.integers(0, 200, (count, 7)), draw.integers(0, 200, (count, 6)), words)


def test_report_has_figures_of_every_kind_for_us_and_for_each_peer_that_is_there() -> None:
    options = ("--documents", "200", "--questions", "2", "--json")
    done = subprocess.run(
        [sys.executable, str(BENCHMARK), *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    present = [name for name in ("tarrafa", "sqlite_fts5", "mariadb") if "missing" not in report[name]]
    assert present[:2] == ["tarrafa", "sqlite_fts5"]
    for name in present:
        assert report[name]["p99_ms"].keys() >= KINDS
        assert report[name]["p50_ms"].keys() == report[name]["p99_ms"].keys()
        assert min(report[name]["documents_per_second"], report[name]["bytes"]) > 0
    assert report["tarrafa"]["http"].keys() == {"1", "8"}
    assert report["tarrafa"]["http"]["8"]["p99_ms"].keys() == report["tarrafa"]["p99_ms"].keys()


def test_fewer_documents_are_the_first_of_more() -> None:
    few, more = collection(10_000).first(3), collection(10_000)
    assert next(few.texts()) == next(more.texts())[:3]


def test_every_kind_is_asked_as_often_and_peers_are_asked_the_same() -> None:
    asked = questions(collection(50), 4)
    assert questions(collection(50), 2) == asked[: len(asked) // 2]
    kinds = [each.kind for each in asked]
    assert {kind: kinds.count(kind) for kind in kinds} == dict.fromkeys([*KINDS, "site"], 4)
    assert all((each.fts5 is None) == (each.mariadb is None) == (each.kind == "site") for each in asked)


def test_peer_that_is_not_there_is_missing_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing() -> None:
        raise search_mariadb.MissingError("no server")

    monkeypatch.setattr(search_mariadb, "server", nothing)
    found = bench_search.mariadb(collection(5), [])
    assert found == {"missing": "no server"}
    assert bench_search.ratios({}, found) == {}
