"""How the tool scores results, and one small collection from crawl to score."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
import ir
from tarrafa.errors import InputError


def test_perfect_order_scores_one_and_nothing_scores_none() -> None:
    assert ir.ndcg(["a", "b"], {"a": 2, "b": 1}) == 1.0
    assert 0.0 < ir.ndcg(["b", "a"], {"a": 2, "b": 1}) < 1.0
    assert ir.ndcg([], {"a": 2}) == 0.0


def test_folder_that_is_no_collection_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"queries\.tsv"):
        ir.quality_of(tmp_path)


def test_collection_is_crawled_and_searched(tmp_path: Path) -> None:
    documents = [{"id": f"d{number}", "title": f"Title {number}", "text": f"word{number}"} for number in range(12)]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(document) + "\n" for document in documents))
    (tmp_path / "queries.tsv").write_text("1\tword3\n2\tword7 <b>\n")
    (tmp_path / "qrels.tsv").write_text("1\td3\t1\n2\td7\t1\n")
    assert ir.quality_of(tmp_path) == ir.Quality(2, 1.0)
