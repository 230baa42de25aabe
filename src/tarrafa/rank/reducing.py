"""From rows with texts to columns of numbers: what is left of documents and links when only the graph matters.

A part numbers its URLs and texts by itself; all that refers to them are 32-bit numbers. So a link takes 13 bytes and a
little for its visit, whatever its texts. Two parts can be joined as if their rows had come together.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tarrafa.rank.columns import (
    I64,
    U32,
    U64,
    Marks,
    distinct,
    encoded,
    fingerprints_of,
    host_hashes_of,
    joined,
    moments_of,
    numbered,
    plain,
)

LINK_COLUMNS = ("source", "fetched_at", "target", "text", "rel", "kind")
DOCUMENT_COLUMNS = ("url", "fetched_at", "outcome", "signature", "canonical", "directives")

_REDIRECT = "redirect"
_NOT_PAGES = ("image",)
# The answer 304 brings neither text nor links: what counts is the visit before it.
_UNCHANGED = "unchanged"
_FETCHED = "fetched"


class DocumentPart(NamedTuple):
    """A row for each visit."""

    urls: U64  # fingerprints, sorted
    hosts: U64  # hash of each URL's host
    pages: U32  # the number of the visited URL
    moments: I64  # microseconds since the Unix epoch
    signatures: U64
    canonicals: U32  # the number of the URL that the page names; its own if it names none
    is_fetched: Marks
    is_nofollow: Marks


class LinkPart(NamedTuple):
    """Visits, and a row for each link."""

    urls: U64  # fingerprints, sorted
    hosts: U64  # hash of each URL's host
    sources: U32  # of each visit: the number of the visited URL
    moments: I64  # of each visit: microseconds since the Unix epoch
    visits: U32  # of each link: the number of the visit
    targets: U32  # of each link: the number of a URL
    texts: U32  # of each link: the number of its text
    is_redirect: Marks  # of each link
    text_hashes: U64
    text_edges: I64  # where each text begins among the bytes, and where the last ends
    text_bytes: NDArray[np.uint8]


class _Once(NamedTuple):
    hashes: U64  # each once, sorted
    numbers: U32  # of each row: the place of its hash among them
    first_marks: list[Marks]  # of each column that was added: the rows whose hash stands nowhere before
    first_places: I64  # of each hash: the place of its row among those that are marked, in all columns together


@dataclass(slots=True)
class _Hashes:
    """Columns of hashes one after the other. Filled by add, emptied when a part is made."""

    columns: list[U64] = field(default_factory=list)
    count: int = 0

    def add(self, hashes: U64) -> U32:
        """The numbers of their rows."""
        first, self.count = self.count, self.count + len(hashes)
        self.columns.append(hashes)
        return np.arange(first, self.count, dtype=np.uint32)

    def once(self) -> _Once:
        hashes, firsts, numbers = distinct(joined(self.columns, np.uint64))
        is_first = np.zeros(self.count, np.bool_)
        is_first[firsts] = True
        first_places = np.cumsum(is_first)[firsts] - 1
        edges = np.cumsum([len(column) for column in self.columns])
        return _Once(hashes, numbers, np.split(is_first, edges)[:-1], first_places)


@dataclass(slots=True)
class _Names:
    """URLs that rows refer to by number. Filled by add, emptied when a part is made."""

    hashes: _Hashes = field(default_factory=_Hashes)
    # To find a host takes long, and most URLs come often: only those are asked for that are marked.
    hosts: list[Callable[[Marks], U64]] = field(default_factory=list)

    def add(self, urls: pa.LargeStringArray, fingerprints: U64) -> U32:
        """The numbers of a column of URLs."""
        self.hosts.append(lambda marks: host_hashes_of(urls.filter(pa.array(marks))))
        return self.hashes.add(fingerprints)

    def add_part(self, urls: U64, hosts: U64) -> U32:
        self.hosts.append(lambda marks: hosts[marks])
        return self.hashes.add(urls)

    def sorted(self) -> tuple[U64, U64, U32]:
        """Each URL once; their hosts; and of each old number the new one."""
        once = self.hashes.once()
        hosts = [find(marks) for find, marks in zip(self.hosts, once.first_marks, strict=True)]
        return once.hashes, joined(hosts, np.uint64)[once.first_places], once.numbers


@dataclass(slots=True)
class _Texts:
    """Texts that rows refer to by number. Filled by add, emptied when a part is made."""

    hashes: _Hashes = field(default_factory=_Hashes)
    texts: list[pa.LargeStringArray] = field(default_factory=list)

    def add(self, texts: pa.LargeStringArray, fingerprints: U64) -> U32:
        """The numbers of a column of texts."""
        self.texts.append(texts)
        return self.hashes.add(fingerprints)

    def once(self) -> tuple[U64, pa.LargeStringArray, NDArray[Any]]:
        """The hash of each text, once; the texts; and of each old number the new one.

        In the order in which they came: to sort texts would mean to copy them from here and there.
        """
        once = self.hashes.once()
        pairs = zip(self.hashes.columns, self.texts, once.first_marks, strict=True)
        firsts = [(hashes[marks], texts.filter(pa.array(marks))) for hashes, texts, marks in pairs]
        hashes = joined([hashes for hashes, _ in firsts], np.uint64)
        texts = pa.concat_arrays([pa.array([], pa.large_string()), *(texts for _, texts in firsts)])
        return hashes, texts, once.first_places.astype(np.uint32)[once.numbers]


class DocumentRows:
    """Gathers rows of documents until they become a part."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        # Both filled by add and add_part, emptied by part: a list for each column of a part beside its names.
        self._names = _Names()
        self._columns: list[list[NDArray[Any]]] = [[] for _ in DocumentPart._fields[2:]]

    def add(self, batch: Any) -> None:
        """Rows with `DOCUMENT_COLUMNS`."""
        batch = batch.filter(pc.not_equal(batch.column("outcome"), _UNCHANGED))
        urls, named = plain(batch.column("url")), plain(batch.column("canonical"))
        pages = self._names.add(urls, fingerprints_of(urls))
        names_one = pc.not_equal(named, "").to_numpy(zero_copy_only=False)
        named = named.filter(pa.array(names_one))
        canonicals = pages.copy()
        canonicals[names_one] = self._names.add(named, fingerprints_of(named))
        self._append(
            pages,
            moments_of(batch.column("fetched_at")),
            batch.column("signature").to_numpy(zero_copy_only=False),
            canonicals,
            pc.equal(batch.column("outcome"), _FETCHED).to_numpy(zero_copy_only=False),
            _lists_with(batch.column("directives"), "nofollow"),
        )

    def add_part(self, part: DocumentPart) -> None:
        urls, hosts, pages, moments, signatures, canonicals, *marks = part
        numbers = self._names.add_part(urls, hosts)
        self._append(numbers[pages], moments, signatures, numbers[canonicals], *marks)

    def _append(self, *columns: NDArray[Any]) -> None:
        for gathered, column in zip(self._columns, columns, strict=True):
            gathered.append(column)

    def part(self) -> DocumentPart:
        kinds = (np.uint32, np.int64, np.uint64, np.uint32, np.bool_, np.bool_)
        pages, moments, signatures, canonicals, *marks = map(joined, self._columns, kinds)
        urls, hosts, numbers = self._names.sorted()
        self._clear()
        return DocumentPart(urls, hosts, numbers[pages], moments, signatures, numbers[canonicals], *marks)


