"""A repository over any key-value store: one look-up and one write for each distinct URL.

    m                       the state
    h host                  the text of a host
    r host fingerprint      the record of a URL
    t host fingerprint      its text, written once

A cycle looks up all records in key order and writes the changed ones with the state, in one transaction.

The folder is locked by one process, and the store is reopened after a failure. Exceptions of the store become our
errors here. A note beside the store holds the cycle and the file size of the last commit. It reveals a truncated log,
which looks like one without the last writes, a missing file, which looks like a new store, and a short memory-mapped
file, which would crash its reader. The note is written after the commit and not synced, so it may lag behind, but is
never ahead.
"""

import json
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tarrafa.disk import map_disk_errors
from tarrafa.errors import DamagedError, WorkError
from tarrafa.lab.engines.engine_folder import EngineState, check_length, lock_folder, only_record, record_of
from tarrafa.lab.engines.offers import (
    RECORD,
    UNKNOWN,
    Offer,
    Rows,
    cycle_result,
    host_text,
    is_url,
    known_of,
    offer_of,
    updated_records,
)
from tarrafa.verify.contract import Batch, Cycle, Known, RepositoryCounts
from tarrafa.verify.keys import keys_of

KeyValue = tuple[bytes, bytes]

_STATE = b"m"
_NOTE = "last-commit"
_NUMBERS = struct.Struct("<QQ")


class KeyValueStore(Protocol):
    """A store of keys with values on disk."""

    def get(self, keys: Sequence[bytes]) -> list[bytes | None]: ...

    def put(self, pairs: Sequence[KeyValue]) -> None:
        """Write all pairs or none; they are durable when it returns."""
        ...

    def scan(self, prefix: bytes) -> Iterator[KeyValue]:
        """Yield the pairs whose keys begin with `prefix`, in key order."""
        ...

    def close(self) -> None: ...


def _never(_error: Exception) -> bool:
    return False


class StoreTraits(NamedTuple):
    """The file or folder of a store, and the exceptions that it raises."""

    name: str
    kind: type[Exception] = OSError
    is_damage: Callable[[Exception], bool] = _never
    grows: str = ""  # the file that never shrinks, if there is one


class _CommitNote(NamedTuple):
    cycle: int = 0
    size_bytes: int = 0


class StoreFolder:
    def __init__(self, folder: Path, open_store: Callable[[Path], KeyValueStore], traits: StoreTraits) -> None:
        self.path = folder
        self._open_store, self._traits = open_store, traits
        with map_disk_errors(folder):
            self._hold = lock_folder(folder)
        try:
            with self.translate_errors():
                self._open()
        except BaseException:
            self._hold.release()
            raise

    def _open(self) -> None:
        note = _read_note(self.path / _NOTE)
        check_length(self.path / self._traits.grows, note.size_bytes)
        self.store = self._open_store(self.path)
        try:
            self.state = self._read_state(note)
        except BaseException:
            self.store.close()
            raise
        self._is_sure = True  # False after a failed commit

    def _read_state(self, note: _CommitNote) -> EngineState:
        path, stored = self.path / self._traits.name, self.store.get([_STATE])[0]
        try:
            state = EngineState(**json.loads(stored)) if stored else EngineState()
        except (ValueError, TypeError):
            raise DamagedError(f"{path} is not what was written; restore it from a copy") from None
        if state.cycle < note.cycle:
            raise DamagedError(f"{path} ends with cycle {state.cycle:,}, not {note.cycle:,}; restore it from a copy")
        return state

    def cycle(self, batch: Batch, work: Callable[[Batch, EngineState], Cycle]) -> Cycle:
        """Call `work` with the batch and the next state, unless the batch was taken before."""
        with self.translate_errors():
            if not self._is_sure:
                self.store.close()
                self._open()
            if batch.number <= self.state.batch:
                return Cycle(block=-1)
            return work(batch, self.state.after(batch))

    def commit(self, pairs: Sequence[KeyValue], state: EngineState) -> None:
        """Write the pairs and the state. If this raises, they may have been written anyway."""
        self._is_sure = False
        self.store.put([*pairs, (_STATE, json.dumps(asdict(state)).encode())])
        self.state, self._is_sure = state, True
        self._note()

    def _note(self) -> None:
        """Write the note in place, which needs no room on a full disk; if that fails, it lags behind, as it may."""
        grows, path = self._traits.grows, self.path / _NOTE
        with suppress(OSError):
            size_bytes = (self.path / grows).stat().st_size if grows else 0
            with path.open("r+b" if path.exists() else "wb") as file:
                file.write(record_of(_NUMBERS.pack(self.state.cycle, size_bytes)))

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        try:
            with map_disk_errors(self.path):
                yield
        except self._traits.kind as error:
            told = f"{self.path / self._traits.name}: {' '.join(str(error).split())}"
            if self._traits.is_damage(error):
                raise DamagedError(f"{told}; restore it from a copy") from error
            raise WorkError(f"{told}; nothing was damaged; try again when the cause is fixed") from error

    def close(self) -> None:
        self.store.close()
        self._note()
        self._hold.release()


