"""What a page of facts says is what reading all rows of all agents would say."""

import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archive_pages import quick_folder
from serving import served
from stored_rows import URLS, VISIT, A, B, C, Rows
from tarrafa.agent import Checkpoint, HostDatabase, Totals
from tarrafa.collection import lookups
from tarrafa.keep import BEGINNING, DOCUMENTS, LINKS
from tarrafa.layout import CrawlPaths
from tarrafa.serve import FactsReader
from tarrafa.serve.facts import Facts
from tarrafa.versions import is_mere_visit

Row = dict[str, Any]


class Crawl:
    """Two agents, each of which owns some URLs."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.agents = [Rows(CrawlPaths(root, name)) for name in ("00", "01")]

    def add(self, visits: list[Any]) -> None:
        for number, agent in enumerate(self.agents):
            agent.add([visit for visit in visits if URLS.index(visit[0]) % 2 == number])

    def commit(self) -> None:
        for agent in self.agents:
            book = HostDatabase(agent.paths.hosts)
            book.commit(Checkpoint(agent.checkpoint, BEGINNING, Totals({})))
            book.close()

    def join(self) -> None:
        for agent in self.agents:
            agent.join()

    def plain(self, url: str) -> tuple[Any, ...] | None:
        """Return what is known of a URL, by the simplest means."""
        documents = [row for agent in self.agents for row in agent.scanned(DOCUMENTS)]
        links = [row for agent in self.agents for row in agent.scanned(LINKS)]
        visits = [row for row in documents if row["url"] == url]
        if not visits:
            return None
        telling = newest(visits) or visits[-1]
        own = [row for row in links if row["source"] == url and row["fetched_at"] == telling["fetched_at"]]
        return (
            [(row["fetched_at"].timestamp(), row["outcome"]) for row in visits[::-1]],
            telling["title"],
            [(row["target"], row["text"]) for row in own],
            sorted(coming(documents, links, url)),
            copies(documents, telling["signature"], url),
        )


def newest(visits: list[Row]) -> Row | None:
    return next((row for row in visits[::-1] if not is_mere_visit(row["outcome"])), None)


def coming(documents: list[Row], links: list[Row], url: str) -> list[tuple[str, str, float]]:
    found = []
    for source in {row["source"] for row in links if row["target"] == url} - {url}:
        own = [row for row in links if row["source"] == source and row["target"] == url]
        last = [row for row in own if row["fetched_at"] == own[-1]["fetched_at"]]
        shown = newest([row for row in documents if row["url"] == source])
        if shown is None or shown["fetched_at"] <= last[0]["fetched_at"]:
            text = next((row["text"] for row in last if row["text"]), "")
            found.append((source, text, last[0]["fetched_at"].timestamp()))
    return found


def copies(documents: list[Row], signature: int, url: str) -> list[str]:
    last = {other: newest([row for row in documents if row["url"] == other]) for other in URLS}
    same = [other for other, row in last.items() if signature and row and row["signature"] == signature]
    return sorted(set(same) - {url}, key=lambda each: (len(each), each))


def told(facts: Facts | None) -> tuple[Any, ...] | None:
    if facts is None:
        return None
    assert facts.links_in_count == len(facts.links_in)
    assert facts.links_out_count == len(facts.links_out)
    return (
        [(visit.at, visit.outcome) for visit in facts.visits],
        facts.title,
        [(link.url, link.text) for link in facts.links_out],
        sorted(tuple(link) for link in facts.links_in),
        facts.copies,
    )


@settings(max_examples=12)
@given(st.lists(st.one_of(st.lists(VISIT, max_size=6), st.just("join")), min_size=1, max_size=6))
def test_facts_are_those_of_a_plain_scan_while_agents_add_and_join(steps: list[Any]) -> None:
    with quick_folder() as root:
        crawl, reader = Crawl(root), FactsReader(root)
        for step in steps:
            if step == "join":
                for _ in range(8):
                    crawl.add([(A, "fetched", 1, [(B, "joined")]), (B, "fetched", 1, [])])
                crawl.join()
            else:
                crawl.add(step)
        crawl.commit()
        for url in URLS:
            assert told(reader.facts(url, None)) == crawl.plain(url)


def test_pages_that_link_to_one_are_bounded_and_the_newest_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookups, "SOURCES_LIMIT", 3)
    with quick_folder() as root:
        crawl = Crawl(root)
        crawl.agents[0].add([(f"{A}{number}", "fetched", 0, [(C, f"{number}")]) for number in range(5)])
        crawl.add([(C, "fetched", 0, [(C, "itself")])])
        crawl.commit()
        facts = FactsReader(root).facts(C, None)
    assert facts is not None
    assert [link.text for link in facts.links_in] == ["4", "3", "2"]
    assert facts.is_links_in_bounded


def test_reader_updates_catalogues_until_it_ends(caplog: pytest.LogCaptureFixture) -> None:
    """Damage is logged, and ends nothing."""
    with quick_folder() as root:
        crawl, reader = Crawl(root), FactsReader(root)
        crawl.add([(A, "fetched", 0, [(B, "x")])])
        crawl.commit()
        for path in root.rglob("*.parquet"):
            path.write_bytes(b"PAR1" * 20)
        with reader.updating():
            pass
    assert "catalogues not updated" in caplog.text


def test_server_updates_catalogues_as_long_as_it_runs() -> None:
    with quick_folder() as root, served(root) as page:
        assert page.ask("/").status == 200
        assert "catalogues" in {thread.name for thread in threading.enumerate()}
    assert "catalogues" not in {thread.name for thread in threading.enumerate()}
