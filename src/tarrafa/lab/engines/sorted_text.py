"""Sorted text on disk, divided into subgroups of whole hosts: what VEUNIQ's blocks were, and the central repository.

A subgroup holds the URLs of some hosts in lexicographical order, which keeps the URLs of a host together, and a record
for each. To rewrite a file is to merge each subgroup with the offered URLs of its hosts; one for which there are none
is copied as it is. A subgroup is small enough for memory, unless a single host is not.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from tarrafa.lab.engines.engine_folder import (
    EngineFolder,
    EngineState,
    checked,
    only_piece,
    packed,
    piece_of,
    sync_file,
    unpacked,
)
from tarrafa.lab.engines.offers import (
    RECORD,
    UNKNOWN,
    Offer,
    Rows,
    cycle_result,
    host_text,
    known_of,
    offer_of,
    settled,
)
from tarrafa.verify.contract import Batch, Cycle, Known, RepositoryCounts

SUBGROUP_URLS = 50_000


class UrlGroup(NamedTuple):
    """A subgroup in memory."""

    records: Rows
    urls: list[str]


class Subgroup(NamedTuple):
    """A subgroup as the manifest knows it."""

    start: str  # its first host with a slash, before which none of its URLs sorts
    offset: int
    size_bytes: int
    rows: int
    collected: int
    hosts: int


NOTHING = UrlGroup(np.empty(0, RECORD), [])


def merged(group: UrlGroup, offer: Offer, cycle: int) -> tuple[UrlGroup, Cycle]:
    """The group with what is offered, which is in the order of URLs; and what was found."""
    place_of = dict(zip(group.urls, range(len(group.urls)), strict=True))
    places = np.fromiter((place_of.get(url, -1) for url in offer.urls), np.int64, len(offer.urls))
    known = places >= 0
    before = np.full(len(places), UNKNOWN)
    before[known] = group.records[places[known]]
    after = settled(before, known, offer, cycle)
    records = np.concatenate((group.records, after[~known]))
    records[places[known]] = after[known]
    urls = [*group.urls, *offer.take(np.flatnonzero(~known)).urls]
    # Two sorted lists, one behind the other: Python's sort merges them in one pass.
    order = sorted(range(len(urls)), key=urls.__getitem__)
    return UrlGroup(records[order], [urls[place] for place in order]), cycle_result(
        known, before["collected"] != 0, offer
    )


def added(one: Cycle, other: Cycle) -> Cycle:
    """The counts of both; the fresh ones are left out, because to add lists many times is slow."""
    return Cycle(
        block=one.block,
        collected_before=one.collected_before + other.collected_before,
        known=one.known + other.known,
        collected_now=one.collected_now + other.collected_now,
    )


class SubgroupFile(NamedTuple):
    """A file of subgroups, in their order."""

    path: Path
    subgroups: list[Subgroup]

    def rewrite(self, target: Path, offer: Offer, cycle: int) -> tuple["SubgroupFile", Cycle]:
        """A new file with what is offered, which is in the order of URLs; the old one stays as it is."""
        total, fresh, written = Cycle(0), list[str](), list[Subgroup]()
        with target.open("wb") as file:
            for data, part in self._matched(offer):
                if isinstance(data, Subgroup):
                    written.append(data._replace(offset=file.tell()))
                    file.write(piece_of(self._body(data)))
                    continue
                group, cycle_found = merged(data, part, cycle)
                written += [_write(file, each) for each in _cut(group)]
                fresh += cycle_found.fresh
                total = added(total, cycle_found)
            file.flush()
            sync_file(file.fileno())
        return SubgroupFile(target, written), total._replace(fresh=fresh)

    def _matched(self, offer: Offer) -> Iterator[tuple[Subgroup | UrlGroup, Offer]]:
        """Each subgroup with what is offered for its hosts: on disk if that is nothing, else in memory."""
        starts = [subgroup.start for subgroup in self.subgroups[1:]]
        edges = [0, *(bisect_left(offer.urls, start) for start in starts), len(offer.urls)]
        if not self.subgroups and offer.urls:
            yield NOTHING, offer
        for subgroup, first, end in zip(self.subgroups, edges[:-1], edges[1:], strict=bool(self.subgroups)):
            yield self._group(subgroup) if end > first else subgroup, offer.part(first, end)

    def _body(self, subgroup: Subgroup) -> bytes:
        with checked(self.path, subgroup.offset + subgroup.size_bytes).open("rb") as file:
            file.seek(subgroup.offset)
            return only_piece(file.read(subgroup.size_bytes), self.path)

    def _group(self, subgroup: Subgroup) -> UrlGroup:
        return UrlGroup(*unpacked(self._body(subgroup), RECORD))

    def lookup(self, url: str) -> Known | None:
        return known_in(self._group_of(url), url)

    def urls_of(self, host: str) -> Iterator[Known]:
        return known_of_host(self._group_of(host + "/"), host)

    def _group_of(self, url: str) -> UrlGroup:
        place = bisect_right([subgroup.start for subgroup in self.subgroups], url) - 1
        return self._group(self.subgroups[place]) if place >= 0 else NOTHING


def known_in(group: UrlGroup, url: str) -> Known | None:
    place = bisect_left(group.urls, url)
    is_there = place < len(group.urls) and group.urls[place] == url
    return known_of(url, group.records[place]) if is_there else None


def known_of_host(group: UrlGroup, host: str) -> Iterator[Known]:
    """By the cycle of their admission."""
    first, end = (bisect_left(group.urls, host + mark) for mark in "/0")  # the character after the slash
    for place in (first + np.argsort(group.records["cycle"][first:end], kind="stable")).tolist():
        yield known_of(group.urls[place], group.records[place])


def _cut(group: UrlGroup) -> Iterator[UrlGroup]:
    """Subgroups of the right size, none of which ends within a host."""
    first, count = 0, len(group.urls)
    while first < count:
        end = first + SUBGROUP_URLS
        is_last = end + SUBGROUP_URLS > count
        end = count if is_last else bisect_left(group.urls, host_text(group.urls[end - 1]) + "0")
        yield UrlGroup(group.records[first:end], group.urls[first:end])
        first = end


def _write(file: BinaryIO, group: UrlGroup) -> Subgroup:
    data, offset = packed(group.records, group.urls), file.tell()
    file.write(data)
    hosts, collected = len({*map(host_text, group.urls)}), int(group.records["collected"].sum())
    return Subgroup(host_text(group.urls[0]) + "/", offset, len(data), len(group.urls), collected, hosts)


class CentralRepository:
    def __init__(self, folder: Path) -> None:
        self._folder = EngineFolder(folder)
        subgroups = [Subgroup(*each) for each in self._folder.rest.get("subgroups", ())]
        self._file = SubgroupFile(folder / self._folder.rest.get("name", "central"), subgroups)
        with self._folder.opening():
            self._sweep()

    def _sweep(self) -> None:
        self._folder.sweep([self._file.path.name], "central*")

    def cycle(self, batch: Batch) -> Cycle:
        return self._folder.cycle(batch, self._cycle)

    def _cycle(self, batch: Batch, state: EngineState) -> Cycle:
        offer = offer_of(batch, state.seed, state.cycle).by_url()
        file, cycle = self._file.rewrite(self._folder.path / f"central{state.cycle}", offer, state.cycle)
        self._folder.commit(counted(state, file.subgroups), name=file.path.name, subgroups=file.subgroups)
        self._file = file
        self._sweep()
        return cycle

    def lookup(self, url: str) -> Known | None:
        return self._file.lookup(url)

    def urls_of(self, host: str) -> Iterator[Known]:
        return self._file.urls_of(host)

    def counts(self) -> RepositoryCounts:
        return self._folder.state.counts(self._folder.path)

    def close(self) -> None:
        self._folder.close()


def counted(state: EngineState, subgroups: list[Subgroup]) -> EngineState:
    return replace(
        state,
        known=sum(each.rows for each in subgroups),
        collected=sum(each.collected for each in subgroups),
        hosts=sum(each.hosts for each in subgroups),
    )
