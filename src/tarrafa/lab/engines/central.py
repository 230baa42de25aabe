"""The central repository: one file of all known URLs, in subgroups of hosts, rewritten in every cycle (Program 7)."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tarrafa.lab.engines.home import Home, State
from tarrafa.lab.engines.offers import offer_of
from tarrafa.lab.engines.subgroups import Subgroup, SubgroupFile
from tarrafa.verify.contract import Batch, Cycle, Known, RepositoryCounts


class Central:
    def __init__(self, folder: Path) -> None:
        self._home = Home(folder)
        subgroups = [Subgroup(*each) for each in self._home.rest.get("subgroups", ())]
        self._file = SubgroupFile(folder / self._home.rest.get("name", "central"), subgroups)
        with self._home.opening():
            self._sweep()

    def _sweep(self) -> None:
        self._home.sweep([self._file.path.name], "central*")

    def cycle(self, batch: Batch) -> Cycle:
        return self._home.cycle(batch, self._cycle)

    def _cycle(self, batch: Batch, state: State) -> Cycle:
        offer = offer_of(batch, state.seed, state.cycle).by_url()
        file, cycle = self._file.rewrite(self._home.folder / f"central{state.cycle}", offer, state.cycle)
        self._home.commit(counted(state, file.subgroups), name=file.path.name, subgroups=file.subgroups)
        self._file = file
        self._sweep()
        return cycle

    def lookup(self, url: str) -> Known | None:
        return self._file.lookup(url)

    def urls_of(self, host: str) -> Iterator[Known]:
        return self._file.urls_of(host)

    def counts(self) -> RepositoryCounts:
        return self._home.state.counts(self._home.folder)

    def close(self) -> None:
        self._home.close()


def counted(state: State, subgroups: list[Subgroup]) -> State:
    return replace(
        state,
        known=sum(each.rows for each in subgroups),
        collected=sum(each.collected for each in subgroups),
        hosts=sum(each.hosts for each in subgroups),
    )
