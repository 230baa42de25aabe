"""The folder of a crawl: its names are those that the docs tell, and every agent in it is found."""

import re
from pathlib import Path

from tarrafa.layout import CrawlPaths, agents_of, index_folders, part_of

FILES = Path(__file__).parent.parent / "docs" / "reference" / "files.md"


def paths_of(paths: CrawlPaths) -> dict[str, str]:
    names = [name for name, value in vars(CrawlPaths).items() if isinstance(value, property)]
    return {name: str(getattr(paths, name).relative_to(paths.root)) for name in names}


def test_names_are_stored_so_they_stay() -> None:
    assert paths_of(CrawlPaths(Path("crawl"), "07")) == {
        "configuration": "crawl.toml",
        "seeds": "seeds.txt",
        "ranks": "ranks",
        "agent": "agents/07",
        "archive": "agents/07/archive",
        "documents": "agents/07/documents",
        "links": "agents/07/links",
        "catalogue": "agents/07/catalogue",
        "index": "agents/07/index",
        "repository": "agents/07/repository",
        "batches": "agents/07/batches",
        "hosts": "agents/07/hosts/hosts.sqlite",
        "host_journal": "agents/07/hosts/journal",
        "status": "agents/07/status.json",
        "round": "agents/07/round.json",
    }


def test_every_name_is_in_the_docs() -> None:
    text = FILES.read_text()
    names = {Path(path).name for path in paths_of(CrawlPaths(Path("crawl"))).values()}
    assert [name for name in names if not re.search(rf"\b{re.escape(name)}\b", text)] == []


def test_agents_are_those_that_have_begun_in_order(tmp_path: Path) -> None:
    assert list(agents_of(tmp_path)) == []
    for name in ("02", "00", "01"):
        CrawlPaths(tmp_path, name).index.mkdir(parents=True)
    for name in ("02", "00"):
        hosts = CrawlPaths(tmp_path, name).hosts
        hosts.parent.mkdir()
        hosts.touch()
    assert list(agents_of(tmp_path)) == [CrawlPaths(tmp_path, "00"), CrawlPaths(tmp_path, "02")]
    assert index_folders(tmp_path) == [CrawlPaths(tmp_path, name).index for name in ("00", "01", "02")]


def test_part_of_a_file_is_its_folder_whatever_the_agent() -> None:
    paths = CrawlPaths(Path("crawl"), "07")
    assert part_of(paths.archive / "a.warc.gz", paths.root) == "archive"
    assert part_of(paths.hosts, paths.root) == "hosts"
    assert part_of(paths.ranks / "generation" / "rank.npy", paths.root) == "ranks"
    assert part_of(paths.status, paths.root) == part_of(paths.seeds, paths.root) == ""
