"""The archive writes WARC files that other readers read to the end."""

import random
import re
import zlib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from archive_pages import (
    ASKED,
    NOW,
    assert_valid,
    kept,
    make_page,
    opened,
    seen_by_fastwarc,
    seen_by_warcio,
    warc_files,
)
from tarrafa.clock import VirtualClock
from tarrafa.errors import WorkError
from tarrafa.keep import BEGINNING, ArchiveSettings, Original, Place, open_archive, read_pages
from tarrafa.keep.gzip_members import read_members
from tarrafa.keep.warc import date_of, digest_of
from tarrafa.records import Page

HTML = b"<p>" + b"a page of some length " * 5_000
GOLDEN = """\
WARC/1.1
WARC-Type: response
WARC-Record-ID: <urn:uuid:00000000-0000-4000-a000-000000000001>
WARC-Date: 2025-11-16T00:00:00.250000Z
WARC-Target-URI: http://host0.test/page/0?q=0
WARC-IP-Address: 192.0.2.7
WARC-Payload-Digest: sha1:Z7ZFIG7EGNIBMGY75CUZMU2F5ENWHZ6Q
Content-Type: application/http; msgtype=response
WARC-Block-Digest: sha1:AGUKKNZZCGOZRSRCGZNSH2ANGAPDUD2W
Content-Length: 83

HTTP/1.1 200 OK
Content-Type: text/html; charset=utf-8

<title>Page 0</title><p>

WARC/1.1
WARC-Type: request
WARC-Record-ID: <urn:uuid:00000000-0000-4000-a000-000000000002>
WARC-Date: 2025-11-16T00:00:00.250000Z
WARC-Concurrent-To: <urn:uuid:00000000-0000-4000-a000-000000000001>
WARC-Target-URI: http://host0.test/page/0?q=0
WARC-IP-Address: 192.0.2.7
Content-Type: application/http; msgtype=request
WARC-Block-Digest: sha1:MB3EG3IOKPZYUCJFDQ6BW4UISMWVTJWJ
Content-Length: 89

GET /page/0?q=0 HTTP/1.1
Host: host0.test
User-Agent: tester
Accept-Encoding: gzip



WARC/1.1
WARC-Type: metadata
WARC-Record-ID: <urn:uuid:00000000-0000-4000-a000-000000000003>
WARC-Date: 2025-11-16T00:00:00.250000Z
WARC-Concurrent-To: <urn:uuid:00000000-0000-4000-a000-000000000001>
WARC-Target-URI: http://host0.test/page/0?q=0
Content-Type: application/warc-fields
WARC-Block-Digest: sha1:CVNWWGABSJ4T7Q4NMLXFV3CKZXRUF4FX
Content-Length: 100

connect-seconds: 0.010000
first-byte-seconds: 0.020000
total-seconds: 0.030000
outcome: fetched


"""


def texts_of(path: Path) -> list[str]:
    with path.open("rb") as file:
        return [member.data.decode() for member in read_members(file, 0)]


def test_records_are_written_as_ever(tmp_path: Path) -> None:
    kept(tmp_path, make_page())
    (path,) = warc_files(tmp_path)
    info, *records = texts_of(path)
    assert "".join(records).replace("\r\n", "\n") == GOLDEN
    assert f"WARC-Filename: {path.name}\r\n" in info
    assert "\r\noperator: tester\r\n" in info


def test_every_record_has_an_id_of_its_own(tmp_path: Path) -> None:
    """Also after a restart; the ids are random, as in production."""
    end = BEGINNING
    for _ in range(2):
        archive = open_archive(tmp_path, end, VirtualClock(0))
        for number in range(50):
            archive.append(make_page(number))
        end = archive.sync()
        archive.close()
    (path,) = warc_files(tmp_path)
    texts = texts_of(path)
    pattern = r"^WARC-Record-ID: <urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}>\r$"
    ids = {found[0] for text in texts if (found := re.search(pattern, text, re.MULTILINE))}
    assert len(ids) == len(texts) == 301


def test_digest_is_sha1_in_base_32() -> None:
    """The digest of empty content is the one that every web archive knows."""
    assert digest_of(b"") == "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
    assert digest_of(b"abc") == "sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5"


