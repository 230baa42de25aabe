"""What the engine of production does beyond the contract: splits, choices, damage, disks that refuse, two processes."""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from sample_batches import batches
from tarrafa.errors import DamagedError, LockedError, WorkError
from tarrafa.verify import Batch, Collected, Extracted, Quota, RepositoryBounds, Veuniq, counts_of, drain, problems_of
from tarrafa.verify.keys import keys_of
from tarrafa.verify.veuniq.block import FingerprintRun, merged
from tarrafa.verify.veuniq.cycle_writer import TEXTS_MAX
from tarrafa.verify.veuniq.spills import read_waiting

SEED = 7


def extracted(urls: list[str], priority: int = 10) -> Extracted:
    return found(urls, [priority] * len(urls))


def found(urls: list[str], priority: list[int], depth: int = 0) -> Extracted:
    ones, count = np.ones(len(urls), np.uint16), len(urls)
    return Extracted(
        urls, np.array(priority, np.uint16), ones, ones, np.full(count, depth, np.uint32), np.zeros(count, np.uint8)
    )


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Veuniq]:
    repository = Veuniq(tmp_path, bounds=RepositoryBounds(rows=150), seed=SEED)
    for batch in batches(seed=2, count=8):
        repository.cycle(batch)
    yield repository
    repository.close()


def test_sound_repository_has_no_problems_and_many_blocks(filled: Veuniq) -> None:
    assert filled.counts().blocks > 3
    assert list(filled.problems()) == []


def test_the_block_with_most_waiting_has_its_turn(filled: Veuniq) -> None:
    waiting = [block.waiting for block in filled.state.blocks]
    assert max(waiting) > 0
    fullest = filled.state.blocks[waiting.index(max(waiting))].number
    assert filled.cycle(Batch(100)).block == fullest
    assert filled.counts().waiting == sum(waiting) - max(waiting)


def test_a_host_larger_than_a_block_is_kept_whole(tmp_path: Path) -> None:
    repository = Veuniq(tmp_path, bounds=RepositoryBounds(rows=50), seed=SEED)
    repository.cycle(Batch(0, extracted=extracted([f"http://large.example/{n}" for n in range(500)])))
    assert repository.counts().blocks == 1
    repository.cycle(Batch(1, extracted=extracted(["http://small.example/", "http://large.example/500"])))
    list(drain(repository, 2))
    assert repository.counts()[:4] == (502, 0, 2, 2)
    assert len(list(repository.urls_of("http://large.example"))) == 501
    assert list(repository.problems()) == []
    repository.close()


def test_blocks_go_on_to_split_while_hosts_appear(tmp_path: Path) -> None:
    repository = Veuniq(tmp_path, bounds=RepositoryBounds(rows=100), seed=SEED)
    for number in range(20):
        urls = [f"http://h{number}-{host}.example/{page}" for host in range(10) for page in range(5)]
        repository.cycle(Batch(number, extracted=extracted(urls)))
    list(drain(repository, 20))
    counts = repository.counts()
    assert (counts.known, counts.hosts) == (1000, 200)
    assert counts.blocks >= 10
    assert all(block.rows <= 150 for block in repository.state.blocks)
    repository.close()


def test_scheduled_are_the_uncollected_of_lowest_priority_for_each_host(tmp_path: Path) -> None:
    repository = Veuniq(tmp_path, seed=SEED)
    urls = [f"http://{host}.example/{page}" for host in "ab" for page in range(6)]
    visited = ["http://a.example/5"]
    visit = Collected(
        visited, np.array([1.0]), np.array([200], np.uint16), np.zeros(1, np.uint32), np.zeros(1, np.uint64)
    )
    repository.cycle(Batch(0, visit, found(urls, [5, 4, 3, 2, 1, 0] * 2)))
    assert {each.host: (each.urls, each.left_count) for each in repository.scheduled(0, per_host=3)} == {
        "http://a.example": ([f"http://a.example/{page}" for page in (4, 3, 2)], 5),
        "http://b.example": ([f"http://b.example/{page}" for page in (5, 4, 3)], 6),
    }
    repository.close()


def host_with(paths: list[str], priority: list[int], depth: int = 0) -> Extracted:
    return found([f"http://a.example/{path}" for path in paths], priority, depth)


def visits_of(urls: list[str]) -> Collected:
    count = len(urls)
    columns = np.ones(count), np.full(count, 200, np.uint16), np.zeros(count, np.uint32), np.zeros(count, np.uint64)
    return Collected(urls, *columns)


