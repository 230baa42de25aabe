"""A process that forks children which keep pages in a folder and die.

Each line of standard input is `folder number`: the child dies at the n-th call or return of any function, or lives to
the end of its work if the number is 0. The answer is a line, `killed` or `ended`.
"""

import json
import os
import signal
import sys
from pathlib import Path

from keep_pages import make_page, opened, quick_folder
from tarrafa.keep import DOCUMENTS, LINKS, DocumentRow, Documents, Links, Place, join_segments, pages

PAGES_A_LIFE = 12
PAGES_A_CHECKPOINT = 3
FILE_LIMIT_BYTES = 20_000


def committed(folder: Path) -> tuple[int, int, Place]:
    """Checkpoint, number of pages, end of the archive."""
    path = folder / "committed.json"
    checkpoint, count, *place = json.loads(path.read_text()) if path.exists() else (0, 0, 0, 0)
    return checkpoint, count, Place(*place)


def commit(folder: Path, checkpoint: int, count: int, end: Place) -> None:
    unfinished = folder / "committed.unfinished"
    unfinished.write_text(json.dumps([checkpoint, count, *end]))
    unfinished.replace(folder / "committed.json")


def work(folder: Path) -> None:
    checkpoint, first, end = committed(folder)
    archive = opened(folder / "archive", end, FILE_LIMIT_BYTES)
    documents, links = Documents(folder / "documents", checkpoint, rows_limit=2), Links(folder / "links", checkpoint)
    kept = [(stored.page, stored.place) for stored in pages(folder / "archive", archive.end, end)]
    for count in range(first + 1, first + PAGES_A_LIFE + 1):
        # What was kept after the checkpoint is there, and only its rows are missing.
        page, place = kept.pop(0) if kept else (make_page(count - 1), archive.end)
        if place == archive.end:
            place = archive.append(page).place
            archive.flush()
        row = DocumentRow(page.url, page.at, "fetched", 200, archive_file=place.file, archive_offset=place.offset)
        documents.add(row)
        links.add(page.url, page.at, [(page.url, "", "", "a", 0)])
        if count % PAGES_A_CHECKPOINT == 0:
            checkpoint += 1
            documents.sync(checkpoint)
            links.sync(checkpoint)
            commit(folder, checkpoint, count, archive.sync())
            join_segments(folder / "documents", DOCUMENTS, checkpoint)
            join_segments(folder / "links", LINKS, checkpoint)


def live(folder: Path, number: int) -> None:
    left = [number]

    def reached(*_: object) -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    if number:
        sys.setprofile(reached)
    work(folder)


def main() -> None:
    # What is loaded when it is first needed would take most of the calls of a short life.
    with quick_folder() as folder_to_forget:
        work(folder_to_forget)
    for line in sys.stdin:
        folder, number = line.rstrip("\n").split("\t")
        child = os.fork()
        if child == 0:
            live(Path(folder), int(number))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        sys.stdout.write("killed\n" if os.WIFSIGNALED(status) else "ended\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
