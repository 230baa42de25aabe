"""Growth of the repository: measured, interrupted and resumed, and compared with the papers' tables."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tarrafa.cli.app import run
from tarrafa.errors import DamagedError, InputError
from tarrafa.folder_mark import MARK_FILE
from tarrafa.lab.experiment import papers, parameter_study, plots
from tarrafa.lab.experiment.papers import MARKS, TABLE_4_3, TABLE_4_4, TABLE_4_5
from tarrafa.lab.experiment.parameter_study import ParameterEffect, ParameterPoint
from tarrafa.lab.experiment.uniqueness import GROWTH, GrowthRow, GrowthSettings, grow, read

SMALL = GrowthSettings(collected_count=500, extracted_count=4_500)
KNOWN = 8_000


def quiet(_line: str) -> None:
    """Ignore the progress."""


def counts(rows: list[GrowthRow]) -> list[tuple[str, int, int]]:
    return [(row.engine, row.cycle, row.known) for row in rows]


def row(engine: str, millions: float, seconds: float) -> GrowthRow:
    return GrowthRow(engine, round(millions * 10), round(millions * 1e6), seconds, seconds, 0, 0)


def test_a_run_has_a_line_for_each_cycle_and_ends_at_its_size(tmp_path: Path) -> None:
    told: list[str] = []
    rows = grow(["veuniq"], KNOWN, tmp_path, SMALL, told.append)
    assert [row.cycle for row in rows] == list(range(len(rows)))
    assert len(told) == len(rows)
    assert rows == read(tmp_path / GROWTH)
    assert rows[-1].known >= KNOWN
    assert rows[-2].known < KNOWN
    assert all(row.cpu_seconds and row.wall_seconds and row.disk_bytes and row.rss_bytes for row in rows)


class StoppedError(Exception):
    """Interrupt as Ctrl-C does."""


@pytest.mark.parametrize("cut", [False, True])
def test_a_run_that_was_stopped_goes_on_to_the_same_counts(tmp_path: Path, cut: bool) -> None:
    def stop(line: str) -> None:
        if line.startswith("cycle 3:"):
            raise StoppedError

    with pytest.raises(StoppedError):
        grow(["veuniq"], KNOWN, tmp_path / "stopped", SMALL, stop)
    growth = tmp_path / "stopped" / GROWTH
    if cut:  # killed while the line was written: the committed batch is offered again
        growth.write_text(growth.read_text()[:-9])
    again = grow(["veuniq"], KNOWN, tmp_path / "stopped", SMALL, quiet)
    undisturbed = grow(["veuniq"], KNOWN, tmp_path / "undisturbed", SMALL, quiet)
    assert counts(again) == counts(undisturbed)
    assert [row.cycle for row in again if row.cpu_seconds is None] == [3 if cut else 4]


def test_a_run_that_is_done_does_nothing_more(tmp_path: Path) -> None:
    rows = grow(["veuniq"], KNOWN, tmp_path, SMALL, quiet)
    assert grow(["veuniq"], KNOWN, tmp_path, SMALL, quiet) == rows


def test_other_settings_are_refused_in_the_same_folder(tmp_path: Path) -> None:
    grow(["veuniq"], 100, tmp_path, SMALL, quiet)
    with pytest.raises(InputError, match="other settings"):
        grow(["veuniq"], 100, tmp_path, GrowthSettings(seed=2), quiet)


def test_a_run_that_would_not_fit_on_the_disk_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="GB are free"):
        grow(["veuniq"], 10**13, tmp_path, SMALL, quiet)


def test_a_foreign_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / GROWTH
    path.write_text("engine,cycle\nveuniq,one\n")
    with pytest.raises(DamagedError, match="veuniq,one"):
        read(path)


# The papers' tables.

PRINTED = [(engine, place) for engine in TABLE_4_3 for place in range(len(MARKS))]


@pytest.mark.parametrize(("engine", "place"), PRINTED)
def test_tables_4_4_and_4_5_follow_from_table_4_3(engine: str, place: int) -> None:
    """Interpolating between eight sizes costs half a percent; hours are printed truncated to a hundredth."""
    curve = papers.printed_curve(TABLE_4_3[engine])
    hours, rate = TABLE_4_4[engine][place], TABLE_4_5[engine][place]
    assert papers.crawl_hours(curve, MARKS[place]) == pytest.approx(hours, rel=0.005, abs=0.01)
    assert papers.pages_per_second(curve, MARKS[place]) == pytest.approx(rate, rel=0.006)


def test_marks_are_the_papers_sizes_as_far_as_the_run_got_and_its_end() -> None:
    rows = [row("veuniq", millions, 1.0) for millions in (0.5, 1.5, 40, 60)]
    found = papers.marks(rows)
    assert [mark.millions for mark in found] == [1, 50, 60]
    assert [mark.table_3 for mark in found] == [1.38, 2.78, None]
    assert found[0].pages_per_second == pytest.approx(100_000 / 271)


def test_cycles_without_times_are_left_out() -> None:
    rows = [row("veuniq", 1, 1.0), row("veuniq", 2, 9.0)._replace(cpu_seconds=None, wall_seconds=None)]
    assert papers.marks(rows)[-1].wall_seconds == 1.0


def test_the_verdict_says_which_engine_is_cheaper_and_by_how_much() -> None:
    rows = [
        row(engine, millions, millions * 0.01 * cost)
        for engine, cost in (("veuniq", 1), ("drum", 4))
        for millions in MARKS
    ]
    text = papers.verdict(papers.marks(rows))
    assert "drum takes 4.0 times as long as veuniq and 4.0 times its CPU: that veuniq is the cheaper one holds" in text
    assert "(papers: 8.9 and 31.4 times as long)" in text
    dear = [row(engine, 1, cost) for engine, cost in (("veuniq", 2.0), ("drum", 1.0))]
    assert "does not hold" in papers.verdict(papers.marks(dear))


# What is written.


def test_plots_are_png_and_svg(tmp_path: Path) -> None:
    rows = [row(engine, millions, millions) for engine in ("veuniq", "drum", "memory") for millions in MARKS]
    plots.draw(rows, tmp_path)
    png, svg = tmp_path / "growth.png", tmp_path / "growth.svg"
    assert png.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert "<svg" in svg.read_text()


def test_a_missing_matplotlib_is_said_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    code = run(
        ["experiment", "uniqueness", "--engines", "veuniq", "--dir", str(tmp_path / "d"), "--out", str(tmp_path)]
    )
    assert code == 2
    assert "pip install 'tarrafa[plots]'" in capsys.readouterr().err
    assert not (tmp_path / "d").exists()


def test_the_command_prints_a_table_and_writes_all_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    tiny = ["experiment", "uniqueness", "--known", "5000", "--cycle-urls", "5000", "--engines", "veuniq,memory"]
    assert run([*tiny, "--dir", "state", "--out", "out"]) == 0
    shown = capsys.readouterr()
    assert "Table 4.3" in shown.out
    assert "veuniq is the cheaper one" in shown.out
    assert "cycle 0:" in shown.err
    assert {path.name for path in Path("out").iterdir()} == {
        *(f"growth.{kind}" for kind in ("csv", "json", "md", "png", "svg")),
        MARK_FILE,
    }
    assert run([*tiny, "--dir", "state", "--json"]) == 0
    assert {mark["engine"] for mark in json.loads(capsys.readouterr().out)["marks"]} == {"veuniq", "memory"}


def test_an_engine_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["experiment", "uniqueness", "--engines", "veuniq,nosuch"]) == 2
    assert "unknown engine 'nosuch'" in capsys.readouterr().err


# Parameters.


def test_points_vary_one_parameter_at_a_time() -> None:
    found = parameter_study.points(1_000_000)
    middle = ParameterPoint(block_rows=250_000, batch_urls=50_000, run_ratio=4, scheduled=1_000)
    for varied, point in found:
        assert replace(point, **{varied: getattr(middle, varied)}) == middle
    assert {varied for varied, _ in found} == {"block_rows", "batch_urls", "run_ratio", "scheduled"}


def test_smaller_blocks_are_more_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = [("block_rows", ParameterPoint(2_000, 400, 2, 10)), ("block_rows", ParameterPoint(500, 400, 2, 10))]
    monkeypatch.setattr(parameter_study, "points", lambda _known: few)
    effects = parameter_study.study(2_000, quiet, tmp_path)
    assert all(effect.cpu_seconds > 0 and effect.bytes_per_url > 0 for effect in effects)
    assert effects[0].blocks < effects[1].blocks
    assert list(tmp_path.iterdir()) == []


def test_the_parameters_command_prints_a_table_or_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    effect = ParameterEffect("block_rows", ParameterPoint(2_000, 400, 4, 10), 3, 0.5, 0.6, 10**8, 45.5)
    monkeypatch.setattr(parameter_study, "study", lambda *_given: [effect])
    assert run(["experiment", "parameters"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split() == [
        "block_rows",
        "2,000",
        "3",
        "0.50",
        "0.60",
        "100",
        "45.5",
    ]
    assert run(["experiment", "parameters", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["effects"][0]["point"]["batch_urls"] == 400


def test_a_study_that_is_too_small_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["experiment", "parameters", "--known", "5"]) == 2
    assert "at least 2000" in capsys.readouterr().err
