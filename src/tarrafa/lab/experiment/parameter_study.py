"""Measure how block size, batch size and run ratio affect the cost of VEUNIQ, varying one at a time.

Each point is its own repository that grows from empty to the same size, fast as in a young crawl; then steady cycles
are measured. The stream gets the block size too, because a crawler follows the blocks of its repository. Costs are for
a million URLs, so that batches of different sizes can be compared.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tarrafa.lab.experiment.measurement import WorkCost, allocated_bytes, measure_cost
from tarrafa.lab.experiment.uniqueness import MILLION
from tarrafa.lab.experiment.url_stream import StreamShape, UrlStream
from tarrafa.verify import Quota, RepositoryBounds, Veuniq

SEED = 1
CYCLES = 6

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ParameterPoint:
    """One value for each parameter."""

    block_rows: int
    batch_urls: int
    run_ratio: int
    scheduled: int  # URLs of a host


class ParameterEffect(NamedTuple):
    varied: str
    point: ParameterPoint
    blocks: int
    cpu_seconds: float  # for a million URLs
    wall_seconds: float
    moved_bytes: int  # read and written
    bytes_per_url: float


def points(known: int) -> list[tuple[str, ParameterPoint]]:
    """Return a middle point, in proportion to the size of the repository, and variations of it."""
    usual = RepositoryBounds()
    middle = ParameterPoint(known // 4, known // 20, usual.run_ratio, usual.quota.scheduled)
    blocks = [known // part for part in (2, 4, 8, 16)]
    batches = [known // part for part in (5, 10, 20, 40)]
    return [
        *(("block_rows", replace(middle, block_rows=rows)) for rows in blocks),
        *(("batch_urls", replace(middle, batch_urls=urls)) for urls in batches),
        *(("run_ratio", replace(middle, run_ratio=ratio)) for ratio in (1, 2, 4, 8)),
        *(("scheduled", replace(middle, scheduled=count)) for count in (10, 100, 1_000, 10_000)),
    ]


def study(known: int, tell: Tell, folder: Path | None = None) -> list[ParameterEffect]:
    found: dict[ParameterPoint, ParameterEffect] = {}
    effects = []
    for varied, point in points(known):
        if point not in found:
            with tempfile.TemporaryDirectory(prefix="tarrafa-parameters-", dir=folder) as place:
                found[point] = _effect(point, known, Path(place))
        effect = found[point]._replace(varied=varied)
        tell(f"{varied} {getattr(point, varied):,}: {effect.cpu_seconds:.2f} CPU-seconds for a million URLs")
        effects.append(effect)
    return effects


def _effect(point: ParameterPoint, known: int, folder: Path) -> ParameterEffect:
    bounds = RepositoryBounds(rows=point.block_rows, run_ratio=point.run_ratio, quota=Quota(point.scheduled))
    with Veuniq(folder, bounds=bounds, seed=SEED) as repository:
        costs = _grown(repository, _stream(point, known), known)
        counts = repository.counts()
    scale = MILLION / point.batch_urls
    return ParameterEffect(
        "",
        point,
        counts.blocks,
        float(np.median([cost.cpu_seconds for cost in costs])) * scale,
        float(np.median([cost.wall_seconds for cost in costs])) * scale,
        int(np.mean([cost.read_bytes + cost.written_bytes for cost in costs]) * scale),
        allocated_bytes(folder) / max(1, counts.known),
    )


def _stream(point: ParameterPoint, known: int) -> UrlStream:
    collected = point.batch_urls // 10
    extracted = point.batch_urls - collected
    hosts = max(10, extracted // 180)
    shape = StreamShape(collected, extracted, marks=(known,), region_rows=point.block_rows, first_hosts_count=hosts)
    return UrlStream(SEED, shape)


def _grown(repository: Veuniq, stream: UrlStream, known: int) -> list[WorkCost]:
    """Grow the repository, and return the costs of the cycles after that."""
    while stream.expected_known < known:
        repository.cycle(stream.batch(stream.next_number))
    return [measure_cost(partial(repository.cycle, stream.batch(stream.next_number))) for _ in range(CYCLES)]