@given(st.floats(0, 4e9))
@example(1_763_251_200.0)
@example(1_763_251_199.999_999_9)
def test_date_is_that_of_the_moment_to_the_microsecond(at: float) -> None:
    assert date_of(at) == f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S.%f}Z"


def test_others_read_every_kind_of_page(tmp_path: Path) -> None:
    coded = zlib.compress(HTML, 6, 31)
    pages = [
        make_page(0, HTML),
        make_page(1, b""),
        make_page(2, coded, ("Content-Encoding", "gzip")),
        make_page(3, bytes(range(256)) * 1_000, ("Content-Encoding", "br")),
        make_page(4, b"", ("Content-Encoding", "gzip")),
        make_page(5, status=404),
        make_page(6)._replace(truncated=True, address=""),
        make_page(7)._replace(http_version="2", reason="", headers=()),
        make_page(8)._replace(unread=True, body=b"", tls="self-signed"),
    ]
    kept(tmp_path, *pages)
    assert_valid(tmp_path, [page.url for page in pages])
    (path,) = warc_files(tmp_path)
    bodies = [payload for kind, *_, payload in seen_by_warcio(path) if kind == "response"]
    assert bodies == [page.body for page in pages]
    assert [payload for kind, _, payload in seen_by_fastwarc(path) if kind == "response"] == bodies


def test_every_record_is_a_gzip_member_of_its_own(tmp_path: Path) -> None:
    places, _ = kept(tmp_path, make_page(0), make_page(1))
    (path,) = warc_files(tmp_path)
    seen = seen_by_warcio(path)
    assert [offset for kind, _, offset, *_ in seen if kind == "response"] == [place.offset for place in places]
    data = path.read_bytes()
    for _, _, offset, length, _ in seen:
        assert zlib.decompress(data[offset : offset + length], 31).startswith(b"WARC/1.1\r\n")


def test_body_in_a_content_coding_takes_no_more_room_than_it_has(tmp_path: Path) -> None:
    body = random.Random(7).randbytes(100_000)
    _, end = kept(tmp_path, make_page(0, body, ("Content-Encoding", "gzip")))
    assert end.offset < len(body) + 2_500


def test_transfer_coding_that_was_undone_is_not_announced(tmp_path: Path) -> None:
    kept(tmp_path, make_page(0, HTML, ("transfer-encoding", "chunked")))
    (path,) = warc_files(tmp_path)
    answer = texts_of(path)[1]
    assert "\r\nX-Crawler-transfer-encoding: chunked\r\n" in answer
    assert not re.search("^transfer-encoding", answer, re.MULTILINE | re.IGNORECASE)


def test_cut_body_is_marked(tmp_path: Path) -> None:
    kept(tmp_path, make_page()._replace(truncated=True), make_page(1))
    (path,) = warc_files(tmp_path)
    answers = texts_of(path)[1::3]
    assert ["WARC-Truncated: unspecified" in answer for answer in answers] == [True, False]


def test_header_that_holds_a_line_break_does_not_begin_another(tmp_path: Path) -> None:
    """A cookie or a usage line that a host made up to look like a header of ours."""
    evil = "x\r\n\r\nWARC/1.1\nWARC-Type: response\0"
    page = make_page(0, b"body", ("X", evil))._replace(reason=evil)
    archive = opened(tmp_path)
    archive.append(page, (("Y", evil),), (("usage", evil),))
    archive.sync()
    archive.close()
    assert_valid(tmp_path, [page.url])
    assert seen_by_warcio(warc_files(tmp_path)[0])[1][-1] == b"body"


# Revisits of an original that the caller names.


def revisited(folder: Path, page: Page, digest: str | None = None) -> str:
    """Return the record of a page that comes after its original."""
    archive = opened(folder)
    first = make_page(0, HTML)
    found = archive.append(first)
    archive.append(page, ASKED, (), Original(found.place, first.url, first.at, digest or found.digest))
    archive.sync()
    archive.close()
    assert_valid(folder, [first.url, page.url])
    return texts_of(warc_files(folder)[0])[4]