def _lists_with(column: Any, word: str) -> Marks:
    """Which of the lists hold the word."""
    found = np.zeros(len(column), np.bool_)
    parents = pc.list_parent_indices(column).to_numpy()
    found[parents[pc.equal(pc.list_flatten(column), word).to_numpy(zero_copy_only=False)]] = True
    return found


class LinkRows:
    """Gathers rows of links until they become a part."""

    def __init__(self, is_nofollow: Callable[[str], bool]) -> None:
        """`is_nofollow` judges a link by its `rel`."""
        self._is_nofollow = is_nofollow
        self._clear()

    def _clear(self) -> None:
        # All filled by add and add_part, emptied by part.
        self._names = _Names()
        self._texts = _Texts()
        self._visits_count = 0
        self._visited: list[list[NDArray[Any]]] = [[], []]  # sources, moments
        self._links: list[list[NDArray[Any]]] = [[], [], [], []]  # visits, targets, texts, redirects

    def add(self, batch: Any) -> None:
        """Rows with `LINK_COLUMNS`; those of one visit stand together."""
        sources, targets = numbered(batch.column("source")), plain(batch.column("target"))
        target_prints = fingerprints_of(targets)
        counts = self._may_count(batch) & (sources.fingerprints[sources.numbers] != target_prints)
        chosen = pa.array(counts)
        texts = plain(batch.column("text")).filter(chosen)
        moments = moments_of(batch.column("fetched_at"))
        starts, visits = _visits(sources.numbers, moments)
        visited = sources.numbers[starts]
        visited_urls = plain(sources.texts.take(pa.array(visited)))
        self._append(
            (self._names.add(visited_urls, sources.fingerprints[visited]), moments[starts]),
            (
                visits[counts],
                self._names.add(targets.filter(chosen), target_prints[counts]),
                self._texts.add(texts, fingerprints_of(texts)),
                _marked(batch.column("kind"), lambda kind: kind == _REDIRECT)[counts],
            ),
        )

    def _may_count(self, batch: Any) -> Marks:
        is_no_page = _marked(batch.column("kind"), lambda kind: kind in _NOT_PAGES)
        return ~(is_no_page | _marked(batch.column("rel"), self._is_nofollow))

    def add_part(self, part: LinkPart) -> None:
        urls = self._names.add_part(part.urls, part.hosts)
        texts = self._texts.add(texts_of(part), part.text_hashes)
        self._append(
            (urls[part.sources], part.moments),
            (part.visits, urls[part.targets], texts[part.texts], part.is_redirect),
        )

    def _append(self, visited: tuple[NDArray[Any], ...], links: tuple[NDArray[Any], ...]) -> None:
        visits, *others = links
        for gathered, column in zip(self._visited, visited, strict=True):
            gathered.append(column)
        for gathered, column in zip(self._links, (visits + self._visits_count, *others), strict=True):
            gathered.append(column)
        self._visits_count += len(visited[0])

    def part(self) -> LinkPart:
        sources, moments = map(joined, self._visited, (np.uint32, np.int64))
        visits, targets, texts, is_redirect = map(joined, self._links, (np.uint32, np.uint32, np.uint32, np.bool_))
        urls, hosts, url_numbers = self._names.sorted()
        hashes, texts_once, text_numbers = self._texts.once()
        self._clear()
        links = (visits, url_numbers[targets], text_numbers[texts], is_redirect)
        return LinkPart(urls, hosts, url_numbers[sources], moments, *links, hashes, *_flat(texts_once))


