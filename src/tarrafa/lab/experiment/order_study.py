"""What a crawl has when it stops, by each policy: the share of all PageRank after each share of the pages.

The experiment of Cho, Garcia-Molina and Page. A bare graph is crawled by the policies that need neither URLs nor hosts,
a few pages at a time, without politeness. The synthetic web is crawled by every policy, by the production frontier and
workbench on virtual time, with a workbench that holds an eighth of the hosts. `best known` is no policy: it takes the
known page of the greatest true rank, which is unknown in a crawl.
"""

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from tarrafa.agent import CrawlLimits, HostTable, Policies, make_brain
from tarrafa.agent.discovery import SEED_CASH
from tarrafa.agent.host_table import MemoryHostStorage
from tarrafa.clock import VirtualClock
from tarrafa.configuration import ORDER_NAMES, Configuration, CrawlSection
from tarrafa.errors import InputError
from tarrafa.lab.experiment.plots import figure_of
from tarrafa.lab.simulated_crawl import SimulatedCrawl
from tarrafa.lab.web import MemoryTransport, Plan, SyntheticWeb, Truth
from tarrafa.schedule import ConstantDelay, Delays, Order, RetryPolicy, Scope, UrlBounds, WeightKind, Workbench
from tarrafa.texts import printable, quoted
from tarrafa.urls import host_of
from tarrafa.verify import MemoryRepository, UrlColumns, Weigh
from tarrafa.wiring import order as order_of

CURVES = "order.csv"
MARKS = (0.01, 0.05, 0.1, 0.25, 0.5)
BEST_KNOWN = "best known"
GRAPH_POLICIES = ("fifo", "lifo", "backlinks", "pagerank", "opic", "random")
_DAMPING, _ITERATIONS = 0.85, 60
_REFRESH_GROWTH, _FIRST_RANKED = 1.5, 100
_UNITS = 1_024.0
_SEEDS, _STEPS, _POINTS = 20, 300, 200
_PAGES_LIMIT = 100_000_000
_HOSTS_SHARE = 8
_DELAY_SECONDS = 5.0
_AGENT = "Tarrafa/1 (+https://crawler.example)"
_U16_MAX = 2**16 - 1

Nodes = NDArray[np.int64]


class LinkGraph(NamedTuple):
    """A graph of pages, by number."""

    pages_count: int
    sources: Nodes  # of each link, sorted
    targets: Nodes
    edges: Nodes  # where the links of each page begin, and where the last ones end

    def links_from(self, pages: Nodes) -> tuple[Nodes, Nodes]:
        """Return the sources and targets of the links of some pages."""
        counts = self.edges[pages + 1] - self.edges[pages]
        starts = np.repeat(self.edges[pages] - np.concatenate(([0], np.cumsum(counts)[:-1])), counts)
        return np.repeat(pages, counts), self.targets[starts + np.arange(counts.sum())]


class OrderCurve(NamedTuple):
    """How much of a web a policy has after each visit."""

    web: str
    policy: str
    rank_shares: NDArray[np.float64]  # after each page
    hosts: NDArray[np.int64]  # visited after each page; empty for a bare graph

    def rank_share(self, share: float) -> float:
        """Return the share of all rank after a share of the pages."""
        return float(self.rank_shares[min(len(self.rank_shares), max(1, round(share * len(self.rank_shares)))) - 1])

    @property
    def area(self) -> float:
        """The mean of the rank share over all shares of pages."""
        return float(self.rank_shares.mean())


def graph_of(sources: Nodes, targets: Nodes, count: int) -> LinkGraph:
    order = np.argsort(sources, kind="stable")
    edges = np.searchsorted(sources[order], np.arange(count + 1))
    return LinkGraph(count, sources[order], targets[order], edges)


def read_graph(path: Path) -> LinkGraph:
    """Read a graph of one link on each line, two numbers with a tab between them; the file may be gzipped."""
    try:
        table = pyarrow.csv.read_csv(
            path,
            pyarrow.csv.ReadOptions(column_names=["source", "target"]),
            pyarrow.csv.ParseOptions(delimiter="\t"),
            pyarrow.csv.ConvertOptions(column_types={"source": pa.int64(), "target": pa.int64()}),
        )
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}; give the file of a graph") from error
    except pa.ArrowInvalid as error:
        told = printable(str(error))
        raise InputError(f"{path} is not a graph of two numbers with a tab between on each line: {told}") from error
    sources, targets = table["source"].to_numpy(), table["target"].to_numpy()
    if not len(sources) or min(sources.min(), targets.min()) < 0 or max(sources.max(), targets.max()) > _PAGES_LIMIT:
        raise InputError(f"{path} is not a graph of pages from 0 to {_PAGES_LIMIT:,}; number them so")
    return graph_of(sources, targets, int(max(sources.max(), targets.max())) + 1)


