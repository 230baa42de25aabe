"""The index holds the current version of each page, whatever happened to it before."""

import signal
import subprocess
import sys
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from archive_pages import quick_folder
from ranked import A as LINKING
from ranked import link
from tarrafa.collection.indexer import Indexer, StopFlag
from tarrafa.collection.ranker import update_ranks
from tarrafa.search import Search, SearchRequest
from tarrafa.urls import fingerprint
from tarrafa.versions import MERE_VISITS
from versioned import VersionedCrawl

URLS = [f"http://example.org/{name}" for name in "abcd"]
WORDS = ["alpha", "beta", "gamma"]
OUTCOMES = [*["fetched"] * 3, *MERE_VISITS, "gone", "redirected", "refused", "dropped"]
VISIT = st.tuples(st.sampled_from(URLS), st.sampled_from(OUTCOMES), st.sampled_from(WORDS), st.booleans())
STEPS = st.lists(st.lists(VISIT, max_size=6) | st.sampled_from(["index", "join", "rank", "rebuild"]), max_size=12)
KILLED = f"""
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parent)!r})
from tarrafa.collection.indexer import Indexer, StopFlag
from tarrafa.search.index_writer import IndexWriter

def killed(*_):
    os.kill(os.getpid(), signal.SIGKILL)

setattr(IndexWriter, sys.argv[2], killed)
with Indexer(Path(sys.argv[1])) as indexer:
    indexer.update(lambda *_: None, StopFlag())
"""


class Model:
    """What a search should find."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def visit(self, url: str, outcome: str, text: str, may_index: bool) -> None:
        if outcome == "fetched" and may_index:
            self.texts[url] = text
        elif outcome not in MERE_VISITS:
            self.texts.pop(url, None)


def found(crawl: VersionedCrawl, word: str) -> list[str]:
    """Return the URLs of all hits and their copies."""
    results = Search.open(crawl.folder.root).search(SearchRequest(word, top=50, per_site=0, verbatim=True))
    assert results.count == sum(1 + len(hit.copies) for hit in results.hits)
    return sorted(url for hit in results.hits for url in (hit.url, *hit.copies))


def check(crawl: VersionedCrawl, model: Model) -> None:
    assert Search.open(crawl.folder.root).documents_count == len(model.texts)
    for word in WORDS:
        assert found(crawl, word) == sorted(url for url, text in model.texts.items() if word in text)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
def test_index_is_that_of_the_model_after_any_visits(steps: list) -> None:  # type: ignore[type-arg]
    with quick_folder() as root:
        crawl, model = VersionedCrawl(root / "crawl"), Model()
        for step in [*steps, "index"]:
            if step == "join":
                crawl.join()
            elif step == "rank":
                update_ranks(crawl.folder, lambda *_: None)
            elif isinstance(step, str):
                crawl.index(is_new=step == "rebuild")
                check(crawl, model)
            else:
                for url, outcome, word, may_index in step:
                    text = f"{word} words" if outcome == "fetched" else ""
                    links = [link(LINKING, word)] if outcome == "fetched" else []
                    crawl.visit(url, text, outcome, links, directives=() if may_index else ("noindex",))
                    model.visit(url, outcome, text, may_index)
                crawl.save()
        crawl.close()


def named(number: int) -> str:
    """Return a word of letters, far from any other, so that none is taken for a misspelling of another."""
    return "".join(chr(97 + int(digit, 16)) for digit in f"{fingerprint(str(number)):016x}")


def test_page_that_changed_a_hundred_times_is_one_hit(tmp_path: Path) -> None:
    crawl = VersionedCrawl(tmp_path / "crawl")
    crawl.visit(URLS[1], "constant other")
    with Indexer(crawl.folder.root) as indexer:
        for number in range(100):
            crawl.visit(URLS[0], f"constant {named(number)}")
            crawl.save()
            indexer.update(lambda *_: None, StopFlag())
    search = Search.open(crawl.folder.root)
    assert search.documents_count == 2
    assert found(crawl, "constant") == URLS[:2]
    assert found(crawl, named(99)) == [URLS[0]]
    assert found(crawl, named(98)) == []
    crawl.close()


def test_anchor_texts_of_a_replaced_version_are_forgotten(tmp_path: Path) -> None:
    crawl = VersionedCrawl(tmp_path / "crawl")
    crawl.visit(URLS[0], "target page")
    crawl.visit("http://other.example/", "linking page", links=[link(URLS[0], "alpha")])
    crawl.save()
    update_ranks(crawl.folder, lambda *_: None)
    crawl.index()
    assert found(crawl, "alpha") == [URLS[0]]
    crawl.visit("http://other.example/", "linking anew", links=[link(URLS[0], "beta")])
    crawl.save()
    update_ranks(crawl.folder, lambda *_: None)
    crawl.index()
    assert found(crawl, "alpha") == []
    assert found(crawl, "beta") == [URLS[0]]
    crawl.close()


def test_index_that_was_killed_before_its_commit_still_becomes_that_of_the_current_versions(tmp_path: Path) -> None:
    crawl = VersionedCrawl(tmp_path / "crawl")
    crawl.visit(URLS[0], "alpha")
    crawl.visit(URLS[1], "beta")
    crawl.save()
    crawl.index()
    crawl.visit(URLS[0], "gamma")
    crawl.visit(URLS[1], outcome="gone")
    crawl.save()
    for step in ("apply", "commit", "close"):
        command = [sys.executable, "-c", KILLED, str(crawl.folder.root), step]
        assert subprocess.run(command, timeout=60, check=False).returncode == -signal.SIGKILL
    crawl.index()
    assert (found(crawl, "alpha"), found(crawl, "beta"), found(crawl, "gamma")) == ([], [], [URLS[0]])
    assert Search.open(crawl.folder.root).documents_count == 1
    crawl.close()
