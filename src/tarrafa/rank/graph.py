"""The link graph on disk: URLs, hosts and texts numbered over all parts, and which visits count.

URLs are numbered by fingerprint, hosts and texts by hash. In memory there are at most 24 bytes for each URL, and the
rows of one part or bucket.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tarrafa.rank.arrays import I64, U32, U64, Mask, fingerprints_of, join_arrays, runs, sorted_rows
from tarrafa.rank.bucket_file import BucketFile, buckets_of_numbers, count_buckets
from tarrafa.rank.graph_parts import GraphParts, RowKind
from tarrafa.rank.numbering import Numbering
from tarrafa.rank.reduction import DocumentPart
from tarrafa.rank.scratch import Scratch

_NEVER = np.iinfo(np.int64).min


class UrlPairs(NamedTuple):
    """URLs and others that they lead to."""

    urls: U32
    others: U32


class LastVisits(NamedTuple):
    """What the last visit of each page says."""

    is_fetched: Mask  # for each URL
    canonicals: UrlPairs  # pages and the pages that they name canonical, all fetched
    copies: UrlPairs  # fetched pages and the first page with the same content
    counted: list[Mask]  # for each part with links: True for visits whose links count


class LinkCounts(NamedTuple):
    """For each URL: how many links lead to it, and those from other hosts among them."""

    links_in: U32
    links_outside: U32


class Graph:
    """The parts, with numbers that hold for all of them."""

    def __init__(self, parts: GraphParts, scratch: Scratch, report_urls: Callable[[U64], None]) -> None:
        """`scratch` takes temporary files. `report_urls` is called with fingerprints of URLs, in order."""
        self.parts, self._scratch = parts, scratch
        self._documents_count = parts.parts_in(RowKind.DOCUMENTS)
        self._urls = Numbering(scratch, sum(parts.rows_in(kind) for kind in RowKind), np.uint64)
        self._texts = Numbering(scratch, parts.rows_in(RowKind.LINKS))
        self.host_hashes, self._hosts = self._number_urls(report_urls)
        self.no_text = self._number_texts()
        self.urls_count, self.texts_count = self._urls.count, self._texts.count

    def _number_urls(self, report_urls: Callable[[U64], None]) -> tuple[U64, BucketFile]:
        """Return the hashes of all hosts, sorted, and the number of each URL's host."""
        for kind in RowKind:
            for urls, hosts in self.parts.columns(kind, "urls", "hosts"):
                self._urls.add(urls, hosts)
        hashes, found = np.empty(0, np.uint64), BucketFile(self._scratch, 1, np.uint64)
        for urls, hosts in self._urls.distinct():
            report_urls(urls)
            found.append(hosts)
            hashes = np.union1d(hashes, hosts)
        numbers = BucketFile(self._scratch, 1, np.uint32)
        for hosts in found.batches(0):
            numbers.append(np.searchsorted(hashes, hosts))
        return hashes, numbers

    def _number_texts(self) -> int:
        """Return the number of the empty text; -1 if there is none."""
        for (hashes,) in self.parts.columns(RowKind.LINKS, "text_hashes"):
            self._texts.add(hashes, np.zeros(len(hashes), np.bool_))
        empty, found, count = fingerprints_of(pa.array([""]))[0], -1, 0
        for hashes, _ in self._texts.distinct():
            for row in np.flatnonzero(hashes == empty).tolist():
                found = count + row
            count += len(hashes)
        return found

    def hosts(self) -> U32:
        """Return the number of each URL's host."""
        return self._hosts.read(0, 0)

    def host_batches(self) -> Iterator[U32]:
        return self._hosts.batches(0)

    def documents(self) -> Iterator[tuple[U32, DocumentPart]]:
        """Yield the parts with documents, and the numbers of their URLs."""
        for number, part in enumerate(self.parts.documents()):
            yield self._urls.numbers(number), part

    def links(self, *columns: str) -> Iterator[tuple[U32, list[NDArray[Any]]]]:
        """Yield some columns of each part with links, and the numbers of its URLs."""
        for number, found in enumerate(self.parts.columns(RowKind.LINKS, *columns)):
            yield self._urls.numbers(self._documents_count + number), found

    def texts(self, part: int) -> U32:
        """Return the numbers of the texts of a part with links."""
        return self._texts.numbers(part)


