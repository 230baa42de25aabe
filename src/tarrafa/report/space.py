"""How much of the disk does each part take?"""

import contextlib
import os
from pathlib import Path
from typing import Any, NamedTuple

from tarrafa.layout import part_of

# What stands directly in the folder of the crawl or of an agent, and not in a folder of its own.
_LOOSE = "other files"


class Space(NamedTuple):
    part: str
    files: int
    bytes: int

    def told(self) -> dict[str, Any]:
        return self._asdict()


def space_of(root: Path) -> list[Space]:
    """By the name of the folder: those of all agents together, and what was made of them; the largest first.

    Files may come and go while one looks: those that are gone count as nothing.
    """
    found: dict[str, list[int]] = {}
    for path, size_bytes in _sizes(root):
        counts = found.setdefault(part_of(path, root) or _LOOSE, [0, 0])
        counts[0] += 1
        counts[1] += size_bytes
    return sorted((Space(part, *counts) for part, counts in found.items()), key=lambda each: (-each.bytes, each.part))


def _sizes(root: Path) -> list[tuple[Path, int]]:
    found: list[tuple[Path, int]] = []
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder, name)
            with contextlib.suppress(OSError):
                found.append((path, path.stat().st_size))
    return found
