"""Crawl and search test collections of documents, queries and relevance judgements, and measure the results.

A collection is a folder with docs.jsonl (id, title, text, optionally author and keywords), queries.tsv and qrels.tsv.
Its documents become pages of a few hosts on loopback, with lists that link to them. Tarrafa crawls, ranks and indexes
them. Each query is searched verbatim with the default settings, and results are identified by their URLs.
"""

import html
import json
import math
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from tarrafa.errors import InputError, WorkError
from tarrafa.layout import CrawlPaths
from tarrafa.rank import Ranks
from tarrafa.search import Search, SearchRequest

DEPTH = 10  # results that are judged
HOSTS_COUNT = 4
LIST_PAGES = 50  # documents on a list page
HASTE = """
[crawl]
scope = "seeds"
allow_private = true
[politeness]
delay = "0s"
address_delay = "0s"
"""


class Collection(NamedTuple):
    documents: list[dict[str, str]]
    queries: dict[str, str]
    gains: dict[str, dict[str, int]]  # grade by query and document


class Quality(NamedTuple):
    queries: int
    ndcg: float


def quality_of(folder: Path) -> Quality:
    collection = read_collection(folder)
    with tempfile.TemporaryDirectory() as name:
        crawl = Path(name) / "crawl"
        with served(pages_of(collection.documents)) as hosts:
            crawled(hosts, crawl)
        search = Search.open(crawl, Ranks.open(CrawlPaths(crawl).ranks))
        scores = [
            ndcg(found(search, text), collection.gains[query])
            for query, text in collection.queries.items()
            if query in collection.gains
        ]
    return Quality(len(scores), round(sum(scores) / len(scores), 4) if scores else 0.0)


def found(search: Search, text: str) -> list[str]:
    """Return the documents found, by the last part of their URLs, without a limit for each site."""
    return [hit.url.rpartition("/")[2] for hit in search.search(SearchRequest(text, top=DEPTH, per_site=0)).hits]


def ndcg(results: Sequence[str], gains: dict[str, int]) -> float:
    best = discounted(sorted(gains.values(), reverse=True))
    return discounted([gains.get(result, 0) for result in results]) / best if best else 0.0


def discounted(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains[:DEPTH]))


def read_collection(folder: Path) -> Collection:
    try:
        documents = [json.loads(line) for line in (folder / "docs.jsonl").read_text().splitlines()]
        queries = dict(line.split("\t", 1) for line in (folder / "queries.tsv").read_text().splitlines())
        gains: dict[str, dict[str, int]] = {}
        for line in (folder / "qrels.tsv").read_text().splitlines():
            query, document, gain = line.split("\t")
            gains.setdefault(query, {})[document] = int(gain)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{folder} is not a collection ({error}): give docs.jsonl, queries.tsv and qrels.tsv"
        ) from error
    return Collection(documents, queries, gains)


def pages_of(documents: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return the pages of each host by path: list pages that link to the next, and a page for each document."""
    hosts: list[dict[str, str]] = []
    for number in range(HOSTS_COUNT):
        own = documents[number::HOSTS_COUNT]
        lists = [own[start : start + LIST_PAGES] for start in range(0, len(own), LIST_PAGES)]
        pages = {
            f"/{place}" if place else "/": list_page(listed, place, len(lists)) for place, listed in enumerate(lists)
        }
        hosts.append(pages | {f"/document/{document['id']}": document_page(document) for document in own})
    return hosts


def list_page(listed: list[dict[str, str]], place: int, count: int) -> str:
    """Return a list page. Its anchor texts are only ids, because these collections have no anchor texts."""
    links = "".join(f'<li><a href="/document/{each["id"]}">{html.escape(each["id"])}</a></li>' for each in listed)
    more = f'<a href="/{place + 1}">next</a>' if place + 1 < count else ""
    head = '<meta name="robots" content="noindex"><title>Documents</title>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body><ul>{links}</ul>{more}</body></html>'


def document_page(document: dict[str, str]) -> str:
    title = html.escape(document["title"])
    texts = (document.get(name, "") for name in ("author", "text", "keywords"))
    body = "".join(f"<p>{html.escape(text)}</p>" for text in texts if text)
    head = f'<meta charset="utf-8"><title>{title}</title>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body><h1>{title}</h1>{body}</body></html>'


@contextmanager
def served(hosts: list[dict[str, str]]) -> Iterator[list[str]]:
    """Serve each host at its own address; yield their URLs."""
    with ExitStack() as stack:
        urls: list[str] = []
        for number, pages in enumerate(hosts, 1):
            server = ThreadingHTTPServer((f"127.0.0.{number}", 0), handler_of(pages))
            stack.callback(server.server_close)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            stack.callback(server.shutdown)
            urls.append("http://{}:{}/".format(*server.server_address[:2]))
        yield urls


def handler_of(pages: dict[str, str]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Otherwise header and body in two packets would be delayed by Nagle's algorithm.
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            body = pages.get(self.path)
            sent = (body or "").encode()
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    return Handler


def crawled(urls: list[str], folder: Path) -> None:
    configuration = folder.with_name("haste.toml")
    configuration.write_text(HASTE)
    tarrafa("--config", str(configuration), "crawl", *urls, "--dir", str(folder))
    tarrafa("rank", "--dir", str(folder))
    tarrafa("index", "--dir", str(folder))


def tarrafa(*words: str) -> None:
    done = subprocess.run([sys.executable, "-m", "tarrafa", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise WorkError(f"tarrafa {words[0]} failed: {done.stderr.strip()}")
