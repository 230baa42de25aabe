"""CDXJ: a sorted index of web archives, by which archive players such as pywb find pages.

A line has the key of the URL, the time and a JSON object. The key (SURT) is the host's name from right to left, then
the path: `http://www.Example.org:8080/A/?b=2&a=1` becomes `org,example:8080)/a?a=1&b=2`. URLs that usually show the
same page share a key. The rules are those of the Internet Archive's indexes, so that its tools find what we write.
"""

import contextlib
import heapq
import json
import re
import tempfile
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from urllib.parse import unquote_to_bytes

from tarrafa.keep.archive_reader import StoredPage
from tarrafa.urls import host_name, host_of, path_of

CHUNK_LINES = 200_000  # sorted in memory
_FILES_MAX = 100  # open at once

_WWW = re.compile(r"www[0-9]*\.(?=.)")
_SLASHES = re.compile("/{2,}")
_PATH_SESSION = re.compile(
    r";jsessionid=[0-9a-z]{32}$|\((?:[a-z]\([0-9a-z]{24}\)){1,9}\)/(?=[^?]+\.aspx)|\([0-9a-z]{24}\)/(?=[^?]+\.aspx)"
)
_QUERY_SESSION = re.compile(
    "(?:(?:jsessionid|phpsessid|sid)=[0-9a-z]{32}|aspsessionid[a-z]{8}=[a-z]{24}|cfid=[^&]+&cftoken=[^&]+)(?:&|$)"
)


def cdxj_line(stored: StoredPage, file_name: str) -> str:
    page = stored.page
    facts = {
        "url": page.url,
        "mime": "warc/revisit" if stored.original else page.media_type or "unk",
        "status": f"{page.status}",
        "digest": stored.digest.removeprefix("sha1:"),
        "length": f"{stored.length}",
        "offset": f"{stored.place.offset}",
        "filename": file_name,
    }
    return f"{surt(page.url)} {datetime.fromtimestamp(page.at, UTC):%Y%m%d%H%M%S} {json.dumps(facts)}"


def surt(url: str) -> str:
    """Return the key of a URL."""
    name = host_name(url)
    port = host_of(url).rpartition(name)[2]
    labels = _WWW.sub("", name, count=1) if _WWW.match(name) else name
    path, mark, query = path_of(url).partition("?")
    return ",".join(reversed(labels.split("."))) + port + ")" + _path_key(path) + (_query_key(query) if mark else "")


def _path_key(path: str) -> str:
    text = _SLASHES.sub("/", _PATH_SESSION.sub("", _normalized(path), count=1))
    return text.rstrip("/") or "/"


def _query_key(query: str) -> str:
    text = _QUERY_SESSION.sub("", _normalized(query))
    parts = sorted(text.split("&"), key=lambda part: part.split("=", 1))
    return "?" + "&".join(parts) if text else ""


def _normalized(text: str) -> str:
    """Return the text in lower case, escaped once and only where needed, however often it was escaped before."""
    before, octets = b"", text.encode()
    while octets != before:
        before, octets = octets, unquote_to_bytes(octets)
    return "".join(map(_SPELLING.__getitem__, octets)).lower()


_SPELLING = [chr(octet) if 0x20 < octet < 0x7F and octet not in b"#%" else f"%{octet:02x}" for octet in range(256)]


@contextlib.contextmanager
def sorted_lines(lines: Iterable[str], folder: Path | None, chunk_lines: int = CHUNK_LINES) -> Iterator[Iterator[str]]:
    """Sort any number of lines by code points: sort chunks in memory, then merge them from files.

    The chunks are in a temporary folder below `folder`, or where the system has temporary files.
    """
    with tempfile.TemporaryDirectory(prefix="sorting-", dir=folder) as temporary:
        chunks: list[Path] = []
        source = iter(lines)
        while chunk := sorted(islice(source, chunk_lines)):
            chunks.append(_write_chunk(chunk, Path(temporary) / f"{len(chunks)}"))
            if len(chunks) == _FILES_MAX:
                merged = _write_chunk(_merged(chunks), Path(temporary) / "merged")
                chunks = [merged.rename(chunks[0])]
        yield _merged(chunks)


def _write_chunk(lines: Iterable[str], path: Path) -> Path:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)
    return path


def _merged(chunks: list[Path]) -> Iterator[str]:
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(chunk.open(encoding="utf-8", newline="\n")) for chunk in chunks]
        # Without its end, which would count when lines are compared.
        yield from heapq.merge(*((line.removesuffix("\n") for line in file) for file in files))
