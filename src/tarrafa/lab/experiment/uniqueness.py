"""Measure the cost of a cycle as the repository grows from empty: tables 3, 4.3, 4.4 and 4.5 of the papers.

Every engine gets the same batches, one engine after the other in each cycle. After a cycle a line is added to
`growth.csv` in the folder of the run. That file, the repositories beside it and the numbers of the batches are enough
to resume an interrupted run. A batch that was committed but not logged is offered again and changes nothing, which
takes no time; so the first cycle of an engine after an interruption is logged without times.

With --hurry, usual cycles run only up to each of the papers' sizes. Between them most extracted URLs are fresh, so that
the next size is reached in fewer cycles, logged without times. There DRUM and the others get several batches as one,
because a pass over all known URLs costs them most; what they know afterwards is the same.
"""

import csv
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tarrafa.errors import DamagedError, InputError
from tarrafa.lab.engines import open_repository
from tarrafa.lab.experiment.measurement import allocated_bytes, measure_cost, rss_bytes
from tarrafa.lab.experiment.url_stream import StreamShape, UrlStream
from tarrafa.verify import Batch, Collected, Extracted, UniquenessEngine
from tarrafa.verify.keys import texts_of

GROWTH = "growth.csv"
SETTINGS = "settings.json"
# Upper bound of the disk space for a URL with its text, including temporary files.
DISK_BYTES_PER_URL = {"veuniq": 55}
DISK_BYTES_PER_URL_OTHERS = 130
# Number of cycles up to a mark whose median stands for it: a single cycle may happen to merge or split.
WINDOW = 15
MILLION = 1_000_000
SIZES = (1, 10, 50, 100, 150, 200, 250, 300, 350)  # millions of URLs, in the papers and the benchmark
# For --hurry.
YOUNG_FRESH_SHARE = 0.9
JOINED_BATCHES = 5

Tell = Callable[[str], None]


class GrowthRow(NamedTuple):
    """A line of `growth.csv`."""

    engine: str
    cycle: int
    known: int
    cpu_seconds: float | None  # None for the first after an interruption
    wall_seconds: float | None
    disk_bytes: int
    rss_bytes: int


