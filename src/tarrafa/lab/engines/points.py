"""A repository over anything that keeps pairs of bytes: one look-up and one write for each distinct URL.

    m                       the state
    h host                  the text of a host
    r host fingerprint      the record of a URL
    t host fingerprint      its text, written once

A cycle looks all records up in the order of their keys and writes the changed ones with the state, in one transaction.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tarrafa.lab.engines.home import State
from tarrafa.lab.engines.offers import (
    RECORD,
    UNKNOWN,
    Offer,
    Rows,
    found,
    host_text,
    is_url,
    known_of,
    offer_of,
    settled,
)
from tarrafa.lab.engines.pairs import Foreign, Pair, PairHome, Pairs
from tarrafa.verify.contract import Batch, Cycle, Known, RepositoryCounts
from tarrafa.verify.keys import keys_of

_KEY = np.dtype([("kind", "S1"), ("host", ">u8"), ("fingerprint", ">u8")])


class Points:
    def __init__(self, folder: Path, open_pairs: Callable[[Path], Pairs], foreign: Foreign) -> None:
        self._home = PairHome(folder, open_pairs, foreign)

    def cycle(self, batch: Batch) -> Cycle:
        return self._home.cycle(batch, self._cycle)

    def _cycle(self, batch: Batch, state: State) -> Cycle:
        offer = offer_of(batch, state.seed, state.cycle)
        offer = offer.take(np.lexsort((offer.fingerprints, offer.hosts)))
        keys = _keys(b"r", offer)
        known, before = self._records(keys)
        after = settled(before, known, offer, state.cycle)
        hosts = self._new_hosts(offer.take(np.flatnonzero(~known)))
        counted = replace(
            state,
            known=state.known + int((~known).sum()),
            collected=state.collected + int(after["collected"].sum()) - int(before["collected"].sum()),
            hosts=state.hosts + len(hosts),
        )
        records = zip(keys, after.view(f"V{RECORD.itemsize}").tolist(), strict=True)
        self._home.commit([*records, *_texts(offer, ~known), *hosts], counted)
        return found(known, before["collected"] != 0, offer)

    def _records(self, keys: list[bytes]) -> tuple[NDArray[np.bool_], Rows]:
        values = self._home.pairs.get(keys)
        known = np.fromiter((value is not None for value in values), np.bool_, len(values))
        unknown = UNKNOWN.tobytes()
        return known, np.frombuffer(b"".join([value or unknown for value in values]), RECORD)

    def _new_hosts(self, fresh: Offer) -> list[Pair]:
        hosts, firsts = np.unique(fresh.hosts, return_index=True)
        keys = [b"h" + host for host in hosts.astype(">u8").view("V8").tolist()]
        names = (host_text(fresh.urls[first]).encode() for first in firsts.tolist())
        known = self._home.pairs.get(keys)
        return [(key, name) for key, name, old in zip(keys, names, known, strict=True) if old is None]

    def lookup(self, url: str) -> Known | None:
        if not is_url(url):
            return None
        key = _key(url, self._home.state.seed)
        with self._home.translated():
            record, text = self._home.pairs.get([b"r" + key, b"t" + key])
        return known_of(url, np.frombuffer(record, RECORD)[0]) if record and text == url.encode() else None

    def urls_of(self, host: str) -> Iterator[Known]:
        if not is_url(host + "/"):
            return
        prefix = _key(host + "/", self._home.state.seed)[:8]
        with self._home.translated():
            records = np.frombuffer(b"".join([value for _, value in self._home.pairs.scan(b"r" + prefix)]), RECORD)
            texts = [text for _, text in self._home.pairs.scan(b"t" + prefix)]
        for place in np.argsort(records["cycle"], kind="stable").tolist():
            yield known_of(texts[place].decode(), records[place])

    def counts(self) -> RepositoryCounts:
        return self._home.state.counts(self._home.folder)

    def close(self) -> None:
        self._home.close()


def _keys(kind: bytes, offer: Offer) -> list[bytes]:
    keys = np.empty(len(offer.urls), _KEY)
    keys["kind"], keys["host"], keys["fingerprint"] = kind, offer.hosts, offer.fingerprints
    found: list[bytes] = keys.view(f"V{_KEY.itemsize}").tolist()
    return found


def _key(url: str, seed: int) -> bytes:
    return b"".join(column.astype(">u8").tobytes() for column in keys_of([url], seed))


def _texts(offer: Offer, chosen: NDArray[np.bool_]) -> Iterator[Pair]:
    fresh = offer.take(np.flatnonzero(chosen))
    return zip(_keys(b"t", fresh), (url.encode() for url in fresh.urls), strict=True)
