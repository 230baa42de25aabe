"""After a kill at any moment, committed pages and rows are there once, and no others."""

import random
import subprocess
import sys
from pathlib import Path

from archive_pages import assert_valid, opened, quick_folder
from keep_child import FILE_LIMIT_BYTES, PAGES_A_LIFE, committed, page_of
from tarrafa.keep import (
    DOCUMENTS,
    LINKS,
    DocumentWriter,
    LinkWriter,
    Place,
    read_batches,
    read_page,
    read_pages,
    read_whole_pages,
)

KILLS = 25
CALLS = 14_000  # a life has some more


def check(folder: Path) -> None:
    """Opened as after any start, the folder holds the pages that were counted, and maybe some more in the archive."""
    checkpoint, count, end = committed(folder)
    opened(folder / "archive", end, FILE_LIMIT_BYTES).close()
    DocumentWriter(folder / "documents", checkpoint)
    LinkWriter(folder / "links", checkpoint)
    later_count = sum(1 for _ in read_pages(folder / "archive", start=end))
    assert_valid(folder / "archive", [page_of(number).url for number in range(count + later_count)])
    urls = [page_of(number).url for number in range(count)]
    rows = [row for batch in read_batches(folder / "documents", DOCUMENTS, checkpoint) for row in batch.to_pylist()]
    assert [row["url"] for row in rows] == urls
    assert [
        source for batch in read_batches(folder / "links", LINKS, checkpoint) for source in batch["source"].to_pylist()
    ] == urls
    for number, row in list(enumerate(rows))[-5:]:
        place = Place(row["archive_file"], row["archive_offset"])
        assert read_page(folder / "archive", place).page == page_of(number)


def test_kill_at_random_moments() -> None:
    chance = random.Random(7)
    command = [sys.executable, "-W", "ignore", str(Path(__file__).with_name("keep_child.py"))]
    killer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with quick_folder() as folder, killer:
        assert killer.stdin
        assert killer.stdout
        for kill in range(KILLS + 1):
            number = chance.randrange(1, CALLS) if kill < KILLS else 0
            killer.stdin.write(f"{folder}\t{number}\n")
            killer.stdin.flush()
            assert killer.stdout.readline() == ("killed\n" if number else "ended\n")
            if kill % 5 == 0:
                check(folder)
        count = committed(folder)[1]
        assert count > 2 * PAGES_A_LIFE
        assert [stored.page for stored in read_whole_pages(folder / "archive")][:count] == [*map(page_of, range(count))]
        originals = {stored.original for stored in read_pages(folder / "archive") if stored.original}
        assert len(originals) > 1, "copies are kept in full once in each life"