def test_equal_content_is_kept_as_a_revisit(tmp_path: Path) -> None:
    record = revisited(tmp_path, make_page(1, HTML))
    assert "WARC-Type: revisit\r\n" in record
    assert "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest\r\n" in record
    assert "WARC-Refers-To-Target-URI: http://host0.test/page/0?q=0\r\n" in record
    assert "WARC-Refers-To-Date: 2025-11-16T00:00:00.250000Z\r\n" in record
    assert record.endswith("\r\n\r\n\r\n\r\n")


def test_page_that_was_not_modified_is_kept_as_a_revisit(tmp_path: Path) -> None:
    record = revisited(tmp_path, make_page(1, b"", status=304))
    assert "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/server-not-modified\r\n" in record


def test_content_that_differs_from_its_original_is_kept_in_full(tmp_path: Path) -> None:
    assert "WARC-Type: response\r\n" in revisited(tmp_path, make_page(1, HTML + b"!"))


# Deduplication of recent bodies.


def kinds_of(folder: Path, *pages: Page, dedup_limit: int = 10) -> list[str]:
    """Of the records that hold the answers; others read them to the end, with all digests as they say."""
    archive = open_archive(folder, BEGINNING, VirtualClock(NOW), ArchiveSettings(dedup_limit=dedup_limit))
    for page in pages:
        archive.append(page, ASKED)
    archive.sync()
    archive.close()
    assert_valid(folder, [page.url for page in pages])
    return [kind for path in warc_files(folder) for kind, *_ in seen_by_warcio(path)[1::3]]


def test_body_that_was_kept_at_another_url_is_kept_as_a_revisit(tmp_path: Path) -> None:
    first, second = make_page(0, HTML), make_page(1, HTML, ("X", "its own"), status=404)
    assert kinds_of(tmp_path, first, second) == ["response", "revisit"]
    _, answer, _, _, revisit, _, noted = texts_of(warc_files(tmp_path)[0])
    assert "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest\r\n" in revisit
    assert f"WARC-Refers-To-Target-URI: {first.url}\r\nWARC-Refers-To-Date: {date_of(first.at)}\r\n" in revisit
    assert f"WARC-Payload-Digest: {digest_of(HTML)}\r\n" in revisit
    assert f"WARC-Payload-Digest: {digest_of(HTML)}\r\n" in answer
    assert "\r\n\r\nHTTP/1.1 404 OK\r\n" in revisit
    assert "\r\nX: its own\r\n" in revisit
    assert HTML.decode() not in revisit
    (original, again) = read_pages(tmp_path)
    assert f"original-file: 0\r\noriginal-offset: {original.place.offset}\r\n" in noted
    assert again.original == original.place


def test_revisit_refers_to_the_full_response_and_never_to_a_revisit(tmp_path: Path) -> None:
    kinds = kinds_of(tmp_path, *[make_page(number, HTML) for number in range(4)])
    assert kinds == ["response", "revisit", "revisit", "revisit"]
    first, *others = read_pages(tmp_path)
    assert {each.original for each in others} == {first.place}


def test_content_that_the_owner_refers_to_is_no_original(tmp_path: Path) -> None:
    archive = opened(tmp_path)
    found = archive.append(make_page(0, HTML))
    archive.close()
    archive = opened(tmp_path / "other")
    archive.append(make_page(0, HTML), original=Original(found.place, make_page(0).url, NOW, found.digest))
    archive.append(make_page(1, HTML))
    archive.sync()
    archive.close()
    assert [kind for kind, *_ in seen_by_warcio(warc_files(tmp_path / "other")[0])[1::3]] == ["revisit", "response"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (make_page(0, b""), make_page(1, b"")),
        (make_page(0, HTML[:999]), make_page(1, HTML[:999])),
        (make_page(0, HTML)._replace(truncated=True), make_page(1, HTML)),
        (make_page(0, HTML), make_page(1, HTML)._replace(truncated=True)),
        (make_page(0, HTML), make_page(1, HTML)._replace(unread=True)),
        (make_page(0, HTML), make_page(1, HTML, status=304)),
        (make_page(0, HTML, status=304), make_page(1, HTML)),
        (make_page(0, HTML), make_page(1, HTML + b"!")),
    ],
    ids=["empty", "small", "after a cut one", "cut", "unread", "304", "after a 304", "other"],
)
def test_body_that_is_small_or_not_whole_or_another_is_kept_in_full(first: Page, second: Page, tmp_path: Path) -> None:
    assert kinds_of(tmp_path, first, second) == ["response", "response"]


