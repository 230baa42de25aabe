"""Measure what ranking costs, from links in Parquet to ranks, beside scipy with the whole matrix in memory.

A separate process writes the links of a simulated crawl, so that memory is that of ranking alone. Ours reads every row
from disk, merges copies, damps templates, ranks pages and hosts, counts anchor texts and writes a generation; then
again after a hundredth was added. The peer is a process of its own that reads a part of the same rows, numbers URLs by
Arrow, multiplies a scipy matrix as often, and does nothing else. CPU is that of the whole process. Looking up the rank
of a million URLs is measured too.
"""

import argparse
import json
import multiprocessing
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from tarrafa.agent import Checkpoint, CrawlFolder, HostDatabase, Totals
from tarrafa.collection.ranker import update_ranks
from tarrafa.keep import BEGINNING, DOCUMENTS, LINKS, read_batches
from tarrafa.keep.segment_writer import write_parquet
from tarrafa.lab.experiment.measurement import measure_cost, rss_bytes
from tarrafa.memory import keep_freed_memory
from tarrafa.rank import Ranks

SEED = 1
LINKS_COUNT = 10_000_000
PEER_LINKS = 2_000_000
LOOKUPS = 1_000_000
LINKS_PER_PAGE = 30
PAGES_PER_HOST = 100
MENU = 12  # links in each host's template
GROUP_PAGES = 5_000
TEXTS_COUNT = 500_000
SECOND = 1_000_000  # microseconds

Numbers = NDArray[np.int64]


