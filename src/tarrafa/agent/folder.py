"""The folder of a crawl: locked by one process, with seeds, configuration and status."""

import contextlib
import json
import os
from typing import Any

from tarrafa.disk import FolderLock, disk_bytes, is_locked, make_folder, map_disk_errors, replace_file
from tarrafa.errors import InputError
from tarrafa.folder_mark import check_mark, claim_folder, is_vacant
from tarrafa.layout import CrawlPaths
from tarrafa.schedule import Seeds, join_seeds, read_seeds
from tarrafa.texts import quoted

KIND, FORMAT = "crawl", 1


class CrawlFolder(CrawlPaths):
    def exists(self) -> bool:
        """Return True if a crawl has begun here."""
        with map_disk_errors(self.root):
            return self.hosts.is_file()

    def is_vacant(self) -> bool:
        """Return True if a new crawl may begin here: the folder is missing or empty."""
        with map_disk_errors(self.root):
            return is_vacant(self.root)

    def has_configuration(self) -> bool:
        with map_disk_errors(self.root):
            return self.configuration.is_file()

    def require(self) -> None:
        check_mark(self.root, KIND, FORMAT)
        if not self.exists():
            raise InputError(f"{quoted(str(self.root))} holds no crawl; begin one with tarrafa crawl SEED --dir DIR")

    def disk_bytes(self) -> int:
        return disk_bytes(self.root)

    def is_locked(self) -> bool:
        """Return True if a process is using the folder."""
        with map_disk_errors(self.agent):
            return is_locked(self.agent)

    def lock(self) -> FolderLock:
        """Mark the folder as a crawl and lock it for this process until the lock is released.

        A folder with other files is refused, and nothing in it is changed.
        """
        claim_folder(self.root, KIND, FORMAT)
        with map_disk_errors(self.root):
            make_folder(self.agent)
            return FolderLock(self.agent)

    def known_seeds(self) -> Seeds:
        """Return the seeds that the crawl has."""
        return read_seeds(str(self.seeds), self._seed_lines())

    def is_seed(self, url: str) -> bool:
        """Return True if a canonical URL is a seed. A crawl may have millions, which are not parsed for that."""
        return url in self._seed_lines()

    def _seed_lines(self) -> list[str]:
        with map_disk_errors(self.root):
            return self.seeds.read_text(errors="replace").splitlines() if self.seeds.exists() else []

    def add_seeds(self, urls: tuple[str, ...]) -> Seeds:
        """Add seeds; return all that the crawl ever had."""
        known = self.known_seeds()
        with map_disk_errors(self.root):
            seeds = join_seeds([known, Seeds(urls)])
            if seeds.urls != known.urls:
                replace_file(self.seeds, "".join(f"{url}\n" for url in seeds.urls).encode())
        return seeds

    def keep_configuration(self, text: str, *, is_private: bool = False) -> None:
        """Store the configuration for the next run; if it is private, only its owner may read it."""
        with map_disk_errors(self.root):
            replace_file(self.configuration, text.encode(), is_private=is_private)

    def may_read_configuration(self) -> bool:
        """Return False if only the owner of the crawl may read it, because it holds logins."""
        return os.access(self.configuration, os.R_OK)

    def write_status(self, status: dict[str, Any]) -> None:
        with map_disk_errors(self.root):
            replace_file(self.status, json.dumps(status).encode(), sync=False)

    def write_last_status(self, status: dict[str, Any]) -> None:
        """Write the status of a run that failed, perhaps because the disk is full: over the last one if need be."""
        data = json.dumps(status).encode()
        try:
            replace_file(self.status, data, sync=False)
        except OSError:
            with contextlib.suppress(OSError), self.status.open("r+b") as file:
                file.write(data)
                file.truncate()

    def read_status(self) -> dict[str, Any]:
        with map_disk_errors(self.root):
            text = self.status.read_text() if self.status.exists() else ""
        # The file is not synced, so a power failure may leave it empty.
        with contextlib.suppress(ValueError):
            found = json.loads(text)
            return found if isinstance(found, dict) else {}
        return {}
