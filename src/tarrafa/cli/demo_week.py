"""The second half of the demo: a week passes in the synthetic web, and the collection follows."""

import time
import urllib.request
from collections import Counter
from typing import Any, NamedTuple

import typer

from tarrafa.agent import CrawlFolder, Progress, RefreshMode, RunLimits, checkpoint_of
from tarrafa.cli.crawl import crawl
from tarrafa.cli.progress_view import ProgressView
from tarrafa.collection.indexer import Indexer, StopFlag
from tarrafa.configuration import Configuration
from tarrafa.keep import DOCUMENTS, read_batches
from tarrafa.library.crawl_run import CrawlRequest
from tarrafa.search import Search, SearchRequest

WEEK_SECONDS = 7 * 86_400
_CANDIDATES, _RESULTS = 20, 20
_WORD_CHARS = 4  # at least


class NewWord(NamedTuple):
    """A word that stands in a page since it changed."""

    url: str
    word: str


def follow_the_web(url: str, folder: CrawlFolder, configuration: Configuration, *, is_quiet: bool) -> dict[str, Any]:
    """Let a week pass, visit every page again, and search for what is new in one of them; return what happened."""
    began = time.monotonic()
    request = urllib.request.Request(f"{url}__clock?advance_seconds={WEEK_SECONDS}", method="POST")  # noqa: S310
    urllib.request.urlopen(request).close()  # noqa: S310 - our own server
    limits = RunLimits(mode=RefreshMode.AGAIN)
    progress = crawl(CrawlRequest(folder, configuration, limits=limits), ProgressView(is_quiet=is_quiet))
    with Indexer(folder.root) as indexer:
        indexer.update(lambda *_: None, StopFlag())
    found = _found(folder)
    told = {
        "refreshes": progress.run_refreshes,
        "changed": progress.run_changed,
        "url": found.url,
        "query": found.word,
        "seconds": round(time.monotonic() - began, 1),
    }
    if not is_quiet:
        typer.echo(_sentence(progress, found))
    return told


def _sentence(progress: Progress, found: NewWord) -> str:
    share = progress.run_changed / max(1, progress.run_refreshes)
    told = (
        f"\nA week has passed in the web. tarrafa crawl --again: {progress.run_refreshes:,} URLs visited again, "
        f"{share:.0%} of them had changed, {progress.run_pages:,} pages are new."
    )
    if not found.url:
        return told
    return f"{told}\ntarrafa search '{found.word}' finds {found.url}, where the word is new."


def _found(folder: CrawlFolder) -> NewWord:
    """Return a word that is new in a page, and that a search now finds there; empty if there is none."""
    search = Search.open(folder.root)
    for each in _new_words(folder):
        hits = search.search(SearchRequest(each.word, top=_RESULTS, per_site=0)).hits
        if any(hit.url == each.url for hit in hits):
            return each
    return NewWord("", "")


def _new_words(folder: CrawlFolder) -> list[NewWord]:
    """Return words that are new in pages that have changed, the longest of each page."""
    last = checkpoint_of(folder.hosts).number
    counts: Counter[str] = Counter()
    for part in read_batches(folder.documents, DOCUMENTS, last, ["url", "outcome"]):
        counts.update(row["url"] for row in part.to_pylist() if row["outcome"] == "fetched")
    several = [url for url, count in counts.items() if count > 1][:_CANDIDATES]
    texts: dict[str, list[tuple[float, str]]] = {url: [] for url in several}
    for part in read_batches(folder.documents, DOCUMENTS, last, ["url", "fetched_at", "outcome", "text"]):
        for row in part.to_pylist():
            if row["url"] in texts and row["outcome"] == "fetched":
                texts[row["url"]].append((row["fetched_at"], row["text"]))
    return [NewWord(url, word) for url in several if (word := _new_word(texts[url]))]


def _new_word(versions: list[tuple[float, str]]) -> str:
    (_, old), *_, (_, new) = sorted(versions)
    words = {word for word in set(new.split()) - set(old.split()) if word.isalpha() and len(word) >= _WORD_CHARS}
    return max(sorted(words), key=len, default="")
