"""Shared by the tests of `keep`: pages to store, reproducible archives, and the readers of other projects."""

import itertools
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator

from tarrafa.clock import VirtualClock
from tarrafa.keep import BEGINNING, Archive, ArchiveSettings, Place, open_archive
from tarrafa.records import Headers, Page, Timings

with warnings.catch_warnings():
    # It warns of its own old parts when it is imported.
    warnings.simplefilter("ignore")
    import fastwarc

NOW = 1_763_251_200.25
ASKED: Headers = (("User-Agent", "tester"), ("Accept-Encoding", "gzip"))


@contextmanager
def quick_folder() -> Iterator[Path]:
    """In memory where there is such a place, for tests that sync hundreds of times."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


def make_page(number: int = 0, body: bytes | None = None, *headers: tuple[str, str], status: int = 200) -> Page:
    return Page(
        url=f"http://host{number % 3}.test/page/{number}?q={number}",
        status=status,
        headers=(("Content-Type", "text/html; charset=utf-8"), *headers),
        body=f"<title>Page {number}</title><p>{'words ' * (number % 50)}".encode() if body is None else body,
        at=NOW + number,
        timings=Timings(connect_seconds=0.01, first_byte_seconds=0.02, total_seconds=0.03),
        address="192.0.2.7",
        reason="OK",
    )


def counted() -> Callable[[int], bytes]:
    """Return a reproducible source of bytes, in place of the system's random bytes."""
    numbers = itertools.count(1)
    return lambda size: b"".join([next(numbers).to_bytes(16) for _ in range(size // 16)])


def opened(folder: Path, durable: Place = BEGINNING, file_limit_bytes: int = 1_000_000_000) -> Archive:
    info = (("operator", "tester"),)
    settings = ArchiveSettings(agent="07", info=info, file_limit_bytes=file_limit_bytes, entropy=counted())
    return open_archive(folder, durable, VirtualClock(NOW), settings)


def kept(folder: Path, *pages: Page, file_limit_bytes: int = 1_000_000_000) -> tuple[list[Place], Place]:
    """Return the places of the pages, and the end of the archive."""
    archive = opened(folder, file_limit_bytes=file_limit_bytes)
    places = [archive.append(page, ASKED, (("outcome", "fetched"),)).place for page in pages]
    end = archive.sync()
    archive.close()
    return places, end


def warc_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.warc.gz"))


def seen_by_warcio(path: Path) -> list[tuple[str, str, int, int, bytes]]:
    """Kind, URL, offset, length and payload of each record, all digests verified."""
    seen = []
    with path.open("rb") as file:
        records = ArchiveIterator(file, check_digests="raise")
        for record in records:
            payload = record.raw_stream.read()
            url = record.rec_headers.get_header("WARC-Target-URI") or ""
            offset, length = records.get_record_offset(), records.get_record_length()
            seen.append((record.rec_type, url, offset, length, payload))
    return seen


def seen_by_fastwarc(path: Path) -> list[tuple[str, str, bytes]]:
    """Kind, URL and payload of each record whose block has the digest that it says."""
    seen = []
    with path.open("rb") as file:
        for record in fastwarc.ArchiveIterator(file, parse_http=True, verify_digests=True):
            kind = record.headers.get("WARC-Type") or ""
            seen.append((kind, record.headers.get("WARC-Target-URI") or "", record.reader.read()))
    return seen


def assert_valid(folder: Path, urls: list[str]) -> None:
    """Both readers reach the end, and find these pages with all their records."""
    answers = []
    for path in warc_files(folder):
        by_warcio = seen_by_warcio(path)
        by_fastwarc = seen_by_fastwarc(path)
        kinds = [kind for kind, *_ in by_warcio]
        assert [kind for kind, *_ in by_fastwarc] == kinds
        assert kinds[:1] == ["warcinfo"]
        assert kinds[2::3] == ["request"] * len(kinds[1::3])
        assert kinds[3::3] == ["metadata"] * len(kinds[1::3])
        answers += [url for kind, url, *_ in by_warcio if kind in ("response", "revisit")]
        assert sum(length for _, _, _, length, _ in by_warcio) == path.stat().st_size
    assert answers == urls
