"""The pages of a synthetic web as the freshness experiment needs them: importance, and every moment of change.

The moments are those of the web itself, so they include what changes a page besides its text. Only pages that exist for
the whole time count: how fresh a copy of the others could be is another question.
"""

import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tarrafa.lab.web import Plan, SyntheticWeb
from tarrafa.rank import LinkMatrix, Scratch, link_block, pagerank

F64 = NDArray[np.float64]
Ints = NDArray[np.int64]
_DAY_MS = 86_400_000


class ChangingPages:
    def __init__(self, hosts: Ints, importance: F64, days: float, moments: list[F64], rates: F64 | None = None) -> None:
        self.hosts = hosts  # number of the host of each page
        self.importance = importance  # mean 1
        self.days = days  # the whole time
        self._starts = np.concatenate(([0], np.cumsum([len(each) for each in moments])))
        self._moments = np.concatenate(moments)
        # Changes a day: counted over the longest time that is known, because a page that happens not to change in a
        # short time would count as one that never does, and the best possible freshness would be overestimated.
        self.rates = np.diff(self._starts) / days if rates is None else rates
        # The moments of page p lie between p·span and (p + 1)·span, so one search finds those of many pages.
        self._span = days + 1.0
        self._keys = self._moments + np.repeat(np.arange(len(hosts)), np.diff(self._starts)) * self._span

    def __len__(self) -> int:
        return len(self.hosts)

    def next_change(self, pages: Ints, after: F64 | float) -> F64:
        """Return the first change of each page after a moment, in days; infinity if there is none."""
        found = np.searchsorted(self._keys, pages * self._span + after, side="right")
        is_own = found < self._starts[pages + 1]
        return np.where(is_own, np.append(self._moments, np.inf)[found], np.inf)

    def until(self, days: float) -> "ChangingPages":
        """Return the same pages over a shorter time."""
        moments = np.split(self._moments, self._starts[1:-1])
        return ChangingPages(self.hosts, self.importance, days, [each[each < days] for each in moments], self.rates)

    def part(self, which: Ints) -> "ChangingPages":
        """Return some of the pages, with the importance that they have among all."""
        moments = np.split(self._moments, self._starts[1:-1])
        some = [moments[page] for page in which]
        return ChangingPages(self.hosts[which], self.importance[which], self.days, some, self.rates[which])


def changing_pages(pages: int, hosts: int, days: float, rng_seed: int) -> ChangingPages:
    """Return the pages of a synthetic web that exist from its beginning for so many days."""
    web = SyntheticWeb(Plan(hosts=hosts, pages=pages, rng_seed=rng_seed, port=80))
    end_ms = int(days * _DAY_MS)
    found = []
    for number in range(hosts):
        host = web.hosts.host(number)
        found += [(host, page) for page in range(host.size) if web.pages.alive(host, page, end_ms)]
    moments = [np.array(web.pages.all_changes(host, page, end_ms)) / _DAY_MS for host, page in found]
    urls = [host.origin + web.pages.entry(host, page).path for host, page in found]
    importance = _ranks(web, urls)
    return ChangingPages(np.array([host.number for host, _ in found]), importance, days, moments)


def _ranks(web: SyntheticWeb, urls: list[str]) -> F64:
    """Return the rank of each page, mean 1."""
    numbers = {url: number for number, url in enumerate(urls)}
    links = [
        (number, numbers[target])
        for url, number in numbers.items()
        for target in web.followed_urls(url)
        if target in numbers and target != url
    ]
    sources, targets = np.array(links).T
    with tempfile.TemporaryDirectory(prefix="tarrafa-freshness-") as folder, Scratch(Path(folder)) as scratch:
        matrix = LinkMatrix(scratch, len(urls))
        matrix.add(0, link_block(sources, targets, np.ones(len(links), np.float32), (len(urls), len(urls))))
        return pagerank(matrix).ranks
