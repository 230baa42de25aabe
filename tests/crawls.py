"""What the tests of crawls share: a web that is served, crawls of it in processes of their own, and what they kept."""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tarrafa.agent import CrawlFolder, HostDatabase
from tarrafa.keep import DOCUMENTS, LINKS, read_batches
from tarrafa.lab.web import served_in_process

# Without any delay, and with little patience: nobody waits in a test.
HASTE = """
[crawl]
scope = "any"
allow_private = true
[politeness]
delay = "0s"
address_delay = "0s"
back_off = "10ms"
back_off_ceiling = "50ms"
suspension = "100ms"
suspensions = 1
[fetch]
timeout = "4s"
first_byte_timeout = "3s"
slow_time = "3s"
body_limit = "200kB"
[keep]
checkpoint = "500ms"
"""


class ServedWeb:
    """A made-up web in a process of its own."""

    def __init__(self, url: str) -> None:
        self.url = url

    def ask(self, path: str) -> Any:
        with urllib.request.urlopen(self.url + path) as answer:
            return json.load(answer)

    def rows(self) -> dict[str, dict[str, Any]]:
        return {row["url"]: row for row in self.ask("__truth")["urls"]}

    def collectable(self) -> set[str]:
        return {url for url, row in self.rows().items() if row["collectable"]}

    def log(self) -> dict[str, Any]:
        found: dict[str, Any] = self.ask("__log?entries=200000")
        return found


@contextmanager
def served(*options: str) -> Iterator[ServedWeb]:
    with served_in_process(*options) as url:
        yield ServedWeb(url)


def hasty(folder: Path, text: str = "") -> Path:
    """Return a configuration for crawls without delays; a later line wins over an earlier one of the same section."""
    path = folder / "haste.toml"
    path.write_text(HASTE + text)
    return path


def arguments(web: ServedWeb, folder: Path, *options: str) -> list[str]:
    return ["--config", str(hasty(folder.parent)), "crawl", web.url, "--dir", str(folder), "--json", *options]


def run(*words: str, before: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """`before` is a command that runs commands."""
    command = [*before, sys.executable, "-m", "tarrafa", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def crawled(web: ServedWeb, folder: Path, *options: str, code: int = 0) -> dict[str, Any]:
    """Crawl to the end, which has this exit code: 3 if hosts are suspended. Return what the crawl tells."""
    done = run(*arguments(web, folder, *options))
    assert done.returncode == code, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def documents(folder: Path) -> list[dict[str, Any]]:
    """Return every row that counts, without the text."""
    columns = ["url", "status", "outcome", "title", "directives", "signature", "size_bytes", "digest"]
    return _rows(folder, "documents", [*columns, "archive_file", "archive_offset"])


def pages(folder: Path) -> list[dict[str, Any]]:
    """Return the rows of pages: answers with a 2xx status."""
    return [row for row in documents(folder) if row["outcome"] == "fetched"]


def links(folder: Path) -> list[dict[str, Any]]:
    return _rows(folder, "links", ["source", "target", "kind", "rel"])


def _rows(root: Path, kind: str, columns: list[str]) -> list[dict[str, Any]]:
    folder = CrawlFolder(root)
    book = HostDatabase(folder.hosts)
    checkpoint = book.checkpoint().number
    book.close()
    place, layout = (folder.documents, DOCUMENTS) if kind == "documents" else (folder.links, LINKS)
    return [row for batch in read_batches(place, layout, checkpoint, columns) for row in batch.to_pylist()]


def followed(folder: Path) -> set[str]:
    """Where links lead that a crawl follows, whatever its scope says."""
    forbid = {row["url"] for row in documents(folder) if "nofollow" in row["directives"]}
    return {row["target"] for row in links(folder) if row["source"] not in forbid and "nofollow" not in row["rel"]}


def pages_fetched(folder: Path, web: ServedWeb) -> set[str]:
    """Return the URLs that the web calls pages, and that answered."""
    rows = web.rows()
    fetched = {row["url"] for row in documents(folder) if row["status"] == 200}
    return {url for url in fetched if rows.get(url, {}).get("kind") == "page"}