def test_content_that_was_not_met_lately_is_forgotten(tmp_path: Path) -> None:
    """The cache holds two of three bodies; the first is used again before the third comes, so the second is dropped."""
    bodies = [HTML + bytes([number]) for number in (0, 1, 0, 2, 0, 1)]
    made = [make_page(number, body) for number, body in enumerate(bodies)]
    kinds = kinds_of(tmp_path, *made, dedup_limit=2)
    assert kinds == ["response", "response", "revisit", "response", "revisit", "response"]


def test_page_that_was_packed_before_is_kept_like_any_other(tmp_path: Path) -> None:
    """As large ones are, in a thread. The same body may have been kept for another URL meanwhile."""
    archive, (first, second) = opened(tmp_path), (make_page(0, HTML), make_page(1, HTML))
    packed = [archive.pack(page, ASKED, (("depth", "1"),)) for page in (first, second)]
    kept = [archive.append(page, ASKED, packed=each) for page, each in zip((first, second), packed, strict=True)]
    archive.sync()
    archive.close()
    assert_valid(tmp_path, [first.url, second.url])
    assert [kind for kind, *_ in seen_by_warcio(warc_files(tmp_path)[0])[1::3]] == ["response", "revisit"]
    assert [each.digest for each in kept] == [digest_of(HTML)] * 2
    assert next(iter(read_pages(tmp_path))).fields[-1] == ("depth", "1")


def test_archive_that_is_opened_again_remembers_nothing(tmp_path: Path) -> None:
    _, end = kept(tmp_path, make_page(0, HTML))
    archive = opened(tmp_path, end)
    archive.append(make_page(1, HTML))
    archive.sync()
    archive.close()
    assert [each.original for each in read_pages(tmp_path)] == [None, None]


# Files.


def test_file_that_is_full_is_followed_by_another(tmp_path: Path) -> None:
    pages = [make_page(number) for number in range(20)]
    places, end = kept(tmp_path, *pages, file_limit_bytes=4_000)
    files = warc_files(tmp_path)
    assert [path.name for path in files[:2]] == [
        "tarrafa-07-20251116000000250-00000.warc.gz",
        "tarrafa-07-20251116000000250-00001.warc.gz",
    ]
    assert {place.file for place in places} == set(range(len(files)))
    assert end.file == len(files) - 1 > 2
    assert max(path.stat().st_size for path in files) <= 4_000
    assert_valid(tmp_path, [page.url for page in pages])


def test_page_larger_than_a_file_may_be_stands_alone(tmp_path: Path) -> None:
    pages = [make_page(number, HTML if number == 1 else None) for number in range(3)]
    places, _ = kept(tmp_path, *pages, file_limit_bytes=200)
    assert [place.file for place in places] == [0, 1, 2]
    assert_valid(tmp_path, [page.url for page in pages])


def test_nothing_is_on_the_disk_before_the_first_page(tmp_path: Path) -> None:
    archive = opened(tmp_path)
    assert archive.sync() == Place(0, 0)
    assert list(tmp_path.iterdir()) == []


def test_many_pages_are_written_before_they_are_synced(tmp_path: Path) -> None:
    archive = opened(tmp_path)
    chance = random.Random(7)
    for number in range(10):
        archive.append(make_page(number, chance.randbytes(256_000)))
    assert warc_files(tmp_path)[0].stat().st_size > 1_000_000
    archive.close()


def test_folder_that_cannot_be_is_an_error_of_work(tmp_path: Path) -> None:
    (tmp_path / "archive").write_text("a file")
    with pytest.raises(WorkError, match="archive"):
        opened(tmp_path / "archive")
