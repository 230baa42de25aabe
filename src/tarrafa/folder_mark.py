"""The mark of a folder that Tarrafa writes: a file that names the kind of the folder and the format of its files.

Only a folder that is missing, empty or marked is written to, so that no command overwrites files of its user.
"""

import json
import os
from pathlib import Path

from tarrafa.disk import UNFINISHED, make_folder, map_disk_errors, rename_file
from tarrafa.errors import InputError
from tarrafa.texts import quoted

MARK_FILE = "tarrafa-folder.json"


def claim_folder(folder: Path, kind: str, number: int) -> None:
    """Mark a folder that is missing or empty as one of this kind and format; refuse any other that has no such mark."""
    with map_disk_errors(folder):
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{quoted(str(folder))} is not a folder; give another")
        if check_mark(folder, kind, number):
            return
        if not is_vacant(folder):
            raise InputError(
                f"{quoted(str(folder))} holds other files and is left as it is; give a folder that is missing or empty"
            )
        make_folder(folder)
        _write_mark(folder, kind, number)


def check_mark(folder: Path, kind: str, number: int) -> bool:
    """Return True if the folder has the mark, False if it has none; refuse the mark of another kind or format."""
    path = folder / MARK_FILE
    with map_disk_errors(path):
        if not path.is_file():
            return False
        try:
            found = json.loads(path.read_bytes())
            mark = str(found["kind"]), int(found["format"])
        except (ValueError, TypeError, KeyError):
            raise InputError(f"{quoted(str(path))} cannot be read; restore it from a copy") from None
    if mark[0] != kind:
        raise InputError(f"{quoted(str(folder))} holds a {mark[0]}, not a {kind}; give another folder")
    if mark[1] != number:
        raise InputError(
            f"{quoted(str(folder))} has format {mark[1]}, and this version of Tarrafa uses format {number}; "
            "use the version that wrote it"
        )
    return True


def is_vacant(folder: Path) -> bool:
    """Return True if nothing is in the folder, apart from a mark that was not finished."""
    return not folder.is_dir() or all(path.name.startswith(MARK_FILE) for path in folder.iterdir())


def _write_mark(folder: Path, kind: str, number: int) -> None:
    # Two processes may begin at the same time: each writes a file of its own, and both say the same.
    unfinished = folder / f"{MARK_FILE}.{os.getpid()}{UNFINISHED}"
    with unfinished.open("wb") as file:
        file.write(json.dumps({"kind": kind, "format": number}).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    rename_file(unfinished, folder / MARK_FILE)
