"""One suite for every uniqueness engine: each guarantee of the contract by its number, checked against a dictionary."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from os import SEEK_END
from pathlib import Path
from typing import TypeVar
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repositories import (
    HOSTS,
    IN_BLOCKS,
    ON_DISK,
    OPENERS,
    Model,
    batch_of,
    contents,
    drained,
    finds_of,
    host_of,
    made_batch,
    new_folder,
    visits_of,
)
from tarrafa.errors import InputError, LockedError
from tarrafa.lab.engines import ENGINES, open_repository, sorted_text
from tarrafa.verify import Batch, Cycle, Known, UniquenessEngine, drain

T = TypeVar("T")

# Few hosts and paths, so that URLs meet; some of a host begin like others, and two hosts begin like a third.
HOST = st.sampled_from(["http://a.b", "http://a.b:81", "https://a.b", "http://a.bc", "http://u:p@a.b", "http://z.y"])
PATH = st.sampled_from(["/", "/a", "/a/", "/a/b", "/b?c=/d", "/~", "/" + "long" * 30])
URL = st.builds(str.__add__, HOST, PATH)
FIND = st.tuples(URL, st.integers(0, 2**16 - 1), st.one_of(st.integers(0, 3), st.just(2**16 - 1)))
VISIT = st.tuples(
    URL, st.tuples(st.sampled_from([200, 304, 404]), st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1))
)


@st.composite
def histories(draw: st.DrawFn) -> list[Batch]:
    """Batches of a crawl; no two visits are at the same time, and those of a later batch may be earlier."""
    sizes = draw(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 10)), min_size=1, max_size=6))
    times = draw(st.permutations(range(1, 1 + sum(visits for visits, _ in sizes))))
    batches, number = [], draw(st.integers(0, 3))
    for visit_count, find_count in sizes:
        visits = [(url, float(times.pop()), *rest) for url, rest in draw(_lists(VISIT, visit_count))]
        batches.append(batch_of(number, visits, draw(_lists(FIND, find_count))))
        number += draw(st.integers(1, 3))
    return batches


def _lists(each: st.SearchStrategy[T], size: int) -> st.SearchStrategy[list[T]]:
    return st.lists(each, min_size=size, max_size=size)


engines = pytest.mark.parametrize("name", OPENERS)
examples = settings(max_examples=8)


@contextmanager
def opened(name: str, folder: Path) -> Iterator[UniquenessEngine]:
    with closing(OPENERS[name](folder)) as repository:
        yield repository


def offered(batches: list[Batch]) -> list[str]:
    return [url for batch in batches for url in (*batch.collected.urls, *batch.extracted.urls)]


def after(batches: list[Batch]) -> int:
    return batches[-1].number + 1


def model_of(batches: list[Batch]) -> Model:
    model = Model()
    for batch in batches:
        model.cycle(batch)
    return model


def known_to(repository: UniquenessEngine, model: Model) -> dict[str, object]:
    return dict(contents(repository, {*map(host_of, model.known)}))


def looked_up(repository: UniquenessEngine, url: str) -> Known | None:
    known = repository.lookup(url)
    return known and known._replace(history=None)


@engines
@examples
@given(batches=histories())
def test_1_a_url_is_fresh_at_most_once_also_when_the_repository_is_opened_anew(name: str, batches: list[Batch]) -> None:
    fresh: list[str] = []
    with new_folder() as folder:
        for batch in batches:
            with opened(name, folder) as repository:
                fresh += repository.cycle(batch).fresh
        with opened(name, folder) as repository:
            fresh += [url for cycle in drained(repository, after(batches)) for url in cycle.fresh]
            assert len(fresh) == len(set(fresh))
            urls = [known.url for host in {*map(host_of, offered(batches))} for known in repository.urls_of(host)]
            assert len(urls) == len(set(urls))


@engines
@examples
@given(batches=histories())
def test_2_and_3_what_was_offered_is_admitted_and_nothing_else(name: str, batches: list[Batch]) -> None:
    with new_folder() as folder, opened(name, folder) as repository:
        for batch in batches:
            repository.cycle(batch)
        drained(repository, after(batches))
        assert contents(repository, {*map(host_of, offered(batches))}).keys() == {*offered(batches)}
        assert repository.counts().known == len({*offered(batches)})
        for url in ("http://a.b/never", "http://never.example/", "http://a/"):
            assert repository.lookup(url) is None
        assert list(repository.urls_of("http://never.example")) == []


@engines
@examples
@given(batches=histories())
def test_4_what_is_known_of_a_url_is_what_the_last_batch_said(name: str, batches: list[Batch]) -> None:
    model = model_of(batches)
    with new_folder() as folder:
        with opened(name, folder) as repository:
            for batch in batches:
                repository.cycle(batch)
            drained(repository, after(batches))
            assert known_to(repository, model) == model.known
        with opened(name, folder) as repository:
            assert {url: looked_up(repository, url) for url in model.known} == model.known


@engines
def test_4_the_last_batch_is_right_also_if_its_visit_was_the_earlier_one(name: str, tmp_path: Path) -> None:
    """Two agents whose clocks differ collect the same URL, and both batches wait while other blocks have their turn."""
    hosts = [(f"{host}/{number}", 1, 1) for host in HOSTS[:4] for number in range(6)]
    with opened(name, tmp_path) as repository:
        repository.cycle(batch_of(0, [], hosts))
        number = 1 + len(drained(repository, 1))
        for at_seconds, status in ((20.0, 200), (10.0, 404)):
            crowd = [(f"{HOSTS[1]}/{number}/{place}", 1, 1) for place in range(20)]
            repository.cycle(batch_of(number, [(f"{HOSTS[0]}/0", at_seconds, status, 1, 1)], crowd))
            number += 1
        drained(repository, number)
        known = repository.lookup(f"{HOSTS[0]}/0")
        assert known is not None
        assert (known.status, known.at_seconds) == (404, 10.0)


@engines
@examples
@given(batches=histories(), data=st.data())
def test_6_a_batch_that_is_offered_again_changes_nothing(name: str, batches: list[Batch], data: st.DataObject) -> None:
    model = model_of(batches)
    with new_folder() as folder, opened(name, folder) as repository:
        for place, batch in enumerate(batches):
            repository.cycle(batch)
            counts = repository.counts()
            again = repository.cycle(data.draw(st.sampled_from(batches[: place + 1])))
            assert again == Cycle(again.block)
            assert repository.counts() == counts
        drained(repository, after(batches))
        assert known_to(repository, model) == model.known


@pytest.mark.parametrize("name", [name for name in OPENERS if name not in IN_BLOCKS])
@examples
@given(batches=histories())
def test_7_each_url_is_in_exactly_one_of_four_sets(name: str, batches: list[Batch]) -> None:
    model = Model()
    with new_folder() as folder, opened(name, folder) as repository:
        for batch in batches:
            cycle = repository.cycle(batch)
            assert cycle._replace(block=0, fresh=sorted(cycle.fresh)) == model.cycle(batch)


@pytest.mark.parametrize("name", IN_BLOCKS)
@examples
@given(batches=histories())
def test_7_each_url_is_in_exactly_one_of_four_sets_of_the_cycle_of_its_block(name: str, batches: list[Batch]) -> None:
    """Several batches may meet in a cycle of a block, so the sets are summed when nothing waits after a batch."""
    model, number = Model(), 0
    with new_folder() as folder, opened(name, folder) as repository:
        for batch in batches:
            batch = batch_of(number, visits_of(batch), finds_of(batch))
            cycles = [repository.cycle(batch), *drain(repository, number + 1)]
            number += len(cycles)
            fresh = sorted(url for cycle in cycles for url in cycle.fresh)
            before, known, now = (sum(counts) for counts in list(zip(*cycles, strict=True))[1:4])
            assert Cycle(0, before, known, now, fresh) == model.cycle(batch)


@engines
@examples
@given(batches=histories())
def test_counts_are_those_of_a_dictionary(name: str, batches: list[Batch]) -> None:
    model = model_of(batches)
    with new_folder() as folder, opened(name, folder) as repository:
        for batch in batches:
            repository.cycle(batch)
        drained(repository, after(batches))
        counts = repository.counts()
        assert counts.known == len(model.known)
        assert counts.collected == sum(known.collected for known in model.known.values())
        assert counts.hosts == len({*map(host_of, model.known)})
        assert counts.waiting == 0
        assert (counts.disk_bytes > 0) == (name in ON_DISK) or not model.known


@engines
def test_urls_of_a_host_come_in_the_order_of_their_admission(name: str, tmp_path: Path) -> None:
    batches = [made_batch(seed=1, number=number) for number in range(6)]
    admitted = model_of(batches).admitted
    with opened(name, tmp_path) as repository:
        number = 0
        for batch in batches:
            repository.cycle(batch_of(number, visits_of(batch), finds_of(batch)))
            number += 1 + len(drained(repository, number + 1))
        for host in HOSTS:
            order = [admitted[known.url] for known in repository.urls_of(host)]
            assert order == sorted(order)


@engines
def test_empty_repository_knows_nothing(name: str, tmp_path: Path) -> None:
    for number in (0, 1):
        with opened(name, tmp_path) as repository:
            assert repository.counts()[:3] == (0, 0, 0)
            assert repository.lookup("http://a.b/") is None
            assert list(repository.urls_of("http://a.b")) == []
            assert not any(repository.cycle(Batch(number))[1:])


@pytest.mark.parametrize("name", ON_DISK)
def test_second_process_in_the_same_folder_is_refused(name: str, tmp_path: Path) -> None:
    with opened(name, tmp_path), pytest.raises(LockedError, match="in use by"):
        OPENERS[name](tmp_path)


@pytest.mark.parametrize("name", ["central", "veuniq-text of three blocks"])
@settings(max_examples=30)
@given(batches=histories(), size=st.integers(1, 3))
def test_text_in_small_subgroups_is_the_same(name: str, batches: list[Batch], size: int) -> None:
    model = model_of(batches)
    with mock.patch.object(sorted_text, "SUBGROUP_URLS", size), new_folder() as folder:
        for batch in batches:
            with opened(name, folder) as repository:
                repository.cycle(batch)
        with opened(name, folder) as repository:
            drained(repository, after(batches))
            assert known_to(repository, model) == model.known
            assert repository.counts().known == len(model.known)
            assert repository.counts().hosts == len({*map(host_of, model.known)})


@pytest.mark.parametrize("tail", [1, 10, 40])
def test_journal_of_memory_whose_last_write_was_under_way_holds_what_is_whole(tmp_path: Path, tail: int) -> None:
    with opened("memory", tmp_path) as repository:
        repository.cycle(made_batch(1, 0))
    with (tmp_path / "journal").open("r+b") as file:
        piece = file.read(tail)
        file.seek(0, SEEK_END)
        file.write(piece)
    with opened("memory", tmp_path) as repository:
        assert contents(repository, HOSTS) == model_of([made_batch(1, 0)]).known
        repository.cycle(made_batch(1, 1))
        assert contents(repository, HOSTS) == model_of([made_batch(1, number) for number in range(2)]).known


def test_unknown_engine_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="did you mean rocksdb"):
        open_repository("rocksdbb", tmp_path)
    with pytest.raises(InputError, match="known are memory, veuniq"):
        open_repository("?", tmp_path)


def test_engine_whose_package_is_missing_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENGINES, "imagined", ("no_such_package", "Engine"))
    with pytest.raises(InputError, match=r"imagined needs no_such_package: pip install 'tarrafa\[engines\]'"):
        open_repository("imagined", tmp_path)
