"""Parts of the graph: rows become numbers of the same meaning, and each row on disk counts once."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from archive_pages import quick_folder
from tarrafa.errors import DamagedError
from tarrafa.rank import GraphParts, LinkRows, RowKind, fingerprints_of
from tarrafa.rank.arrays import distinct_hashes, host_hashes_of, number_texts, restore_texts, sorted_rows
from tarrafa.rank.reduction import LinkPart
from tarrafa.urls import canonical, fingerprint, host_hash, host_of

URLS = [
    "http://a.test/",
    "http://a.test/é?x",
    "https://b.test:8080/",
    "http://[::1]/",
    "http://u:p@a.test/x/y",
    "http://x/",
]
LINKS = st.lists(
    st.tuples(
        st.sampled_from(URLS),
        st.sampled_from(URLS),
        st.sampled_from(["", "text", "São Paulo"]),
        st.sampled_from(["", "nofollow"]),
        st.sampled_from(["a", "redirect", "image"]),
    ),
    max_size=12,
)
Rows = list[tuple[str, str, str, str, str]]


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as made:
        yield made


def batch(rows: Rows, is_coded: bool = False) -> Any:
    sources, targets, texts, rels, kinds = (list(column) for column in zip(*rows, strict=True)) if rows else ([],) * 5
    columns = {"source": sources, "target": targets, "text": texts, "rel": rels, "kind": kinds}
    arrays = {name: pa.array(values, pa.string()) for name, values in columns.items()}
    if is_coded:
        arrays = {name: array.dictionary_encode() for name, array in arrays.items()}
    arrays["fetched_at"] = pa.array([0] * len(rows), pa.timestamp("us", tz="UTC"))
    return pa.RecordBatch.from_pydict(arrays)


def part_of(*parts: Rows, is_coded: bool = False) -> LinkPart:
    gathered = LinkRows(lambda rel: rel == "nofollow")
    for rows in parts:
        gathered.add(batch(rows, is_coded))
    return gathered.part()


def links_of(part: LinkPart) -> list[tuple[int, int, str, bool]]:
    """Return the links of a part as plain tuples."""
    sources, targets = part.urls[part.sources[part.visits]].tolist(), part.urls[part.targets].tolist()
    texts = [restore_texts(part.text_edges, part.text_bytes)[number].as_py() for number in part.texts.tolist()]
    return list(zip(sources, targets, texts, part.is_redirect.tolist(), strict=True))


def expected(rows: Rows) -> list[tuple[int, int, str, bool]]:
    return [
        (fingerprint(source), fingerprint(target), text, kind == "redirect")
        for source, target, text, rel, kind in rows
        if rel != "nofollow" and kind != "image" and source != target
    ]


@given(LINKS, LINKS, st.booleans())
def test_a_part_has_the_links_of_its_rows(first: Rows, second: Rows, is_coded: bool) -> None:
    part = part_of(first, second, is_coded=is_coded)
    assert links_of(part) == expected(first + second)
    assert (part.urls[1:] > part.urls[:-1]).all()
    hosts = {fingerprint(url): host_hash(host_of(url)) for url in URLS}
    assert [hosts[url] for url in part.urls.tolist()] == part.hosts.tolist()


@given(LINKS, LINKS)
def test_merged_parts_have_the_links_of_both(first: Rows, second: Rows) -> None:
    gathered = LinkRows(lambda _: False)
    gathered.add_part(part_of(first))
    gathered.add_part(part_of(second))
    assert links_of(gathered.part()) == expected(first) + expected(second)


def test_rows_become_a_part_once() -> None:
    gathered = LinkRows(lambda _: False)
    gathered.add(batch([(URLS[0], URLS[2], "text", "", "a")]))
    assert len(gathered.part().targets) == 1
    assert len(gathered.part().targets) == 0


@given(st.lists(st.sampled_from(URLS)))
def test_columns_have_the_hashes_that_single_urls_have(urls: list[str]) -> None:
    assert fingerprints_of(pa.array(urls, pa.string())).tolist() == [fingerprint(url) for url in urls]
    assert host_hashes_of(pa.array(urls, pa.string())).tolist() == [host_hash(host_of(url)) for url in urls]
    assert all(canonical(url) for url in urls)


@given(st.lists(st.text(max_size=3)), st.booleans())
def test_a_numbered_column_can_be_read_back(texts: list[str], is_coded: bool) -> None:
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    column = pa.array(texts, pa.string())
    found = number_texts(column.dictionary_encode() if is_coded else column)
    assert found.texts.take(pa.array(found.numbers)).to_pylist() == texts
    assert found.fingerprints[found.numbers].tolist() == [fingerprint(text) for text in texts]
    assert len(found.texts) == len(set(texts))


@given(st.lists(st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, 2, 2**40, 2**40 + 1, 2**64 - 1])))
def test_hashes_are_sorted_and_numbered_as_by_numpy(numbers: list[int]) -> None:
    """Hashes that differ only in their lower bits are sorted in another way."""
    hashes = np.array(numbers, np.uint64)
    assert sorted_rows(hashes).tolist() == np.argsort(hashes, kind="stable").tolist()
    found, firsts, numbers_of_rows = np.unique(hashes, return_index=True, return_inverse=True)
    assert [column.tolist() for column in distinct_hashes(hashes)] == [
        found.tolist(),
        firsts.tolist(),
        numbers_of_rows.tolist(),
    ]


@given(LINKS, LINKS)
def test_a_text_is_stored_once_in_a_part(first: Rows, second: Rows) -> None:
    part = part_of(first, second)
    texts = restore_texts(part.text_edges, part.text_bytes)
    assert fingerprints_of(texts).tolist() == part.text_hashes.tolist()
    assert sorted(texts.to_pylist()) == sorted({text for _, _, text, _ in expected(first + second)})


def add(parts: GraphParts, count: int, rows: int = 1) -> None:
    for number in range(count):
        parts.add("00", RowKind.LINKS, rows, 1, part_of([(URLS[0], URLS[2], f"text {number}", "", "a")]))


def test_small_parts_are_merged(folder: Path) -> None:
    parts = GraphParts(folder)
    add(parts, 40)
    assert len(list(folder.rglob("*.npz"))) <= 6
    assert parts.rows("00", RowKind.LINKS) == 40
    assert sum(len(part.targets) for part in GraphParts(folder).links()) == 40


def test_large_parts_are_not_merged(folder: Path) -> None:
    parts = GraphParts(folder)
    add(parts, 3, rows=900_000)
    assert len(list(folder.rglob("*.npz"))) == 3


def test_a_part_within_a_merged_part_is_removed_after_a_kill(folder: Path) -> None:
    add(GraphParts(folder), 1)
    (single,) = folder.rglob("*.npz")
    content = single.read_bytes()
    add(GraphParts(folder), 1)
    single.write_bytes(content)
    single.with_name(single.name + ".unfinished").write_bytes(b"half")
    assert sum(len(part.targets) for part in GraphParts(folder).links()) == 2
    assert len(list(folder.rglob("*.*"))) == 1


def test_rows_after_a_gap_are_read_again(folder: Path) -> None:
    add(GraphParts(folder), 3, rows=900_000)
    sorted(folder.rglob("*.npz"))[1].unlink()
    parts = GraphParts(folder)
    assert parts.rows("00", RowKind.LINKS) == 900_000
    assert len(list(folder.rglob("*.npz"))) == 1


def test_forgetting_an_agent_keeps_the_others(folder: Path) -> None:
    parts = GraphParts(folder)
    add(parts, 2)
    parts.add("01", RowKind.LINKS, 5, 3, part_of([]))
    parts.forget("00")
    assert (parts.rows("00", RowKind.LINKS), parts.rows("01", RowKind.LINKS)) == (0, 5)
    assert GraphParts(folder).agents() == {"01"}


@pytest.mark.parametrize("cut", [0, 10, 700])
def test_a_part_that_was_cut_is_named(folder: Path, cut: int) -> None:
    add(GraphParts(folder), 1)
    (path,) = folder.rglob("*.npz")
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(DamagedError, match="00-links"):
        list(GraphParts(folder).links())


def test_a_part_that_was_changed_is_named(folder: Path) -> None:
    add(GraphParts(folder), 1)
    (path,) = folder.rglob("*.npz")
    content = path.read_bytes()
    at = content.index(np.uint64(fingerprint(URLS[0])).tobytes())
    path.write_bytes(content[:at] + b"\0" + content[at + 1 :])
    with pytest.raises(DamagedError, match="00-links"):
        list(GraphParts(folder).links())
