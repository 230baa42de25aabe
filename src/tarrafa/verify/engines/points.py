"""A repository over anything that keeps pairs of bytes: one look-up and one write for each distinct URL.

    m                       the state
    h host                  the text of a host
    r host fingerprint      the record of a URL
    t host fingerprint      its text, written once

A cycle looks all records up in the order of their keys and writes the changed ones with the state, in one transaction.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tarrafa.errors import WorkError
from tarrafa.verify.contract import Batch, Counts, Cycle, Known
from tarrafa.verify.engines.home import State, held
from tarrafa.verify.engines.offers import (
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
from tarrafa.verify.keys import keys_of
from tarrafa.verify.veuniq.disk import translated

Pair = tuple[bytes, bytes]

_STATE = b"m"
_KEY = np.dtype([("kind", "S1"), ("host", ">u8"), ("fingerprint", ">u8")])


class Pairs(Protocol):
    """Keys with values, on disk."""

    def get(self, keys: Sequence[bytes]) -> list[bytes | None]: ...

    def put(self, pairs: Sequence[Pair]) -> None:
        """All or none; durable when it returns."""
        ...

    def scan(self, prefix: bytes) -> Iterator[Pair]:
        """The pairs whose keys begin like this, in the order of their keys."""
        ...

    def close(self) -> None: ...


class Points:
    def __init__(self, folder: Path, open_pairs: Callable[[Path], Pairs], foreign: type[Exception] = OSError) -> None:
        """`foreign` is what the pairs raise when they cannot go on."""
        self._folder, self._foreign = folder, foreign
        with self._translated():
            self._hold = held(folder)
            self._pairs = open_pairs(folder)
        stored = self._pairs.get([_STATE])[0]
        self._state = State(**json.loads(stored)) if stored else State()

    def cycle(self, batch: Batch) -> Cycle:
        if batch.number <= self._state.batch:
            return Cycle(block=-1)
        with self._translated():
            return self._cycle(batch)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            with translated(self._folder):
                yield
        except self._foreign as error:
            raise WorkError(f"{self._folder}: {error}; nothing was damaged, go on when that is mended") from error

    def _cycle(self, batch: Batch) -> Cycle:
        number = self._state.cycle + 1
        offer = offer_of(batch, self._state.seed, number)
        offer = offer.take(np.lexsort((offer.fingerprints, offer.hosts)))
        keys = _keys(b"r", offer)
        known, before = self._records(keys)
        after = settled(before, known, offer, number)
        hosts = self._new_hosts(offer.take(np.flatnonzero(~known)))
        state = replace(
            self._state,
            batch=batch.number,
            cycle=number,
            known=self._state.known + int((~known).sum()),
            collected=self._state.collected + int(after["collected"].sum()) - int(before["collected"].sum()),
            hosts=self._state.hosts + len(hosts),
        )
        records = zip(keys, after.view(f"V{RECORD.itemsize}").tolist(), strict=True)
        self._pairs.put([*records, *_texts(offer, ~known), *hosts, _state_pair(state)])
        self._state = state
        return found(known, before["collected"] != 0, offer)

    def _records(self, keys: list[bytes]) -> tuple[NDArray[np.bool_], Rows]:
        values = self._pairs.get(keys)
        known = np.fromiter((value is not None for value in values), np.bool_, len(values))
        unknown = UNKNOWN.tobytes()
        return known, np.frombuffer(b"".join([value or unknown for value in values]), RECORD)

    def _new_hosts(self, fresh: Offer) -> list[Pair]:
        hosts, firsts = np.unique(fresh.hosts, return_index=True)
        keys = [b"h" + host for host in hosts.astype(">u8").view("V8").tolist()]
        names = (host_text(fresh.urls[first]).encode() for first in firsts.tolist())
        return [(key, name) for key, name, old in zip(keys, names, self._pairs.get(keys), strict=True) if old is None]

    def lookup(self, url: str) -> Known | None:
        if not is_url(url):
            return None
        key = _key(url, self._state.seed)
        record, text = self._pairs.get([b"r" + key, b"t" + key])
        return known_of(url, np.frombuffer(record, RECORD)[0]) if record and text == url.encode() else None

    def urls_of(self, host: str) -> Iterator[Known]:
        if not is_url(host + "/"):
            return
        prefix = _key(host + "/", self._state.seed)[:8]
        records = np.frombuffer(b"".join([value for _, value in self._pairs.scan(b"r" + prefix)]), RECORD)
        texts = [text for _, text in self._pairs.scan(b"t" + prefix)]
        for place in np.argsort(records["cycle"], kind="stable").tolist():
            yield known_of(texts[place].decode(), records[place])

    def counts(self) -> Counts:
        return self._state.counts(self._folder)

    def close(self) -> None:
        self._pairs.close()
        self._hold.release()


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


def _state_pair(state: State) -> Pair:
    return _STATE, json.dumps(asdict(state)).encode()
