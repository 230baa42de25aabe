"""One file for each host: the files of the batch's hosts are read, merged and written again.

The new contents of all of them are first written to one pending file. The manifest that names it is the commit; then
the files of the hosts are replaced one by one, again at the next start if the process was killed meanwhile.
"""

import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import numpy as np
import xxhash

from tarrafa.verify.contract import Batch, Counts, Cycle, Known
from tarrafa.verify.engines.home import Home, State, sync_file
from tarrafa.verify.engines.offers import RECORD, Offer, host_text, is_url, offer_of
from tarrafa.verify.engines.packing import packed, pieces, unpacked
from tarrafa.verify.engines.subgroups import NOTHING, Group, added, known_in, known_of_host, merged
from tarrafa.verify.veuniq.disk import sync_folder

SYNCED_ONE_BY_ONE = 64


class Files:
    def __init__(self, folder: Path) -> None:
        self._home = Home(folder)
        self._apply()

    def cycle(self, batch: Batch) -> Cycle:
        return self._home.cycle(batch, self._cycle)

    def _cycle(self, batch: Batch, state: State) -> Cycle:
        pending = self._home.folder / f"pending{state.cycle}"
        after, cycle = self._write(pending, offer_of(batch, state.seed, state.cycle).by_url(), state)
        self._home.commit(after, pending=pending.name)
        self._apply()
        return cycle

    def _write(self, pending: Path, offer: Offer, state: State) -> tuple[State, Cycle]:
        total, fresh = Cycle(0), list[str]()
        with pending.open("wb") as file:
            for host, part in _by_host(offer):
                old = self._group(host)
                new, cycle = merged(old, part, state.cycle)
                state = _counted(state, old, new)
                file.write(packed(*new))
                fresh += cycle.fresh
                total = added(total, cycle)
            file.flush()
            sync_file(file.fileno())
        return state, total._replace(fresh=fresh)

    def _apply(self) -> None:
        """Replace the files of hosts that the pending file holds, and remove it."""
        pending = self._home.folder / self._home.rest.get("pending", "pending")
        if pending.exists():
            paths = [self._replace(piece) for piece in pieces(pending.read_bytes())]
            _sync(paths)
        self._home.sweep((), "pending*")

    def _replace(self, piece: bytes) -> Path:
        path = self._path(host_text(unpacked(piece, RECORD, "pending")[1][0]))
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new")
        new.write_bytes(piece)
        return new.replace(path)

    def _path(self, host: str) -> Path:
        name = xxhash.xxh3_128_hexdigest(host.encode("utf-8", "surrogatepass"))
        return self._home.folder / "hosts" / name[:2] / name[2:4] / name

    def _group(self, host: str) -> Group:
        path = self._path(host)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return NOTHING
        return Group(*unpacked(data, RECORD, path))

    def lookup(self, url: str) -> Known | None:
        return known_in(self._group(host_text(url)), url) if is_url(url) else None

    def urls_of(self, host: str) -> Iterator[Known]:
        return known_of_host(self._group(host), host)

    def counts(self) -> Counts:
        return self._home.state.counts(self._home.folder)

    def close(self) -> None:
        self._home.close()


def _by_host(offer: Offer) -> Iterator[tuple[str, Offer]]:
    """URLs in their order have those of a host together."""
    first = 0
    for host, urls in groupby(offer.urls, host_text):
        end = first + sum(1 for _ in urls)
        yield host, offer.part(first, end)
        first = end


def _counted(state: State, old: Group, new: Group) -> State:
    collected = np.count_nonzero(new.records["collected"]) - np.count_nonzero(old.records["collected"])
    return replace(
        state,
        known=state.known + len(new.urls) - len(old.urls),
        collected=state.collected + int(collected),
        hosts=state.hosts + (not old.urls),
    )


def _sync(paths: list[Path]) -> None:
    """Many files are synced faster by syncing everything."""
    if len(paths) > SYNCED_ONE_BY_ONE:
        os.sync()
        return
    for path in paths:
        with path.open("rb") as file:
            sync_file(file.fileno())
        sync_folder(path.parent)
