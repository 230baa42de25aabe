"""What searching costs: made-up documents, indexed and asked for, beside SQLite's full text in the same run.

Both get the same documents of about 300 words, whose words are as frequent as in a language, and the same questions,
drawn from titles and headings. Ours reads the documents from Parquet, as a crawl leaves them, spreads results over
sites, folds copies, weighs fields and nearness, and makes snippets. SQLite (FTS5, Porter stemming, no accents) gets the
texts from memory, orders by bm25 and gives titles alone. Where a kind of question is not in FTS5's language it has no
figure. With --http the search page is asked too, by one user and by eight at a time.
"""

import argparse
import http.client
import json
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import numpy as np

from tarrafa.collection.indexing import Indexing
from tarrafa.crawl import CrawlFolder, HostBook
from tarrafa.crawl.hosts import Checkpoint
from tarrafa.crawl.totals import Totals
from tarrafa.experiment.measure import disk_bytes
from tarrafa.keep import BEGINNING, DocumentRow, Documents
from tarrafa.search import Request, Search

SEED = 1
DOCUMENTS_COUNT = 100_000
WORDS_COUNT = 300  # of a document
VOCABULARY, SHORT_WORDS = 200_000, 5_000
SITES_COUNT = 2_000
STEP = 5_000
QUESTIONS_COUNT = 100  # of each kind
DEEP_PAGE = 90
COMMON_COUNT = 100
ANSWERS_MAX = 10
USERS = (1, 8)
SYLLABLES = [
    first + second for first in "bcdfglmnprstvz" for second in ("a", "e", "i", "o", "u", "ar", "en", "is", "ou")
]


class Collection(NamedTuple):
    """Word numbers of every document's title and heading; texts are drawn again when they are needed."""

    titles: np.ndarray
    headings: np.ndarray
    words: list[str]


def vocabulary() -> list[str]:
    """Distinct words of two or three syllables, the frequent ones short."""
    draw, found = np.random.default_rng(SEED), dict[str, None]()
    while len(found) < VOCABULARY:
        size = 2 if len(found) < SHORT_WORDS else 3
        found["".join(SYLLABLES[number] for number in draw.integers(0, len(SYLLABLES), size))] = None
    return list(found)