def read_visits(graph: Graph, scratch: Scratch) -> LastVisits:
    last = _last_moments(graph)
    is_fetched, is_nofollow = np.zeros(len(last), np.bool_), np.zeros(len(last), np.bool_)
    canonicals: list[UrlPairs] = []
    signed = BucketFile(scratch, count_buckets(graph.parts.rows_in(RowKind.DOCUMENTS)), np.uint64, np.uint32)
    for numbers, part in graph.documents():
        rows = np.flatnonzero(part.moments == last[numbers[part.pages]])
        pages, named, signatures = numbers[part.pages[rows]], numbers[part.canonicals[rows]], part.signatures[rows]
        is_fetched[pages], is_nofollow[pages] = part.is_fetched[rows], part.is_nofollow[rows]
        canonicals.append(UrlPairs(pages[named != pages], named[named != pages]))
        signed.add(buckets_of_numbers(signatures, signed.buckets_count), signatures, pages)
    last[is_nofollow] = _NEVER
    counted = [moments == last[numbers[sources]] for numbers, (sources, moments) in graph.links("sources", "moments")]
    del last
    named_pages = join_pairs(canonicals)
    is_pair = is_fetched[named_pages.urls] & is_fetched[named_pages.others]
    fetched_pairs = UrlPairs(*(column[is_pair] for column in named_pages))
    copies = join_pairs([_copies(signed, bucket, is_fetched) for bucket in range(signed.buckets_count)])
    return LastVisits(is_fetched, fetched_pairs, copies, counted)


def join_pairs(pairs: list[UrlPairs]) -> UrlPairs:
    return UrlPairs(*(join_arrays([each[column] for each in pairs], np.uint32) for column in range(2)))


def _last_moments(graph: Graph) -> I64:
    """Return when each URL had the visit that counts: the last one of its document rows."""
    last = np.full(graph.urls_count, _NEVER)
    for numbers, part in graph.documents():
        np.maximum.at(last, numbers[part.pages], part.moments)
    return last


def _copies(signed: BucketFile, bucket: int, is_fetched: Mask) -> UrlPairs:
    """Return the fetched pages of a bucket whose signature another page has, and the first such page of each."""
    signatures, pages = signed.read(bucket, 0), signed.read(bucket, 1)
    rows = np.flatnonzero((signatures != 0) & is_fetched[pages])
    rows = rows[sorted_rows(signatures[rows])]
    starts, counts = runs(signatures[rows])
    firsts = np.repeat(pages[rows[starts]], counts)
    is_other = pages[rows] != firsts
    return UrlPairs(pages[rows][is_other], firsts[is_other])


def count_links(graph: Graph, visits: LastVisits) -> tuple[LinkCounts, UrlPairs]:
    """Count the links of the last visits; return the redirects among them as well."""
    hosts = graph.hosts()
    counts = LinkCounts(*(np.zeros(graph.urls_count, np.uint32) for _ in LinkCounts._fields))
    redirects: list[UrlPairs] = []
    parts = graph.links("sources", "visits", "targets", "is_redirect")
    for counted, (numbers, (sources, rows_visits, targets, is_redirect)) in zip(visits.counted, parts, strict=True):
        is_counted = counted[rows_visits]
        rows = np.flatnonzero(is_counted & is_redirect)
        redirects.append(UrlPairs(numbers[sources[rows_visits[rows]]], numbers[targets[rows]]))
        rows = np.flatnonzero(is_counted & ~is_redirect)
        own_hosts, own_targets = hosts[numbers], targets[rows]
        outside = own_targets[own_hosts[sources][rows_visits[rows]] != own_hosts[own_targets]]
        for column, reached in zip(counts, (own_targets, outside), strict=True):
            column[numbers] += np.bincount(reached, minlength=len(numbers)).astype(np.uint32)
    return counts, join_pairs(redirects)