@dataclass(frozen=True, slots=True)
class GrowthSettings:
    """Settings that must stay the same when a run is resumed."""

    seed: int = 1
    collected_count: int = 100_000
    extracted_count: int = 900_000
    fresh_share: float = 0.17
    hurry_to: int = 0  # known URLs at the end of a run with --hurry

    def stream(self) -> UrlStream:
        hosts = max(10, self.extracted_count // 180)
        shape = StreamShape(self.collected_count, self.extracted_count, self.fresh_share, first_hosts_count=hosts)
        if self.hurry_to:
            shape = replace(shape, marks=self._marks(), usual_count=WINDOW, young_fresh_share=YOUNG_FRESH_SHARE)
        return UrlStream(self.seed, shape)

    def _marks(self) -> tuple[int, ...]:
        """Return where the usual cycles begin, so that they end at the sizes."""
        sizes = [size * MILLION for size in SIZES if size * MILLION < self.hurry_to]
        usual = round(WINDOW * self.extracted_count * self.fresh_share)
        return tuple(max(0, size - usual) for size in [*sizes, self.hurry_to])


def grow(names: list[str], known: int, folder: Path, settings: GrowthSettings, tell: Tell) -> list[GrowthRow]:
    """Run cycles until so many URLs were offered; return all rows, including those of earlier runs in the folder."""
    _check_disk(folder, names, known)
    _keep_settings(folder, settings)
    rows = read(folder / GROWTH)
    stream = settings.stream()
    with _repositories(names, folder, settings.seed) as repositories:
        growers = [_EngineRun(name, each, folder, rows) for name, each in repositories.items()]
        while stream.expected_known < known or not stream.has_passed_marks:
            if all(grower.last >= stream.next_number for grower in growers):
                stream.skip()
                continue
            is_usual = stream.is_usual
            batch = stream.batch(stream.next_number)
            now = [row for grower in growers if (row := grower.offer(batch, is_usual))]
            rows += now
            tell(_progress(batch.number, now, stream.expected_known, known))
    return rows


class _EngineRun:
    """One engine in a run."""

    def __init__(self, name: str, repository: UniquenessEngine, folder: Path, rows: list[GrowthRow]) -> None:
        self.last = max((row.cycle for row in rows if row.engine == name), default=-1)
        self._name, self._repository, self._folder = name, repository, folder
        self._is_interrupted = self.last >= 0
        # Batches of a young crawl. Filled by offer, emptied when there are enough or the usual cycles begin.
        self._held: list[Batch] = []

    def offer(self, batch: Batch, is_usual: bool) -> GrowthRow | None:
        if batch.number <= self.last:
            return None
        if is_usual:
            self._give_held()
            return self._measure(batch)
        self._held.append(batch)
        if self._name == "veuniq" or len(self._held) == JOINED_BATCHES:
            return self._give_held()
        return None

    def _give_held(self) -> GrowthRow | None:
        if not self._held:
            return None
        batch, self._held = join_batches(self._held), []
        self._repository.cycle(batch)
        self._is_interrupted = False
        return self._log(batch.number, None, None)

    def _measure(self, batch: Batch) -> GrowthRow:
        cost = measure_cost(lambda: self._repository.cycle(batch))
        if self._is_interrupted:
            self._is_interrupted = False
            return self._log(batch.number, None, None)
        return self._log(batch.number, round(cost.cpu_seconds, 4), round(cost.wall_seconds, 4))

    def _log(self, cycle: int, cpu_seconds: float | None, wall_seconds: float | None) -> GrowthRow:
        known, disk = self._repository.counts().known, allocated_bytes(self._folder / self._name)
        row = GrowthRow(self._name, cycle, known, cpu_seconds, wall_seconds, disk, rss_bytes())
        _append(self._folder / GROWTH, row)
        self.last = cycle
        return row


def join_batches(batches: list[Batch]) -> Batch:
    """Join several batches to one, with the number of the last."""
    collected = [batch.collected for batch in batches]
    extracted = [batch.extracted for batch in batches]
    return Batch(batches[-1].number, Collected(**_joined_columns(collected)), Extracted(**_joined_columns(extracted)))


def _joined_columns(parts: Sequence[Collected] | Sequence[Extracted]) -> dict[str, Any]:
    names = [name for name in parts[0]._fields if name != "urls"]
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return {"urls": pa.concat_arrays([texts_of(part.urls) for part in parts]), **columns}


def _progress(cycle: int, rows: list[GrowthRow], offered: int, known: int) -> str:
    times = ", ".join(f"{row.engine} {row.cpu_seconds:.2f} s" for row in rows if row.cpu_seconds is not None)
    return f"cycle {cycle}: {offered:,} of {known:,} URLs; CPU {times or 'not measured here'}"


@contextmanager
def _repositories(names: list[str], folder: Path, seed: int) -> Iterator[dict[str, UniquenessEngine]]:
    opened: dict[str, UniquenessEngine] = {}
    try:
        for name in names:
            opened[name] = open_repository(name, folder / name, veuniq_seed=seed)
        yield opened
    finally:
        for repository in opened.values():
            repository.close()


def _check_disk(folder: Path, names: list[str], known: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    per_url = sum(DISK_BYTES_PER_URL.get(name, DISK_BYTES_PER_URL_OTHERS) for name in names)
    needed = known * per_url - allocated_bytes(folder)
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise InputError(f"this may take {needed / 1e9:.0f} GB more in {folder}, where {free / 1e9:.0f} GB are free")


def _keep_settings(folder: Path, settings: GrowthSettings) -> None:
    path = folder / SETTINGS
    if not path.exists():
        path.write_text(json.dumps(asdict(settings)) + "\n")
    elif json.loads(path.read_text()) != asdict(settings):
        raise InputError(f"{folder} holds a run with other settings ({path.read_text().strip()}); use another folder")


def _append(path: Path, row: GrowthRow) -> None:
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file)
        if is_new:
            writer.writerow(GrowthRow._fields)
        writer.writerow(row)


def read(path: Path) -> list[GrowthRow]:
    """Read the rows of a run. A line that a kill left incomplete is cut off, and its cycle is offered again."""
    if not path.exists():
        return []
    text = path.read_text()
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole)
    return [_row(path, line) for line in list(csv.reader(whole.splitlines()))[1:]]


def _row(path: Path, line: list[str]) -> GrowthRow:
    try:
        engine, cycle, known, cpu, wall, disk, rss = line
        times = (float(cpu) if cpu else None, float(wall) if wall else None)
        return GrowthRow(engine, int(cycle), int(known), *times, int(disk), int(rss))
    except ValueError as error:
        raise DamagedError(f"{path} has an invalid line: {','.join(line)}") from error


class GrowthCurve(NamedTuple):
    """Seconds of a cycle, by the number of known URLs."""

    known: tuple[float, ...]
    seconds: tuple[float, ...]

    def at(self, known: float) -> float:
        return float(np.interp(known, self.known, self.seconds))


def curve(rows: Iterable[GrowthRow], engine: str, *, wall: bool = True) -> GrowthCurve:
    """Return the medians over windows of cycles of an engine."""
    mine = [(row.known, row.wall_seconds if wall else row.cpu_seconds) for row in rows if row.engine == engine]
    points = [(known, seconds) for known, seconds in mine if seconds is not None]
    medians = [
        float(np.median([seconds for _, seconds in points[max(0, i - WINDOW + 1) : i + 1]])) for i in range(len(points))
    ]
    return GrowthCurve(tuple(float(known) for known, _ in points), tuple(medians))