def drawn(draw: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Word numbers, the n-th word with a share of about 1/n."""
    numbers: np.ndarray = (np.exp(draw.random(shape) * np.log(VOCABULARY)) - 1).astype(np.int64)
    return numbers


def steps(count: int) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
    """First number, titles, headings and texts of some documents after the others; the same in each pass."""
    for first in range(0, count, STEP):
        draw, size = np.random.default_rng([SEED, first]), min(STEP, count - first)
        titles, headings = drawn(draw, (size, 7)), drawn(draw, (size, 6))
        yield first, titles, headings, drawn(draw, (size, WORDS_COUNT))


def spelt(words: list[str], numbers: np.ndarray) -> list[str]:
    return [" ".join([words[number] for number in row]) for row in numbers.tolist()]


def make_collection(root: Path, count: int) -> Collection:
    """A crawl's folder with documents."""
    folder, words = CrawlFolder(root), vocabulary()
    folder.hosts.parent.mkdir(parents=True)
    documents = Documents(folder.documents, 0)
    titles, headings = [], []
    for first, title, heading, text in steps(count):
        rows = zip(spelt(words, title), spelt(words, heading), spelt(words, text), strict=True)
        for number, (title_text, heading_text, body) in enumerate(rows, first):
            documents.add(document(number, title_text, heading_text, body))
        titles.append(title)
        headings.append(heading)
    documents.sync(1)
    book = HostBook(folder.hosts)
    book.commit(Checkpoint(1, BEGINNING, Totals()), [])
    book.close()
    return Collection(np.concatenate(titles), np.concatenate(headings), words)


def document(number: int, title: str, heading: str, text: str) -> DocumentRow:
    return DocumentRow(
        url=f"http://www.site{number % SITES_COUNT}.example/{number}.html",
        fetched_at=1_700_000_000.0 + number,
        outcome="fetched",
        status=200,
        media_type="text/html",
        language="en",
        title=title,
        headings=(heading,),
        text=text,
        signature=number + 1,
    )


class Question(NamedTuple):
    kind: str
    ours: str
    theirs: str | None  # in FTS5's language
    page: int = 1


def questions(collection: Collection, count: int) -> list[Question]:
    """Of every kind, from titles and headings of documents here and there."""
    draw, words = np.random.default_rng([SEED, SEED]), collection.words
    found: list[Question] = []
    for number in draw.integers(0, len(collection.titles), count).tolist():
        a, b, c = (words[each] for each in collection.titles[number, :3])
        x, y = (words[each] for each in collection.headings[number, 2:4])
        common = [words[each] for each in draw.integers(0, COMMON_COUNT, 2).tolist()]
        found += [
            Question("any", f"{a} {b} {c}", f"{a} OR {b} OR {c}"),
            Question("all", f"+{a} +{b} +{c}", f"{a} AND {b} AND {c}"),
            Question("not", f"{a} {b} -{x}", f"({a} OR {b}) NOT {x}"),
            Question("phrase", f'"{a} {b} {c}"', f'"{a} {b} {c}"'),
            Question("near", f'"{x} {y}"~5', f"NEAR({x} {y}, 5)"),
            Question("deep", f"{a} {b} {c}", f"{a} OR {b} OR {c}", DEEP_PAGE),
            Question("common", " ".join(common), " OR ".join(common)),
            Question("common_phrase", f'"{" ".join(common)}"', f'"{" ".join(common)}"'),
            Question("site", f"{a} {b} site:site{number % SITES_COUNT}.example", None),
        ]
    return found


def timed(asked: Sequence[Question], answer: Callable[[Question], object]) -> dict[str, Any]:
    """Milliseconds of each kind: the usual question, and the hundredth."""
    found: dict[str, list[float]] = {}
    for each in asked[: len({question.kind for question in asked})]:
        answer(each)  # the first of each kind finds nothing in memory
    for each in asked:
        began = time.perf_counter()
        answer(each)
        found.setdefault(each.kind, []).append(1000 * (time.perf_counter() - began))
    return {
        "p50_ms": {kind: round(float(np.percentile(values, 50)), 2) for kind, values in found.items()},
        "p99_ms": {kind: round(float(np.percentile(values, 99)), 2) for kind, values in found.items()},
    }


def tarrafa(root: Path, asked: Sequence[Question]) -> dict[str, Any]:
    cpu, began = time.process_time(), time.monotonic()
    with Indexing(root) as indexing:
        rows = indexing.catch_up(lambda _done, _total: None, Event()).rows
    cpu, seconds = time.process_time() - cpu, time.monotonic() - began
    search = Search.open(root)
    return {
        "documents_per_second": round(rows / seconds),
        "documents_per_cpu_second": round(rows / cpu),
        "bytes": sum(disk_bytes(path) for path in root.glob("agents/*/index")),
        **timed(asked, lambda each: search.search(Request(each.ours, page=each.page))),
    }


def sqlite_fts5(root: Path, collection: Collection, asked: Sequence[Question]) -> dict[str, Any]:
    path = root / "fts5.sqlite"
    database = sqlite3.connect(path)
    tokenizer = "porter unicode61 remove_diacritics 2"
    database.execute(f"CREATE VIRTUAL TABLE documents USING fts5(title, headings, text, tokenize='{tokenizer}')")
    cpu, began = 0.0, 0.0
    for _first, titles, headings, texts in steps(len(collection.titles)):
        columns = [spelt(collection.words, each) for each in (titles, headings, texts)]
        cpu, began = cpu - time.process_time(), began - time.monotonic()
        with database:
            database.executemany("INSERT INTO documents VALUES (?, ?, ?)", zip(*columns, strict=True))
        cpu, began = cpu + time.process_time(), began + time.monotonic()
    sql = "SELECT title FROM documents WHERE documents MATCH ? ORDER BY bm25(documents, 4, 2, 1) LIMIT 10 OFFSET ?"

    def answer(each: Question) -> object:
        return database.execute(sql, (each.theirs, ANSWERS_MAX * (each.page - 1))).fetchall()

    found = {
        "documents_per_second": round(len(collection.titles) / began),
        "documents_per_cpu_second": round(len(collection.titles) / cpu),
        "bytes": path.stat().st_size,
        **timed([each for each in asked if each.theirs is not None], answer),
    }
    database.close()
    return found


@contextmanager
def served(root: Path) -> Iterator[urllib.parse.SplitResult]:
    words = ["serve", "--dir", str(root), "--port", "0", "--rate", "0", "--json"]
    with subprocess.Popen([sys.executable, "-m", "tarrafa", *words], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield urllib.parse.urlsplit(json.loads(process.stdout.readline())["url"])
        finally:
            process.terminate()


def over_http(root: Path, asked: Sequence[Question]) -> dict[str, Any]:
    """Whole pages of results, as a browser gets them."""
    with served(root) as place:
        return {str(users): _users(place, asked, users) for users in USERS}


def _users(place: urllib.parse.SplitResult, asked: Sequence[Question], users: int) -> dict[str, Any]:
    def one(number: int) -> list[tuple[str, float]]:
        connection = http.client.HTTPConnection(place.hostname or "", place.port or 80)
        found = []
        for each in asked[number::users]:
            began = time.perf_counter()
            query = urllib.parse.urlencode({"q": each.ours, "page": each.page})
            connection.request("GET", f"/search?{query}")
            answer = connection.getresponse()
            answer.read()
            if answer.status != 200:
                raise SystemExit(f"the search page answers {answer.status} to {each.ours!r}")
            found.append((each.kind, 1000 * (time.perf_counter() - began)))
        connection.close()
        return found

    with ThreadPoolExecutor(users) as pool:
        began = time.monotonic()
        found = [each for part in pool.map(one, range(users)) for each in part]
        seconds = time.monotonic() - began
    kinds = sorted({kind for kind, _ in found})
    return {
        "questions_per_second": round(len(found) / seconds, 1),
        "p50_ms": {
            kind: round(float(np.percentile([ms for each, ms in found if each == kind], 50)), 2) for kind in kinds
        },
        "p99_ms": {
            kind: round(float(np.percentile([ms for each, ms in found if each == kind], 99)), 2) for kind in kinds
        },
    }


def measure(documents: int, asked_count: int, is_http: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        collection = make_collection(root, documents)
        asked = questions(collection, asked_count)
        report: dict[str, Any] = {"documents": documents, "tarrafa": tarrafa(root, asked)}
        report["sqlite_fts5"] = sqlite_fts5(root, collection, asked)
        if is_http:
            report["tarrafa"]["http"] = over_http(root, asked)
    ours, theirs = report["tarrafa"], report["sqlite_fts5"]
    report["ratio_sqlite_fts5"] = {
        "documents_per_cpu_second": round(ours["documents_per_cpu_second"] / theirs["documents_per_cpu_second"], 2),
        **{kind: round(theirs["p50_ms"][kind] / ours["p50_ms"][kind], 2) for kind in theirs["p50_ms"]},
    }
    return report


def show(report: dict[str, Any]) -> None:
    print(f"{report['documents']:,} documents")
    for name in ("tarrafa", "sqlite_fts5"):
        each = report[name]
        rates = (
            f"{each['documents_per_second']:7,} documents a second, {each['documents_per_cpu_second']:7,} a CPU-second"
        )
        print(f"{name:12} {rates}, {each['bytes'] / 1e6:7.0f} MB")
        for kind, usual in each["p50_ms"].items():
            print(f"  {kind:14} {usual:8.1f} ms usually, {each['p99_ms'][kind]:8.1f} ms for the hundredth")
    for users, each in report["tarrafa"].get("http", {}).items():
        print(f"{users} at a time over HTTP: {each['questions_per_second']} questions a second")
        for kind, usual in each["p50_ms"].items():
            print(f"  {kind:14} {usual:8.1f} ms usually, {each['p99_ms'][kind]:8.1f} ms for the hundredth")
    print("SQLite's times as multiples of ours:", report["ratio_sqlite_fts5"])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--documents", type=int, default=DOCUMENTS_COUNT, metavar="N", help="(default 100,000)")
    parser.add_argument(
        "--questions", type=int, default=QUESTIONS_COUNT, metavar="N", help="of each kind (default 100)"
    )
    parser.add_argument("--http", action="store_true", help="ask the search page too")
    arguments = parser.parse_args()
    if arguments.documents < 100 or arguments.questions < 1:
        parser.error("--documents must be at least 100, --questions at least 1")
    report = measure(arguments.documents, arguments.questions, arguments.http)
    if arguments.json:
        print(json.dumps(report))
    else:
        show(report)


if __name__ == "__main__":
    main()
