"""The simulated crawl that engines are measured with."""

import numpy as np
import pytest

from tarrafa.lab.experiment.url_stream import StreamShape, UrlStream
from tarrafa.urls import canonical
from tarrafa.verify import Batch
from tarrafa.verify.keys import keys_of, texts_of

# All fingerprints of batch 29 of SMALL, combined.
GOLDEN = 0xC8945F016B1E39D3
SMALL = StreamShape(collected_count=500, extracted_count=4_500, region_rows=10_000, first_hosts_count=60)


def batches(count: int, seed: int = 1, shape: StreamShape = SMALL) -> list[Batch]:
    stream = UrlStream(seed, shape)
    return [listed(stream.batch(number)) for number in range(count)]


def listed(batch: Batch) -> Batch:
    """Return the batch with its URLs as Python strings."""
    collected, extracted = batch.collected, batch.extracted
    return Batch(
        batch.number,
        collected._replace(urls=texts_of(collected.urls).to_pylist()),
        extracted._replace(urls=texts_of(extracted.urls).to_pylist()),
    )


def offered(batch: Batch) -> set[str]:
    return {*batch.collected.urls, *batch.extracted.urls}


def test_the_same_seed_gives_the_same_batches_and_another_seed_others() -> None:
    first, again, other = batches(5), batches(5), batches(5, seed=2)
    assert [batch.extracted.urls for batch in first] == [batch.extracted.urls for batch in again]
    assert [batch.collected.urls for batch in first] == [batch.collected.urls for batch in again]
    assert first[4].extracted.urls != other[4].extracted.urls


def test_the_stream_is_the_one_that_was_stored() -> None:
    """A measurement can be repeated on another machine: the URLs are the same."""
    batch = batches(30)[-1]
    keys = keys_of([*batch.collected.urls, *batch.extracted.urls], 0).fingerprints
    assert int(np.bitwise_xor.reduce(keys)) == GOLDEN


def test_batches_that_are_passed_over_leave_the_later_ones_as_they_are() -> None:
    late = listed(UrlStream(1, SMALL).batch(7))
    assert late.extracted.urls == batches(8)[7].extracted.urls
    assert late.number == 7


def test_a_batch_behind_the_stream_is_refused() -> None:
    stream = UrlStream(1, SMALL)
    stream.batch(3)
    with pytest.raises(ValueError, match="behind"):
        stream.batch(2)


def test_expected_counts_are_those_of_a_set_of_all_urls_offered() -> None:
    stream = UrlStream(1, SMALL)
    known: set[str] = set()
    collected: set[str] = set()
    for number in range(40):
        batch = stream.batch(number)
        known |= offered(batch)
        collected |= set(batch.collected.urls)
        assert stream.expected_known == len(known)
        assert stream.expected_collected == len(collected)
    assert stream.regions_count > 3


@pytest.mark.parametrize("seed", range(1, 7))
def test_what_is_collected_was_offered_before_and_never_collected_before(seed: int) -> None:
    known: set[str] = set()
    collected: set[str] = set()
    for batch in batches(40, seed=seed):
        now = set(batch.collected.urls)
        assert len(now) == len(batch.collected.urls) == 500
        assert not now & collected
        if batch.number >= 10:
            assert now <= known
        known |= offered(batch)
        collected |= now


def test_a_sixth_is_fresh_in_steady_state_and_most_in_a_young_crawl() -> None:
    known: set[str] = set()
    shares = []
    shape = StreamShape(500, 4_500, marks=(20_000,), region_rows=10_000, first_hosts_count=60)
    for batch in batches(30, shape=shape):
        fresh = set(batch.extracted.urls) - known - set(batch.collected.urls)
        shares.append(len(fresh) / len(batch.extracted.urls))
        known |= offered(batch)
    assert min(shares[:4]) > 0.75
    assert 0.16 < np.mean(shares[10:]) < 0.18


def test_four_fifths_of_what_is_extracted_stay_in_the_block_of_what_is_collected() -> None:
    """The blocks of an engine with the same seed: a range of host hashes that holds the collected URLs and no more."""
    for batch in batches(60)[30:]:
        collected, extracted = (keys_of(part.urls, 1).hosts for part in (batch.collected, batch.extracted))
        inside = (extracted >= collected.min()) & (extracted <= collected.max())
        assert 0.75 < inside.mean() < 0.82


def test_new_hosts_appear_in_every_cycle() -> None:
    hosts: set[str] = set()
    for batch in batches(20):
        now = {url.split("/")[2] for url in batch.extracted.urls}
        assert now - hosts
        hosts |= now


def test_hosts_follow_a_power_law() -> None:
    urls = {url for batch in batches(40) for url in batch.extracted.urls}
    _, counts = np.unique([url.split("/")[2] for url in urls], return_counts=True)
    tenth = np.sort(counts)[::-1][: len(counts) // 10].sum()
    assert tenth > 0.4 * counts.sum()


def test_urls_are_canonical_and_of_the_usual_length() -> None:
    urls = listed(UrlStream(1).batch(0)).extracted.urls
    assert all(canonical(url) == url for url in urls[::997])
    assert 72 < np.mean([len(url) for url in urls]) < 80


def test_columns_are_as_long_as_their_urls() -> None:
    batch = batches(3)[2]
    collected, extracted = batch.collected, batch.extracted
    for column in (collected.at_seconds, collected.status, collected.file, collected.offset):
        assert len(column) == len(collected.urls)
    assert len(extracted.priority) == len(extracted.links) == len(extracted.urls)