def _visits(sources: NDArray[Any], moments: I64) -> tuple[I64, U32]:
    """Where each visit begins, and the number of each row's visit."""
    begins = np.ones(len(sources), np.bool_)
    begins[1:] = (sources[1:] != sources[:-1]) | (moments[1:] != moments[:-1])
    return np.flatnonzero(begins), np.cumsum(begins, dtype=np.uint32) - np.uint32(1)


def _marked(column: Any, judge: Callable[[str], bool]) -> Marks:
    """What the judge says of each row's text; each different text is judged once."""
    indices, texts = encoded(column)
    return np.fromiter(map(judge, texts.to_pylist()), np.bool_, len(texts))[indices]


def _flat(array: pa.LargeStringArray) -> tuple[I64, NDArray[np.uint8]]:
    """Texts as edges and bytes."""
    if not len(array):
        return np.zeros(1, np.int64), np.empty(0, np.uint8)
    edges = np.frombuffer(array.buffers()[1], np.int64, len(array) + 1, 8 * array.offset)
    data = np.frombuffer(array.buffers()[2] or b"", np.uint8)
    return edges - edges[0], data[edges[0] : edges[-1]]


def texts_of(part: LinkPart) -> pa.LargeStringArray:
    buffers = [pa.py_buffer(np.ascontiguousarray(each)) for each in (part.text_edges, part.text_bytes)]
    return pa.LargeStringArray.from_buffers(len(part.text_hashes), *buffers)
