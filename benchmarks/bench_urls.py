"""Measure what resolving and canonicalising an href costs, beside w3lib and yarl.

CPU time, best of several repeats, every library on the same pages in the same run. The results differ: w3lib sorts the
query, yarl keeps the fragment, and neither follows the URL standard throughout. Only the cost is compared.
"""

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import peers
from tarrafa.urls import BaseUrl

Page = tuple[str, list[str]]
Links = Callable[[str, list[str]], list[str | None]]

PAGES_COUNT = 200
WORDS = [
    "noticias",
    "esporte",
    "cidade",
    "governo",
    "cultura",
    "saude",
    "economia",
    "arquivo",
    "busca",
    "lei",
    "edital",
]
ACCENTED = ["educação", "são-paulo", "ação-social", "câmara"]


def pages(count: int = PAGES_COUNT, rng_seed: int = 1) -> list[Page]:
    draw = random.Random(rng_seed)
    return [page(draw) for _ in range(count)]


def page(draw: random.Random) -> Page:
    """Return about sixty hrefs in the proportions of an ordinary page: menus and lists first, rare forms at the end."""
    host = f"www.{draw.choice(WORDS)}{draw.randrange(5000)}.com.br"
    hrefs = list(hrefs_of(draw, host))
    draw.shuffle(hrefs)
    return f"http://{host}/{words(draw, 2)}/{draw.randrange(999)}.html", hrefs


def hrefs_of(draw: random.Random, host: str) -> Iterator[str]:
    def path() -> str:
        return f"{words(draw, draw.randrange(1, 4))}/{draw.choice(WORDS)}-{draw.randrange(10**6)}.html"

    def query() -> str:
        return f"id={draw.randrange(10**5)}&pagina={draw.randrange(50)}&ordem={draw.choice(WORDS)}"

    shares: list[tuple[int, Callable[[], str]]] = [
        (22, lambda: f"/{path()}"),
        (7, lambda: f"/{words(draw, 1)}/?{query()}"),
        (8, lambda: f"http://{host}/{path()}"),
        (6, lambda: f"https://www.{draw.choice(WORDS)}{draw.randrange(5000)}.org.br/{path()}"),
        (2, lambda: f"https://{draw.choice(WORDS)}{draw.randrange(5000)}.com"),
        (1, lambda: f"//cdn{draw.randrange(9)}.example.net/{path()}"),
        (4, lambda: f"{draw.choice(WORDS)}-{draw.randrange(10**4)}.html"),
        (2, lambda: f"../{path()}"),
        (1, lambda: f"?{query()}"),
        (1, lambda: f"/busca?q={draw.choice(ACCENTED)}&filtro[]={draw.randrange(99)}"),
        (1, lambda: f"/tag/S%C3%A3o%20Paulo/{draw.randrange(999)}"),
        (1, lambda: f"/tag/a%c3%a7%c3%a3o%2dsocial/{draw.randrange(999)}"),
        (1, lambda: "#topo"),
        (1, lambda: f"/{path()}#comentarios"),
        (1, lambda: f"mailto:contato@{host}"),
        (1, lambda: "javascript:void(0)"),
    ]
    return (make() for share, make in shares for _ in range(share))


def words(draw: random.Random, count: int) -> str:
    return "/".join(draw.choices(WORDS, k=count))


def tarrafa_links(base: str, hrefs: list[str]) -> list[str | None]:
    link = BaseUrl(base).link
    return [link(href) for href in hrefs]


def w3lib_links(w3lib: Any) -> Links:
    from urllib.parse import urljoin

    def links(base: str, hrefs: list[str]) -> list[str | None]:
        return [w3lib.canonicalize_url(urljoin(base, href)) for href in hrefs]

    return links


def yarl_links(yarl: Any) -> Links:
    def links(base: str, hrefs: list[str]) -> list[str | None]:
        join = yarl.URL(base).join
        return [str(join(yarl.URL(href))) for href in hrefs]

    return links


PEERS: dict[str, tuple[str, Callable[[Any], Links]]] = {
    "w3lib": ("w3lib.url", w3lib_links),
    "yarl": ("yarl", yarl_links),
}


def us_per_link(links: Links, web: list[Page], repeat: int) -> float:
    count = sum(len(hrefs) for _, hrefs in web)
    return min(cpu_seconds(links, web) for _ in range(repeat)) / count * 1e6


def cpu_seconds(links: Links, web: list[Page]) -> float:
    start = time.process_time()
    for base, hrefs in web:
        links(base, hrefs)
    return time.process_time() - start


def measure(repeat: int) -> dict[str, Any]:
    web = pages()
    return peers.compare("link", tarrafa_links, PEERS, lambda links: us_per_link(links, web, repeat))


def show(report: dict[str, Any]) -> None:
    peers.show("link", report, PEERS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="take the best of N (default 5)")
    arguments = parser.parse_args()
    if arguments.repeat < 1:
        parser.error("--repeat must be at least 1")
    report = measure(arguments.repeat)
    if arguments.json:
        print(json.dumps(report))
    else:
        show(report)


if __name__ == "__main__":
    main()
