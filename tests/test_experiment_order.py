"""`tarrafa experiment order`: how fast each policy collects PageRank and hosts."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from tarrafa.cli.app import run
from tarrafa.configuration import ORDER_NAMES
from tarrafa.errors import InputError
from tarrafa.lab.experiment.order_study import (
    GRAPH_POLICIES,
    crawl_graph,
    graph_of,
    pagerank_of,
    policy_of,
    read_graph,
    study_graph,
)

# A page that most others link to, at the end of a chain that is found early; two pages without links.
LINKS = [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4), (2, 5), (3, 5), (4, 6), (5, 4), (6, 0)]


def lines(links: list[tuple[int, int]]) -> bytes:
    return "".join(f"{source}\t{target}\n" for source, target in links).encode()


def drawn_graph(pages: int, links: int) -> list[tuple[int, int]]:
    """Links to pages of low numbers are frequent."""
    draw = np.random.default_rng(5)
    targets = (draw.random(links) ** 3 * pages).astype(int)
    return list(zip(draw.integers(0, pages, links).tolist(), targets.tolist(), strict=True))


def test_graph_is_read_plain_and_gzipped(tmp_path: Path) -> None:
    plain, packed = tmp_path / "graph.tsv", tmp_path / "graph.tsv.gz"
    plain.write_bytes(lines(LINKS))
    packed.write_bytes(gzip.compress(lines(LINKS)))
    for path in (plain, packed):
        graph = read_graph(path)
        assert graph.pages_count == 7
        assert sorted(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True)) == sorted(LINKS)
        assert graph.links_from(np.array([3, 0]))[1].tolist() == [4, 5, 1, 2, 3]


@pytest.mark.parametrize("text", ["", "a\tb\n", "1\n", "1\t2\t3\n", "-1\t2\n", f"1\t{10**12}\n", "1 2\n"])
def test_file_that_is_no_graph_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "graph.tsv").write_text(text)
    with pytest.raises(InputError, match="is not a graph"):
        read_graph(tmp_path / "graph.tsv")


def test_pagerank_is_that_of_the_definition() -> None:
    pairs = np.array(LINKS)
    graph = graph_of(pairs[:, 0], pairs[:, 1], 7)
    matrix = np.zeros((7, 7))
    for source, target in LINKS:
        matrix[target, source] += 1 / sum(each == source for each, _ in LINKS)
    surfer = np.full(7, 1 / 7)
    for _ in range(300):
        surfer = 0.85 * matrix @ surfer
        surfer += (1 - surfer.sum()) / 7
    assert pagerank_of(graph) == pytest.approx(7 * surfer, abs=1e-3)


@pytest.mark.parametrize("policy", GRAPH_POLICIES)
def test_crawl_of_a_graph_visits_each_page_that_can_be_reached_once(policy: str) -> None:
    pairs = np.array(drawn_graph(500, 3_000))
    graph = graph_of(pairs[:, 0], pairs[:, 1], 500)
    visits = crawl_graph(graph, policy_of(policy)).tolist()
    assert len(visits) == len(set(visits)) > 400
    assert set(graph.links_from(np.array(visits))[1].tolist()) <= set(visits)


def test_best_known_page_collects_fastest_and_links_beat_chance(tmp_path: Path) -> None:
    path = tmp_path / "drawn.tsv"
    path.write_bytes(lines(drawn_graph(3_000, 30_000)))
    told: list[str] = []
    areas = {curve.policy: curve.area for curve in study_graph(path, told.append)}
    assert len(told) == len(areas) == len(GRAPH_POLICIES) + 1
    assert max(areas, key=lambda name: areas[name]) == "best known"
    assert min(areas[name] for name in ("pagerank", "opic", "backlinks")) > areas["random"]


def test_command_prints_a_table_and_writes_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "drawn.tsv", tmp_path / "out"
    path.write_bytes(lines(drawn_graph(300, 2_000)))
    words = [
        "experiment",
        "order",
        "--graph",
        str(path),
        "--pages",
        "200",
        "--hosts",
        "16",
        "--out",
        str(out),
        "--json",
    ]
    assert run(words) == 0
    told = json.loads(capsys.readouterr().out)
    webs = {(each["web"], each["policy"]) for each in told["policies"]}
    assert webs == {
        *(("synthetic web", name) for name in ORDER_NAMES),
        *(("drawn", name) for name in (*GRAPH_POLICIES, "best known")),
    }
    assert all(0 < each["mean_share"] <= 1 for each in told["policies"])
    assert {each.suffix for each in out.iterdir()} >= {".csv", ".json", ".md", ".png", ".svg"}
    assert told["verdict"] in (out / "order.md").read_text()


def test_missing_graph_is_told_before_anything_is_crawled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["experiment", "order", "--graph", str(tmp_path / "none.tsv")]) == 2
    told = capsys.readouterr()
    assert "is not a file; give the file of a graph with --graph" in told.err
    assert "synthetic web" not in told.err
