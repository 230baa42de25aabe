"""Lines in order, however many: what does not fit in memory is sorted in parts, which are merged."""

import contextlib
import heapq
import tempfile
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

PART_LINES = 200_000
_PARTS_MAX = 100  # files open at once


@contextlib.contextmanager
def sorted_lines(lines: Iterable[str], folder: Path, part_lines: int = PART_LINES) -> Iterator[Iterator[str]]:
    """The lines by their code points. Parts wait in a folder of their own below `folder`, which then vanishes."""
    with tempfile.TemporaryDirectory(prefix="sorting-", dir=folder) as place:
        parts: list[Path] = []
        source = iter(lines)
        while part := sorted(islice(source, part_lines)):
            parts.append(_write(part, Path(place) / f"{len(parts)}"))
            if len(parts) == _PARTS_MAX:
                merged = _write(_merged(parts), Path(place) / "merged")
                parts = [merged.rename(parts[0])]
        yield _merged(parts)


def _write(lines: Iterable[str], path: Path) -> Path:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)
    return path


def _merged(parts: list[Path]) -> Iterator[str]:
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(part.open(encoding="utf-8", newline="\n")) for part in parts]
        yield from heapq.merge(*(map(_line, file) for file in files))


def _line(text: str) -> str:
    """Without its end, which would count when lines are compared."""
    return text.removesuffix("\n")
