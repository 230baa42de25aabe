"""A page is read back as it was written, or reported as damaged."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archive_pages import ASKED, NOW, kept, make_page, opened, quick_folder, warc_files
from tarrafa.errors import DamagedError
from tarrafa.keep import HeadReader, Original, Place, read_page, read_pages, read_whole_pages
from tarrafa.keep.archive_reader import response_in
from tarrafa.records import Page, Timings

NAMES = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters=":"), min_size=1, max_size=20)
NAMES |= st.sampled_from(["Transfer-Encoding", "TRANSFER-ENCODING", "X-Crawler-Transfer-Encoding", "Content-Encoding"])
VALUES = st.text(st.characters(max_codepoint=255, exclude_characters="\r\n\0"), max_size=40).map(str.strip)
WORDS = st.text(st.characters(min_codepoint=33, max_codepoint=255), max_size=20)
SECONDS = st.integers(0, 10**9).map(lambda microseconds: microseconds / 1e6)
PAGES = st.builds(
    Page,
    url=st.sampled_from(["http://a.test/", "https://b.test:8443/p?q=%7C", "http://[2001:db8::1]/"]),
    status=st.integers(100, 999),
    headers=st.lists(st.tuples(NAMES, VALUES), max_size=8).map(tuple),
    body=st.binary(max_size=300) | st.binary(min_size=1, max_size=9).map(lambda some: some * 30_000),
    at=st.integers(0, 4 * 10**15).map(lambda microseconds: microseconds / 1e6),
    timings=st.builds(Timings, SECONDS, SECONDS, SECONDS, SECONDS, SECONDS),
    truncated=st.booleans(),
    unread=st.just(False),  # then nothing is truncated
    address=st.sampled_from(["", "192.0.2.1", "2001:db8::1"]),
    http_version=st.sampled_from(["1.0", "1.1"]),
    reason=WORDS,
    tls=WORDS,
)


@given(PAGES)
def test_page_comes_back_as_it_was(page: Page) -> None:
    with quick_folder() as folder:
        (place,), _ = kept(folder, page)
        assert read_page(folder, place).page == page


@given(PAGES)
def test_beginning_of_a_response_tells_its_head(page: Page) -> None:
    with quick_folder() as folder:
        (place,), _ = kept(folder, page)
        whole = read_page(folder, place)
        found = response_in(warc_files(folder)[0].read_bytes()[place.offset :][:4_096], place)
        assert found is not None
        assert (found.place, found.digest, found.original) == (place, whole.digest, None)
        for name in ("url", "status", "headers", "at", "truncated"):
            assert getattr(found.page, name) == getattr(page, name)


def test_beginning_of_a_revisit_or_of_a_large_head_tells_nothing(tmp_path: Path) -> None:
    page = make_page(0, b"body" * 1_000)
    places, _ = kept(tmp_path, page, page, page._replace(body=b"", headers=(("A", "x" * 9_000),)))
    data = warc_files(tmp_path)[0].read_bytes()
    assert [response_in(data[place.offset :], place) is None for place in places] == [False, True, True]


def test_beginning_that_is_damaged_raises_nothing(tmp_path: Path) -> None:
    """Without its checksum a record may say anything."""
    (place,), _ = kept(tmp_path, make_page()._replace(body=b""))
    data = warc_files(tmp_path)[0].read_bytes()[place.offset :]
    answers = [response_in(data[:at] + bytes([data[at] ^ 255]) + data[at + 1 :], place) for at in range(len(data))]
    assert None in answers


def test_head_in_memory_is_that_of_the_whole_record(tmp_path: Path) -> None:
    page = make_page(0, b"body" * 1_000)
    places, _ = kept(tmp_path, page, page, make_page(1)._replace(truncated=True))
    reader = HeadReader(tmp_path)
    for place in places:
        whole = reader.read(place)
        # Not all systems tell what they have in memory.
        assert reader.read_cached(place) in (None, whole)
        assert reader.read_beginning(place) in (None, whole._replace(fields=None))


@pytest.mark.parametrize(
    "page", [make_page()._replace(http_version="2", reason=""), make_page(0, b"")._replace(unread=True)]
)
def test_page_that_http_1_cannot_tell_comes_back_as_it_was(page: Page, tmp_path: Path) -> None:
    (place,), _ = kept(tmp_path, page)
    assert read_page(tmp_path, place).page == page


def test_all_that_belongs_to_a_page_is_read_with_it(tmp_path: Path) -> None:
    places, _ = kept(tmp_path, make_page(0), make_page(1), make_page(2))
    for number, place in enumerate(places):
        stored = read_page(tmp_path, place)
        assert stored.place == place
        assert stored.page == make_page(number)
        assert stored.status_line == "HTTP/1.1 200 OK"
        assert stored.request_line == f"GET /page/{number}?q={number} HTTP/1.1"
        assert stored.request_headers == (("Host", f"host{number}.test"), *ASKED)
        assert stored.fields[-1] == ("outcome", "fetched")
        assert stored.original is None


def test_pages_are_read_in_their_order_over_all_files(tmp_path: Path) -> None:
    made = [make_page(number) for number in range(12)]
    places, end = kept(tmp_path, *made, file_limit_bytes=4_000)
    assert end.file > 1
    assert [stored.page for stored in read_pages(tmp_path)] == made
    assert [stored.place for stored in read_pages(tmp_path, end)] == places
    assert [stored.page for stored in read_pages(tmp_path, places[7])] == made[:7]


def test_end_is_not_read_beyond_even_if_what_follows_is_half_a_record(tmp_path: Path) -> None:
    """A crawl continues to write during an export."""
    _, end = kept(tmp_path, make_page())
    with warc_files(tmp_path)[0].open("ab") as file:
        file.write(b"\x1f\x8b\x08 half")
    assert len(list(read_pages(tmp_path, end))) == 1
    with pytest.raises(DamagedError, match="damaged at offset"):
        list(read_pages(tmp_path))


# Revisits.


def twice(folder: Path, second: Page) -> tuple[Place, Place]:
    archive = opened(folder)
    first = archive.append(make_page(0))
    original = Original(first.place, make_page(0).url, NOW, first.digest)
    again = archive.append(second, ASKED, (), original)
    archive.sync()
    archive.close()
    return first.place, again.place


def test_revisit_of_equal_content_comes_with_its_body(tmp_path: Path) -> None:
    second = make_page(0, None, ("Age", "9"))
    first_place, place = twice(tmp_path, second)
    stored = read_page(tmp_path, place)
    assert stored.page == second
    assert stored.original == first_place


def test_revisit_that_was_not_modified_knows_its_original(tmp_path: Path) -> None:
    second = make_page(0, b"", status=304)
    first_place, place = twice(tmp_path, second)
    stored = read_page(tmp_path, place)
    assert stored.page == second
    assert stored.original == first_place
    assert read_page(tmp_path, stored.original).digest == stored.digest


def test_revisit_of_a_revisit_is_followed_to_the_body(tmp_path: Path) -> None:
    archive = opened(tmp_path)
    found = archive.append(make_page(0))
    for _ in range(2_000):
        found = archive.append(make_page(0), (), (), Original(found.place, make_page(0).url, NOW, found.digest))
    archive.sync()
    archive.close()
    assert read_page(tmp_path, found.place).page == make_page(0)


def test_revisit_that_refers_to_itself_is_damage(tmp_path: Path) -> None:
    archive = opened(tmp_path)
    first = archive.append(make_page(0))
    found = archive.append(make_page(0), (), (), Original(archive.end, make_page(0).url, NOW, first.digest))
    archive.sync()
    archive.close()
    with pytest.raises(DamagedError, match="refers to a later one"):
        read_page(tmp_path, found.place)


def test_revisit_that_refers_to_other_content_is_damage(tmp_path: Path) -> None:
    archive = opened(tmp_path)
    first, second = archive.append(make_page(0)), archive.append(make_page(1))
    found = archive.append(make_page(1), (), (), Original(first.place, make_page(0).url, NOW, second.digest))
    archive.sync()
    archive.close()
    with pytest.raises(DamagedError, match="refers to other content"):
        read_page(tmp_path, found.place)


def test_revisits_are_read_in_order_with_bodies_of_files_before(tmp_path: Path) -> None:
    """As after a kill: the originals may precede the pages that are read again."""
    made = [make_page(number, bytes([number % 3]) * 2_000) for number in range(30)]
    places, end = kept(tmp_path, *made, file_limit_bytes=6_000)
    originals = [stored.original for stored in read_pages(tmp_path)]
    assert originals == [None, None, None, *places[:3] * 9]
    assert places[2].file < end.file
    assert [stored.page for stored in read_whole_pages(tmp_path)] == made
    assert [stored.page for stored in read_whole_pages(tmp_path, places[20], places[7])] == made[7:20]
    assert {stored.page.body for stored in read_pages(tmp_path, start=places[7])} == {b""}


def test_page_that_was_not_modified_has_no_body_in_order_either(tmp_path: Path) -> None:
    twice(tmp_path, make_page(0, b"", status=304))
    assert [stored.page.body for stored in read_whole_pages(tmp_path)] == [make_page(0).body, b""]


# Damage.


@pytest.fixture
def quick_path() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


def test_no_change_of_a_byte_goes_unnoticed(quick_path: Path) -> None:
    (place,), _ = kept(quick_path, make_page())
    (path,) = warc_files(quick_path)
    whole, intact = path.read_bytes(), read_page(quick_path, place)
    told = []
    for position in range(place.offset, len(whole)):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x55]) + whole[position + 1 :])
        try:
            # Some bytes of a gzip header mean nothing.
            assert read_page(quick_path, place) == intact
        except DamagedError as error:
            told.append(str(error))
    assert len(told) > 0.9 * (len(whole) - place.offset)
    assert all(line.startswith(f"{path} is damaged at offset ") for line in told)


@pytest.mark.parametrize("shift", [-1, 1, 50])
def test_place_between_records_is_damage(shift: int, tmp_path: Path) -> None:
    places, _ = kept(tmp_path, make_page(0), make_page(1))
    with pytest.raises(DamagedError, match="offset"):
        read_page(tmp_path, Place(0, places[1].offset + shift))


def test_place_of_another_kind_of_record_is_damage(tmp_path: Path) -> None:
    kept(tmp_path, make_page(0))
    with pytest.raises(DamagedError, match="no page begins there"):
        read_page(tmp_path, Place(0, 0))


def test_place_beyond_the_end_is_damage(tmp_path: Path) -> None:
    _, end = kept(tmp_path, make_page(0))
    with pytest.raises(DamagedError, match="no page begins there"):
        read_page(tmp_path, end)
    with pytest.raises(DamagedError, match="file number 3"):
        read_page(tmp_path, Place(3, 0))
