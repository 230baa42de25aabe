"""The reduction of rows to numbers: what the graph needs of documents and links.

A part numbers its own URLs and texts, and refers to them by 32-bit numbers. A link takes 13 bytes, plus a share of its
visit. Two parts can be merged as if their rows had come together.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tarrafa.rank.arrays import (
    I64,
    U32,
    U64,
    Mask,
    distinct_hashes,
    encode_texts,
    fingerprints_of,
    flatten_texts,
    host_hashes_of,
    join_arrays,
    moments_of,
    number_texts,
    plain_texts,
    restore_texts,
)
from tarrafa.versions import are_mere_visits, are_versions

LINK_COLUMNS = ("source", "fetched_at", "target", "text", "rel", "kind")
DOCUMENT_COLUMNS = ("url", "fetched_at", "outcome", "signature", "canonical", "directives")

_REDIRECT = "redirect"
_NOT_PAGES = ("image",)


class DocumentPart(NamedTuple):
    """A row for each visit that is not a mere one."""

    urls: U64  # fingerprints, sorted
    hosts: U64  # hash of each URL's host
    pages: U32  # number of the visited URL
    moments: I64  # microseconds since the Unix epoch
    signatures: U64
    canonicals: U32  # number of the URL that the page names canonical; its own if there is none
    is_fetched: Mask
    is_nofollow: Mask


class LinkPart(NamedTuple):
    """Visits, and a row for each link."""

    urls: U64  # fingerprints, sorted
    hosts: U64  # hash of each URL's host
    sources: U32  # for each visit: number of the visited URL
    moments: I64  # for each visit: microseconds since the Unix epoch
    visits: U32  # for each link: number of the visit
    targets: U32  # for each link: number of a URL
    texts: U32  # for each link: number of its text
    is_redirect: Mask  # for each link
    text_hashes: U64
    text_edges: I64  # where each text begins among the bytes, and where the last ends
    text_bytes: NDArray[np.uint8]


class _DistinctHashes(NamedTuple):
    hashes: U64  # each once, sorted
    numbers: U32  # for each row: place of its hash among them
    first_masks: list[Mask]  # for each added column: True for rows whose hash occurs nowhere before
    first_places: I64  # for each hash: place of its row among those of all masks together


@dataclass(slots=True)
class _Hashes:
    """Columns of hashes one after the other. Filled by add, dropped when a part is made."""

    columns: list[U64] = field(default_factory=list)
    count: int = 0

    def add(self, hashes: U64) -> U32:
        """Add a column; return the numbers of its rows."""
        first, self.count = self.count, self.count + len(hashes)
        self.columns.append(hashes)
        return np.arange(first, self.count, dtype=np.uint32)

    def distinct(self) -> _DistinctHashes:
        hashes, firsts, numbers = distinct_hashes(join_arrays(self.columns, np.uint64))
        is_first = np.zeros(self.count, np.bool_)
        is_first[firsts] = True
        first_places = np.cumsum(is_first)[firsts] - 1
        edges = np.cumsum([len(column) for column in self.columns])
        return _DistinctHashes(hashes, numbers, np.split(is_first, edges)[:-1], first_places)


@dataclass(slots=True)
class _UrlColumns:
    """URLs that rows refer to by number. Filled by add and add_part, dropped when a part is made."""

    hashes: _Hashes = field(default_factory=_Hashes)
    # Return the hosts of the masked rows of a column. Hashing hosts is slow and most URLs repeat, so it is done last.
    hosts: list[Callable[[Mask], U64]] = field(default_factory=list)

    def add(self, urls: pa.LargeStringArray, fingerprints: U64) -> U32:
        """Add a column of URLs; return their numbers."""
        self.hosts.append(lambda mask: host_hashes_of(urls.filter(pa.array(mask))))
        return self.hashes.add(fingerprints)

    def add_part(self, urls: U64, hosts: U64) -> U32:
        self.hosts.append(lambda mask: hosts[mask])
        return self.hashes.add(urls)

    def sorted(self) -> tuple[U64, U64, U32]:
        """Return each URL once, sorted; their hosts; and the new number for each old one."""
        found = self.hashes.distinct()
        hosts = [find(mask) for find, mask in zip(self.hosts, found.first_masks, strict=True)]
        return found.hashes, join_arrays(hosts, np.uint64)[found.first_places], found.numbers


@dataclass(slots=True)
class _TextColumns:
    """Texts that rows refer to by number. Filled by add, dropped when a part is made."""

    hashes: _Hashes = field(default_factory=_Hashes)
    texts: list[pa.LargeStringArray] = field(default_factory=list)

    def add(self, texts: pa.LargeStringArray, fingerprints: U64) -> U32:
        """Add a column of texts; return their numbers."""
        self.texts.append(texts)
        return self.hashes.add(fingerprints)

    def distinct(self) -> tuple[U64, pa.LargeStringArray, NDArray[Any]]:
        """Return the hash of each text, once; the texts; and the new number for each old one.

        Texts stay in the order in which they came, because sorting them would copy them at random.
        """
        found = self.hashes.distinct()
        columns = zip(self.hashes.columns, self.texts, found.first_masks, strict=True)
        firsts = [(hashes[mask], texts.filter(pa.array(mask))) for hashes, texts, mask in columns]
        hashes = join_arrays([hashes for hashes, _ in firsts], np.uint64)
        texts = pa.concat_arrays([pa.array([], pa.large_string()), *(texts for _, texts in firsts)])
        return hashes, texts, found.first_places.astype(np.uint32)[found.numbers]


class DocumentRows:
    """Collects rows of documents until they become a part."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        # Both filled by add and add_part, emptied by part. There is a list for each column of a part except its URLs.
        self._urls = _UrlColumns()
        self._columns: list[list[NDArray[Any]]] = [[] for _ in DocumentPart._fields[2:]]

    def add(self, batch: Any) -> None:
        """Add rows with `DOCUMENT_COLUMNS`. After a mere visit, the row before it still counts."""
        batch = batch.filter(pa.array(~are_mere_visits(batch.column("outcome"))))
        urls, canonical = plain_texts(batch.column("url")), plain_texts(batch.column("canonical"))
        pages = self._urls.add(urls, fingerprints_of(urls))
        has_canonical = pc.not_equal(canonical, "").to_numpy(zero_copy_only=False)
        canonical = canonical.filter(pa.array(has_canonical))
        canonicals = pages.copy()
        canonicals[has_canonical] = self._urls.add(canonical, fingerprints_of(canonical))
        self._append(
            pages,
            moments_of(batch.column("fetched_at")),
            batch.column("signature").to_numpy(zero_copy_only=False),
            canonicals,
            are_versions(batch.column("outcome")),
            _lists_with(batch.column("directives"), "nofollow"),
        )

    def add_part(self, part: DocumentPart) -> None:
        urls, hosts, pages, moments, signatures, canonicals, *masks = part
        numbers = self._urls.add_part(urls, hosts)
        self._append(numbers[pages], moments, signatures, numbers[canonicals], *masks)

    def _append(self, *columns: NDArray[Any]) -> None:
        for collected, column in zip(self._columns, columns, strict=True):
            collected.append(column)

    def part(self) -> DocumentPart:
        """Return the rows as a part, and start again."""
        dtypes = (np.uint32, np.int64, np.uint64, np.uint32, np.bool_, np.bool_)
        pages, moments, signatures, canonicals, *masks = map(join_arrays, self._columns, dtypes)
        urls, hosts, numbers = self._urls.sorted()
        self._clear()
        return DocumentPart(urls, hosts, numbers[pages], moments, signatures, numbers[canonicals], *masks)


