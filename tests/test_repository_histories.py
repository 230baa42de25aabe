"""Histories of collected URLs in the repository: each visit counts once, whatever happens between two batches."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repositories import OPENERS, new_folder
from sample_batches import batches
from tarrafa.histories import (
    DAY_SECONDS,
    DROPPED_STATUS,
    FIRST_RATE,
    REFUSED_STATUS,
    Change,
    Histories,
    PageHistory,
    Phase,
    VisitNews,
    fold,
    new_histories,
)
from tarrafa.verify import Batch, Collected, Extracted, Repository, RepositoryBounds, Veuniq, counts_of, drain
from tarrafa.verify.veuniq.stored_files import read_manifest

REPOSITORIES = ["veuniq", "veuniq of small blocks", "twin in memory", "twin in memory of three blocks"]
SEED = 3
START = 1_700_000_000.0
# URL, status, change, age of the content, cache lifetime; the visits are hours apart.
NewsRow = tuple[str, int, int, float, float]
URLS = [f"http://h{host}.example/{page}" for host in range(4) for page in range(3)]
STATUSES = [200, 200, 304, 301, 404, 410, 503, 0, REFUSED_STATUS, 1_003, DROPPED_STATUS, 1_104]
ROW = st.tuples(
    st.sampled_from(URLS),
    st.sampled_from(STATUSES),
    st.sampled_from(list(Change)),
    st.sampled_from([np.nan, 60.0, 1e6]),
    st.sampled_from([np.nan, 7_200.0, 1e7]),
)


def opened(name: str, folder: Path) -> Repository:
    found = OPENERS[name](folder)
    assert hasattr(found, "histories")
    return found  # type: ignore[return-value]


def visits(rows: Sequence[NewsRow], at_seconds: Sequence[float], file: int = 1) -> Collected:
    urls, status, change, content, cache = zip(*rows, strict=True) if rows else ((),) * 5
    places = np.arange(len(rows), dtype=np.uint64)
    return Collected(
        list(urls),
        np.array(at_seconds, np.float64),
        np.array(status, np.uint16),
        np.full(len(rows), file, np.uint32),
        places * 100,
        np.array(change, np.uint8),
        places + 7,
        places + 9,
        np.array(content, np.float32),
        np.array(cache, np.float32),
    )


def visits_at(told: Collected, at_seconds: Sequence[float]) -> Collected:
    return told._replace(at_seconds=np.array(at_seconds, np.float64))


def visit(url: str, at_seconds: float = START, status: int = 200, change: Change = Change.NONE) -> Collected:
    return visits([(url, status, change, np.nan, np.nan)], [at_seconds])


def found(urls: Sequence[str], outside: int = 0, depth: int = 0) -> Extracted:
    ones = np.ones(len(urls), np.uint16)
    depths = np.full(len(urls), depth, np.uint32)
    return Extracted(list(urls), ones, ones, ones * np.uint16(outside), depths, np.zeros(len(urls), np.uint8))


@st.composite
def crawls(draw: st.DrawFn) -> list[Batch]:
    """Batches of visits, in any order within a batch; no two visits are at the same time."""
    made, hour = [], 0
    for number, size in enumerate(draw(st.lists(st.integers(0, 6), min_size=1, max_size=6))):
        times = draw(st.permutations([START + 3_600.0 * (hour + place) for place in range(size)]))
        hour += size + draw(st.integers(0, 50))
        rows = draw(st.lists(ROW, min_size=size, max_size=size))
        made.append(Batch(number, visits(rows, times), found(draw(st.lists(st.sampled_from(URLS), max_size=4)))))
    return made


def folded_one_by_one(made: Sequence[Batch]) -> dict[str, Histories]:
    """Return the history of each URL in the most obvious way: one visit after the other, by time."""
    rows = [
        (at_seconds, url, status, change, content, cache)
        for batch in made
        for url, at_seconds, status, _, _, change, _, _, content, cache in zip(*batch.collected, strict=True)
    ]
    histories: dict[str, Histories] = {}
    for at_seconds, url, status, change, content, cache in sorted(rows):
        history = histories.setdefault(url, new_histories(np.zeros(1)))
        one = VisitNews(*(np.array([each]) for each in (at_seconds, status, change, content, cache)))
        fold(history, np.zeros(1, np.int64), one, np.array([FIRST_RATE]))
    return histories


COUNTED = ("visited", "changed", "not_before", "visits", "changes", "interval", "phase", "failures", "slight")


def told_by(repository: Repository) -> dict[str, dict[str, int]]:
    """Return what histories count, by URL; the evidence depends on the other pages of a host."""
    told: dict[str, dict[str, int]] = {}
    for block in repository.blocks():
        histories = repository.histories(block).histories
        for position, page in enumerate(repository.known_pages(block, histories.row)):
            assert page.url not in told
            told[page.url] = {name: int(getattr(histories, name)[position]) for name in COUNTED}
    return told


@pytest.mark.parametrize("name", REPOSITORIES)
@settings(max_examples=25)
@given(made=crawls(), data=st.data())
def test_8_each_visit_counts_once_in_the_order_of_time(name: str, made: list[Batch], data: st.DataObject) -> None:
    """Batches are offered again, and the repository is opened anew between them."""
    expected = {
        url: {column: int(getattr(history, column)[0]) for column in COUNTED}
        for url, history in folded_one_by_one(made).items()
    }
    with new_folder() as folder:
        for place, batch in enumerate(made):
            with closing(opened(name, folder)) as repository:
                repository.cycle(batch)
                repository.cycle(data.draw(st.sampled_from(made[: place + 1])))
        with closing(opened(name, folder)) as repository:
            list(drain(repository, len(made)))
            assert told_by(repository) == expected
            phases = [history["phase"] for history in expected.values()]
            assert repository.counts().phases == tuple(phases.count(phase) for phase in Phase)


@pytest.mark.parametrize("name", REPOSITORIES)
@settings(max_examples=10)
@given(made=crawls(), data=st.data())
def test_8_each_visit_counts_once_also_where_clocks_differ(name: str, made: list[Batch], data: st.DataObject) -> None:
    """A later batch tells of an earlier visit."""
    times = data.draw(st.permutations([at for batch in made for at in batch.collected.at_seconds.tolist()]))
    made = [
        batch._replace(collected=visits_at(batch.collected, [times.pop() for _ in batch.collected.urls]))
        for batch in made
    ]
    with new_folder() as folder, closing(opened(name, folder)) as repository:
        for batch in made:
            repository.cycle(batch)
        list(drain(repository, len(made)))
        for url, history in folded_one_by_one(made).items():
            assert told_by(repository)[url]["visits"] == history.visits[0]


@pytest.fixture(params=REPOSITORIES)
def repository(request: pytest.FixtureRequest, tmp_path: Path) -> Repository:
    return opened(request.param, tmp_path)


def test_history_of_a_url_is_told_with_all_that_is_known_of_it(repository: Repository) -> None:
    url = URLS[0]
    repository.cycle(Batch(0, visit(url), found([url, URLS[1]])))
    repository.cycle(Batch(1, visit(url, START + 10 * DAY_SECONDS, 200, Change.FULL)))
    list(drain(repository, 2))
    known = repository.lookup(url)
    assert known is not None
    history = known.history
    assert history is not None
    last = int(START + 10 * DAY_SECONDS)
    assert history[:7] == (Phase.LIVE, last, last, last, 2, 1, 0)
    assert history.importance == pytest.approx(1)
    assert 0 < history.changes_per_day < 1
    assert [each.history for each in repository.urls_of("http://h0.example") if each.url == url] == [history]
    other = repository.lookup(URLS[1])
    assert other is not None
    assert other.history is None
    repository.close()


def test_pages_to_be_visited_again_come_in_the_order_of_the_rows_given(repository: Repository) -> None:
    urls = URLS[:3]  # of one host
    rows = [(url, 200 + place, Change.NONE, np.nan, np.nan) for place, url in enumerate(urls)]
    repository.cycle(Batch(0, visits(rows, [START + 1, START + 2, START + 3], file=4), found(urls, depth=5)))
    [block] = [each for each in repository.blocks() if len(repository.histories(each).hosts)]
    known = repository.histories(block)
    assert {known.host_names[host] for host in known.hosts.tolist()} == {"http://h0.example"}
    pages = repository.known_pages(block, known.histories.row[::-1])
    assert [page.url for page in pages] == [page.url for page in repository.known_pages(block, known.histories.row)][
        ::-1
    ]
    assert {page.url: page[1:] for page in pages} == {
        url: (5, START + 1 + place, 200 + place, Phase.LIVE, 4, 100 * place, 7 + place, 9 + place, 0, 0)
        for place, url in enumerate(urls)
    }
    assert repository.known_pages(block, known.histories.row[:0]) == []
    repository.close()


def test_rows_of_urls_are_those_of_their_histories(repository: Repository) -> None:
    """A URL that only waits for a cycle, one of another block and one that was never offered have no row."""
    rows = [(url, 200, Change.NONE, np.nan, np.nan) for url in URLS]
    repository.cycle(Batch(0, visits(rows, [START] * len(rows)), found(URLS)))
    number = 1 + len(list(drain(repository, 1)))
    repository.cycle(Batch(number, Collected(), found([f"{URLS[0]}/later", "http://later.example/"])))
    asked = [*URLS, "http://h0.example/never", "http://never.example/"]
    places = {}
    for block in repository.blocks():
        told = repository.rows_of(block, asked)
        known = repository.histories(block).histories.row
        own = {page.url: row for page, row in zip(repository.known_pages(block, known), known.tolist(), strict=True)}
        assert told.tolist() == [own.get(url, -1) for url in asked]
        assert repository.rows_of(block, []).tolist() == []
        places.update(own)
    assert set(places) == set(URLS)
    repository.close()


def test_importance_follows_from_links_and_depth_until_it_is_set(repository: Repository) -> None:
    near, far, linked = urls = URLS[:3]
    repository.cycle(Batch(0, Collected(), found([near])))
    repository.cycle(Batch(1, Collected(), found([far], depth=9)))
    repository.cycle(Batch(2, Collected(), found([linked], outside=30, depth=4)))
    rows: list[NewsRow] = [(url, 200, Change.NONE, np.nan, np.nan) for url in urls]
    repository.cycle(Batch(3, visits(rows, [START] * 3)))
    number = 4 + len(list(drain(repository, 4)))

    def importance() -> dict[str, float]:
        histories = (repository.lookup(url).history for url in urls)  # type: ignore[union-attr]
        return {url: each.importance for url, each in zip(urls, histories, strict=True) if each}

    assert importance() == pytest.approx({near: 1, far: 0.05, linked: 4}, rel=0.05)
    weights = {near: 2_000, far: 3, linked: 0}
    for block in repository.blocks():
        repository.rate(block, lambda asked: np.array([weights[url] for url in asked.to_pylist()], np.uint32))
    assert importance() == pytest.approx({near: 2, far: 0.05, linked: 4}, rel=0.05)
    repository.cycle(Batch(number, visit(near, START + DAY_SECONDS)))
    list(drain(repository, number + 1))
    assert importance() == pytest.approx({near: 2, far: 0.05, linked: 4}, rel=0.05)
    repository.close()


def test_mean_rate_is_that_of_all_pages(repository: Repository) -> None:
    assert repository.mean_rate() == pytest.approx(FIRST_RATE)
    for day in range(20):
        rows: list[NewsRow] = [(url, 200, Change.FULL, np.nan, np.nan) for url in URLS]
        repository.cycle(Batch(2 * day, visits(rows, [START + day * DAY_SECONDS] * len(URLS))))
        repository.cycle(Batch(2 * day + 1))
    assert repository.mean_rate() > 10 * FIRST_RATE
    repository.close()


# What the engine of production does with its files.


def test_importance_stays_over_a_restart_and_a_split(tmp_path: Path) -> None:
    given_batches = batches(seed=6, count=12)
    with Veuniq(tmp_path, bounds=RepositoryBounds(rows=100_000), seed=SEED) as whole:
        for batch in given_batches[:4]:
            whole.cycle(batch)
        whole.rate(0, weights_by_length)
        before = {known.url: known.history for known in whole.urls() if known.history}
        evidence = evidence_of(whole)
    with Veuniq(tmp_path, bounds=RepositoryBounds(rows=50), seed=SEED) as split:
        assert {known.url: known.history for known in split.urls() if known.history} == before
        assert split.cycle(Batch(4, extracted=found(["http://new.example/"]))).block == 0
        assert split.counts().blocks == 2
        list(drain(split, 5))
        after = {known.url: known.history for known in split.urls() if known.history}
        assert evidence_of(split) == evidence
        assert {url: without_rate(each) for url, each in after.items()} == {
            url: without_rate(each) for url, each in before.items()
        }
        assert list(split.problems()) == []
        assert sum(split.counts().phases) == len(before)


def weights_by_length(urls: pa.LargeStringArray) -> np.ndarray:
    return np.array([100 * len(url) for url in urls.to_pylist()], np.uint32)


def without_rate(history: PageHistory) -> PageHistory:
    return history._replace(changes_per_day=0.0)


def evidence_of(repository: Veuniq) -> dict[str, tuple[float, float]]:
    evidence: dict[str, tuple[float, float]] = {}
    for block in repository.blocks():
        histories = repository.histories(block).histories
        urls = [page.url for page in repository.known_pages(block, histories.row)]
        evidence.update(zip(urls, zip(histories.shape.tolist(), histories.days.tolist(), strict=True), strict=True))
    return evidence


def test_a_kill_between_the_file_and_the_manifest_keeps_the_importance_of_before(tmp_path: Path) -> None:
    class KilledError(Exception):
        pass

    def stop(step: str) -> None:
        if step == "weights written" and is_armed:
            raise KilledError

    is_armed = False
    with Veuniq(tmp_path, seed=SEED, step=stop) as repository:
        repository.cycle(Batch(0, visit(URLS[0])))
        before = set(repository.urls())
        is_armed = True
        with pytest.raises(KilledError):
            repository.rate(0, weights_by_length)
    with Veuniq(tmp_path, seed=SEED) as repository:
        assert set(repository.urls()) == before
        assert list(repository.problems()) == []


def test_a_cycle_without_visits_does_not_write_histories(tmp_path: Path) -> None:
    with Veuniq(tmp_path, seed=SEED) as repository:
        repository.cycle(Batch(0, visit(URLS[0])))
        before = repository.state.blocks[0].histories
        repository.cycle(Batch(1, extracted=found(URLS)))
        assert repository.state.blocks[0].histories == before != []
        repository.cycle(Batch(2, visit(URLS[1])))
        assert repository.state.blocks[0].histories != before
        assert len(list(tmp_path.glob("blocks/*/histories*"))) == 1


def test_histories_that_contradict_the_rows_are_told(tmp_path: Path) -> None:
    with Veuniq(tmp_path, seed=SEED) as repository:
        repository.cycle(Batch(0, visit(URLS[0]), found(URLS)))
        [block] = repository.state.blocks
        stored = block.histories
        block.histories = []
        assert list(repository.problems()) == [
            "block 0: a collected URL has no history, or another URL has one",
            "block 0: the phases of the histories are not those that the manifest counts",
        ]
        block.histories, block.phases = stored, (0, 1, 0, 0, 0, 0, 0)
        assert list(repository.problems()) == [
            "block 0: the phases of the histories are not those that the manifest counts"
        ]


def test_the_file_of_histories_is_one_column_after_the_other(tmp_path: Path) -> None:
    """Golden: a repository is read by later versions."""
    with Veuniq(tmp_path, seed=SEED) as repository:
        repository.cycle(Batch(0, visit(URLS[2], START), found(URLS[:3])))
        repository.cycle(Batch(1, visit(URLS[0], START + 100, 404)))
        repository.cycle(Batch(2, visit(URLS[2], START + 2 * DAY_SECONDS, 200, Change.SLIGHT)))
        [path] = tmp_path.glob("blocks/*/histories*")
    data = path.read_bytes()
    assert len(data) == 2 * 33
    assert np.frombuffer(data, "<u4", 8).tolist() == [
        *(2, 0),  # rows
        *(int(START + 2 * DAY_SECONDS), int(START + 100)),  # visited
        *(int(START + 2 * DAY_SECONDS), int(START + 100)),  # changed
        *(int(START + 2 * DAY_SECONDS), int(START + 100 + DAY_SECONDS)),  # not before
    ]
    assert np.frombuffer(data, "<f4", 4, 32)[1::2].tolist() == [0, 0]
    assert (np.frombuffer(data, "<f4", 4, 32)[::2] != 0).all()
    assert np.frombuffer(data, "<u2", 4, 48).tolist() == [2, 1, 1, 0]  # visits, changes
    assert np.frombuffer(data, "u1", 10, 56).tolist() == [20, 0, 0, 0, 0, 2, 0, 1, 1, 0]
    manifest = read_manifest(tmp_path)
    assert manifest is not None
    assert manifest["format"] == 7
    assert counts_of(tmp_path).phases == (1, 0, 1, 0, 0, 0, 0)
