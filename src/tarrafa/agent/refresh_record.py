"""The round of refreshing that is under way: a file in the folder of the crawl, so that it goes on after a kill."""

import contextlib
import json
import os
from pathlib import Path
from typing import NamedTuple

from tarrafa.agent.refresher import RefreshMode
from tarrafa.disk import map_disk_errors, replace_file
from tarrafa.histories import DAY_SECONDS

# A round over what is worth most is begun anew if it rested for so long, because worth has changed.
_ROUND_SECONDS = DAY_SECONDS


class RoundRecord(NamedTuple):
    mode: str = ""
    began_at: float = 0.0  # by the wall clock
    refreshes: int = 0  # pages that had been visited again when it began


def continue_round(path: Path, mode: RefreshMode, now: float, refreshes: int) -> RoundRecord:
    """Return the round that is under way, or begin one. It is durable on return."""
    found = read_round(path)
    is_old = mode is RefreshMode.ROUND and now > _touched_at(path) + _ROUND_SECONDS
    if found.mode == mode and not is_old and found.refreshes <= refreshes:
        return found
    record = RoundRecord(mode, now, refreshes)
    with map_disk_errors(path):
        replace_file(path, json.dumps(record._asdict()).encode())
    return record


def touch_round(path: Path) -> None:
    """Note that a round is under way now."""
    with map_disk_errors(path), contextlib.suppress(FileNotFoundError):
        os.utime(path)


def _touched_at(path: Path) -> float:
    with map_disk_errors(path):
        return path.stat().st_mtime if path.exists() else 0.0


def end_round(path: Path) -> None:
    """Let the next command begin a round of its own."""
    with map_disk_errors(path):
        path.unlink(missing_ok=True)


def read_round(path: Path) -> RoundRecord:
    """Return the round that is under way; an empty record if there is none."""
    with map_disk_errors(path):
        text = path.read_text(errors="replace") if path.exists() else ""
    with contextlib.suppress(ValueError, TypeError, KeyError):
        told = json.loads(text)
        return RoundRecord(str(told["mode"]), float(told["began_at"]), int(told["refreshes"]))
    return RoundRecord()
