"""After a kill at any byte, the archive is valid to its end and continues."""

import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from archive_pages import assert_valid, kept, make_page, opened, quick_folder, warc_files
from tarrafa.errors import DamagedError, WorkError
from tarrafa.keep import BEGINNING, Place, read_pages
from tarrafa.keep.archive_reader import end_of_pages


def urls_in(folder: Path) -> list[str]:
    return [stored.page.url for stored in read_pages(folder)]


def test_cut_at_every_byte_of_the_last_page_leaves_the_pages_before_it(tmp_path: Path) -> None:
    made = [make_page(number) for number in range(3)]
    places, end = kept(tmp_path, *made)
    whole = warc_files(tmp_path)[0]
    for size_bytes in range(places[2].offset, end.offset):
        with quick_folder() as folder:
            (folder / whole.name).write_bytes(whole.read_bytes()[:size_bytes])
            archive = opened(folder)
            assert archive.end == places[2]
            archive.close()
            assert urls_in(folder) == [page.url for page in made[:2]]


@pytest.mark.parametrize("lost_bytes", [1, 300, 900])
def test_archive_goes_on_after_a_cut_as_if_nothing_had_happened(lost_bytes: int, tmp_path: Path) -> None:
    places, end = kept(tmp_path, make_page(0), make_page(1))
    with warc_files(tmp_path)[0].open("rb+") as file:
        file.truncate(end.offset - lost_bytes)
    archive = opened(tmp_path)
    assert archive.append(make_page(5)).place == places[1]
    archive.sync()
    archive.close()
    assert_valid(tmp_path, [make_page(0).url, make_page(5).url])


def test_file_cut_within_its_first_record_begins_again(tmp_path: Path) -> None:
    kept(tmp_path, make_page(0))
    with warc_files(tmp_path)[0].open("rb+") as file:
        file.truncate(20)
    archive = opened(tmp_path)
    assert archive.end == BEGINNING
    archive.append(make_page(1))
    archive.sync()
    archive.close()
    assert_valid(tmp_path, [make_page(1).url])


def test_whole_file_is_left_whole(tmp_path: Path) -> None:
    _, end = kept(tmp_path, make_page(0), make_page(1))
    assert end_of_pages(warc_files(tmp_path)[0]) == end.offset
    assert opened(tmp_path).end == end


def test_what_was_kept_after_the_saved_place_is_read_from_there(tmp_path: Path) -> None:
    archive = opened(tmp_path, file_limit_bytes=3_000)
    ends = [archive.end]
    for number in range(10):
        archive.append(make_page(number))
        archive.flush()
        ends.append(archive.end)
    archive.close()
    assert ends[-1].file > 2
    for count, end in enumerate(ends):
        archive = opened(tmp_path, end, file_limit_bytes=3_000)
        assert archive.end == ends[-1]
        archive.close()
        later = [stored.page.url for stored in read_pages(tmp_path, ends[-1], end)]
        assert later == [make_page(number).url for number in range(count, 10)]


@pytest.mark.parametrize("lost_bytes", [1, 200, 1_000, 4_000])
def test_cut_after_the_saved_place_leaves_the_whole_pages(lost_bytes: int, tmp_path: Path) -> None:
    archive = opened(tmp_path, file_limit_bytes=3_000)
    archive.append(make_page(0))
    saved = archive.sync()
    for number in range(1, 10):
        archive.append(make_page(number))
    end = archive.sync()
    archive.close()
    last = warc_files(tmp_path)[-1]
    with last.open("rb+") as file:
        file.truncate(max(0, last.stat().st_size - lost_bytes))
    archive = opened(tmp_path, saved, file_limit_bytes=3_000)
    assert saved < archive.end < end
    archive.append(make_page(20))
    archive.sync()
    archive.close()
    urls = urls_in(tmp_path)
    assert_valid(tmp_path, [*(make_page(number).url for number in range(len(urls) - 1)), make_page(20).url])


def test_pages_that_were_not_flushed_may_be_lost_and_no_others(tmp_path: Path) -> None:
    archive = opened(tmp_path)
    archive.append(make_page(0))
    archive.sync()
    archive.append(make_page(1))
    archive.close()
    assert_valid(tmp_path, [make_page(0).url])


def test_file_shorter_than_what_was_saved_is_damage(tmp_path: Path) -> None:
    _, end = kept(tmp_path, make_page(0))
    with pytest.raises(DamagedError, match="bytes instead of"):
        opened(tmp_path, Place(0, end.offset + 1))


def test_missing_file_is_damage_and_nothing_is_removed(tmp_path: Path) -> None:
    _, end = kept(tmp_path, *map(make_page, range(10)), file_limit_bytes=3_000)
    files = warc_files(tmp_path)
    files[1].unlink()
    with pytest.raises(DamagedError, match="file number 1"):
        opened(tmp_path, end)
    with pytest.raises(DamagedError, match="file number 1"):
        list(read_pages(tmp_path, end))
    assert len(warc_files(tmp_path)) == len(files) - 1


def test_two_files_of_one_number_are_damage(tmp_path: Path) -> None:
    kept(tmp_path, make_page(0))
    shutil.copy(warc_files(tmp_path)[0], tmp_path / "tarrafa-08-20200101000000000-00000.warc.gz")
    with pytest.raises(DamagedError, match="same number"):
        opened(tmp_path)


# A disk that is full.


@contextmanager
def room_for(size_bytes: int) -> Iterator[None]:
    """The system refuses to let any file grow further."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_full_disk_is_told_and_the_archive_goes_on_from_what_was_saved(tmp_path: Path) -> None:
    archive = opened(tmp_path)
    archive.append(make_page(0))
    saved = archive.sync()
    archive.append(make_page(1))
    with room_for(saved.offset + 100), pytest.raises(WorkError, match="too large; nothing was damaged"):
        archive.sync()
    with pytest.raises(WorkError, match="an earlier write failed"):
        archive.sync()
    archive.close()
    archive = opened(tmp_path, saved)
    archive.append(make_page(2))
    archive.sync()
    archive.close()
    assert_valid(tmp_path, [make_page(0).url, make_page(2).url])
