"""Measure indexing and searching of simulated documents, beside the full-text search of SQLite and MariaDB.

All get the same documents and the same queries (`search_collection`) in the same run. Ours reads the documents from
Parquet, as a crawl leaves them, spreads results over sites, folds copies, weighs fields and proximity, and makes
snippets. The search page is measured too, with one user and with eight at a time. The others do less:

- SQLite (FTS5, Porter stemming, no accents) gets the texts from memory, orders by bm25 over three weighted fields and
  returns titles alone.
- MariaDB (InnoDB, boolean mode, no stemming, no accents) gets them by LOAD DATA, orders by its own measure over one
  field, and returns titles alone. Like the others it indexes all words: no stop words, no minimum length. Its index is
  so slow to build that it gets fewer documents by default, which favours it.

Peers get fewer queries of each kind, because common words take them long: their "99th percentile" is the slowest of
ten. A peer has no figure for a kind of query that its language lacks. A peer that is not installed is reported as
missing.
"""

import argparse
import http.client
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import search_mariadb
from search_collection import Collection, Question, make_collection, questions
from tarrafa.lab.experiment.measurement import allocated_bytes
from tarrafa.memory import collect_seldom
from tarrafa.search import Search, SearchRequest

DOCUMENTS_COUNT = 100_000
QUESTIONS_COUNT = 100  # of each kind
PEERS_QUESTIONS = 10
MARIADB_DOCUMENTS = 10_000
ANSWERS_MAX = 10
USERS = (1, 8)
PEERS = {"sqlite_fts5": "SQLite", "mariadb": "MariaDB"}


Timings = Iterable[tuple[str, float]]  # kind of the query, and its seconds


def timed(asked: Sequence[Question], answer: Callable[[Question], object]) -> dict[str, Any]:
    for each in asked[: len({question.kind for question in asked})]:
        answer(each)  # the first of each kind meets cold caches
    return percentiles([(each.kind, seconds_of(partial(answer, each))) for each in asked])