def _read_note(path: Path) -> _CommitNote:
    """Read the note; an empty one if it is missing or damaged."""
    with suppress(OSError, DamagedError):
        return _CommitNote(*_NUMBERS.unpack(only_record(path.read_bytes(), path)))
    return _CommitNote()


_KEY = np.dtype([("kind", "S1"), ("host", ">u8"), ("fingerprint", ">u8")])


class KeyValueRepository:
    def __init__(self, folder: Path, open_store: Callable[[Path], KeyValueStore], traits: StoreTraits) -> None:
        self._folder = StoreFolder(folder, open_store, traits)

    def cycle(self, batch: Batch) -> Cycle:
        return self._folder.cycle(batch, self._cycle)

    def _cycle(self, batch: Batch, state: EngineState) -> Cycle:
        offer = offer_of(batch, state.seed, state.cycle)
        offer = offer.take(np.lexsort((offer.fingerprints, offer.hosts)))
        keys = _keys(b"r", offer)
        known, before = self._records(keys)
        after = updated_records(before, known, offer, state.cycle)
        hosts = self._new_hosts(offer.take(np.flatnonzero(~known)))
        with_counts = replace(
            state,
            known=state.known + int((~known).sum()),
            collected=state.collected + int(after["collected"].sum()) - int(before["collected"].sum()),
            hosts=state.hosts + len(hosts),
        )
        records = zip(keys, after.view(f"V{RECORD.itemsize}").tolist(), strict=True)
        self._folder.commit([*records, *_texts(offer, ~known), *hosts], with_counts)
        return cycle_result(known, before["collected"] != 0, offer)

    def _records(self, keys: list[bytes]) -> tuple[NDArray[np.bool_], Rows]:
        values = self._folder.store.get(keys)
        known = np.fromiter((value is not None for value in values), np.bool_, len(values))
        unknown = UNKNOWN.tobytes()
        return known, np.frombuffer(b"".join([value or unknown for value in values]), RECORD)

    def _new_hosts(self, fresh: Offer) -> list[KeyValue]:
        hosts, firsts = np.unique(fresh.hosts, return_index=True)
        keys = [b"h" + host for host in hosts.astype(">u8").view("V8").tolist()]
        names = (host_text(fresh.urls[first]).encode() for first in firsts.tolist())
        known = self._folder.store.get(keys)
        return [(key, name) for key, name, old in zip(keys, names, known, strict=True) if old is None]

    def lookup(self, url: str) -> Known | None:
        if not is_url(url):
            return None
        key = _key(url, self._folder.state.seed)
        with self._folder.translate_errors():
            record, text = self._folder.store.get([b"r" + key, b"t" + key])
        return known_of(url, np.frombuffer(record, RECORD)[0]) if record and text == url.encode() else None

    def urls_of(self, host: str) -> Iterator[Known]:
        if not is_url(host + "/"):
            return
        prefix = _key(host + "/", self._folder.state.seed)[:8]
        with self._folder.translate_errors():
            records = np.frombuffer(b"".join([value for _, value in self._folder.store.scan(b"r" + prefix)]), RECORD)
            texts = [text for _, text in self._folder.store.scan(b"t" + prefix)]
        for place in np.argsort(records["cycle"], kind="stable").tolist():
            yield known_of(texts[place].decode(), records[place])

    def counts(self) -> RepositoryCounts:
        return self._folder.state.counts(self._folder.path)

    def close(self) -> None:
        self._folder.close()


def _keys(kind: bytes, offer: Offer) -> list[bytes]:
    keys = np.empty(len(offer.urls), _KEY)
    keys["kind"], keys["host"], keys["fingerprint"] = kind, offer.hosts, offer.fingerprints
    found: list[bytes] = keys.view(f"V{_KEY.itemsize}").tolist()
    return found


def _key(url: str, seed: int) -> bytes:
    return b"".join(column.astype(">u8").tobytes() for column in keys_of([url], seed))


def _texts(offer: Offer, chosen: NDArray[np.bool_]) -> Iterator[KeyValue]:
    fresh = offer.take(np.flatnonzero(chosen))
    return zip(_keys(b"t", fresh), (url.encode() for url in fresh.urls), strict=True)
