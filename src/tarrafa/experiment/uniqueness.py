"""What a cycle costs as the repository grows from empty: tables 3, 4.3, 4.4 and 4.5 of the papers, measured again.

Every engine gets the same batches, one engine after the other in each cycle. After a cycle a line is added to
`growth.csv` in the folder of the run; that file, the repositories beside it and the numbers of batches are all there is
to go on from after an interruption. A batch that was committed but not written down is offered again and changes
nothing, which takes no time; so the first cycle of an engine after an interruption has a line without times.
"""

import csv
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tarrafa.errors import DamagedError, InputError
from tarrafa.experiment import engines
from tarrafa.experiment.measure import disk_bytes, measured, rss_bytes
from tarrafa.experiment.stream import Shape, Stream
from tarrafa.verify import Batch, Repository

GROWTH = "growth.csv"
SETTINGS = "settings.json"
# More than VEUNIQ and DRUM take for a URL with its text.
DISK_BYTES_PER_URL = 120
# Cycles before and at a mark whose median stands for it: a single cycle may be the one that merges or splits.
WINDOW = 15

Tell = Callable[[str], None]


class Row(NamedTuple):
    """A line of `growth.csv`."""

    engine: str
    cycle: int
    known: int
    cpu_seconds: float | None  # none for the first after an interruption
    wall_seconds: float | None
    disk_bytes: int
    rss_bytes: int


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run must not change when it goes on."""

    seed: int = 1
    collected_count: int = 100_000
    extracted_count: int = 900_000
    fresh_share: float = 0.17

    def stream(self) -> Stream:
        hosts = max(10, self.extracted_count // 180)
        return Stream(
            self.seed, Shape(self.collected_count, self.extracted_count, self.fresh_share, first_hosts_count=hosts)
        )


def grow(names: list[str], known: int, folder: Path, settings: Settings, tell: Tell) -> list[Row]:
    """Cycles until so many URLs were offered; all lines, also those of earlier runs in the folder."""
    _check_disk(folder, len(names), known)
    _keep_settings(folder, settings)
    rows = read(folder / GROWTH)
    last = {name: max((row.cycle for row in rows if row.engine == name), default=-1) for name in names}
    interrupted = {name for name in names if (folder / name).exists()}
    stream = settings.stream()
    with _repositories(names, folder, settings.seed) as repositories:
        while stream.expected_known < known:
            behind = [name for name in names if last[name] < stream.next_number]
            if not behind:
                stream.skip()
                continue
            batch = stream.batch(stream.next_number)
            now = [_measured_cycle(name, repositories[name], batch, folder, name in interrupted) for name in behind]
            interrupted.difference_update(behind)
            rows += now
            tell(_progress(now, stream.expected_known, known))
    return rows


def _measured_cycle(name: str, repository: Repository, batch: Batch, folder: Path, is_untimed: bool) -> Row:
    cost = measured(lambda: repository.cycle(batch))
    cpu, wall = (None, None) if is_untimed else (round(cost.cpu_seconds, 4), round(cost.wall_seconds, 4))
    row = Row(name, batch.number, repository.counts().known, cpu, wall, disk_bytes(folder / name), rss_bytes())
    _append(folder / GROWTH, row)
    return row


def _progress(rows: list[Row], offered: int, known: int) -> str:
    times = ", ".join(f"{row.engine} {row.cpu_seconds:.2f} s" for row in rows if row.cpu_seconds is not None)
    return (
        f"cycle {rows[0].cycle}: {offered:,} of {known:,} URLs; CPU {times or 'not measured, as the run goes on here'}"
    )


@contextmanager
def _repositories(names: list[str], folder: Path, seed: int) -> Iterator[dict[str, Repository]]:
    opened: dict[str, Repository] = {}
    try:
        for name in names:
            opened[name] = engines.opened(name, folder / name, seed)
        yield opened
    finally:
        for repository in opened.values():
            repository.close()


def _check_disk(folder: Path, engines_count: int, known: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    needed = known * DISK_BYTES_PER_URL * engines_count - disk_bytes(folder)
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise InputError(f"this may take {needed / 1e9:.0f} GB more in {folder}, where {free / 1e9:.0f} GB are free")


def _keep_settings(folder: Path, settings: Settings) -> None:
    path = folder / SETTINGS
    if not path.exists():
        path.write_text(json.dumps(asdict(settings)) + "\n")
    elif json.loads(path.read_text()) != asdict(settings):
        raise InputError(f"{folder} holds a run with other settings ({path.read_text().strip()}); use another folder")


def _append(path: Path, row: Row) -> None:
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file)
        if is_new:
            writer.writerow(Row._fields)
        writer.writerow(row)


def read(path: Path) -> list[Row]:
    """The lines of a run; what a kill left of the last line is cut off, as its cycle will be offered again."""
    if not path.exists():
        return []
    text = path.read_text()
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole)
    return [_row(path, line) for line in list(csv.reader(whole.splitlines()))[1:]]


def _row(path: Path, line: list[str]) -> Row:
    try:
        engine, cycle, known, cpu, wall, disk, rss = line
        times = (float(cpu) if cpu else None, float(wall) if wall else None)
        return Row(engine, int(cycle), int(known), *times, int(disk), int(rss))
    except ValueError as error:
        raise DamagedError(f"{path} has a line that is none of ours: {','.join(line)}") from error


class Curve(NamedTuple):
    """Seconds of a cycle by the number of URLs that are known."""

    known: tuple[float, ...]
    seconds: tuple[float, ...]

    def at(self, known: float) -> float:
        return float(np.interp(known, self.known, self.seconds))


def curve(rows: Iterable[Row], engine: str, *, wall: bool = True) -> Curve:
    """The medians of windows of cycles of an engine."""
    mine = [(row.known, row.wall_seconds if wall else row.cpu_seconds) for row in rows if row.engine == engine]
    points = [(known, seconds) for known, seconds in mine if seconds is not None]
    medians = [
        float(np.median([seconds for _, seconds in points[max(0, i - WINDOW + 1) : i + 1]])) for i in range(len(points))
    ]
    return Curve(tuple(float(known) for known, _ in points), tuple(medians))