def seconds_of(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def percentiles(timings: Timings) -> dict[str, Any]:
    """Return the median and the 99th percentile of each kind, in milliseconds."""
    found: dict[str, list[float]] = {}
    for kind, seconds in timings:
        found.setdefault(kind, []).append(1000 * seconds)
    return {
        f"p{share}_ms": {kind: round(float(np.percentile(values, share)), 2) for kind, values in found.items()}
        for share in (50, 99)
    }


def rates(documents: int, seconds: float, cpu_seconds: float, size_bytes: int) -> dict[str, Any]:
    return {
        "documents_per_second": round(documents / seconds),
        "documents_per_cpu_second": round(documents / cpu_seconds),
        "bytes": size_bytes,
    }


def tarrafa(root: Path, asked: Sequence[Question]) -> dict[str, Any]:
    """Index by the command line, in a separate process whose start counts too."""
    cpu, began = _children_cpu_seconds(), time.monotonic()
    words = ["index", "--dir", str(root), "--json"]
    done = subprocess.run([sys.executable, "-m", "tarrafa", *words], stdout=subprocess.PIPE, check=True)
    cpu, seconds = _children_cpu_seconds() - cpu, time.monotonic() - began
    rows = json.loads(done.stdout)["rows"]
    search = Search.open(root)
    return {
        **rates(rows, seconds, cpu, sum(allocated_bytes(path) for path in root.glob("agents/*/index"))),
        **timed(asked, lambda each: search.search(SearchRequest(each.ours, page=each.page))),
    }


def _children_cpu_seconds() -> float:
    times = os.times()
    return times.children_user + times.children_system


def sqlite_fts5(root: Path, collection: Collection, asked: Sequence[Question]) -> dict[str, Any]:
    path = root / "fts5.sqlite"
    database = sqlite3.connect(path)
    tokenizer = "porter unicode61 remove_diacritics 2"
    database.execute(f"CREATE VIRTUAL TABLE documents USING fts5(title, headings, text, tokenize='{tokenizer}')")
    cpu, seconds = 0.0, 0.0
    for texts in collection.texts():
        cpu, seconds = cpu - time.process_time(), seconds - time.monotonic()
        with database:
            database.executemany("INSERT INTO documents VALUES (?, ?, ?)", texts)
        cpu, seconds = cpu + time.process_time(), seconds + time.monotonic()
    sql = "SELECT title FROM documents WHERE documents MATCH ? ORDER BY bm25(documents, 4, 2, 1) LIMIT ? OFFSET ?"

    def answer(each: Question) -> object:
        return database.execute(sql, (each.fts5, ANSWERS_MAX, offset(each))).fetchall()

    found = {
        **rates(len(collection.titles), seconds, cpu, path.stat().st_size),
        **timed([each for each in asked if each.fts5 is not None], answer),
    }
    database.close()
    return found


def mariadb(collection: Collection, asked: Sequence[Question]) -> dict[str, Any]:
    try:
        with search_mariadb.server() as server:
            return mariadb_measured(server, collection, asked)
    except search_mariadb.MissingError as error:
        return {"missing": str(error)}


def mariadb_measured(
    server: search_mariadb.Server, collection: Collection, asked: Sequence[Question]
) -> dict[str, Any]:
    cpu, seconds = server.cpu_seconds, 0.0
    for texts in collection.texts():
        seconds += seconds_of(partial(server.load, texts))
    seconds += seconds_of(server.index)
    return {
        "version": server.version,
        "documents": len(collection.titles),
        **rates(len(collection.titles), seconds, server.cpu_seconds - cpu, server.size_bytes),
        **timed(
            [each for each in asked if each.mariadb is not None],
            lambda each: server.answer(each.mariadb or "", ANSWERS_MAX, offset(each)),
        ),
    }


def offset(question: Question) -> int:
    return ANSWERS_MAX * (question.page - 1)


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
    """Measure whole result pages, as a browser gets them."""
    with served(root) as place:
        return {str(users): _users(place, asked, users) for users in USERS}


def _users(place: urllib.parse.SplitResult, asked: Sequence[Question], users: int) -> dict[str, Any]:
    def one(number: int) -> list[tuple[str, float]]:
        connection = http.client.HTTPConnection(place.hostname or "", place.port or 80)
        found = [(each.kind, seconds_of(partial(_page, connection, each))) for each in asked[number::users]]
        connection.close()
        return found

    with ThreadPoolExecutor(users) as pool:
        began = time.monotonic()
        found = [each for part in pool.map(one, range(users)) for each in part]
        seconds = time.monotonic() - began
    return {"questions_per_second": round(len(found) / seconds, 1), **percentiles(found)}


def _page(connection: http.client.HTTPConnection, question: Question) -> None:
    connection.request("GET", "/search?" + urllib.parse.urlencode({"q": question.ours, "page": question.page}))
    answer = connection.getresponse()
    answer.read()
    if answer.status != 200:
        raise SystemExit(f"the search page answers {answer.status} to {question.ours!r}")


def measure(given: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        collection = make_collection(root, given.documents)
        asked = questions(collection, given.questions)
        # As the search page does, which keeps the garbage collector from scanning the index again and again.
        collect_seldom()
        report: dict[str, Any] = {"documents": given.documents, "tarrafa": tarrafa(root, asked)}
        if not given.no_http:
            report["tarrafa"]["http"] = over_http(root, asked[: len(asked) // 2 or 1])
        fewer = min(given.questions, PEERS_QUESTIONS)
        report |= {peer: {"missing": "not asked for"} for peer in PEERS}
        if "sqlite_fts5" in given.peers:
            report["sqlite_fts5"] = sqlite_fts5(root, collection, questions(collection, fewer))
    if "mariadb" in given.peers:
        few = collection.first(given.mariadb_documents)
        report["mariadb"] = mariadb(few, questions(few, fewer))
    return report | {f"ratio_{peer}": ratios(report["tarrafa"], report[peer]) for peer in PEERS}


def ratios(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, float]:
    """Return our rate as a multiple of theirs, and their median times as multiples of ours: above 1 we are better."""
    if "missing" in theirs:
        return {}
    rate = "documents_per_cpu_second"
    times = {kind: round(usual / ours["p50_ms"][kind], 2) for kind, usual in theirs["p50_ms"].items()}
    return {rate: round(ours[rate] / theirs[rate], 2), **times}


def show(report: dict[str, Any]) -> None:
    print(f"{report['documents']:,} documents")
    for name in ("tarrafa", *PEERS):
        show_one(name, report[name])
    for users, each in report["tarrafa"].get("http", {}).items():
        print(f"{users} at a time over HTTP: {each['questions_per_second']} questions a second")
        show_times(each)
    for name, title in PEERS.items():
        print(f"beside {title}, above 1 where ours is better:", report[f"ratio_{name}"] or "missing")


def show_one(name: str, each: dict[str, Any]) -> None:
    if "missing" in each:
        print(f"{name:12} missing: {each['missing']}")
        return
    speed = f"{each['documents_per_second']:7,} documents a second, {each['documents_per_cpu_second']:7,} a CPU-second"
    fewer = f", of {each['documents']:,} documents" if "documents" in each else ""
    print(f"{name:12} {speed}, {each['bytes'] / 1e6:7.0f} MB{fewer}")
    show_times(each)


def show_times(each: dict[str, Any]) -> None:
    for kind, usual in each["p50_ms"].items():
        print(f"  {kind:14} {usual:8.1f} ms usually, {each['p99_ms'][kind]:8.1f} ms for the hundredth")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--documents", type=int, default=DOCUMENTS_COUNT, metavar="N", help="documents (default 100,000)"
    )
    parser.add_argument(
        "--questions", type=int, default=QUESTIONS_COUNT, metavar="N", help="queries of each kind (default 100)"
    )
    parser.add_argument(
        "--mariadb-documents",
        type=int,
        default=MARIADB_DOCUMENTS,
        metavar="N",
        help="documents for MariaDB, at most (default 10,000)",
    )
    parser.add_argument(
        "--peers", default=",".join(PEERS), metavar="NAMES", help="peers, separated by commas; may be empty"
    )
    parser.add_argument("--no-http", action="store_true", help="do not measure the search page")
    given = parser.parse_args()
    if min(given.documents, given.mariadb_documents) < 100 or given.questions < 1:
        parser.error("--documents and --mariadb-documents must be at least 100, --questions at least 1")
    given.peers = [name for name in given.peers.split(",") if name]
    unknown = [name for name in given.peers if name not in PEERS]
    if unknown:
        parser.error(f"there is no peer {unknown[0]!r}; there are {', '.join(PEERS)}")
    return given


def main() -> None:
    given = arguments()
    report = measure(given)
    if given.json:
        print(json.dumps(report))
    else:
        show(report)


if __name__ == "__main__":
    main()
