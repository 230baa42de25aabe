"""One file for each host: a cycle reads, merges and rewrites the files of the batch's hosts.

All new contents are first written to one pending file. The manifest that names it is the commit; then the files of the
hosts are replaced one by one, and again at the next start if the process was killed meanwhile. A list of the hosts
tells a missing file from one that never existed.
"""

import os
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from itertools import groupby
from pathlib import Path

import numpy as np
import xxhash

from tarrafa.disk import map_disk_errors, sync_folder
from tarrafa.lab.engines.engine_folder import (
    EngineFolder,
    EngineState,
    check_length,
    complete_records,
    only_record,
    pack_rows,
    read_hosts,
    record_of,
    sync_file,
    unpack_rows,
)
from tarrafa.lab.engines.offers import RECORD, U64, Offer, host_text, is_url, offer_of
from tarrafa.lab.engines.sorted_text import NOTHING, UrlGroup, add_counts, find_host, find_url, merge_group
from tarrafa.verify.contract import Batch, Cycle, Known, RepositoryCounts
from tarrafa.verify.keys import keys_of
from tarrafa.verify.veuniq.stored_files import StoredFile, read_file, write_file

SYNCED_ONE_BY_ONE = 64


class HostFiles:
    def __init__(self, folder: Path) -> None:
        self._folder = EngineFolder(folder)
        with self._folder.unlock_on_failure():
            self._hosts = read_hosts(folder, self._folder.rest.get("hosts", []))
            self._apply()

    def cycle(self, batch: Batch) -> Cycle:
        with map_disk_errors(self._folder.path):
            self._apply()  # left by a failed cycle
        return self._folder.cycle(batch, self._cycle)

    def _cycle(self, batch: Batch, state: EngineState) -> Cycle:
        folder, offer = self._folder.path, offer_of(batch, state.seed, state.cycle).by_url()
        new, after, cycle = self._merge(offer, state)
        pending = write_file(folder, f"pending{state.cycle}", new, len(new))
        hosts = self._hosts.with_new(offer.hosts, folder, f"hosts{state.cycle}.list")
        self._folder.commit(after, pending=pending, hosts=hosts.stored)
        self._hosts = hosts
        self._apply()
        return cycle

    def _merge(self, offer: Offer, state: EngineState) -> tuple[list[bytes], EngineState, Cycle]:
        """Return the new contents of the files."""
        total, fresh, contents = Cycle(0), list[str](), list[bytes]()
        for host, part in _by_host(offer):
            old = self._group(host, part.hosts[:1])
            new, cycle = merge_group(old, part, state.cycle)
            state = _count(state, old, new)
            contents.append(pack_rows(*new))
            fresh += cycle.fresh
            total = add_counts(total, cycle)
        return contents, state, total._replace(fresh=fresh)

    def _apply(self) -> None:
        """Replace the hosts' files from the pending file, and remove that."""
        folder, stored = self._folder.path, self._folder.rest.get("pending")
        if stored and (folder / StoredFile(*stored).name).exists():
            data = read_file(folder, StoredFile(*stored))
            _sync([self._replace(body) for body in complete_records(BytesIO(data), len(data))])
        self._folder.sweep((), "pending*")
        self._folder.sweep([each.name for each in self._hosts.stored], "hosts*.list")

    def _replace(self, body: bytes) -> Path:
        path = self._path(host_text(unpack_rows(body, RECORD)[1][0]))
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new")
        new.write_bytes(record_of(body))
        return new.replace(path)

    def _path(self, host: str) -> Path:
        name = xxhash.xxh3_128_hexdigest(host.encode("utf-8", "surrogatepass"))
        return self._folder.path / "hosts" / name[:2] / name[2:4] / name

    def _group(self, host: str, hashes: U64) -> UrlGroup:
        if not self._hosts.holds(hashes).all():
            return NOTHING
        path = self._path(host)
        return UrlGroup(*unpack_rows(only_record(check_length(path, 1).read_bytes(), path), RECORD))

    def _group_of(self, url: str) -> UrlGroup:
        return self._group(host_text(url), keys_of([url], self._folder.state.seed).hosts) if is_url(url) else NOTHING

    def lookup(self, url: str) -> Known | None:
        return find_url(self._group_of(url), url)

    def urls_of(self, host: str) -> Iterator[Known]:
        return find_host(self._group_of(host + "/"), host)

    def counts(self) -> RepositoryCounts:
        return self._folder.state.counts(self._folder.path)

    def close(self) -> None:
        self._folder.close()


def _by_host(offer: Offer) -> Iterator[tuple[str, Offer]]:
    """Split an offer by host; sorted URLs have those of a host together."""
    first = 0
    for host, urls in groupby(offer.urls, host_text):
        end = first + sum(1 for _ in urls)
        yield host, offer.part(first, end)
        first = end


def _count(state: EngineState, old: UrlGroup, new: UrlGroup) -> EngineState:
    collected = np.count_nonzero(new.records["collected"]) - np.count_nonzero(old.records["collected"])
    return replace(
        state,
        known=state.known + len(new.urls) - len(old.urls),
        collected=state.collected + int(collected),
        hosts=state.hosts + (not old.urls),
    )


def _sync(paths: list[Path]) -> None:
    """Sync the files; many are synced faster by syncing everything."""
    if len(paths) > SYNCED_ONE_BY_ONE:
        os.sync()
        return
    for path in paths:
        with path.open("rb") as file:
            sync_file(file.fileno())
        sync_folder(path.parent)
