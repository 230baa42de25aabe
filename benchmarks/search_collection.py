"""Simulated documents and the queries for them: the same in every run and for every peer.

Documents have about 300 words with the frequencies of a natural language. Queries are drawn from titles and headings.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tarrafa.agent import Checkpoint, CrawlFolder, HostDatabase, Totals
from tarrafa.keep import BEGINNING, DocumentRow, DocumentWriter

SEED = 1
WORDS_COUNT = 300  # words of a document
VOCABULARY, SHORT_WORDS = 200_000, 5_000
SITES_COUNT = 2_000
STEP = 5_000
DEEP_PAGE = 90
COMMON_COUNT = 100
SYLLABLES = [
    first + second for first in "bcdfglmnprstvz" for second in ("a", "e", "i", "o", "u", "ar", "en", "is", "ou")
]

Texts = tuple[str, str, str]  # title, heading and text of a document


class Collection(NamedTuple):
    """Word numbers of every document's title and heading. Texts are drawn again when they are needed."""

    titles: np.ndarray
    headings: np.ndarray
    words: list[str]

    def first(self, count: int) -> "Collection":
        return self._replace(titles=self.titles[:count], headings=self.headings[:count])

    def texts(self) -> Iterator[list[Texts]]:
        """Yield the texts of the documents in batches."""
        for titles, headings, texts in _steps(len(self.titles)):
            yield _spelt(self.words, titles, headings, texts)


def make_collection(root: Path, count: int) -> Collection:
    """Write a crawl's folder with the documents."""
    folder, words = CrawlFolder(root), _vocabulary()
    folder.hosts.parent.mkdir(parents=True)
    documents = DocumentWriter(folder.documents, 0)
    titles, headings, number = [], [], 0
    for title, heading, text in _steps(count):
        for texts in _spelt(words, title, heading, text):
            documents.add(_document(number, *texts))
            number += 1
        titles.append(title)
        headings.append(heading)
    documents.sync(1)
    book = HostDatabase(folder.hosts)
    book.commit(Checkpoint(1, BEGINNING, Totals()))
    book.close()
    return Collection(np.concatenate(titles), np.concatenate(headings), words)


def _vocabulary() -> list[str]:
    """Return distinct words of two or three syllables, the frequent ones short."""
    draw, found = np.random.default_rng(SEED), dict[str, None]()
    while len(found) < VOCABULARY:
        size = 2 if len(found) < SHORT_WORDS else 3
        for numbers in draw.integers(0, len(SYLLABLES), (STEP, size)).tolist():
            found["".join([SYLLABLES[number] for number in numbers])] = None
    return list(found)[:VOCABULARY]


def _steps(count: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield titles, headings and texts in batches; the same in each pass."""
    for first in range(0, count, STEP):
        draw = np.random.default_rng([SEED, first])
        # A whole batch is drawn even if fewer are wanted, so that a smaller collection is the beginning of a larger
        # one.
        parts = [_drawn(draw, (STEP, length)) for length in (7, 6, WORDS_COUNT)]
        titles, headings, texts = (part[: count - first] for part in parts)
        yield titles, headings, texts


def _drawn(draw: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Draw word numbers, the n-th word with a share of about 1/n."""
    numbers: np.ndarray = (np.exp(draw.random(shape) * np.log(VOCABULARY)) - 1).astype(np.int64)
    return numbers


def _spelt(words: list[str], *columns: np.ndarray) -> list[Texts]:
    spelt = ([" ".join([words[number] for number in row]) for row in numbers.tolist()] for numbers in columns)
    return [(title, heading, text) for title, heading, text in zip(*spelt, strict=True)]


def _document(number: int, title: str, heading: str, text: str) -> DocumentRow:
    return DocumentRow(
        url=f"http://www.site{number % SITES_COUNT}.example/{number}.html",
        fetched_at=1_700_000_000.0 + number,
        outcome="fetched",
        status=200,
        media_type="text/html",
        language="en",
        title=title,
        headings=(heading,),
        text=text,
        signature=number + 1,
    )


class Question(NamedTuple):
    """The same query in each query language; None if a language cannot express it."""

    kind: str
    ours: str
    fts5: str | None
    mariadb: str | None
    page: int = 1


def questions(collection: Collection, count: int) -> list[Question]:
    """Return so many queries of every kind, from titles and headings. Fewer are the first of more."""
    draw, words = np.random.default_rng([SEED, SEED]), collection.words
    found: list[Question] = []
    for _ in range(count):
        number = int(draw.integers(0, len(collection.titles)))
        a, b, c = (words[each] for each in collection.titles[number, :3])
        x, y = (words[each] for each in collection.headings[number, 2:4])
        p, q = (words[each] for each in np.sort(collection.titles[number])[-2:])
        m, n = (words[each] for each in draw.integers(0, COMMON_COUNT, 2).tolist())
        found += [
            Question("any", f"{a} {b} {c}", f"{a} OR {b} OR {c}", f"{a} {b} {c}"),
            Question("all", f"+{a} +{b} +{c}", f"{a} AND {b} AND {c}", f"+{a} +{b} +{c}"),
            Question("not", f"{a} {b} -{x}", f"({a} OR {b}) NOT {x}", f"{a} {b} -{x}"),
            Question("phrase", f'"{a} {b} {c}"', f'"{a} {b} {c}"', f'"{a} {b} {c}"'),
            # With five words between them, the second begins six words after the first.
            Question("near", f'"{x} {y}"~5', f"NEAR({x} {y}, 5)", f'"{x} {y}" @6'),
            Question("deep", f"{a} {b} {c}", f"{a} OR {b} OR {c}", f"{a} {b} {c}", DEEP_PAGE),
            Question("rare", f"{p} {q}", f"{p} OR {q}", f"{p} {q}"),
            Question("common", f"{m} {n}", f"{m} OR {n}", f"{m} {n}"),
            Question("common_phrase", f'"{m} {n}"', f'"{m} {n}"', f'"{m} {n}"'),
            Question("site", f"{a} {b} site:site{number % SITES_COUNT}.example", None, None),
        ]
    return found
