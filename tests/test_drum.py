"""DRUM's three operations, against a dictionary that applies them one at a time."""

import tempfile
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.lab.engines.drum import Drum, DrumAnswers
from tarrafa.lab.engines.sorted_file import PartLayout, PartSum, SortedFile, SortedPart, Values

LAYOUT = PartLayout(2, (np.dtype(np.uint32),))
NO_FILE = SortedFile(Path("none"), [])


def added(before: Values, given: Values) -> Values:
    return (before[0] + given[0],)


class Given(NamedTuple):
    operation: str
    key: int
    value: int


# Keys of all four parts, few enough to collide.
KEY = st.integers(0, 11).map(lambda number: number * (2**64 // 12))
GIVEN = st.builds(Given, st.sampled_from(["check", "update", "check_update"]), KEY, st.integers(1, 9))


class Play:
    """A drum with small arrays, and its answers."""

    def __init__(self, folder: Path, array_rows: int = 2, bucket_rows: int = 4) -> None:
        self.known: list[bool] = []
        self.values: list[int] = []
        self.texts: list[str] = []
        self.drum = Drum(
            folder / "central",
            NO_FILE,
            self._take,
            layout=LAYOUT,
            combine=added,
            array_rows=array_rows,
            bucket_rows=bucket_rows,
        )

    def _take(self, answers: DrumAnswers) -> None:
        self.known += answers.known.tolist()
        self.values += answers.values[0].tolist()
        self.texts += answers.auxiliaries

    def do(self, operation: str, keys: list[int], values: list[int], texts: list[str]) -> None:
        columns = np.array(keys, np.uint64), (np.array(values, np.uint32),)
        if operation == "check":
            self.drum.check(columns[0], texts)
        elif operation == "update":
            self.drum.update(*columns)
        else:
            self.drum.check_update(*columns, texts)


@given(operations=st.lists(GIVEN, max_size=60), merges=st.sets(st.integers(0, 59)))
def test_answers_are_those_of_a_dictionary_in_the_order_of_the_checks(
    operations: list[Given], merges: set[int]
) -> None:
    known: dict[int, int] = {}
    expected = []
    with tempfile.TemporaryDirectory() as folder:
        play = Play(Path(folder))
        for place, (operation, key, value) in enumerate(operations):
            play.do(operation, [key], [value], [f"text{place}"])
            if "check" in operation:
                expected.append((key in known, known.get(key, 0), f"text{place}"))
            if "update" in operation:
                known[key] = known.get(key, 0) + value
            if place in merges:
                play.drum.merge()
        play.drum.merge()
        assert list(zip(play.known, play.values, play.texts, strict=True)) == expected
        parts = list(play.drum.central.parts(LAYOUT))
        stored = {key: value for part in parts for key, value in zip(part.keys.tolist(), part.values[0].tolist())}  # noqa: B905
        assert stored == known
        assert [key for part in parts for key in part.keys.tolist()] == sorted(known)


@given(operations=st.lists(GIVEN, max_size=40), array_rows=st.integers(1, 5), bucket_rows=st.integers(1, 9))
def test_many_at_a_time_are_answered_as_one_at_a_time(
    operations: list[Given], array_rows: int, bucket_rows: int
) -> None:
    answers = []
    for size in (1, len(operations) or 1):
        with tempfile.TemporaryDirectory() as folder:
            play = Play(Path(folder), array_rows, bucket_rows)
            for first in range(0, len(operations), size):
                some = operations[first : first + size]
                keys, values = [each.key for each in some], [each.value for each in some]
                play.do("check_update", keys, values, [str(first + place) for place in range(len(some))])
            play.drum.merge()
            answers.append((play.known, play.values, play.texts))
    assert answers[0] == answers[1]


def test_a_bucket_that_reaches_its_bound_merges_all(tmp_path: Path) -> None:
    play = Play(tmp_path)
    play.do("check_update", [1, 2**63], [1, 1], ["low", "high"])
    assert play.texts == []
    play.do("check_update", [2, 3, 4, 5], [1, 1, 1, 1], ["a", "b", "c", "d"])
    assert play.texts == ["low", "high", "a", "b", "c", "d"]
    assert list(tmp_path.glob("*-pairs*")) == []


def test_a_text_is_kept_when_its_list_fills_the_array_of_another_bucket(tmp_path: Path) -> None:
    play = Play(tmp_path, bucket_rows=100)
    play.do("check_update", [1], [1], ["a"])
    play.do("check_update", [2, 2**63], [1, 1], ["b", "high"])
    play.drum.merge()
    assert play.texts == ["a", "b", "high"]


def test_a_full_array_moves_to_its_two_buckets_on_disk(tmp_path: Path) -> None:
    play = Play(tmp_path, bucket_rows=100)
    play.do("check_update", [1, 2], [1, 1], ["a", "b"])
    assert (tmp_path / "central-auxiliaries0").read_text() == "a\nb\n"
    assert (tmp_path / "central-pairs0").stat().st_size == 2 * (8 + 1 + 8 + 4)


def test_a_merge_reads_each_part_once_in_order_and_writes_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play = Play(tmp_path, array_rows=100, bucket_rows=1000)
    keys = [part * 2**62 + number for part in range(4) for number in range(5)]
    play.do("update", keys, [1] * 20, [])
    play.drum.merge()
    offsets: list[int] = []
    read = PartLayout.read

    def noted(layout: PartLayout, file: BinaryIO, part: PartSum) -> SortedPart:
        offsets.append(file.tell())
        return read(layout, file, part)

    monkeypatch.setattr(PartLayout, "read", noted)
    play.do("check_update", keys[::-1], [1] * 20, [str(key) for key in keys[::-1]])
    play.drum.merge()
    assert offsets == [0, 60, 120, 180]
    assert {path.name for path in tmp_path.iterdir()} == {"central-2"}
    assert all(play.known)
    assert play.texts == [str(key) for key in keys[::-1]]