def test_a_new_host_starts_with_its_shortest_paths_and_is_refilled_by_the_policy_when_few_are_left(
    tmp_path: Path,
) -> None:
    bounds = RepositoryBounds(quota=Quota(scheduled=4, refill_below=2))
    with Veuniq(tmp_path, bounds=bounds, seed=SEED) as repository:
        paths = ["x" * length for length in (9, 8, 7, 6, 5, 4, 3, 2)]
        repository.cycle(Batch(0, extracted=host_with(paths, [0, 1, 2, 3, 4, 5, 6, 7])))
        shortest = {f"http://a.example/{path}" for path in paths[-4:]}
        assert {url for each in repository.scheduled(0) for url in each.urls} == shortest
        # With two left nothing is chosen, whatever its priority; with one left, the best of the rest are.
        first, second, third, last = sorted(shortest)
        repository.cycle(Batch(1, visits_of([first, second]), host_with(["better"], [0])))
        assert {url for each in repository.scheduled(0) for url in each.urls} == {third, last}
        repository.cycle(Batch(2, visits_of([third])))
        found = [url for each in repository.scheduled(0) for url in each.urls]
        assert found == [f"http://a.example/{path}" for path in ("x" * 9, "better", "x" * 8, "x" * 7, last[17:])]
        counts = repository.counts()
        assert (counts.known, counts.scheduled, counts.collected) == (9, 5, 3)
        assert list(repository.problems()) == []


def test_a_thousand_are_scheduled_and_a_thousand_more_when_fewer_than_ten_are_left(tmp_path: Path) -> None:
    urls = [f"http://a.example/{number}" for number in range(3_000)]
    with Veuniq(tmp_path, seed=SEED) as repository:
        repository.cycle(Batch(0, extracted=extracted(urls)))
        first = next(repository.scheduled(0)).urls
        assert len(first) == repository.counts().scheduled == 1_000
        repository.cycle(Batch(1, visits_of(first[:990])))
        assert repository.counts().scheduled == 10
        repository.cycle(Batch(2, visits_of(first[990:991])))
        assert repository.counts().scheduled == 1_009


def test_among_urls_of_equal_priority_those_of_an_earlier_batch_are_scheduled_first(tmp_path: Path) -> None:
    bounds = RepositoryBounds(quota=Quota(scheduled=3, refill_below=1))
    with Veuniq(tmp_path, bounds=bounds, seed=SEED) as repository:
        repository.cycle(Batch(0, extracted=host_with(["a", "b", "c"], [0, 0, 0])))
        for number in range(1, 4):
            repository.cycle(Batch(number, extracted=host_with([f"{number}x", f"{number}y"], [7, 7])))
        repository.cycle(Batch(4, visits_of([f"http://a.example/{path}" for path in "abc"])))
        found = next(repository.scheduled(0)).urls
        assert {url[-2:] for url in found[:2]} == {"1x", "1y"}
        assert found[2][-2:] in ("2x", "2y")


def test_among_urls_of_equal_priority_those_nearer_to_a_seed_come_first_at_any_depth(tmp_path: Path) -> None:
    with Veuniq(tmp_path, seed=SEED) as repository:
        for number, depth in enumerate((100_000, 70, 99_999, 0)):
            repository.cycle(Batch(number, extracted=host_with([f"{depth}"], [7], depth)))
        repository.cycle(Batch(4, extracted=host_with(["100000"], [7], 80)))  # found once more, nearer
        scheduled = next(repository.scheduled(0))
        assert [url.rpartition("/")[2] for url in scheduled.urls] == ["0", "70", "100000", "99999"]
        assert (scheduled.depths, scheduled.kinds) == ([0, 70, 80, 99_999], [0] * 4)


def test_what_is_scheduled_stays_so_over_a_restart_and_a_split(tmp_path: Path) -> None:
    bounds = RepositoryBounds(rows=100, quota=Quota(scheduled=3, refill_below=1))
    urls = [f"http://h{host}.example/{'p' * page}" for host in range(30) for page in range(1, 9)]
    with Veuniq(tmp_path, bounds=bounds, seed=SEED) as repository:
        repository.cycle(Batch(0, extracted=extracted(urls)))
        list(drain(repository, 1))
    with Veuniq(tmp_path, bounds=bounds) as repository:
        assert len(repository.blocks()) > 1
        found = [url for block in repository.blocks() for each in repository.scheduled(block) for url in each.urls]
        assert sorted(found) == sorted(url for url in urls if len(url.rpartition("/")[2]) <= 3)


