"""The part of the conformance tool that compares ranks, on a small graph of our own."""

import gzip
import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from tarrafa.errors import InputError

TOOLS = Path(__file__).parents[1] / "tools"
EDGES = "0\t1\n2\t1\n3\t1\n1\t4\n"


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(TOOLS))
    yield importlib.import_module("conformance")
    del sys.modules["conformance"]


def graphs(root: Path, best: str) -> Path:
    (root / "graphs").mkdir()
    (root / "graphs" / "tiny.edges.tsv.gz").write_bytes(gzip.compress(EDGES.encode()))
    (root / "graphs" / "tiny.pagerank_top1000.tsv").write_text(best)
    return root


@pytest.mark.parametrize(
    ("best", "passed"), [("4\t0.4\n1\t0.3\n", 2), ("1\t0.4\n0\t0.3\n", 1), ("0\t0.4\n2\t0.3\n", 0)]
)
def test_the_best_pages_are_compared_as_sets(tool: Any, tmp_path: Path, best: str, passed: int) -> None:
    found = tool.graphs_suite(graphs(tmp_path, best))
    assert found.summary["groups"]["tiny"]["cases"] == 2
    assert found.summary["groups"]["tiny"]["passed"] == passed


def test_a_folder_without_graphs_is_reported_as_missing(tool: Any, tmp_path: Path) -> None:
    assert "missing" in tool.graphs_suite(tmp_path).summary


def test_a_graph_without_its_list_is_named(tool: Any, tmp_path: Path) -> None:
    data = graphs(tmp_path, "")
    (data / "graphs" / "tiny.pagerank_top1000.tsv").unlink()
    with pytest.raises(InputError, match=r"tiny\.pagerank_top1000\.tsv"):
        tool.graphs_suite(data)
