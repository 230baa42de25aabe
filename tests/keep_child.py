"""A process that forks children which store pages in a folder and are killed: see `mortal`."""

import json
from pathlib import Path

from archive_pages import make_page, opened, quick_folder
from mortal import fork_children
from tarrafa.keep import (
    DOCUMENTS,
    LINKS,
    DocumentRow,
    DocumentWriter,
    LinkWriter,
    Place,
    join_segments,
    read_whole_pages,
)
from tarrafa.records import Page

PAGES_A_LIFE = 12
PAGES_A_CHECKPOINT = 3
FILE_LIMIT_BYTES = 20_000
COPIED = b"<title>A copy</title><p>" + b"the same words everywhere " * 80


def page_of(number: int) -> Page:
    """Every third is a copy, which is kept in full once in a life."""
    return make_page(number, COPIED if number % 3 == 0 else None)


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
    documents = DocumentWriter(folder / "documents", checkpoint, rows_limit=2)
    links = LinkWriter(folder / "links", checkpoint)
    kept = [(stored.page, stored.place) for stored in read_whole_pages(folder / "archive", archive.end, end)]
    for count in range(first + 1, first + PAGES_A_LIFE + 1):
        # What was kept after the checkpoint is there, and only its rows are missing.
        page, place = kept.pop(0) if kept else (page_of(count - 1), archive.end)
        assert page.body == page_of(count - 1).body
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


if __name__ == "__main__":
    # What is loaded when it is first needed would take most of the calls of a short life.
    with quick_folder() as folder_to_forget:
        work(folder_to_forget)
    fork_children(work)
