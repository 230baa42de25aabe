"""The record of a round: it goes on after a stop or a kill, and begins anew when it is over or has rested for long."""

import os
from pathlib import Path

import pytest

from tarrafa.agent import RefreshMode, continue_round, end_round, touch_round
from tarrafa.histories import DAY_SECONDS

NOW = 1_700_000_000.0


def record(path: Path, mode: RefreshMode, now: float, refreshes: int = 0) -> tuple[float, int]:
    found = continue_round(path, mode, now, refreshes)
    os.utime(path, (now, now))
    return found.began_at, found.refreshes


def test_round_goes_on_after_a_kill_and_another_mode_begins_one_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "round.json"
    assert record(path, RefreshMode.ROUND, NOW, 7) == (NOW, 7)
    assert record(path, RefreshMode.ROUND, NOW + 60, 20) == (NOW, 7)
    assert record(path, RefreshMode.AGAIN, NOW + 90, 20) == (NOW + 90, 20)
    end_round(path)
    end_round(path)
    assert record(path, RefreshMode.AGAIN, NOW + 99, 30) == (NOW + 99, 30)


def test_round_that_rested_for_more_than_a_day_begins_anew_but_not_if_everything_is_to_be_visited(
    tmp_path: Path,
) -> None:
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    record(one, RefreshMode.ROUND, NOW)
    record(other, RefreshMode.AGAIN, NOW)
    later = NOW + 0.9 * DAY_SECONDS
    assert record(one, RefreshMode.ROUND, later) == (NOW, 0)
    assert record(one, RefreshMode.ROUND, later + 0.9 * DAY_SECONDS) == (NOW, 0)
    assert record(one, RefreshMode.ROUND, later + 3 * DAY_SECONDS) == (later + 3 * DAY_SECONDS, 0)
    assert record(other, RefreshMode.AGAIN, NOW + 99 * DAY_SECONDS) == (NOW, 0)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"mode": "round"}', '{"mode": "round", "began_at": "x"}'])
def test_record_that_cannot_be_read_begins_a_round(tmp_path: Path, text: str) -> None:
    """The file is written at once, but a disk may lose it."""
    path = tmp_path / "round.json"
    path.write_text(text)
    assert record(path, RefreshMode.ROUND, NOW, 3) == (NOW, 3)


def test_touching_a_round_that_is_over_makes_none(tmp_path: Path) -> None:
    touch_round(tmp_path / "round.json")
    assert not (tmp_path / "round.json").exists()
