"""The time spent in each step: counted, saved, and shown beside that of the paper."""

import asyncio

import pytest

from brains import A, make_page
from tarrafa.agent import CrawlStep, Progress, StepTimes, Totals, spent_seconds
from tarrafa.agent.page_reader import PageReader
from tarrafa.cli.progress_view import time_lines
from tarrafa.extract import ExtractOptions
from tarrafa.records import Failure, FailureKind, Timings
from tarrafa.report.spent_time import paper_rows


def test_steps_of_a_visit_add_up_to_the_whole_visit() -> None:
    steps = StepTimes()
    times = Timings(name_seconds=1, connect_seconds=2, tls_seconds=3, first_byte_seconds=4, total_seconds=15)
    steps.add_visit(make_page(f"{A}/", 200, b"")._replace(timings=times), 15.0)
    assert spent_seconds(Totals(steps.take())) == {"names": 1.0, "connect": 5.0, "first byte": 4.0, "body": 5.0}


def test_visit_without_an_answer_is_a_step_of_its_own() -> None:
    steps = StepTimes()
    steps.add_visit(Failure(f"{A}/", FailureKind.TIMEOUT, "late"), 30.0)
    assert spent_seconds(Totals(steps.take())) == {"failed visits": 30.0}


def test_time_is_taken_once() -> None:
    steps = StepTimes()
    steps.add(CrawlStep.VERIFY, 0.5)
    assert steps.take()
    assert steps.take() == {}


def test_time_of_several_checkpoints_adds_up_in_the_totals() -> None:
    steps, totals = StepTimes(), Totals()
    for _ in range(3):
        steps.add(CrawlStep.EXTRACT, 0.1)
        totals = totals.plus(steps.take())
    assert spent_seconds(totals) == {"extract": pytest.approx(0.3)}


def test_time_of_the_extract_process_is_counted() -> None:
    async def parse() -> float:
        page = make_page(f"{A}/", 200, b"<p>word" * 1000)
        return (await reader.parse_apart(await reader.decode(page))).apart_seconds

    reader = PageReader(ExtractOptions(), 5_000_000)
    try:
        assert asyncio.run(parse()) > 0
    finally:
        reader.close()


def test_split_of_the_paper_stands_beside_ours() -> None:
    rows = paper_rows({"connect": 1.0, "body": 1.0, "extract": 0.5, "verify": 0.25, "schedule": 0.25}, 2_000)
    assert rows == [
        ("fetch", "2.400 s", "", "1.000 s", ""),
        ("extract", "0.120 s", "44%", "0.250 s", "50%"),
        ("verify uniqueness", "0.093 s", "34%", "0.125 s", "25%"),
        ("schedule", "0.060 s", "22%", "0.125 s", "25%"),
    ]


def test_status_shows_each_step_in_seconds_and_per_1000_pages() -> None:
    lines = time_lines(Progress(pages=500, spent_seconds={"extract": 2.0}))
    assert lines[1].split() == ["extract", "2.00", "s", "4.000", "s"]
    assert time_lines(Progress()) == []
