"""A repository over one sorted file of fingerprints, with which each cycle's URLs are merged in one pass.

    central     fingerprint, priority, links, those from outside, and whether collected, of every URL; new each cycle
    hosts       the hashes of all hosts, sorted; a new one when there are new hosts
    texts       every URL, line by line in the order of admission; a piece more each cycle
    visits      what became of collected URLs; a piece more each cycle

A single URL is found quickly, the URLs of a host by reading all texts: the papers ask for no more of these engines.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from tarrafa.lab.engines.home import Home, State, appended
from tarrafa.lab.engines.host_list import HostList, read_hosts
from tarrafa.lab.engines.offers import (
    RECORD,
    U64,
    VISIT_NAMES,
    Bits,
    Offer,
    Places,
    Rows,
    found,
    is_url,
    known_of,
    offer_of,
)
from tarrafa.lab.engines.packing import piece_of, read_pieces
from tarrafa.lab.engines.sorted_file import Layout, SortedFile, Values, Written
from tarrafa.verify.contract import LINKS_MAX, Batch, Cycle, Known, RepositoryCounts
from tarrafa.verify.keys import keys_of

# Priority in the low half of four bytes, links in the high half; links from outside; and whether collected.
LAYOUT = Layout(6, (np.dtype(np.uint32), np.dtype(np.uint16), np.dtype(np.uint8)))
_VISIT = np.dtype([("fingerprint", "<u8"), *((name, RECORD[name]) for name in VISIT_NAMES)])

# From the central file, the path of the next, and distinct keys with values and texts: the next file, which keys were
# known, and with which values.
Verify = Callable[[SortedFile, Path, U64, Values, list[str]], tuple[SortedFile, Bits, Values]]


def combined(before: Values, given: Values) -> Values:
    """What is known of URLs after they were offered again."""
    low, half = np.uint32(0xFFFF), np.uint32(16)
    priority = np.minimum(before[0] & low, given[0] & low)
    links = np.minimum((before[0] >> half) + (given[0] >> half), np.uint32(LINKS_MAX))
    outside = np.minimum(before[1].astype(np.uint32) + given[1], np.uint32(LINKS_MAX)).astype(np.uint16)
    return priority | (links << half), outside, before[2] | given[2]


def _values(offer: Offer) -> Values:
    hints = offer.priority.astype(np.uint32) | (offer.links.astype(np.uint32) << np.uint32(16))
    return hints, offer.outside, offer.collected().astype(np.uint8)


class Merging:
    def __init__(self, folder: Path, verify: Verify) -> None:
        self._verify = verify
        self._home = Home(folder)
        rest = self._home.rest
        central = [Written(*each) for each in rest.get("written", [])]
        self._central = SortedFile(folder / rest.get("central", "central"), central)
        self._sizes = rest.get("sizes", {"texts": 0, "visits": 0})
        with self._home.opening():
            self._hosts = read_hosts(folder, rest.get("hosts", []))
            self._sweep()

    def _sweep(self) -> None:
        self._home.sweep([self._central.path.name], "central*")
        self._home.sweep([stored.name for stored in self._hosts.stored], "hosts*")

    def cycle(self, batch: Batch) -> Cycle:
        return self._home.cycle(batch, self._cycle)

    def _cycle(self, batch: Batch, state: State) -> Cycle:
        offer = offer_of(batch, state.seed, state.cycle)
        self._sweep()  # of what a cycle that failed has left
        target = self._home.folder / f"central{state.cycle}"
        central, known, before = self._verify(self._central, target, offer.fingerprints, _values(offer), offer.urls)
        fresh = np.flatnonzero(~known)
        hosts = self._hosts.with_new(offer.hosts[fresh], self._home.folder, f"hosts{state.cycle}")
        collected = offer.collected() & (before[2] == 0)
        after = replace(
            state,
            known=state.known + len(fresh),
            collected=state.collected + int(collected.sum()),
            hosts=len(hosts.hashes),
        )
        self._commit(after, central, hosts, self._log(offer, fresh))
        return found(known, before[2] != 0, offer)

    def _log(self, offer: Offer, fresh: Places) -> dict[str, int]:
        """Write the texts of fresh URLs and the visits of collected ones behind the others; what counts then."""
        now = np.flatnonzero(offer.collected())
        visits = np.empty(len(now), _VISIT)
        visits["fingerprint"] = offer.fingerprints[now]
        for name in VISIT_NAMES:
            visits[name] = offer.visits[name][offer.visit[now]]
        texts = "".join([offer.urls[place] + "\n" for place in fresh.tolist()]).encode("ascii")
        bodies = {"texts": texts, "visits": visits.tobytes()}
        data = {name: piece_of(body) if body else b"" for name, body in bodies.items()}
        return {name: appended(self._home.folder / name, self._sizes[name], data[name]) for name in data}

    def _commit(self, state: State, central: SortedFile, hosts: HostList, sizes: dict[str, int]) -> None:
        self._home.commit(state, central=central.path.name, written=central.written, hosts=hosts.stored, sizes=sizes)
        self._central, self._hosts, self._sizes = central, hosts, sizes
        self._sweep()

    def lookup(self, url: str) -> Known | None:
        return next(self._known([url]), None) if is_url(url) else None

    def urls_of(self, host: str) -> Iterator[Known]:
        texts = (body.decode("ascii").split("\n") for body in self._pieces("texts"))
        return self._known([url for urls in texts for url in urls if url.startswith(host + "/")])

    def _pieces(self, name: str) -> Iterator[bytes]:
        """What was written to the texts or the visits, cycle by cycle."""
        return read_pieces(self._home.folder / name, self._sizes[name])

    def _known(self, urls: list[str]) -> Iterator[Known]:
        """What is known of those URLs that are known, in their order."""
        keys = keys_of(urls, self._home.state.seed).fingerprints
        order = np.argsort(keys)
        hit, (hints, outside, collected) = self._central.lookup(LAYOUT, keys[order])
        records = np.zeros(len(hit), RECORD)
        records["priority"], records["links"] = hints & np.uint32(0xFFFF), hints >> np.uint32(16)
        records["outside"], records["collected"] = outside, collected
        if collected.any():
            self._add_visits(records, keys[order])
        place_of = np.argsort(order)
        for url, place in zip(urls, place_of.tolist(), strict=True):
            if place < len(hit) and hit[place]:
                yield known_of(url, records[place])

    def _add_visits(self, records: Rows, keys: U64) -> None:
        visits = np.frombuffer(b"".join(self._pieces("visits")), _VISIT)
        places = np.minimum(np.searchsorted(keys, visits["fingerprint"]), len(keys) - 1)
        ours = keys[places] == visits["fingerprint"]
        for name in VISIT_NAMES:
            records[name][places[ours]] = visits[name][ours]  # of several, the last stays

    def counts(self) -> RepositoryCounts:
        return self._home.state.counts(self._home.folder)

    def close(self) -> None:
        self._home.close()
