"""Ask a manual its own index: do the entries of a book's index find the pages that they name?

    python tools/book_index.py --site DIR --entries FILE [--beside DIR ...] [--json] [--failures]

DIR is a folder of HTML. FILE has one JSON object on each line: `query`, an entry of the index, and `pages`, the paths
that it names. The manual is served on loopback beside the other folders, each as a site of its own; Tarrafa crawls,
ranks and indexes them, and each entry is searched with the default settings. SQLite's FTS5 gets the same documents and
the same entries in the same run. The mean reciprocal rank of the first ten results (MRR@10) is printed for both.
"""

import argparse
import json
import sqlite3
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import ir
from tarrafa import Collection
from tarrafa.errors import InputError, WorkError
from tarrafa.layout import CrawlPaths
from tarrafa.rank import Ranks
from tarrafa.search import Search, SearchRequest
from tarrafa.search.words import split_words

DEPTH = 10  # results that are judged
FAILURES_SHOWN = 50


class Entry(NamedTuple):
    query: str
    pages: frozenset[str]


class QuietServer(ThreadingHTTPServer):
    def handle_error(self, *_: Any) -> None:
        """Log nothing: a crawler hangs up on what it does not want."""


class QuietHandler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@contextmanager
def served(folders: Sequence[Path]) -> Iterator[list[str]]:
    """Serve each folder at its own address; yield their URLs."""
    with ExitStack() as stack:
        urls: list[str] = []
        for number, folder in enumerate(folders, 1):
            server = QuietServer((f"127.0.0.{number}", 0), partial(QuietHandler, directory=str(folder)))
            stack.callback(server.server_close)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            stack.callback(server.shutdown)
            urls.append("http://{}:{}/".format(*server.server_address[:2]))
        yield urls


def read_entries(path: Path) -> list[Entry]:
    try:
        rows = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
        return [Entry(row["query"], frozenset(row["pages"])) for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} has no entries ({error}): give lines with query and pages") from error


def reciprocal_rank(results: Sequence[str], entry: Entry) -> float:
    """Return 1 / the place of the first result that the entry names; 0 if it is not among the first ten."""
    return next((1 / place for place, path in enumerate(results[:DEPTH], 1) if path in entry.pages), 0.0)


def path_within(url: str, site: str) -> str:
    """Return the path of a page of the manual; the whole URL of any other page."""
    return unquote(urlsplit(url).path[1:]) if url.startswith(site) else url


def results_of_tarrafa(folder: Path, site: str, entries: Sequence[Entry]) -> list[list[str]]:
    search = Search.open(folder, Ranks.open(CrawlPaths(folder).ranks))
    found = (search.search(SearchRequest(entry.query, top=DEPTH)).hits for entry in entries)
    return [[path_within(hit.url, site) for hit in hits] for hits in found]


def results_of_fts5(folder: Path, site: str, entries: Sequence[Entry]) -> list[list[str]]:
    """Search the same documents with SQLite: title and text, by BM25, any of the words."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE pages USING fts5(url UNINDEXED, title, text, tokenize='porter unicode61')")
    rows = Collection(folder).documents().to_table(["url", "title", "text", "status"]).to_pylist()
    database.executemany(
        "INSERT INTO pages VALUES (?, ?, ?)", [(row["url"], row["title"], row["text"]) for row in rows if row["text"]]
    )
    query = "SELECT url FROM pages WHERE pages MATCH ? ORDER BY bm25(pages, 0, 5, 1) LIMIT ?"
    results = []
    for entry in entries:
        words = " OR ".join(f'"{word}"' for word in split_words(entry.query))
        results.append([path_within(url, site) for (url,) in database.execute(query, (words, DEPTH))] if words else [])
    return results


def measure(site: Path, beside: Sequence[Path], entries: Sequence[Entry]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        crawl = Path(name) / "crawl"
        with served([site, *beside]) as urls:
            ir.crawled(urls, crawl)
        ours = results_of_tarrafa(crawl, urls[0], entries)
        theirs = results_of_fts5(crawl, urls[0], entries)
    failures = [
        {"query": entry.query, "pages": sorted(entry.pages), "found": found[:3]}
        for entry, found in zip(entries, ours, strict=True)
        if reciprocal_rank(found, entry) < 1
    ]
    return {
        "entries": len(entries),
        "sites": 1 + len(beside),
        "mrr_tarrafa": mean_rank(ours, entries),
        "mrr_fts5": mean_rank(theirs, entries),
        "failures": failures,
    }


def mean_rank(results: Sequence[Sequence[str]], entries: Sequence[Entry]) -> float:
    ranks = [reciprocal_rank(found, entry) for found, entry in zip(results, entries, strict=True)]
    return round(sum(ranks) / len(ranks), 4) if ranks else 0.0


def show(report: dict[str, Any], *, has_failures: bool) -> None:
    print(f"{report['entries']} entries among {report['sites']} sites")
    print(f"tarrafa  MRR@{DEPTH} {report['mrr_tarrafa']:.3f}")
    print(f"fts5     MRR@{DEPTH} {report['mrr_fts5']:.3f}")
    for failure in report["failures"][:FAILURES_SHOWN] if has_failures else ():
        print(f"  {failure['query']}: {', '.join(failure['pages'])}, not {', '.join(failure['found'])}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--site", type=Path, required=True, metavar="DIR", help="the manual: a folder of HTML")
    parser.add_argument("--entries", type=Path, required=True, metavar="FILE", help="the entries of its index")
    parser.add_argument("--beside", type=Path, nargs="*", default=[], metavar="DIR", help="other sites")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--failures", action="store_true", help="print entries whose page does not come first")
    arguments = parser.parse_args()
    for folder in (arguments.site, *arguments.beside):
        if not folder.is_dir():
            parser.error(f"{folder} is not a folder")
    try:
        report = measure(arguments.site, arguments.beside, read_entries(arguments.entries))
    except (InputError, WorkError) as error:
        print(f"book_index: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    if arguments.json:
        print(json.dumps(report if arguments.failures else {**report, "failures": len(report["failures"])}))
    else:
        show(report, has_failures=arguments.failures)


if __name__ == "__main__":
    main()
