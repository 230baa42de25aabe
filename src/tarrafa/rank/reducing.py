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
    host_hashes_of,
    joined,
    moments_of,
    numbered,
    used_numbers,
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
    text_hashes: U64  # sorted
    text_edges: I64  # where each text begins among the bytes, and where the last ends
    text_bytes: NDArray[np.uint8]


@dataclass(slots=True)
class _Names:
    """URLs that rows refer to by number. Filled by add, emptied when a part is made."""

    urls: list[U64] = field(default_factory=list)
    hosts: list[U64] = field(default_factory=list)
    count: int = 0

    def add(self, urls: U64, hosts: U64) -> int:
        """The number of the first of them."""
        first, self.count = self.count, self.count + len(urls)
        self.urls.append(urls)
        self.hosts.append(hosts)
        return first

    def number(self, column: Any) -> NDArray[Any]:
        """The numbers of a column of URLs."""
        found = numbered(column)
        return found.numbers + self.add(found.fingerprints, host_hashes_of(found.texts))

    def sorted(self, *referring: NDArray[Any]) -> tuple[U64, U64, list[U32]]:
        """Those that are referred to, each once; their hosts; and what refers to them, renumbered."""
        urls, hosts = joined(self.urls, np.uint64), joined(self.hosts, np.uint64)
        used = used_numbers(len(urls), *referring)
        found, firsts, numbers = distinct(urls[used])
        renumbered = np.zeros(len(urls), np.uint32)
        renumbered[used] = numbers
        return found, hosts[used][firsts], [renumbered[each] for each in referring]


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
        pages = self._names.number(batch.column("url"))
        named = self._names.number(batch.column("canonical"))
        has_none = pc.equal(batch.column("canonical"), "").to_numpy(zero_copy_only=False)
        self._append(
            pages,
            moments_of(batch.column("fetched_at")),
            batch.column("signature").to_numpy(zero_copy_only=False),
            np.where(has_none, pages, named),
            pc.equal(batch.column("outcome"), _FETCHED).to_numpy(zero_copy_only=False),
            _lists_with(batch.column("directives"), "nofollow"),
        )

    def add_part(self, part: DocumentPart) -> None:
        first = self._names.add(part.urls, part.hosts)
        _, _, pages, moments, signatures, canonicals, *marks = part
        self._append(pages + first, moments, signatures, canonicals + first, *marks)

    def _append(self, *columns: NDArray[Any]) -> None:
        for gathered, column in zip(self._columns, columns, strict=True):
            gathered.append(column)

    def part(self) -> DocumentPart:
        kinds = (np.int64, np.int64, np.uint64, np.int64, np.bool_, np.bool_)
        pages, moments, signatures, canonicals, *marks = map(joined, self._columns, kinds)
        urls, hosts, (pages, canonicals) = self._names.sorted(pages, canonicals)
        self._clear()
        return DocumentPart(urls, hosts, pages, moments, signatures, canonicals, *marks)


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
        self._text_hashes: list[U64] = []
        self._texts: list[pa.LargeStringArray] = []
        self._texts_count = 0
        self._visits_count = 0
        self._visited: list[list[NDArray[Any]]] = [[], []]  # sources, moments
        self._links: list[list[NDArray[Any]]] = [[], [], [], []]  # visits, targets, texts, redirects

    def add(self, batch: Any) -> None:
        """Rows with `LINK_COLUMNS`; those of one visit stand together."""
        sources, targets = (self._names.number(batch.column(name)) for name in ("source", "target"))
        texts = numbered(batch.column("text"))
        moments = moments_of(batch.column("fetched_at"))
        starts, visits = _visits(sources, moments)
        kinds = _marked(batch.column("kind"), lambda kind: kind in _NOT_PAGES)
        counts = np.flatnonzero(~(kinds | _marked(batch.column("rel"), self._is_nofollow)))
        self._append(
            (sources[starts], moments[starts]),
            (
                visits[counts],
                targets[counts],
                texts.numbers[counts] + self._texts_count,
                _marked(batch.column("kind"), lambda kind: kind == _REDIRECT)[counts],
            ),
        )
        self._add_texts(texts.fingerprints, texts.texts.cast(pa.large_string()))

    def add_part(self, part: LinkPart) -> None:
        first = self._names.add(part.urls, part.hosts)
        self._append(
            (part.sources + first, part.moments),
            (part.visits, part.targets + first, part.texts + self._texts_count, part.is_redirect),
        )
        self._add_texts(part.text_hashes, texts_of(part))

    def _append(self, visited: tuple[NDArray[Any], ...], links: tuple[NDArray[Any], ...]) -> None:
        visits, *others = links
        for gathered, column in zip(self._visited, visited, strict=True):
            gathered.append(column)
        for gathered, column in zip(self._links, (visits + self._visits_count, *others), strict=True):
            gathered.append(column)
        self._visits_count += len(visited[0])

    def _add_texts(self, hashes: U64, texts: pa.LargeStringArray) -> None:
        self._text_hashes.append(hashes)
        self._texts.append(texts)
        self._texts_count += len(texts)

    def part(self) -> LinkPart:
        sources, moments = map(joined, self._visited, (np.int64, np.int64))
        visits, targets, texts, is_redirect = map(joined, self._links, (np.int64, np.int64, np.int64, np.bool_))
        urls, hosts, (sources, targets) = self._names.sorted(sources, targets)
        others = np.flatnonzero(sources[visits] != targets)
        texts = texts[others]
        hashes, text_numbers, texts_kept = self._distinct_texts(texts)
        links = (visits[others].astype(np.uint32), targets[others], text_numbers[texts], is_redirect[others])
        self._clear()
        return LinkPart(urls, hosts, sources, moments, *links, hashes, *_flat(texts_kept))

    def _distinct_texts(self, texts: NDArray[Any]) -> tuple[U64, U32, Any]:
        """Those that are used, each once: their hashes, the new number of each old one, and themselves."""
        hashes = joined(self._text_hashes, np.uint64)
        used = used_numbers(len(hashes), texts)
        found, firsts, numbers = distinct(hashes[used])
        renumbered = np.zeros(len(hashes), np.uint32)
        renumbered[used] = numbers
        gathered = pa.chunked_array(self._texts, pa.large_string())
        return found, renumbered, gathered.take(pa.array(used[firsts])).combine_chunks()


