"""A repository over one sorted file of fingerprints, merged with each cycle's URLs in one pass; and Mercator-B.

    central     fingerprint, what was found of each URL, and whether it was collected; new each cycle
    hosts       the hashes of all hosts, sorted; replaced when there are new hosts
    texts       every URL, one a line in the order of admission; one record more each cycle
    visits      the visits of collected URLs; one record more each cycle

A single URL is found quickly, the URLs of a host by reading all texts: the papers ask no more of these engines.

Mercator-B, and Polybot, sort a buffer of fingerprints and merge it with the file. DRUM does it by buckets.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from tarrafa.lab.engines.engine_folder import (
    EngineFolder,
    EngineState,
    HostList,
    append_to,
    read_hosts,
    read_records,
    record_of,
)
from tarrafa.lab.engines.offers import (
    RECORD,
    U64,
    VISIT_NAMES,
    Bits,
    Offer,
    Places,
    Rows,
    cycle_result,
    is_url,
    known_of,
    offer_of,
)
from tarrafa.lab.engines.sorted_file import PartLayout, PartSum, SortedFile, SortedPart, Values, write_sorted
from tarrafa.verify.contract import LINKS_MAX, Batch, Cycle, Known, RepositoryCounts
from tarrafa.verify.keys import keys_of

# Priority in the low half of four bytes and links in the high half; links from outside; depth; kind; collected.
LAYOUT = PartLayout(6, tuple(np.dtype(kind) for kind in (np.uint32, np.uint16, np.uint32, np.uint8, np.uint8)))
_VISIT = np.dtype([("fingerprint", "<u8"), *((name, RECORD[name]) for name in VISIT_NAMES)])

# Takes the central file, the path of the next one, and distinct keys with values and texts. Returns the next file,
# which keys were known, and their values before.
Verify = Callable[[SortedFile, Path, U64, Values, list[str]], tuple[SortedFile, Bits, Values]]


def combine_values(before: Values, given: Values) -> Values:
    """Combine the values of known URLs with those of the offer."""
    low, half = np.uint32(0xFFFF), np.uint32(16)
    priority = np.minimum(before[0] & low, given[0] & low)
    links = np.minimum((before[0] >> half) + (given[0] >> half), np.uint32(LINKS_MAX))
    outside = np.minimum(before[1].astype(np.uint32) + given[1], np.uint32(LINKS_MAX)).astype(np.uint16)
    depth, kind = np.minimum(before[2], given[2]), np.maximum(before[3], given[3])
    return priority | (links << half), outside, depth, kind, before[4] | given[4]


def _values(offer: Offer) -> Values:
    hints = offer.priority.astype(np.uint32) | (offer.links.astype(np.uint32) << np.uint32(16))
    return hints, offer.outside, offer.depth, offer.kind, offer.collected().astype(np.uint8)


class MergeRepository:
    def __init__(self, folder: Path, verify: Verify) -> None:
        self._verify = verify
        self._folder = EngineFolder(folder)
        rest = self._folder.rest
        central = [PartSum(*each) for each in rest.get("written", [])]
        self._central = SortedFile(folder / rest.get("central", "central"), central)
        self._sizes = rest.get("sizes", {"texts": 0, "visits": 0})
        with self._folder.unlock_on_failure():
            self._hosts = read_hosts(folder, rest.get("hosts", []))
            self._sweep()

    def _sweep(self) -> None:
        self._folder.sweep([self._central.path.name], "central*")
        self._folder.sweep([stored.name for stored in self._hosts.stored], "hosts*")

    def cycle(self, batch: Batch) -> Cycle:
        return self._folder.cycle(batch, self._cycle)

    def _cycle(self, batch: Batch, state: EngineState) -> Cycle:
        offer = offer_of(batch, state.seed, state.cycle)
        self._sweep()  # left by a failed cycle
        target = self._folder.path / f"central{state.cycle}"
        central, known, before = self._verify(self._central, target, offer.fingerprints, _values(offer), offer.urls)
        fresh = np.flatnonzero(~known)
        hosts = self._hosts.with_new(offer.hosts[fresh], self._folder.path, f"hosts{state.cycle}")
        collected = offer.collected() & (before[-1] == 0)
        after = replace(
            state,
            known=state.known + len(fresh),
            collected=state.collected + int(collected.sum()),
            hosts=len(hosts.hashes),
        )
        self._commit(after, central, hosts, self._log(offer, fresh))
        return cycle_result(known, before[-1] != 0, offer)

    def _log(self, offer: Offer, fresh: Places) -> dict[str, int]:
        """Append the texts of fresh URLs and the visits of collected ones; return the new sizes of the files."""
        now = np.flatnonzero(offer.collected())
        visits = np.empty(len(now), _VISIT)
        visits["fingerprint"] = offer.fingerprints[now]
        for name in VISIT_NAMES:
            visits[name] = offer.visits[name][offer.visit[now]]
        texts = "".join([offer.urls[place] + "\n" for place in fresh.tolist()]).encode("ascii")
        bodies = {"texts": texts, "visits": visits.tobytes()}
        data = {name: record_of(body) if body else b"" for name, body in bodies.items()}
        return {name: append_to(self._folder.path / name, self._sizes[name], data[name]) for name in data}

    def _commit(self, state: EngineState, central: SortedFile, hosts: HostList, sizes: dict[str, int]) -> None:
        self._folder.commit(state, central=central.path.name, written=central.written, hosts=hosts.stored, sizes=sizes)
        self._central, self._hosts, self._sizes = central, hosts, sizes
        self._sweep()

    def lookup(self, url: str) -> Known | None:
        return next(self._known([url]), None) if is_url(url) else None

    def urls_of(self, host: str) -> Iterator[Known]:
        texts = (body.decode("ascii").split("\n") for body in self._records("texts"))
        return self._known([url for urls in texts for url in urls if url.startswith(host + "/")])

    def _records(self, name: str) -> Iterator[bytes]:
        """Yield the records of the texts or the visits, cycle by cycle."""
        return read_records(self._folder.path / name, self._sizes[name])

    def _known(self, urls: list[str]) -> Iterator[Known]:
        """Yield what is known of these URLs, in their order, without the unknown ones."""
        keys = keys_of(urls, self._folder.state.seed).fingerprints
        order = np.argsort(keys)
        hit, (hints, outside, depth, kind, collected) = self._central.lookup(LAYOUT, keys[order])
        records = np.zeros(len(hit), RECORD)
        records["priority"], records["links"] = hints & np.uint32(0xFFFF), hints >> np.uint32(16)
        records["outside"], records["depth"], records["kind"], records["collected"] = outside, depth, kind, collected
        if collected.any():
            self._add_visits(records, keys[order])
        place_of = np.argsort(order)
        for url, place in zip(urls, place_of.tolist(), strict=True):
            if place < len(hit) and hit[place]:
                yield known_of(url, records[place])

    def _add_visits(self, records: Rows, keys: U64) -> None:
        visits = np.frombuffer(b"".join(self._records("visits")), _VISIT)
        places = np.minimum(np.searchsorted(keys, visits["fingerprint"]), len(keys) - 1)
        ours = keys[places] == visits["fingerprint"]
        for name in VISIT_NAMES:
            records[name][places[ours]] = visits[name][ours]  # the last of several wins

    def counts(self) -> RepositoryCounts:
        return self._folder.state.counts(self._folder.path)

    def close(self) -> None:
        self._folder.close()


class MercatorB(MergeRepository):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder, _verify)


def _verify(
    central: SortedFile, target: Path, keys: U64, values: Values, _texts: list[str]
) -> tuple[SortedFile, Bits, Values]:
    order = np.argsort(keys)
    keys, values = keys[order], tuple(column[order] for column in values)
    known, before = np.zeros(len(keys), np.bool_), tuple(np.zeros_like(column) for column in values)
    edges = np.searchsorted(LAYOUT.parts_of(keys), np.arange((1 << LAYOUT.part_bits) + 1)).tolist()

    def merge_parts() -> Iterator[SortedPart]:
        for part, first, end in zip(central.parts(LAYOUT), edges[:-1], edges[1:], strict=True):
            given = tuple(column[first:end] for column in values)
            places, hit = part.find(keys[first:end])
            there = part.values_at(places, hit)
            known[first:end] = hit
            for column, found in zip(before, there, strict=True):
                column[first:end] = found
            both = zip(combine_values(there, given), given, strict=True)
            yield part.put(places, hit, keys[first:end], tuple(np.where(hit, *pair) for pair in both))

    file, back = write_sorted(target, merge_parts()), np.argsort(order)
    return file, known[back], tuple(column[back] for column in before)
