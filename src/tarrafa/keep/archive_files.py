"""The files of an archive: their names, and positions in them.

A file is named after agent, time and number: `tarrafa-00-20261116012800123-00007.warc.gz`. Files of different agents
or crawls can therefore be collected in one folder. Within one archive the number identifies the file.
"""

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from tarrafa.disk import replace_file
from tarrafa.errors import DamagedError

_REMOVED = "removed.json"
_NAME = re.compile(r".*-([0-9]{5,10})\.warc\.gz", re.DOTALL)


class Place(NamedTuple):
    """The position of a record in an archive, or the position after the last one."""

    file: int  # fits 32 bits
    offset: int  # fits 64 bits


BEGINNING = Place(0, 0)


def file_name(agent: str, at: float, number: int) -> str:
    moment = datetime.fromtimestamp(at, UTC)
    return f"tarrafa-{agent}-{moment:%Y%m%d%H%M%S}{moment.microsecond // 1000:03d}-{number:05d}.warc.gz"


def archive_files(folder: Path) -> dict[int, Path]:
    """Return the files of an archive by number, in order."""
    matches = ((_NAME.fullmatch(path.name), path) for path in folder.iterdir()) if folder.is_dir() else ()
    files: dict[int, Path] = {}
    for match, path in matches:
        if match is not None:
            number = int(match[1])
            if number in files:
                raise DamagedError(f"{path} has the same number as {files[number].name}; keep one of the two")
            files[number] = path
    return dict(sorted(files.items()))


def removed_files(folder: Path) -> frozenset[int]:
    """Return the numbers of the files that were removed, because all that they held was replaced."""
    path = folder / _REMOVED
    if not path.exists():
        return frozenset()
    try:
        return frozenset(map(int, json.loads(path.read_bytes())["files"]))
    except (ValueError, TypeError, KeyError) as error:
        raise DamagedError(f"{path} cannot be read ({error}); restore it from a copy") from error


def remove_archive_files(folder: Path, numbers: Iterable[int]) -> None:
    """Remove files. That they are missing is noted first, and then they go; also those that a kill has left."""
    removed = removed_files(folder).union(numbers)
    if removed:
        replace_file(folder / _REMOVED, json.dumps({"files": sorted(removed)}).encode())
    for number, path in archive_files(folder).items():
        if number in removed:
            path.unlink()


def check_end(folder: Path, files: dict[int, Path], end: Place) -> None:
    """Raise `DamagedError` if anything before `end` is missing."""
    missing = [number for number in range(end.file + (end.offset > 0)) if number not in files]
    missing = [number for number in missing if number not in removed_files(folder)] if missing else []
    if missing:
        raise DamagedError(f"{folder} lacks its file number {missing[0]}; restore it from a copy")
    found_bytes = files[end.file].stat().st_size if end.offset else 0
    if found_bytes < end.offset:
        path = files[end.file]
        raise DamagedError(f"{path} has {found_bytes:,} bytes instead of {end.offset:,}; restore it from a copy")