def test_a_block_with_too_many_hosts_is_split(tmp_path: Path) -> None:
    with Veuniq(tmp_path, bounds=RepositoryBounds(hosts=10), seed=SEED) as repository:
        for number in range(6):
            repository.cycle(Batch(number, extracted=extracted([f"http://h{number}-{k}.example/" for k in range(8)])))
        list(drain(repository, 6))
        assert repository.counts().hosts == 48
        assert all(block.hosts_count <= 18 for block in repository.state.blocks)
        assert list(repository.problems()) == []


def test_texts_and_visits_are_joined_when_there_are_many(tmp_path: Path) -> None:
    given = batches(seed=9, count=110, size=60)
    with Veuniq(tmp_path / "joined", bounds=RepositoryBounds(rows=1300), seed=SEED) as repository:
        for batch in given:
            repository.cycle(batch)
        list(drain(repository, len(given)))
        assert list(repository.problems()) == []
        assert any("joined" in path.name for path in files_of(tmp_path / "joined"))
        assert max(len(block.texts) for block in repository.state.blocks) <= TEXTS_MAX
        joined = set(repository.urls())
    offered = {url for batch in given for url in (*batch.collected.urls, *batch.extracted.urls)}
    assert {known.url for known in joined} == offered
    assert {known.url: known.at_seconds for known in joined if known.collected} == _last_visits(given)
    named = set(files_of(tmp_path / "joined"))
    Veuniq(tmp_path / "joined").close()
    assert set(files_of(tmp_path / "joined")) == named, "a cycle leaves no rubbish behind"


def _last_visits(given: list[Batch]) -> dict[str, float]:
    """Batches come in the order of time."""
    visits: dict[str, float] = {}
    for batch in given:
        visits.update(zip(batch.collected.urls, batch.collected.at_seconds.tolist(), strict=True))
    return visits


def test_each_crawl_has_a_secret_seed_of_its_own_that_it_keeps(tmp_path: Path) -> None:
    first, second = Veuniq(tmp_path / "a"), Veuniq(tmp_path / "b")
    seeds = [first.state.seed, second.state.seed]
    first.close()
    second.close()
    again = Veuniq(tmp_path / "a")
    assert seeds[0] != seeds[1]
    assert again.state.seed == seeds[0]
    again.close()


def test_the_second_process_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    repository = Veuniq(tmp_path)
    script = "import sys; from pathlib import Path; from tarrafa.verify import Veuniq; Veuniq(Path(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False)
    assert "LockedError" in done.stderr
    assert f"process {os.getpid()}" in done.stderr
    with pytest.raises(LockedError):
        Veuniq(tmp_path)
    repository.close()
    Veuniq(tmp_path).close()


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "held-by")


KINDS = ["run", "row_index", "row_state", "hosts", "texts", "visits", "cycle", "manifest"]


@pytest.mark.parametrize("damage", ["cut", "flip", "gone"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_named_and_never_taken_for_true(
    kind: str, damage: str, filled: Veuniq, tmp_path: Path
) -> None:
    # The newest: every part of it still waits, if it is a spill.
    path = [path for path in files_of(tmp_path) if path.name.startswith(kind) and path.suffix != ".index"][-1]
    data = path.read_bytes()
    if damage == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif damage == "flip":
        middle = len(data) // 2
        path.write_bytes(data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :])
    else:
        path.unlink()
    filled.close()
    left = files_of(tmp_path)
    with pytest.raises(DamagedError, match=path.name):
        _read_all(tmp_path)
    assert files_of(tmp_path) == left, "what is left is not swept away"


def _read_all(folder: Path) -> None:
    with Veuniq(folder) as repository:
        problems = list(repository.problems())
    if problems:
        raise DamagedError(" ".join(problems))


def test_a_disk_that_is_full_is_told_and_nothing_is_damaged(tmp_path: Path) -> None:
    """The limit on the size of a file stands for a disk without room: the system refuses the write in the same way."""
    repository = Veuniq(tmp_path, seed=SEED)
    given = batches(seed=4, count=2, size=2000)
    repository.cycle(given[0])
    before = set(repository.urls())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(WorkError, match="nothing was damaged"):
            repository.cycle(given[1])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert set(repository.urls()) == before
    repository.cycle(given[1])
    assert {known.url for known in repository.urls()} > {known.url for known in before}
    assert list(repository.problems()) == []
    repository.close()


def test_runs_are_merged_until_each_is_four_times_the_next() -> None:
    def run(size: int, start: int) -> FingerprintRun:
        fingerprints = np.arange(start, start + 10 * size, 10, dtype=np.uint64)
        return FingerprintRun(fingerprints, np.arange(size, dtype=np.uint32) + np.uint32(start * 1000))

    runs = merged([run(100, 0), run(20, 1), run(6, 2)], 4)
    assert [len(each.rows) for each in runs] == [126]
    assert (np.diff(runs[0].fingerprints.astype(np.int64)) > 0).all()
    assert [len(each.rows) for each in merged([run(100, 0), run(20, 1)], 4)] == [100, 20]


def test_the_texts_are_parquet_with_the_columns_that_the_docs_name(filled: Veuniq, tmp_path: Path) -> None:
    tables = [pq.read_table(path) for path in files_of(tmp_path) if path.name.startswith("texts")]
    assert {tuple(table.column_names) for table in tables} == {("origin", "host", "path", "cycle")}
    assert sum(table.num_rows for table in tables) == filled.counts().known


def spill_files(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "spill").iterdir() if path.suffix != ".index")


