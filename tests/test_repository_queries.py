"""The queries that the documentation shows, run on real repositories, answer what the repository itself answers."""

import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from repositories import host_of, new_folder
from sample_batches import batches
from tarrafa.verify import Known, RepositoryBounds, Veuniq, drain

PAGE = Path(__file__).parent.parent / "docs" / "concepts" / "repository.md"
SETUP, *QUERIES = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)

Rows = list[tuple[Any, ...]]
Answers = Callable[[str], Rows]


def filled(count: int, rows: int) -> list[Known]:
    """In the folder that the queries name, with files that do not count, as a kill leaves them."""
    given = batches(seed=9, count=count, size=60)
    with Veuniq(Path("repository"), bounds=RepositoryBounds(rows=rows), seed=7) as repository:
        for batch in given:
            repository.cycle(batch)
        list(drain(repository, len(given)))
        known = list(repository.urls())
    for kind in ("texts", "visits"):
        path = next(Path("repository/blocks").rglob(f"{kind}*.parquet"))
        shutil.copy(path, path.with_name(f"{kind}9999.parquet"))
    return known


def asked(query: str) -> Answers:
    names: dict[str, Any] = {}
    exec(SETUP, names)
    exec(query, names)

    def answers(name: str) -> Rows:
        table = names[name]
        rows: Rows = table.fetchall() if "duckdb" in names else table.collect().rows()
        return rows

    return answers


def check(answers: Answers, known: list[Known]) -> None:
    collected = [each for each in known if each.collected]
    assert len(answers("known")) == len(known)
    assert len(answers("collected")) == len(collected)
    sizes = Counter(host_of(each.url) for each in known)
    assert answers("largest") == sorted(sizes.items(), key=lambda item: (-item[1], item[0]))[:10]
    statuses = Counter(each.status or 0 for each in collected)
    percent = {status: 100 * pages / len(collected) for status, pages in statuses.items()}
    assert answers("answers") == [
        (status, statuses[status], pytest.approx(percent[status])) for status in sorted(statuses)
    ]
    missing = [(each.url, each.at_seconds) for each in collected if each.status == 404]
    assert answers("not_found") == sorted(missing, key=lambda each: -(each[1] or 0))[:10]


def test_the_page_shows_how_to_ask_with_two_libraries() -> None:
    assert ["import duckdb" in query for query in QUERIES] == [True, False]
    assert "import polars" in QUERIES[1]


@pytest.fixture
def _beside_the_repository(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Where the queries are asked."""
    with new_folder() as folder:
        folder.mkdir()
        monkeypatch.chdir(folder)
        yield
        monkeypatch.undo()


@pytest.mark.usefixtures("_beside_the_repository")
@pytest.mark.parametrize(("count", "rows"), [(6, 10_000), (30, 300), (55, 600), (110, 1300)])
def test_answers_are_those_of_the_repository(count: int, rows: int) -> None:
    """Of one block; of blocks with files in common; of blocks whose files were joined, some or all."""
    known = filled(count, rows)
    for query in QUERIES:
        check(asked(query), known)


@pytest.mark.usefixtures("_beside_the_repository")
def test_files_without_the_manifest_would_tell_of_urls_twice() -> None:
    """So the repositories above have what makes the queries difficult."""
    known = filled(45, 600)
    texts = [path for path in Path("repository/blocks").rglob("texts*.parquet") if "9999" not in path.name]
    assert sum(pq.read_metadata(path).num_rows for path in texts) > len(known)
