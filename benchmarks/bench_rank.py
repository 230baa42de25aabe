"""Measure what ranking costs, from links in Parquet to ranks, beside plain Python on the same rows.

A separate process writes the links of a simulated crawl, so that memory is that of ranking alone. Ours reads every row
from disk, merges copies, damps templates, ranks pages and hosts, counts anchor texts and writes a generation; then
again after a hundredth was added. The peer reads a part of the same rows into dictionaries and iterates as often, and
does nothing else. CPU is that of the whole process.
"""

import argparse
import json
import multiprocessing
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tarrafa.agent import Checkpoint, CrawlFolder, HostDatabase, Totals
from tarrafa.collection.ranker import update_ranks
from tarrafa.keep import BEGINNING, DOCUMENTS, LINKS, read_batches
from tarrafa.keep.segment_writer import write_parquet
from tarrafa.lab.experiment.measurement import measure_cost, rss_bytes
from tarrafa.memory import keep_freed_memory
from tarrafa.rank import RankCounts

SEED = 1
LINKS_COUNT = 10_000_000
PEER_LINKS = 200_000
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


def plain_ranks(root: Path, links_max: int, iterations: int) -> int:
    """Compute PageRank with dictionaries over the first rows; return the number of rows."""
    count = 0
    leaving: dict[str, set[str]] = defaultdict(set)
    for batch in read_batches(CrawlFolder(root).links, LINKS, 1, ["source", "target"]):
        for source, target in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            leaving[source].add(target)
            leaving[target]
            count += 1
        if count >= links_max:
            break
    iterate(leaving, iterations)
    return count


def iterate(leaving: dict[str, set[str]], iterations: int) -> dict[str, float]:
    size, damping = len(leaving), 0.85
    ranks = dict.fromkeys(leaving, 1 / size)
    for _ in range(iterations):
        lost = sum(ranks[url] for url, targets in leaving.items() if not targets)
        following = dict.fromkeys(leaving, (1 - damping + damping * lost) / size)
        for url, targets in leaving.items():
            for target in targets:
                following[target] += damping * ranks[url] / len(targets)
        ranks = following
    return ranks


def measure(root: Path, links: int) -> dict[str, Any]:
    maker = multiprocessing.get_context("spawn").Process(target=make_crawl, args=(root, links))
    maker.start()
    maker.join()
    folder = CrawlFolder(root)
    keep_freed_memory()
    whole, counts = ranked(folder)
    commit(folder, 2)
    added, _ = ranked(folder)
    start = time.process_time()
    peer_links = plain_ranks(root, min(links, PEER_LINKS), counts.iterations)
    peer = (time.process_time() - start) / peer_links * 1e6
    ours = whole["cpu_seconds"] / whole["links"] * 1e6
    return {
        "tarrafa": {**whole, "us_per_link": round(ours, 3)},
        "added": added,
        "plain_python": {"links": peer_links, "us_per_link": round(peer, 3)},
        "ratio_plain_python": round(peer / ours, 2),
    }


def ranked(folder: CrawlFolder) -> tuple[dict[str, Any], RankCounts]:
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
    }
    return found, ranks.counts


def show(report: dict[str, Any]) -> None:
    ours, added, peer = report["tarrafa"], report["added"], report["plain_python"]
    print(f"{ours['links']:,} links to {ours['urls']:,} URLs, {ours['iterations']} iterations")
    for name, cost in (("all of them", ours), ("a hundredth more", added)):
        seconds = f"{cost['cpu_seconds']:6.2f} CPU s {cost['wall_seconds']:6.2f} s"
        print(f"{name:20} {seconds} {cost['peak_bytes'] / 1e6:6.0f} MB at the highest")
    print(f"{'tarrafa':20} {ours['us_per_link']:6.2f} µs a link")
    print(f"{'plain Python':20} {peer['us_per_link']:6.2f} µs a link  {report['ratio_plain_python']:.1f}x tarrafa")


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
