"""Files of sorted text, divided into subgroups of whole hosts; and the central repository (Program 7).

A subgroup holds the URLs of some hosts in lexicographical order, which keeps the URLs of a host together, and a record
for each. Rewriting a file merges each subgroup with the offered URLs of its hosts, and copies those without any. A
subgroup fits in memory, unless a single host does not. The central repository is one such file of all known URLs,
rewritten in every cycle.
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
    check_length,
    only_record,
    pack_rows,
    record_of,
    sync_file,
    unpack_rows,
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
    updated_records,
)
from tarrafa.verify.contract import Batch, Cycle, Known, RepositoryCounts

SUBGROUP_URLS = 50_000


class UrlGroup(NamedTuple):
    """A subgroup in memory."""

    records: Rows
    urls: list[str]


class Subgroup(NamedTuple):
    """A subgroup in the manifest."""

    start: str  # its first host and a slash; none of its URLs sorts before it
    offset: int
    size_bytes: int
    rows: int
    collected: int
    hosts: int


NOTHING = UrlGroup(np.empty(0, RECORD), [])


def merge_group(group: UrlGroup, offer: Offer, cycle: int) -> tuple[UrlGroup, Cycle]:
    """Merge a group with an offer sorted by URL; return the new group and the result of the cycle."""
    place_of = dict(zip(group.urls, range(len(group.urls)), strict=True))
    places = np.fromiter((place_of.get(url, -1) for url in offer.urls), np.int64, len(offer.urls))
    known = places >= 0
    before = np.full(len(places), UNKNOWN)
    before[known] = group.records[places[known]]
    after = updated_records(before, known, offer, cycle)
    records = np.concatenate((group.records, after[~known]))
    records[places[known]] = after[known]
    urls = [*group.urls, *offer.take(np.flatnonzero(~known)).urls]
    # Two concatenated sorted lists, which Python's sort merges in one pass.
    order = sorted(range(len(urls)), key=urls.__getitem__)
    return UrlGroup(records[order], [urls[place] for place in order]), cycle_result(
        known, before["collected"] != 0, offer
    )


def add_counts(one: Cycle, other: Cycle) -> Cycle:
    """Add the counts of two cycles. Fresh URLs are left out, because concatenating lists many times is slow."""
    return Cycle(
        block=one.block,
        collected_before=one.collected_before + other.collected_before,
        known=one.known + other.known,
        collected_now=one.collected_now + other.collected_now,
    )


class SubgroupFile(NamedTuple):
    """A file of subgroups in order."""

    path: Path
    subgroups: list[Subgroup]

    def rewrite(self, target: Path, offer: Offer, cycle: int) -> tuple["SubgroupFile", Cycle]:
        """Write a new file merged with an offer sorted by URL. The old file stays."""
        total, fresh, written = Cycle(0), list[str](), list[Subgroup]()
        with target.open("wb") as file:
            for data, part in self._match(offer):
                if isinstance(data, Subgroup):
                    written.append(data._replace(offset=file.tell()))
                    file.write(record_of(self._body(data)))
                    continue
                group, cycle_found = merge_group(data, part, cycle)
                written += [_write(file, each) for each in _cut(group)]
                fresh += cycle_found.fresh
                total = add_counts(total, cycle_found)
            file.flush()
            sync_file(file.fileno())
        return SubgroupFile(target, written), total._replace(fresh=fresh)

    def _match(self, offer: Offer) -> Iterator[tuple[Subgroup | UrlGroup, Offer]]:
        """Yield each subgroup with the offer for its hosts: read into memory only if there is one."""
        starts = [subgroup.start for subgroup in self.subgroups[1:]]
        edges = [0, *(bisect_left(offer.urls, start) for start in starts), len(offer.urls)]
        if not self.subgroups and offer.urls:
            yield NOTHING, offer
        for subgroup, first, end in zip(self.subgroups, edges[:-1], edges[1:], strict=bool(self.subgroups)):
            yield self._group(subgroup) if end > first else subgroup, offer.part(first, end)

    def _body(self, subgroup: Subgroup) -> bytes:
        with check_length(self.path, subgroup.offset + subgroup.size_bytes).open("rb") as file:
            file.seek(subgroup.offset)
            return only_record(file.read(subgroup.size_bytes), self.path)

    def _group(self, subgroup: Subgroup) -> UrlGroup:
        return UrlGroup(*unpack_rows(self._body(subgroup), RECORD))

    def lookup(self, url: str) -> Known | None:
        return find_url(self._group_of(url), url)

    def urls_of(self, host: str) -> Iterator[Known]:
        return find_host(self._group_of(host + "/"), host)

    def _group_of(self, url: str) -> UrlGroup:
        place = bisect_right([subgroup.start for subgroup in self.subgroups], url) - 1
        return self._group(self.subgroups[place]) if place >= 0 else NOTHING


def find_url(group: UrlGroup, url: str) -> Known | None:
    place = bisect_left(group.urls, url)
    is_there = place < len(group.urls) and group.urls[place] == url
    return known_of(url, group.records[place]) if is_there else None


def find_host(group: UrlGroup, host: str) -> Iterator[Known]:
    """Yield the URLs of a host in the order of their admission."""
    first, end = (bisect_left(group.urls, host + mark) for mark in "/0")  # "0" follows "/" in ASCII
    for place in (first + np.argsort(group.records["cycle"][first:end], kind="stable")).tolist():
        yield known_of(group.urls[place], group.records[place])


def _cut(group: UrlGroup) -> Iterator[UrlGroup]:
    """Cut a group into subgroups of the right size that end between hosts."""
    first, count = 0, len(group.urls)
    while first < count:
        end = first + SUBGROUP_URLS
        is_last = end + SUBGROUP_URLS > count
        end = count if is_last else bisect_left(group.urls, host_text(group.urls[end - 1]) + "0")
        yield UrlGroup(group.records[first:end], group.urls[first:end])
        first = end


def _write(file: BinaryIO, group: UrlGroup) -> Subgroup:
    data, offset = pack_rows(group.records, group.urls), file.tell()
    file.write(data)
    hosts, collected = len({*map(host_text, group.urls)}), int(group.records["collected"].sum())
    return Subgroup(host_text(group.urls[0]) + "/", offset, len(data), len(group.urls), collected, hosts)


class CentralRepository:
    def __init__(self, folder: Path) -> None:
        self._folder = EngineFolder(folder)
        subgroups = [Subgroup(*each) for each in self._folder.rest.get("subgroups", ())]
        self._file = SubgroupFile(folder / self._folder.rest.get("name", "central"), subgroups)
        with self._folder.unlock_on_failure():
            self._sweep()

    def _sweep(self) -> None:
        self._folder.sweep([self._file.path.name], "central*")

    def cycle(self, batch: Batch) -> Cycle:
        return self._folder.cycle(batch, self._cycle)

    def _cycle(self, batch: Batch, state: EngineState) -> Cycle:
        offer = offer_of(batch, state.seed, state.cycle).by_url()
        file, cycle = self._file.rewrite(self._folder.path / f"central{state.cycle}", offer, state.cycle)
        self._folder.commit(with_counts(state, file.subgroups), name=file.path.name, subgroups=file.subgroups)
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


def with_counts(state: EngineState, subgroups: list[Subgroup]) -> EngineState:
    return replace(
        state,
        known=sum(each.rows for each in subgroups),
        collected=sum(each.collected for each in subgroups),
        hosts=sum(each.hosts for each in subgroups),
    )
