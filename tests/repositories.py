"""What the tests of repositories share: the obvious model, batches made by a seed, and folders in memory."""

import random
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from tarrafa.lab.engines import ENGINES, open_repository
from tarrafa.lab.engines.drum import DrumRepository
from tarrafa.lab.engines.lmdb_engines import MercatorA
from tarrafa.lab.engines.veuniq_text import VeuniqText
from tarrafa.verify import (
    Batch,
    Collected,
    Cycle,
    Extracted,
    Known,
    MemoryRepository,
    RepositoryBounds,
    UniquenessEngine,
    Veuniq,
    drain,
)
from tarrafa.verify.contract import LINKS_MAX, PRIORITY_MAX

Visit = tuple[str, float, int, int, int]  # URL, at_seconds, status, file, offset
Find = tuple[str, int, int]  # URL, priority, links

# The engines, and some once more with parts so small that every case occurs; what depends on a secret has a known one.
OPENERS: dict[str, Callable[[Path], UniquenessEngine]] = {
    **{name: lambda folder, name=name: open_repository(name, folder) for name in ENGINES},  # type: ignore[misc]
    "veuniq of small blocks": lambda folder: Veuniq(folder, bounds=RepositoryBounds(rows=6), seed=1),
    "veuniq-text of three blocks": lambda folder: VeuniqText(folder, blocks=3, seed=1),
    "drum of small arrays": lambda folder: DrumRepository(folder, array_rows=2, bucket_rows=6),
    "mercator-a of a small cache": lambda folder: MercatorA(folder, generation_pairs=4),
}
ON_DISK = list(OPENERS)
# The twin has no files: the same folder stands for the same object.
_twins = cache(lambda _folder, blocks: MemoryRepository(blocks=blocks, seed=1))
OPENERS["twin in memory"] = lambda folder: _twins(folder, 1)
OPENERS["twin in memory of three blocks"] = lambda folder: _twins(folder, 3)
IN_BLOCKS = [name for name in OPENERS if name.startswith("veuniq") or name.endswith("blocks")]


# A disk syncs a file in milliseconds, and here are thousands. A kill does not lose what the system has taken.
IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


@contextmanager
def new_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="repository", dir=IN_MEMORY) as folder:
        yield Path(folder) / "repository"


def batch_of(number: int, visits: Sequence[Visit], finds: Sequence[Find]) -> Batch:
    urls, at_seconds, status, file, offset = zip(*visits, strict=True) if visits else ((),) * 5
    collected = Collected(
        urls,
        np.array(at_seconds, np.float64),
        np.array(status, np.uint16),
        np.array(file, np.uint32),
        np.array(offset, np.uint64),
    )
    found, priority, links = zip(*finds, strict=True) if finds else ((),) * 3
    counts = np.array(links, np.uint16)
    priorities = np.array(priority, np.uint16)
    # Depths beyond 16 bits, and kinds that differ between the offers of a URL.
    depths, kinds = 70_000 + priorities.astype(np.uint32) * 3, (priorities % 3).astype(np.uint8)
    return Batch(number, collected, Extracted(found, priorities, counts, counts // 2, depths, kinds))


@dataclass
class Model:
    """The contract in the most obvious way: a dictionary, which takes a whole batch at once."""

    known: dict[str, Known] = field(default_factory=dict)
    admitted: dict[str, int] = field(default_factory=dict)  # by the number of the batch

    def cycle(self, batch: Batch) -> Cycle:
        known_before = set(self.known)
        collected_before = {url for url, known in self.known.items() if known.collected}
        visits, finds = visits_of(batch), finds_of(batch)
        for visit in sorted(visits, key=lambda visit: visit[1]):
            self._collect(batch.number, *visit)
        more = (batch.extracted.outside, batch.extracted.depth, batch.extracted.kind)
        for find, *rest in zip(finds, *(column.tolist() for column in more), strict=True):
            self._extract(batch.number, *find, *rest)
        now = {visit[0] for visit in visits}
        others = {find[0] for find in finds} - now
        return Cycle(
            block=0,
            collected_before=len(others & collected_before),
            known=len(others & known_before - collected_before),
            collected_now=len(now),
            fresh=sorted(others - known_before),
        )

    def _collect(self, number: int, url: str, at_seconds: float, status: int, file: int, offset: int) -> None:
        old = self.known.get(url, Known(url, False, PRIORITY_MAX, 0, 0))
        self.admitted.setdefault(url, number)
        found = (old.priority, old.links, old.outside, old.depth, old.kind)
        self.known[url] = Known(url, True, *found, at_seconds, status, file, offset)

    def _extract(self, number: int, url: str, priority: int, links: int, outside: int, depth: int, kind: int) -> None:
        old = self.known.get(url, Known(url, False, PRIORITY_MAX, 0, 0))
        self.admitted.setdefault(url, number)
        links, outside = min(old.links + links, LINKS_MAX), min(old.outside + outside, LINKS_MAX)
        priority, depth, kind = min(old.priority, priority), min(old.depth, depth), max(old.kind, kind)
        self.known[url] = old._replace(priority=priority, links=links, outside=outside, depth=depth, kind=kind)


def visits_of(batch: Batch) -> list[Visit]:
    each = batch.collected
    columns = (each.at_seconds.tolist(), each.status.tolist(), each.file.tolist(), each.offset.tolist())
    return list(zip(each.urls, *columns, strict=True))


def finds_of(batch: Batch) -> list[Find]:
    each = batch.extracted
    return list(zip(each.urls, each.priority.tolist(), each.links.tolist(), strict=True))


def host_of(url: str) -> str:
    return url[: url.index("/", len("http://x"))]


def contents(repository: UniquenessEngine, hosts: Iterable[str]) -> dict[str, Known]:
    """Return all that is known of some hosts, but for histories, which only a `Repository` has."""
    return {known.url: known._replace(history=None) for host in hosts for known in repository.urls_of(host)}


HOSTS = [f"http://host{number}.example" for number in range(8)]


def made_batch(seed: int, number: int, urls: int = 60) -> Batch:
    """Always the same for the same seed and number."""
    chance = random.Random(f"{seed}/{number}")
    chosen = [f"{chance.choice(HOSTS)}/{chance.randrange(50)}" for _ in range(urls)]
    visits = [(url, 1000.0 * number + place, 200, number, place) for place, url in enumerate(chosen[: urls // 6])]
    finds = [(url, chance.randrange(100), chance.randrange(1, 4)) for url in chosen[urls // 6 :]]
    return batch_of(number, visits, finds)


def drained(repository: UniquenessEngine, number: int) -> list[Cycle]:
    return list(drain(repository, number))
