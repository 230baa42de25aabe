"""Export pages as Markdown: one file for each page in a folder, or all on standard output.

Each page begins with a header in YAML: URL, title, when it was fetched, language, and the fields that hooks have added.
The name of a file is made of the page's host and path and is safe on any disk; its end is the fingerprint of the URL.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tarrafa.disk import make_folder, map_disk_errors
from tarrafa.keep.archive_files import Place
from tarrafa.keep.archive_reader import read_page
from tarrafa.keep.export import ExportProgress, Snapshot, exported_rows
from tarrafa.keep.row_writers import DOCUMENTS
from tarrafa.records import Page
from tarrafa.urls import fingerprint, host_name, path_of
from tarrafa.versions import VERSION

_SLUG_CHARS = 80
_UNSAFE = re.compile(r"[^a-z0-9]+")

# Characters that JSON allows in a string and YAML does not.
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_NO_VALUES: tuple[object, ...] = (None, "", [])

# Returns a page as Markdown by its title, or None if it has no text to read. The caller can decode bodies.
MarkdownReader = Callable[[Page, str], str | None]


def export_markdown(
    snapshots: Sequence[Snapshot], out: Path | None, progress: ExportProgress, markdown: MarkdownReader
) -> int:
    """Write the current pages; return their number. Without a folder they go to standard output."""
    count = 0
    for snapshot, row in _rows(snapshots, progress):
        page = read_page(snapshot.paths.archive, Place(row["archive_file"], row["archive_offset"])).page
        text = markdown(page, row["title"])
        if text:
            _write(out, row, f"{front_matter(row)}\n{text}\n")
            count += 1
    return count


def front_matter(row: dict[str, Any]) -> str:
    """Return the header of a page. Strings and lists are written as in JSON, which is YAML."""
    values = {name: row[name] for name in ("url", "title", "fetched_at", "language")}
    values |= {name: value for name, value in row.items() if name not in DOCUMENTS.columns.names}
    lines = [f"{name}: {_yaml(value)}" for name, value in values.items() if value not in _NO_VALUES]
    return "\n".join(["---", *lines, "---", ""])


def file_name(url: str) -> Path:
    """Return the place of a page in the folder: `example.org/news-fishing-0123456789abcdef.md`."""
    host = _UNSAFE.sub("-", host_name(url).lower().replace(".", "\0")).replace("\0", ".").strip("-.")
    slug = _UNSAFE.sub("-", path_of(url).lower()).strip("-")[:_SLUG_CHARS].strip("-")
    name = "-".join(filter(None, [slug, f"{fingerprint(url):016x}"]))
    return Path(host or "host", f"{name}.md")


def _yaml(value: Any) -> str:
    text = json.dumps(value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _rows(snapshots: Sequence[Snapshot], progress: ExportProgress) -> Iterator[tuple[Snapshot, dict[str, Any]]]:
    """Yield the rows of pages, in the order of writing."""
    for batch, snapshot in exported_rows(snapshots, None, progress):
        for row in batch.to_pylist():
            if row["outcome"] == VERSION and row["archive_file"] is not None:
                yield snapshot, row


def _write(out: Path | None, row: dict[str, Any], text: str) -> None:
    data = text.encode("utf-8", "replace")
    if out is None:
        sys.stdout.buffer.write(data)
        return
    path = out / file_name(row["url"])
    with map_disk_errors(path):
        make_folder(path.parent)
        path.write_bytes(data)
