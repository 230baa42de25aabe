"""Measure what extracting a page costs, beside other parsers, on pages of the synthetic web.

CPU time, best of several repeats, every library on the same pages in the same run. The work differs: ours returns
canonical URLs, main text, language, dates, signature and similarity hash; the peers return links joined with the page's
URL, the title and all the text.
"""

import argparse
import importlib
import json
import time
from collections.abc import Callable
from itertools import islice
from typing import Any
from urllib.parse import urljoin

import peers
from tarrafa.extract import extract
from tarrafa.lab.web import Plan, SyntheticWeb, WebRequest
from tarrafa.records import Page

PAGES_COUNT = 200
Read = Callable[[Page], object]


def pages(count: int, rng_seed: int = 1) -> list[Page]:
    """Return pages of about 19 KB with 60 links, from many hosts."""
    web = SyntheticWeb(Plan(hosts=max(1, count // 10), pages=count, rng_seed=rng_seed))
    places = ((web.hosts.host(number), at) for number in range(web.plan.hosts) for at in range(count))
    real = ((host, at) for host, at in places if at < host.size)
    return [page(web, host, at) for host, at in islice(real, count)]


def page(web: SyntheticWeb, host: Any, at: int) -> Page:
    path = web.pages.entry(host, at).path
    answer = web.resource(WebRequest(host, path), 0)
    return Page(
        host.origin + path, answer.status, (("Content-Type", answer.type), *answer.headers), answer.body, at=0.0
    )


def tarrafa_read(page: Page) -> object:
    return extract(page, page.body)


def lexbor_read(module: Any) -> Read:
    """Use our parser for links, title and text only."""

    def read(page: Page) -> object:
        tree = module.LexborHTMLParser(page.body)
        links = [(urljoin(page.url, node.attributes.get("href") or ""), node.text()) for node in tree.tags("a")]
        return links, [node.text() for node in tree.tags("title")], tree.body.text(separator=" ")

    return read


def resiliparse_read(module: Any) -> Read:
    text_of = importlib.import_module("resiliparse.extract.html2text").extract_plain_text

    def read(page: Page) -> object:
        tree = module.HTMLTree.parse(page.body.decode("utf-8", "replace"))
        nodes = tree.document.get_elements_by_tag_name("a")
        links = [(urljoin(page.url, node.getattr("href") or ""), node.text) for node in nodes]
        return links, tree.title, text_of(tree, main_content=True, links=False)

    return read


def lxml_read(module: Any) -> Read:
    def read(page: Page) -> object:
        tree = module.document_fromstring(page.body)
        links = [(urljoin(page.url, node.get("href") or ""), node.text_content()) for node in tree.iter("a")]
        return links, tree.findtext(".//title"), tree.text_content()

    return read


def soup_read(module: Any) -> Read:
    def read(page: Page) -> object:
        tree = module.BeautifulSoup(page.body, "html.parser")
        links = [(urljoin(page.url, node.get("href") or ""), node.get_text()) for node in tree.find_all("a")]
        return links, tree.title, tree.get_text()

    return read


PEERS: dict[str, tuple[str, Callable[[Any], Read]]] = {
    "selectolax": ("selectolax.lexbor", lexbor_read),
    "resiliparse": ("resiliparse.parse.html", resiliparse_read),
    "lxml": ("lxml.html", lxml_read),
    "beautifulsoup4": ("bs4", soup_read),
}


def us_per_page(read: Read, web: list[Page], repeat: int) -> float:
    read(web[0])  # warm up: tables are built once, and are not a cost of pages
    return min(cpu_seconds(read, web) for _ in range(repeat)) / len(web) * 1e6


def cpu_seconds(read: Read, web: list[Page]) -> float:
    start = time.process_time()
    for page in web:
        read(page)
    return time.process_time() - start


def measure(count: int, repeat: int) -> dict[str, Any]:
    web = pages(count)
    return {
        "pages": len(web),
        "bytes_per_page": round(sum(len(page.body) for page in web) / len(web)),
        "links_per_page": round(sum(len(extract(page, page.body).links) for page in web) / len(web), 1),
        **peers.compare("page", tarrafa_read, PEERS, lambda read: us_per_page(read, web, repeat)),
    }


def show(report: dict[str, Any]) -> None:
    print("{pages} pages of {bytes_per_page:,} bytes with {links_per_page} links".format(**report))
    peers.show("page", report, PEERS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--pages", type=int, default=PAGES_COUNT, metavar="N", help="pages to read (default 200)")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="take the best of N (default 5)")
    arguments = parser.parse_args()
    if arguments.pages < 1 or arguments.repeat < 1:
        parser.error("--pages and --repeat must be at least 1")
    report = measure(arguments.pages, arguments.repeat)
    if arguments.json:
        print(json.dumps(report))
    else:
        show(report)


if __name__ == "__main__":
    main()