def _visits(sources: NDArray[Any], moments: I64) -> tuple[I64, I64]:
    """Where each visit begins, and the number of each row's visit."""
    begins = np.ones(len(sources), np.bool_)
    begins[1:] = (sources[1:] != sources[:-1]) | (moments[1:] != moments[:-1])
    return np.flatnonzero(begins), np.cumsum(begins) - 1


def _marked(column: Any, judge: Callable[[str], bool]) -> Marks:
    """What the judge says of each row's text; each different text is judged once."""
    indices, texts = encoded(column)
    return np.fromiter(map(judge, texts.to_pylist()), np.bool_, len(texts))[indices]


def _flat(texts: Any) -> tuple[I64, NDArray[np.uint8]]:
    """Texts as edges and bytes."""
    array = pa.concat_arrays(texts.chunks) if isinstance(texts, pa.ChunkedArray) else texts
    if not len(array):
        return np.zeros(1, np.int64), np.empty(0, np.uint8)
    edges = np.frombuffer(array.buffers()[1], np.int64, len(array) + 1, 8 * array.offset)
    data = np.frombuffer(array.buffers()[2] or b"", np.uint8)
    return edges - edges[0], data[edges[0] : edges[-1]]


def texts_of(part: LinkPart) -> pa.LargeStringArray:
    buffers = [pa.py_buffer(np.ascontiguousarray(each)) for each in (part.text_edges, part.text_bytes)]
    return pa.LargeStringArray.from_buffers(len(part.text_hashes), *buffers)