def pagerank_of(graph: LinkGraph, visited: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
    """Return the PageRank of all pages, mean 1, by the links of all pages or of the visited ones."""
    sources, targets = graph.sources, graph.targets
    if visited is not None:
        kept = visited[sources]
        sources, targets = sources[kept], targets[kept]
    leaving = np.bincount(sources, minlength=graph.pages_count)
    ranks = np.full(graph.pages_count, 1.0 / graph.pages_count)
    for _ in range(_ITERATIONS):
        passed = np.bincount(targets, (ranks / np.maximum(leaving, 1))[sources], graph.pages_count)
        ranks = _DAMPING * passed + (1.0 - _DAMPING * passed.sum()) / graph.pages_count
    return ranks * graph.pages_count


def crawl_graph(graph: LinkGraph, order: Order, true_ranks: NDArray[np.float64] | None = None) -> Nodes:
    """Crawl a graph from a few seeds; return the pages in the order of their visits.

    With `true_ranks` the known page of the greatest true rank comes next, whatever the policy.
    """
    crawl = GraphCrawl(graph, order, true_ranks)
    while crawl.step(max(5, min(len(crawl.visits) // 20, graph.pages_count // _STEPS))):
        pass
    return np.array(crawl.visits, np.int64)


class GraphCrawl:
    """The state of a crawl of a bare graph: what is known of each page, as the repository knows it of URLs."""

    def __init__(self, graph: LinkGraph, order: Order, true_ranks: NDArray[np.float64] | None) -> None:
        self._graph, self._order, self._true_ranks = graph, order, true_ranks
        self._depth = np.zeros(graph.pages_count, np.uint32)
        self._links, self._weight = np.zeros(graph.pages_count, np.int64), np.zeros(graph.pages_count, np.int64)
        self._number = np.zeros(graph.pages_count, np.uint32)
        self._is_known, self._is_visited = np.zeros(graph.pages_count, np.bool_), np.zeros(graph.pages_count, np.bool_)
        self._known_count, self._ranked_count = 0, 0.0
        self.visits: list[int] = []
        # Pages that link to others, so that the crawl can begin.
        linking = np.flatnonzero(np.diff(graph.edges))
        seeds = np.random.default_rng(1).permutation(linking)[:_SEEDS]
        self._admit(seeds, 0)
        self._weight[seeds] = SEED_CASH

    def _admit(self, pages: Nodes, depth: int) -> None:
        self._is_known[pages] = True
        self._depth[pages] = depth
        self._number[pages] = np.arange(self._known_count, self._known_count + len(pages))
        self._known_count += len(pages)

    def step(self, count: int) -> bool:
        """Visit the next pages; return False if none is left."""
        waiting = np.flatnonzero(self._is_known & ~self._is_visited)
        if not len(waiting):
            return False
        waiting = waiting[np.argsort(self._number[waiting])]
        keys = self._keys(waiting)
        chosen = waiting[np.argsort(keys, kind="stable")[:count]]
        self._is_visited[chosen] = True
        self.visits += chosen.tolist()
        self._follow(chosen)
        self._refresh()
        return True

    def _keys(self, pages: Nodes) -> NDArray[Any]:
        if self._true_ranks is not None:
            return -self._true_ranks[pages]
        ones, links = np.ones(len(pages), np.uint16), np.minimum(self._links[pages], _U16_MAX).astype(np.uint16)
        weight = np.minimum(self._weight[pages], 2**32 - 1).astype(np.uint32)
        return self._order.url_keys(UrlColumns(ones, self._depth[pages], links, links, weight, self._number[pages]))

    def _follow(self, pages: Nodes) -> None:
        sources, targets = self._graph.links_from(pages)
        np.add.at(self._links, targets, 1)
        if self._order.weight is WeightKind.CASH:
            counts = np.diff(self._graph.edges)[sources]
            np.add.at(self._weight, targets, np.maximum(1, self._weight[sources] // counts))
        fresh = ~self._is_known[targets]
        found, first = np.unique(targets[fresh], return_index=True)
        in_order = np.argsort(first)
        depths = self._depth[sources[fresh][first]] + 1
        self._admit(found[in_order], 0)
        self._depth[found[in_order]] = depths[in_order]

    def _refresh(self) -> None:
        """Compute the ranks again when the crawl has grown by half."""
        is_due = len(self.visits) >= max(_FIRST_RANKED, _REFRESH_GROWTH * self._ranked_count)
        if self._order.weight is WeightKind.RANK and is_due:
            self._ranked_count = len(self.visits)
            self._weight = (pagerank_of(self._graph, self._is_visited) * _UNITS).astype(np.int64)


def policy_of(name: str) -> Order:
    return order_of(Configuration(crawl=CrawlSection(order=name)))


def study_graph(path: Path, tell: Callable[[str], None]) -> list[OrderCurve]:
    """Crawl the graph of a file by each policy that needs neither URLs nor hosts."""
    graph = read_graph(path)
    ranks, name = pagerank_of(graph), path.name.partition(".")[0]
    curves = []
    for policy in (*GRAPH_POLICIES, BEST_KNOWN):
        tell(f"{name}: {policy}")
        is_best = policy == BEST_KNOWN
        visits = crawl_graph(graph, policy_of("fifo" if is_best else policy), ranks if is_best else None)
        curves.append(OrderCurve(name, policy, np.cumsum(ranks[visits]) / ranks.sum(), np.empty(0, np.int64)))
    return curves


class SyntheticGraph:
    """The pages of a synthetic web as a graph."""

    def __init__(self, web: SyntheticWeb) -> None:
        self.urls = [row.url for row in Truth(web).rows() if row.collectable]
        self.numbers = {url: number for number, url in enumerate(self.urls)}
        pairs = [
            (number, self.numbers[target])
            for url, number in self.numbers.items()
            for target in web.followed_urls(url)
            if target in self.numbers
        ]
        links = np.array(pairs, np.int64).reshape(-1, 2)
        self.graph = graph_of(links[:, 0], links[:, 1], len(self.urls))
        self.ranks = pagerank_of(self.graph)


class SyntheticRanks:
    """Ranks for a simulated crawl: computed again when it has grown by half."""

    def __init__(self, synthetic: SyntheticGraph, *, of_hosts: bool) -> None:
        self._synthetic = synthetic
        self._of_hosts = of_hosts
        self._ranked_count = 0.0

    def __call__(self, visited: Sequence[str]) -> Weigh | None:
        if len(visited) < max(_FIRST_RANKED, _REFRESH_GROWTH * self._ranked_count):
            return None
        self._ranked_count = len(visited)
        numbers, is_visited = self._synthetic.numbers, np.zeros(self._synthetic.graph.pages_count, np.bool_)
        is_visited[[numbers[url] for url in visited if url in numbers]] = True
        ranks = pagerank_of(self._synthetic.graph, is_visited)
        by_host: dict[str, float] = {}
        for url, rank in zip(self._synthetic.urls, ranks.tolist(), strict=True):
            by_host[host_of(url)] = by_host.get(host_of(url), 0.0) + rank

        def weigh(urls: pa.LargeStringArray) -> NDArray[np.uint32]:
            texts = urls.to_pylist()
            if self._of_hosts:
                found = [by_host.get(host_of(url), 0.0) for url in texts]
            else:
                found = [float(ranks[numbers[url]]) if url in numbers else 0.0 for url in texts]
            return (np.array(found) * _UNITS).astype(np.uint32)

        return weigh


def study_web(hosts: int, pages: int, tell: Callable[[str], None]) -> list[OrderCurve]:
    """Crawl a synthetic web by every policy, on virtual time."""
    web = SyntheticWeb(Plan(hosts=hosts, pages=pages, rng_seed=1))
    synthetic = SyntheticGraph(web)
    curves = []
    for policy in ORDER_NAMES:
        tell(f"synthetic web: {policy}")
        visited = [url for url in _crawl_web(web, policy, synthetic) if url in synthetic.numbers]
        ranks = synthetic.ranks[[synthetic.numbers[url] for url in visited]]
        names = [host_of(url) for url in visited]
        firsts = {name: place for place, name in reversed(list(enumerate(names)))}
        is_new = np.zeros(len(names), np.int64)
        is_new[list(firsts.values())] = 1
        curves.append(OrderCurve("synthetic web", policy, np.cumsum(ranks) / synthetic.ranks.sum(), np.cumsum(is_new)))
    return curves


def _crawl_web(web: SyntheticWeb, policy: str, synthetic: SyntheticGraph) -> list[str]:
    order, storage = policy_of(policy), MemoryHostStorage()
    transport = MemoryTransport(web, VirtualClock(), user_agent=_AGENT, wants_page_bodies=False)
    policies = Policies(Scope(lambda _: True, UrlBounds()), order, CrawlLimits(has_contact=True), "tarrafa")
    delays = Delays(ConstantDelay(_DELAY_SECONDS), address_seconds=1.0)
    workbench = Workbench(delays, RetryPolicy(), hosts_limit=max(2, web.plan.hosts // _HOSTS_SHARE))
    brain = make_brain(HostTable(storage, storage), workbench, policies)
    weighing = None
    if order.weight in (WeightKind.RANK, WeightKind.HOST_RANK):
        weighing = SyntheticRanks(synthetic, of_hosts=order.weight is WeightKind.HOST_RANK)
    repository = MemoryRepository(order=order.url_keys)
    crawl = SimulatedCrawl(
        web, transport, brain, storage, repository, weighing=weighing, checkpoint_visits=web.plan.hosts
    )
    crawl.run(web.front)
    return crawl.pages


def webs_of(curves: Sequence[OrderCurve]) -> list[str]:
    return list(dict.fromkeys(curve.web for curve in curves))


def verdict(curves: Sequence[OrderCurve]) -> str:
    return " ".join(_verdict_of([curve for curve in curves if curve.web == web]) for web in webs_of(curves))


def _verdict_of(curves: Sequence[OrderCurve]) -> str:
    by_area = sorted((each for each in curves if each.policy != BEST_KNOWN), key=lambda each: -each.area)
    best, chance = by_area[0], next(each for each in curves if each.policy == "random")
    shares = ", ".join(f"{each.policy} {each.rank_share(0.1):.0%}" for each in by_area[:3])
    return (
        f"In {best.web}, {best.policy} collects PageRank fastest (mean share {best.area:.2f}; random "
        f"{chance.area:.2f}): after a tenth of the pages {shares}, random {chance.rank_share(0.1):.0%}."
    )


def page(curves: Sequence[OrderCurve]) -> str:
    """Return a table for each web and the verdict as Markdown."""
    lines: list[str] = []
    for web in webs_of(curves):
        own = sorted((curve for curve in curves if curve.web == web), key=lambda curve: -curve.area)
        heads = [f"after {mark:.0%}" for mark in MARKS]
        has_hosts = any(len(curve.hosts) for curve in own)
        heads += ["mean", "hosts after 10%"] if has_hosts else ["mean"]
        lines += [f"| {web} | {' | '.join(heads)} |", "|---" * (1 + len(heads)) + "|"]
        for curve in own:
            cells = [f"{curve.rank_share(mark):.1%}" for mark in MARKS]
            cells.append(f"{curve.area:.3f}")
            if has_hosts:
                cells.append(f"{curve.hosts[max(0, len(curve.hosts) // 10 - 1)]:,}")
            lines.append(f"| {curve.policy} | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join([*lines, verdict(curves), ""])


def report(curves: Sequence[OrderCurve]) -> dict[str, Any]:
    rows = [
        {
            "web": curve.web,
            "policy": curve.policy,
            "pages": len(curve.rank_shares),
            "mean_share": round(curve.area, 4),
            "rank_shares": {f"{mark:g}": round(curve.rank_share(mark), 4) for mark in MARKS},
        }
        for curve in curves
    ]
    return {"policies": rows, "verdict": verdict(curves)}


def write(curves: Sequence[OrderCurve], out: Path) -> None:
    """Write points of the curves, table and plots."""
    out.mkdir(parents=True, exist_ok=True)
    with (out / CURVES).open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("web", "policy", "pages", "rank_share", "hosts"))
        for curve in curves:
            for place in _places(curve):
                hosts = int(curve.hosts[place]) if len(curve.hosts) else ""
                writer.writerow((curve.web, curve.policy, place + 1, f"{curve.rank_shares[place]:.5f}", hosts))
    (out / "order.json").write_text(json.dumps(report(curves), indent=2) + "\n")
    (out / "order.md").write_text(page(curves))
    webs = webs_of(curves)
    with figure_of(out, "order", columns=len(webs) + 1) as axes:
        for each, web in zip(axes, webs, strict=False):
            _draw(each, [curve for curve in curves if curve.web == web])
        _draw_hosts(axes[-1], [curve for curve in curves if len(curve.hosts)])


def _places(curve: OrderCurve) -> list[int]:
    found: list[int] = np.unique(np.linspace(0, len(curve.rank_shares) - 1, _POINTS).astype(int)).tolist()
    return found


def _draw(axes: Any, curves: Sequence[OrderCurve]) -> None:
    for number, curve in enumerate(curves):
        places, count = _places(curve), len(curve.rank_shares)
        style = ":" if curve.policy == BEST_KNOWN else _style(number)
        axes.plot([place / count for place in places], curve.rank_shares[places], style, label=curve.policy)
    axes.set(title=curves[0].web, xlabel="share of pages", ylabel="share of all PageRank")
    axes.legend(fontsize="small")


def _style(number: int) -> str:
    """Return a style of lines: after ten curves the colours begin again."""
    return "-" if number < 10 else "--"


def _draw_hosts(axes: Any, curves: Sequence[OrderCurve]) -> None:
    for number, curve in enumerate(curves):
        places = _places(curve)
        axes.plot([place + 1 for place in places], curve.hosts[places], _style(number), label=curve.policy)
    axes.set(title="hosts of the synthetic web", xlabel="pages", ylabel="hosts visited")


def require_graph(path: Path | None) -> None:
    """Raise `InputError` if the file of the graph is not there."""
    if path is not None and not path.is_file():
        raise InputError(f"{quoted(str(path))} is not a file; give the file of a graph with --graph")