def make_crawl(root: Path, links: int) -> None:
    """Write two checkpoints; the second has a hundredth of the links."""
    folder = CrawlFolder(root)
    for place in (folder.documents, folder.links, folder.hosts.parent):
        place.mkdir(parents=True)
    pages = max(100, links // LINKS_PER_PAGE)
    draw = np.random.default_rng(SEED)
    numbers = np.arange(pages)
    draw.shuffle(numbers)
    cut = pages - max(1, pages // 100)
    for number, part in enumerate((numbers[:cut], numbers[cut:])):
        groups = [part[first : first + GROUP_PAGES] for first in range(0, len(part), GROUP_PAGES)]
        name = f"{number:08d}-{number:08d}-{number + 1:08d}.parquet"
        with (folder.links / name).open("wb") as file:
            write_parquet(file, LINKS, (link_table(group, pages, draw) for group in groups))
        with (folder.documents / name).open("wb") as file:
            write_parquet(file, DOCUMENTS, (document_table(group) for group in groups))
    commit(folder, 1)


def commit(folder: CrawlFolder, checkpoint: int) -> None:
    book = HostDatabase(folder.hosts)
    book.commit(Checkpoint(checkpoint, BEGINNING, Totals()))
    book.close()


def link_table(pages: Numbers, pages_count: int, draw: np.random.Generator) -> pa.Table:
    """Return the links of each page: its host's menu, pages of its host, and pages of others, some not fetched."""
    sources = np.repeat(pages, LINKS_PER_PAGE)
    slots = np.tile(np.arange(LINKS_PER_PAGE), len(pages))
    first = sources // PAGES_PER_HOST * PAGES_PER_HOST
    near = first + (PAGES_PER_HOST * draw.random(len(sources)) ** 2).astype(np.int64)
    far = (3 * pages_count * draw.random(len(sources)) ** 3).astype(np.int64)
    targets = np.where(slots < MENU, first + slots, np.where(slots < 2 * MENU, near, far))
    texts = np.where(slots < MENU, slots, (TEXTS_COUNT * draw.random(len(sources)) ** 2).astype(np.int64))
    moments = pa.array(sources * SECOND).cast(pa.timestamp("us", tz="UTC"))
    empty = pa.array(np.zeros(len(sources), np.int32))
    columns = {
        "source": coded(sources, url_texts),
        "fetched_at": moments,
        "target": coded(targets, url_texts),
        "text": coded(texts, anchor_texts),
        "rel": pa.DictionaryArray.from_arrays(empty, pa.array([""])),
        "kind": pa.DictionaryArray.from_arrays(empty, pa.array(["a"])),
        "position": pa.array(slots.astype(np.uint32)),
    }
    return pa.table(columns).cast(LINKS.columns)


def document_table(pages: Numbers) -> pa.Table:
    values = {
        "url": url_texts(pages),
        "fetched_at": pa.array(pages * SECOND).cast(pa.timestamp("us", tz="UTC")),
        "outcome": pa.array(["fetched"] * len(pages)),
        "status": pa.array(np.full(len(pages), 200, np.uint16)),
        # One page in a thousand is a copy.
        "signature": pa.array((pages // 2 * 2 + pages % 2 * (pages % 1000 > 1) + 1).astype(np.uint64)),
        "canonical": pa.array([""] * len(pages)),
        "directives": pa.array([[]] * len(pages), pa.list_(pa.string())),
    }
    kinds = {field.name: field.type for field in DOCUMENTS.columns}
    columns = [values.get(name, pa.nulls(len(pages), kind)) for name, kind in kinds.items()]
    return pa.table(columns, DOCUMENTS.columns)


def coded(numbers: Numbers, spelt: Any) -> pa.DictionaryArray:
    distinct, indices = np.unique(numbers, return_inverse=True)
    return pa.DictionaryArray.from_arrays(pa.array(indices.astype(np.int32)), spelt(distinct))


def url_texts(numbers: Numbers) -> pa.Array:
    host, page = (pc.cast(pa.array(each), pa.string()) for each in (numbers // PAGES_PER_HOST, numbers))
    return pc.binary_join_element_wise("http://www.host", host, ".example/section/page-", page, ".html", "")


def anchor_texts(numbers: Numbers) -> pa.Array:
    return pc.binary_join_element_wise("words of link", pc.cast(pa.array(numbers), pa.string()), " ")


def scipy_ranks(root: Path, links_max: int, iterations: int) -> dict[str, Any]:
    """Compute PageRank of the first rows with everything in memory; return its cost."""
    before_bytes, count = rss_bytes(), 0

    def rank() -> None:
        nonlocal count
        sources, targets = read_links(root, links_max)
        count = len(sources)
        iterate(sources, targets, iterations)

    cost = measure_cost(rank)
    return {
        "links": count,
        "cpu_seconds": round(cost.cpu_seconds, 2),
        "us_per_link": round(cost.cpu_seconds / count * 1e6, 3),
        "bytes_per_link": round(cost.peak_bytes / count, 1),
        "peak_bytes": before_bytes + cost.peak_bytes,
    }


def read_links(root: Path, links_max: int) -> tuple[Numbers, Numbers]:
    """Return the numbers of sources and targets of the first rows."""
    columns: list[list[pa.Array]] = [[], []]
    for batch in read_batches(CrawlFolder(root).links, LINKS, 1, ["source", "target"]):
        for column, values in zip(columns, batch.columns, strict=True):
            column.append(values.cast(pa.large_string()))
        if sum(map(len, columns[0])) >= links_max:
            break
    coded = pa.concat_arrays(columns[0] + columns[1]).dictionary_encode().indices.to_numpy()
    sources, targets = np.split(coded, 2)
    return sources, targets


def iterate(sources: Numbers, targets: Numbers, iterations: int) -> NDArray[np.float64]:
    size, damping = 1 + max(int(sources.max()), int(targets.max())), 0.85
    matrix = sparse.coo_array((np.ones(len(sources)), (targets, sources)), shape=(size, size)).tocsr()
    np.minimum(matrix.data, 1, out=matrix.data)
    leaving = np.bincount(matrix.indices, matrix.data, size)
    shares, ranks = 1 / np.maximum(leaving, 1), np.full(size, 1 / size)
    for _ in range(iterations):
        ranks = damping * (matrix @ (ranks * shares))
        ranks += (1 - ranks.sum()) / size
    return ranks


def measure(root: Path, links: int) -> dict[str, Any]:
    # Each part has a process of its own, which ends with it.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as apart:
        apart.submit(make_crawl, root, links).result()
        folder = CrawlFolder(root)
        keep_freed_memory()
        whole, ranks = ranked(folder)
        lookup = looked_up(ranks, links // LINKS_PER_PAGE)
        iterations = ranks.counts.iterations
        del ranks
        commit(folder, 2)
        added, _ = ranked(folder)
        peer = apart.submit(scipy_ranks, root, min(links, PEER_LINKS), iterations).result()
    ours = whole["cpu_seconds"] / whole["links"] * 1e6
    return {
        "tarrafa": {**whole, "us_per_link": round(ours, 3), "bytes_per_link": round(whole["grown_bytes"] / links, 1)},
        "added": added,
        "lookup": lookup,
        "scipy_in_memory": peer,
        "cpu_ratio_scipy": round(ours / peer["us_per_link"], 2),
    }


def looked_up(ranks: Ranks, pages: int) -> dict[str, Any]:
    urls = url_texts(np.random.default_rng(SEED).integers(0, pages, LOOKUPS))
    start = time.process_time()
    found = ranks.lookup_many(urls)
    seconds = time.process_time() - start
    return {"urls": len(found), "known": int((found > 0).sum()), "cpu_seconds": round(seconds, 3)}


def ranked(folder: CrawlFolder) -> tuple[dict[str, Any], Ranks]:
    before_bytes = rss_bytes()
    cost = measure_cost(lambda: update_ranks(folder, lambda *_: None))
    ranks = update_ranks(folder, lambda *_: None)
    found = {
        "links": sum(taken.links for taken in ranks.agent_rows.values()),
        "urls": ranks.counts.urls,
        "iterations": ranks.counts.iterations,
        "wall_seconds": round(cost.wall_seconds, 2),
        "cpu_seconds": round(cost.cpu_seconds, 2),
        "peak_bytes": before_bytes + cost.peak_bytes,
        "grown_bytes": cost.peak_bytes,
    }
    return found, ranks


def show(report: dict[str, Any]) -> None:
    ours, added, peer, lookup = (report[name] for name in ("tarrafa", "added", "scipy_in_memory", "lookup"))
    print(f"{ours['links']:,} links to {ours['urls']:,} URLs, {ours['iterations']} iterations")
    for name, cost in (("all of them", ours), ("a hundredth more", added)):
        seconds = f"{cost['cpu_seconds']:6.2f} CPU s {cost['wall_seconds']:6.2f} s"
        print(f"{name:20} {seconds} {cost['peak_bytes'] / 1e6:6.0f} MB at the highest")
    for name, cost in (("tarrafa", ours), (f"scipy, {peer['links']:,} links", peer)):
        memory = f"{cost['bytes_per_link']:7.1f} bytes of memory a link"
        print(f"{name:24} {cost['us_per_link']:6.2f} µs a link {memory}")
    print(f"{lookup['urls']:,} URLs looked up in {lookup['cpu_seconds']:.2f} CPU s")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--links", type=int, default=LINKS_COUNT, metavar="N", help=f"rows of links ({LINKS_COUNT:,})")
    parser.add_argument("--dir", type=Path, metavar="D", help="parent of the temporary folder (the system's)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    if given.links < LINKS_PER_PAGE:
        parser.error(f"--links must be at least {LINKS_PER_PAGE}")
    with tempfile.TemporaryDirectory(prefix="tarrafa-bench-", dir=given.dir) as place:
        report = measure(Path(place) / "crawl", given.links)
    if given.json:
        print(json.dumps(report))
    else:
        show(report)


if __name__ == "__main__":
    main()
