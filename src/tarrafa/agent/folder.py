"""The folder of a crawl: held by one process, with seeds, configuration and status."""

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from tarrafa.disk import FolderLock, disk_bytes, is_locked, map_disk_errors
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
        """Whether a process works here."""
        return is_locked(self.agent)

    def hold(self) -> FolderLock:
        """For this process alone, until it is released."""
        with map_disk_errors(self.root):
            self.agent.mkdir(parents=True, exist_ok=True)
            return FolderLock(self.agent)

    def add_seeds(self, urls: tuple[str, ...]) -> Seeds:
        """All seeds that the crawl ever had, these included."""
        with map_disk_errors(self.root):
            known = read_seeds(
                str(self.seeds), self.seeds.read_text(errors="replace").splitlines() if self.seeds.exists() else ()
            )
            seeds = join_seeds([known, Seeds(urls)])
            if seeds.urls != known.urls:
                self._replace(self.seeds, "".join(f"{url}\n" for url in seeds.urls))
        return seeds

    def keep_configuration(self, text: str) -> None:
        """What the crawl is made with, for when it goes on."""
        with map_disk_errors(self.root):
            self._replace(self.configuration, text)

    def write_status(self, status: dict[str, Any]) -> None:
        with map_disk_errors(self.root):
            self._replace(self.status, json.dumps(status))

    def read_status(self) -> dict[str, Any]:
        with map_disk_errors(self.root):
            text = self.status.read_text() if self.status.exists() else ""
        # It is not synced, so a loss of power may leave nothing of it.
        with contextlib.suppress(ValueError):
            found: dict[str, Any] = json.loads(text)
            return found
        return {}

    def _replace(self, path: Path, text: str) -> None:
        """Whoever reads meanwhile sees the old text or the new one."""
        temporary = path.with_name(f"{path.name}.new")
        with temporary.open("w") as file:
            file.write(text)
            if path != self.status:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