def hosts_of_blocks(repository: Veuniq) -> list[str]:
    """One host of each block, by the range of the block."""
    found: dict[int, str] = {}
    for number in range(100):
        url = f"http://narrow-{number}.example/"
        host_hash = int(keys_of([url], SEED).hosts[0])
        block = next(block for block in repository.state.blocks if block.first <= host_hash < block.end)
        found.setdefault(block.first, url)
    return [found[first] for first in sorted(found)]


def test_spills_go_although_some_blocks_never_have_anything_to_verify(filled: Veuniq, tmp_path: Path) -> None:
    """A crawl of few hosts, after one of many: the blocks of the others are not verified again."""
    list(drain(filled, 100))
    wide, narrow = hosts_of_blocks(filled)[:2]
    for number in range(200, 260):
        urls = [f"{wide}{number}-{page}" for page in range(3)] + [f"{narrow}{number}-{page}" for page in range(2)]
        filled.cycle(Batch(number, extracted=extracted(urls)))
    assert 0 < len(spill_files(tmp_path)) < 10
    list(drain(filled, 300))
    assert spill_files(tmp_path) == []
    assert list(filled.problems()) == []


def test_disk_of_spills_is_bounded_by_what_waits(filled: Veuniq, tmp_path: Path) -> None:
    """One URL waits long for its block, beside many that are verified soon."""
    list(drain(filled, 100))
    rare, first, second = hosts_of_blocks(filled)[:3]
    filled.cycle(Batch(200, extracted=extracted([f"{first}{page}" for page in range(20)] + [f"{rare}a", f"{rare}b"])))
    for number in range(201, 230):
        urls = [f"{host}{number}-{page}" for host in (first, second) for page in range(200)]
        filled.cycle(Batch(number, extracted=extracted([*urls, f"{rare}{number}"])))
        state = filled.state
        since = {block.first: block.since for block in state.blocks}
        waiting_bytes = sum(len(part.data) for spill in state.spills for part in read_waiting(tmp_path, spill, since))
        newest_bytes = max((spill.stored.size_bytes for spill in state.spills), default=0)
        assert sum(spill.stored.size_bytes for spill in state.spills) <= 4 * waiting_bytes + 2 * newest_bytes
    list(drain(filled, 300))
    assert filled.lookup(f"{rare}201") is not None
    assert list(filled.problems()) == []


def test_many_small_spills_become_one(filled: Veuniq, tmp_path: Path) -> None:
    list(drain(filled, 100))
    rare, usual = hosts_of_blocks(filled)[:2]
    for number in range(200, 300):
        urls = [f"{usual}{number}-{page}" for page in range(150)]
        filled.cycle(Batch(number, extracted=extracted([*urls, f"{rare}{number}"])))
        assert len(spill_files(tmp_path)) <= 66
    assert filled.counts().waiting >= 99
    assert list(filled.problems()) == []
    list(drain(filled, 400))
    assert all(filled.lookup(f"{rare}{number}") for number in range(200, 300))


def test_readers_need_no_lock_and_see_a_commit(filled: Veuniq, tmp_path: Path) -> None:
    assert counts_of(tmp_path) == filled.counts()
    assert problems_of(tmp_path) == []
    (tmp_path / filled.state.blocks[0].runs[0].name).write_bytes(b"")
    assert len(problems_of(tmp_path)) == 1
