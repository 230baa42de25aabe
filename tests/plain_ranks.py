"""The plain twin of ranking: dictionaries, sets, and equations solved by linear algebra."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from tarrafa.obey import is_nofollow
from tarrafa.rank import RankSettings
from tarrafa.urls import fingerprint, host_of
from tarrafa.versions import is_mere_visit

PlainLink = tuple[str, str, str, str]  # target, text, rel, kind


@dataclass(frozen=True)
class PlainVisit:
    url: str
    links: tuple[PlainLink, ...] = ()
    outcome: str = "fetched"
    signature: int = 0
    canonical: str = ""
    directives: tuple[str, ...] = ()

    def counted(self) -> list[PlainLink]:
        """Return the links that may count."""
        return [link for link in self.links if link[0] != self.url and link[3] != "image" and not is_nofollow(link[2])]


@dataclass
class PlainRanks:
    """Values for each URL."""

    rank: dict[str, float] = field(default_factory=dict)
    host_rank: dict[str, float] = field(default_factory=dict)
    links_in: dict[str, int] = field(default_factory=dict)
    links_outside: dict[str, int] = field(default_factory=dict)
    anchors: dict[str, list[tuple[str, int]]] = field(default_factory=dict)


def plain_ranks(visits: list[PlainVisit], settings: RankSettings) -> PlainRanks:
    urls = known_urls(visits)
    last = {visit.url: visit for visit in visits if not is_mere_visit(visit.outcome)}
    leaving = {url: [] if "nofollow" in visit.directives else visit.counted() for url, visit in last.items()}
    homes = merged(urls, last, leaving)
    rows = [
        (source, homes[target], text)
        for source, links in leaving.items()
        if homes[source] == source
        for target, text, _, kind in links
        if kind != "redirect" and homes[target] != source
    ]
    groups = Counter((host_of(source), target, text) for source, target, text in rows)
    page_ranks = solve(set(homes.values()), page_weights(rows, groups, settings), settings.damping)
    host_links = Counter((host, host_of(target)) for host, target, _ in groups if host != host_of(target))
    host_ranks = solve({host_of(url) for url in urls}, host_links, settings.damping)
    links_in = {(source, target) for source, target, _ in rows}
    found = PlainRanks()
    for url in urls:
        home = homes[url]
        sources = [source for source, target in links_in if target == home]
        found.rank[url], found.host_rank[url] = page_ranks[home], host_ranks[host_of(url)]
        found.links_in[url] = len(sources)
        found.links_outside[url] = sum(host_of(source) != host_of(home) for source in sources)
        found.anchors[url] = anchors_of(home, groups, settings)
    return found


def known_urls(visits: list[PlainVisit]) -> set[str]:
    pages = [visit for visit in visits if not is_mere_visit(visit.outcome)]
    named = {visit.canonical for visit in pages if visit.canonical}
    linked = {link[0] for visit in visits for link in visit.counted()}
    return named | {visit.url for visit in pages} | {visit.url for visit in visits if visit.links} | linked


def merged(urls: set[str], last: dict[str, PlainVisit], leaving: dict[str, list[PlainLink]]) -> dict[str, str]:
    """Return the representative of each URL."""
    fetched = {url for url, visit in last.items() if visit.outcome == "fetched"}
    redirects = [(url, link[0]) for url, links in leaving.items() for link in links if link[3] == "redirect"]
    canonicals = [(url, last[url].canonical) for url in fetched if last[url].canonical in fetched - {url}]
    by_signature = defaultdict(list)
    for url in fetched:
        if last[url].signature:
            by_signature[last[url].signature].append(url)
    copies = [(pages[0], page) for pages in by_signature.values() for page in pages[1:]]
    named = {other for _, other in redirects + canonicals}
    outside = Counter(
        target
        for source, links in leaving.items()
        for target, _, _, kind in links
        if kind != "redirect" and host_of(source) != host_of(target)
    )
    found = {}
    for component in components(urls, redirects + canonicals + copies):
        home = min(component, key=lambda url: (url not in fetched, url not in named, -outside[url], fingerprint(url)))
        found.update(dict.fromkeys(component, home))
    return found


def components(urls: Iterable[str], pairs: list[tuple[str, str]]) -> list[set[str]]:
    found = {url: {url} for url in urls}
    for left, right in pairs:
        joined = found[left] | found[right]
        found.update(dict.fromkeys(joined, joined))
    return list({id(component): component for component in found.values()}.values())


def page_weights(
    rows: list[tuple[str, str, str]], groups: Mapping[tuple[str, str, str], int], settings: RankSettings
) -> dict[tuple[str, str], float]:
    pages = Counter(host_of(source) for source in {source for source, _, _ in rows})
    found: dict[tuple[str, str], float] = defaultdict(float)
    for source, target, text in rows:
        count, few = groups[host_of(source), target, text], settings.template_few
        is_template = count > few and count > settings.template_share * pages[host_of(source)]
        found[source, target] += few / count if is_template else 1
    return {pair: min(1.0, weight) for pair, weight in found.items()}


def solve(nodes: set[str], weights: Mapping[tuple[str, str], float], damping: float) -> dict[str, float]:
    """Solve the equations of the random surfer."""
    numbers = {node: number for number, node in enumerate(sorted(nodes))}
    matrix = np.zeros((len(nodes), len(nodes)))
    for (source, target), weight in weights.items():
        matrix[numbers[target], numbers[source]] = weight
    matrix[:, matrix.sum(axis=0) == 0] = 1
    matrix /= matrix.sum(axis=0)
    found = np.linalg.solve(np.eye(len(nodes)) - damping * matrix, np.full(len(nodes), 1 - damping))
    return dict(zip(numbers, found.tolist(), strict=True))


def anchors_of(home: str, groups: Mapping[tuple[str, str, str], int], settings: RankSettings) -> list[tuple[str, int]]:
    uses = Counter((host, text) for host, _, text in groups)
    votes = Counter(
        text
        for host, target, text in groups
        if target == home and text and uses[host, text] <= settings.anchor_targets_max
    )
    best = sorted(votes, key=lambda text: (-votes[text], fingerprint(text)))[: settings.anchors_max]
    return [(text, votes[text]) for text in best]
