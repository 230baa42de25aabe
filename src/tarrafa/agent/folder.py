"""The folder of a crawl: locked by one process, with seeds, configuration and status."""

import contextlib
import json
from typing import Any

from tarrafa.disk import FolderLock, disk_bytes, is_locked, map_disk_errors, replace_file
from tarrafa.errors import InputError
from tarrafa.layout import CrawlPaths
from tarrafa.schedule import Seeds, join_seeds, read_seeds
from tarrafa.texts import quoted


class CrawlFolder(CrawlPaths):
    def exists(self) -> bool:
        return self.hosts.is_file()

    def require(self) -> None:
        if not self.exists():
            raise InputError(f"{quoted(str(self.root))} holds no crawl; begin one with tarrafa crawl SEED --dir DIR")

    def disk_bytes(self) -> int:
        return disk_bytes(self.root)

    def is_locked(self) -> bool:
        """Return True if a process is using the folder."""
        return is_locked(self.agent)

    def lock(self) -> FolderLock:
        """Lock the folder for this process until the lock is released."""
        with map_disk_errors(self.root):
            self.agent.mkdir(parents=True, exist_ok=True)
            return FolderLock(self.agent)

    def add_seeds(self, urls: tuple[str, ...]) -> Seeds:
        """Add seeds; return all that the crawl ever had."""
        with map_disk_errors(self.root):
            known = read_seeds(
                str(self.seeds), self.seeds.read_text(errors="replace").splitlines() if self.seeds.exists() else ()
            )
            seeds = join_seeds([known, Seeds(urls)])
            if seeds.urls != known.urls:
                replace_file(self.seeds, "".join(f"{url}\n" for url in seeds.urls).encode())
        return seeds

    def keep_configuration(self, text: str) -> None:
        """Store the configuration for the next run."""
        with map_disk_errors(self.root):
            replace_file(self.configuration, text.encode())

    def write_status(self, status: dict[str, Any]) -> None:
        with map_disk_errors(self.root):
            replace_file(self.status, json.dumps(status).encode(), sync=False)

    def read_status(self) -> dict[str, Any]:
        with map_disk_errors(self.root):
            text = self.status.read_text() if self.status.exists() else ""
        # The file is not synced, so a power failure may leave it empty.
        with contextlib.suppress(ValueError):
            found: dict[str, Any] = json.loads(text)
            return found
        return {}
