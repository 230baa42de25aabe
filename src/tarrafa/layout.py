"""Paths in the folder of a crawl. Every name of a file or folder there is spelt in this module only.

crawl/
├── tarrafa-folder.json     mark of the folder: its kind and format
├── crawl.toml              configuration
├── seeds.txt               all seeds
├── ranks/                  ranks of all pages
└── agents/
    └── 00/                 one folder for each agent
        ├── archive/        pages (WARC)
        ├── documents/      rows of documents (Parquet)
        ├── links/          rows of links (Parquet)
        ├── catalogue/      where the rows of a URL are
        ├── index/          full-text index
        ├── repository/     known URLs
        ├── batches/        URLs that wait to be verified
        ├── hosts/          hosts, their robots.txt, and the journal of their delays
        ├── round.json      the round of refreshing that is under way
        └── status.json     last progress report
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FIRST_AGENT = "00"
_AGENTS = "agents"
_INDEX = "index"


@dataclass(frozen=True)
class CrawlPaths:
    """The paths of a crawl and of one of its agents."""

    root: Path
    agent_name: str = FIRST_AGENT

    @property
    def configuration(self) -> Path:
        return self.root / "crawl.toml"

    @property
    def seeds(self) -> Path:
        return self.root / "seeds.txt"

    @property
    def ranks(self) -> Path:
        return self.root / "ranks"

    @property
    def agent(self) -> Path:
        """The agent's folder, which holds everything below."""
        return self.root / _AGENTS / self.agent_name

    @property
    def archive(self) -> Path:
        return self.agent / "archive"

    @property
    def documents(self) -> Path:
        return self.agent / "documents"

    @property
    def links(self) -> Path:
        return self.agent / "links"

    @property
    def catalogue(self) -> Path:
        return self.agent / "catalogue"

    @property
    def index(self) -> Path:
        return self.agent / _INDEX

    @property
    def repository(self) -> Path:
        return self.agent / "repository"

    @property
    def batches(self) -> Path:
        return self.agent / "batches"

    @property
    def hosts(self) -> Path:
        return self.agent / "hosts" / "hosts.sqlite"

    @property
    def host_journal(self) -> Path:
        return self.agent / "hosts" / "journal"

    @property
    def status(self) -> Path:
        return self.agent / "status.json"

    @property
    def round(self) -> Path:
        return self.agent / "round.json"


def agents_of(root: Path) -> Iterator[CrawlPaths]:
    """Yield the paths of each agent that has begun, by name."""
    folder = root / _AGENTS
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        paths = CrawlPaths(root, path.name)
        if paths.hosts.is_file():
            yield paths


def index_folders(root: Path) -> list[Path]:
    """Return the index folders of all agents, by the agent's name."""
    return sorted((root / _AGENTS).glob(f"*/{_INDEX}"))


def part_of(path: Path, root: Path) -> str:
    """Return the name of the folder that holds a file of the crawl, without regard to the agent; "" for none."""
    parts = path.relative_to(root).parts
    inner = parts[2:] if parts[0] == _AGENTS else parts
    return inner[0] if len(inner) > 1 else ""