def _lists_with(column: Any, word: str) -> Mask:
    """Return True for lists with the word."""
    found = np.zeros(len(column), np.bool_)
    parents = pc.list_parent_indices(column).to_numpy()
    found[parents[pc.equal(pc.list_flatten(column), word).to_numpy(zero_copy_only=False)]] = True
    return found


class LinkRows:
    """Collects rows of links until they become a part."""

    def __init__(self, is_nofollow: Callable[[str], bool]) -> None:
        """`is_nofollow` decides by the `rel` of a link."""
        self._is_nofollow = is_nofollow
        self._clear()

    def _clear(self) -> None:
        # All filled by add and add_part, emptied by part.
        self._urls = _UrlColumns()
        self._texts = _TextColumns()
        self._visits_count = 0
        self._visited: list[list[NDArray[Any]]] = [[], []]  # sources, moments
        self._links: list[list[NDArray[Any]]] = [[], [], [], []]  # visits, targets, texts, redirects

    def add(self, batch: Any) -> None:
        """Add rows with `LINK_COLUMNS`; those of one visit are adjacent."""
        sources, targets = number_texts(batch.column("source")), plain_texts(batch.column("target"))
        target_prints = fingerprints_of(targets)
        counts = self._may_count(batch) & (sources.fingerprints[sources.numbers] != target_prints)
        chosen = pa.array(counts)
        texts = plain_texts(batch.column("text")).filter(chosen)
        moments = moments_of(batch.column("fetched_at"))
        starts, visits = _visits(sources.numbers, moments)
        visited = sources.numbers[starts]
        visited_urls = plain_texts(sources.texts.take(pa.array(visited)))
        self._append(
            (self._urls.add(visited_urls, sources.fingerprints[visited]), moments[starts]),
            (
                visits[counts],
                self._urls.add(targets.filter(chosen), target_prints[counts]),
                self._texts.add(texts, fingerprints_of(texts)),
                _mask_of(batch.column("kind"), lambda kind: kind == _REDIRECT)[counts],
            ),
        )

    def _may_count(self, batch: Any) -> Mask:
        is_no_page = _mask_of(batch.column("kind"), lambda kind: kind in _NOT_PAGES)
        return ~(is_no_page | _mask_of(batch.column("rel"), self._is_nofollow))

    def add_part(self, part: LinkPart) -> None:
        urls = self._urls.add_part(part.urls, part.hosts)
        texts = self._texts.add(restore_texts(part.text_edges, part.text_bytes), part.text_hashes)
        self._append(
            (urls[part.sources], part.moments),
            (part.visits, urls[part.targets], texts[part.texts], part.is_redirect),
        )

    def _append(self, visited: tuple[NDArray[Any], ...], links: tuple[NDArray[Any], ...]) -> None:
        visits, *others = links
        for collected, column in zip(self._visited, visited, strict=True):
            collected.append(column)
        for collected, column in zip(self._links, (visits + self._visits_count, *others), strict=True):
            collected.append(column)
        self._visits_count += len(visited[0])

    def part(self) -> LinkPart:
        """Return the rows as a part, and start again."""
        sources, moments = map(join_arrays, self._visited, (np.uint32, np.int64))
        visits, targets, texts, is_redirect = map(join_arrays, self._links, (np.uint32, np.uint32, np.uint32, np.bool_))
        urls, hosts, url_numbers = self._urls.sorted()
        hashes, distinct_texts, text_numbers = self._texts.distinct()
        self._clear()
        links = (visits, url_numbers[targets], text_numbers[texts], is_redirect)
        return LinkPart(urls, hosts, url_numbers[sources], moments, *links, hashes, *flatten_texts(distinct_texts))


def _visits(sources: NDArray[Any], moments: I64) -> tuple[I64, U32]:
    """Return where each visit begins, and the number of each row's visit."""
    begins = np.ones(len(sources), np.bool_)
    begins[1:] = (sources[1:] != sources[:-1]) | (moments[1:] != moments[:-1])
    return np.flatnonzero(begins), np.cumsum(begins, dtype=np.uint32) - np.uint32(1)


def _mask_of(column: Any, condition: Callable[[str], bool]) -> Mask:
    """Return True for rows whose text fulfils a condition, which is called once for each text."""
    indices, texts = encode_texts(column)
    return np.fromiter(map(condition, texts.to_pylist()), np.bool_, len(texts))[indices]
