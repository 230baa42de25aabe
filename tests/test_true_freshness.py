"""Reports that ask a synthetic web how fresh its copies are in truth."""

import json
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from crawls import ServedWeb, crawled, pages, served
from tarrafa.agent import CrawlFolder
from tarrafa.cli.app import run
from tarrafa.errors import InputError
from tarrafa.histories import DAY_SECONDS
from tarrafa.report import SyntheticWebTruth, make_report
from tarrafa.report.true_freshness import CopySample, PastCopy, true_freshness
from tarrafa.report.web_truth import BATCH_COPIES, Copy, CopyTruth

NOW = 20 * DAY_SECONDS
UNKNOWN, FRESH = CopyTruth(False), CopyTruth(True)


def stale(day: float, web_days: float = 0.0) -> CopyTruth:
    return CopyTruth(True, day * DAY_SECONDS, web_days * DAY_SECONDS)


class KnownTruth:
    """Knows what became of each copy, by URL and day."""

    def __init__(self, fates: dict[tuple[str, float], CopyTruth]) -> None:
        self._fates = fates

    def fates(self, copies: Sequence[Copy]) -> Iterator[CopyTruth]:
        return (self._fates[copy.url, copy.at_seconds / DAY_SECONDS] for copy in copies)


def visits(*rows: tuple[str, float, str]) -> pa.RecordBatch:
    """Return rows of documents: URL, day, outcome."""
    urls, days, outcomes = zip(*rows, strict=True)
    moments = [datetime.fromtimestamp(day * DAY_SECONDS, UTC) for day in days]
    columns = {"url": urls, "outcome": outcomes, "fetched_at": pa.array(moments, pa.timestamp("us", "UTC"))}
    return pa.RecordBatch.from_pydict({name: pa.array(column) for name, column in columns.items()})


def sample_of(*batches: pa.RecordBatch, limit: int = 100) -> CopySample:
    sample = CopySample(limit)
    for batch in batches:
        sample.read(batch)
    return sample


# Copies and their sums.


def test_copy_lasts_until_it_is_replaced_or_removed() -> None:
    sample = sample_of(
        visits(("http://a/", 1, "fetched"), ("http://b/", 1, "gone"), ("http://c/", 2, "fetched")),
        visits(("http://a/", 3, "unchanged"), ("http://c/", 4, "gone"), ("http://a/", 5, "failed")),
        visits(("http://a/", 6, "fetched"), ("http://c/", 9, "fetched"), ("http://a/", 7, "walled")),
    )
    found = [(copy.url, copy.at_seconds / DAY_SECONDS, copy.until_seconds / DAY_SECONDS) for copy in sample.copies()]
    never = float("inf")
    assert sorted(found) == [
        ("http://a/", 1, 6),
        ("http://a/", 6, never),
        ("http://c/", 2, 4),
        ("http://c/", 9, never),
    ]
    assert sample.share == 1


def test_of_many_versions_all_of_a_sample_of_pages_are_kept() -> None:
    sample, day = CopySample(limit=100), 0
    for day in range(4):
        sample.read(visits(*((f"http://a/{page}", day, "fetched") for page in range(200))))
    copies = sample.copies()
    urls = {copy.url for copy in copies}
    assert 25 < len(copies) <= 100
    assert len(copies) == 4 * len(urls)
    assert sample.share == pytest.approx(len(urls) / 200, abs=0.08)
    assert sum(copy == PastCopy(copy.url, day * DAY_SECONDS) for copy in copies) == len(urls)


def test_sums_weigh_pages_and_leave_out_what_is_not_known() -> None:
    sample = sample_of(
        visits(
            ("http://a/", 1, "fetched"),
            ("http://a/", 10, "fetched"),
            ("http://a/x", 2, "fetched"),
            ("http://b/", 2, "fetched"),
            ("http://b/y", 2, "fetched"),
        )
    )
    truth = KnownTruth(
        {
            ("http://a/", 1): stale(4),
            ("http://a/", 10): FRESH,
            ("http://a/x", 2): stale(12, web_days=80),
            ("http://b/", 2): stale(18, web_days=20),
            ("http://b/y", 2): UNKNOWN,
        }
    )
    found = true_freshness(truth, sample, {"http://a/": 3.0, "http://b/": 0.5}, ["http://a", "http://c"], NOW)
    assert found.total.as_json() == {
        "pages": 3,
        "freshness": pytest.approx(3 / 4.5),
        "age_days": pytest.approx((8 + 0.5 * 2) / 4.5),
        "wrong_share": pytest.approx(1 / 4.5),
        "web_age_days": pytest.approx((80 + 0.5 * 20) / 4.5),
    }
    assert found.unknown == 1
    assert {host: sums.pages for host, sums in found.hosts.items()} == {"http://a": 2, "http://c": 0}
    # Pages at a, x and b; that of a was stale from day 4 to day 10, x is from day 12 on, b from day 18 on.
    past = found.over_time.at(np.array([0.0, 1.5, 5, 11, 15, 19]) * DAY_SECONDS)
    assert [(each.pages, round(each.freshness * each.pages)) for each in past] == [
        *((0, 0), (1, 1), (3, 2), (3, 3), (3, 2), (3, 1))
    ]
    assert [each.age_days * each.pages for each in past] == pytest.approx([0, 0, 1, 0, 3, 8])


def test_collection_without_copies_has_no_truth() -> None:
    found = true_freshness(KnownTruth({}), CopySample(), {}, ["http://a"], NOW)
    assert found.total.as_json()["freshness"] == 0
    assert found.over_time.at(np.array([1.0]))[0].pages == 0


# With a web that is served.


def bodies(urls: Sequence[str]) -> dict[str, bytes | None]:
    found: dict[str, bytes | None] = {}
    for url in urls:
        try:
            with urllib.request.urlopen(url) as answer:
                found[url] = answer.read()
        except urllib.error.HTTPError:
            found[url] = None
    return found


def reported(folder: Path, url: str) -> dict[str, Any]:
    freshness = make_report(CrawlFolder(folder), 1, truth=SyntheticWebTruth(url)).as_json()["freshness"]
    found: dict[str, Any] = json.loads(json.dumps(freshness))["true"]
    return found


def advance(web: ServedWeb, days: int) -> None:
    question = urllib.request.Request(f"{web.url}__clock?advance_seconds={days * DAY_SECONDS}", method="POST")
    urllib.request.urlopen(question).close()


def test_true_freshness_is_the_share_of_pages_that_send_the_same_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "crawl"
    with served("--hosts", "8", "--pages", "150", "--rng-seed", "5") as web:
        crawled(web, folder)
        urls = [row["url"] for row in pages(folder) if row["url"] in web.collectable()]
        before = bodies(urls)
        assert reported(folder, web.url)["freshness"] == 1
        advance(web, 20)
        true = reported(folder, web.url)
        after = bodies(urls)
        others = true["pages"] - len(urls)  # documents and images, which never change
        same = sum(before[url] == after[url] for url in urls)
        assert 0 <= others < len(urls)
        assert 0.2 < same / len(urls) < 0.8
        last = true["over_time"][-1]
        assert last["pages"] == true["pages"]
        assert round(last["freshness"] * last["pages"]) == same + others
        assert 0 < true["age_days"] < true["web_age_days"] < 20
        assert sum(host["pages"] for host in true["hosts"].values()) == true["pages"]
        assert run(["report", "--dir", str(folder), "--truth", web.url]) == 0
        shown = capsys.readouterr().out
        assert "True freshness\nas the synthetic web tells, by importance" in shown
        assert "true mean age" in shown


def test_pages_of_a_web_that_runs_fast_become_stale(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A day of the web passes each second."""
    folder, speed = tmp_path / "crawl", 86_400
    with served("--hosts", "8", "--pages", "150", "--rng-seed", "5", "--speed", str(speed)) as web:
        crawled(web, folder)
        true = reported(folder, web.url)
    assert true["freshness"] < 1
    assert 0 < true["age_days"] * speed <= true["web_age_days"] * 1.001
    assert true["pages"] > 100
    with served("--hosts", "8", "--pages", "150", "--rng-seed", "5") as later:
        true = reported(folder, later.url)
    assert true["pages"] == 0, "the copies are of another web, which has gone"
    assert true["unknown"] > 100
    assert run(["report", "--dir", str(folder), "--truth", later.url]) == 2
    assert "give --truth the URL that tarrafa web shows, while it runs" in " ".join(capsys.readouterr().err.split())


# Whom it asks.


@contextmanager
def answering(body: bytes, status: int = 200) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"<p>Hello</p>", 200), (b"{}", 200), (b"[]", 200), (b"[" * 100_000, 200), (b"\xff", 200), (b"no", 404)],
)
def test_other_server_is_refused(body: bytes, status: int) -> None:
    with (
        answering(body, status) as url,
        pytest.raises(InputError, match="is not a synthetic web; give --truth the URL"),
    ):
        SyntheticWebTruth(url)


@pytest.mark.parametrize(
    "url", ["http://example.org/", "https://127.0.0.1/", "127.0.0.1:8800", "", "http://127.0.0.1:99999/", "http://[/"]
)
def test_only_this_machine_is_asked(url: str) -> None:
    with pytest.raises(InputError, match="is not the URL of a web on this machine"):
        SyntheticWebTruth(url)


def test_batches_are_as_long_as_the_web_allows() -> None:
    with served("--hosts", "2", "--pages", "10") as web:
        truth = SyntheticWebTruth(web.url)
        copies = [Copy(web.url, 0.0)] * (2 * BATCH_COPIES + 1)
        assert [fate.is_judged for fate in truth.fates(copies)] == [False] * len(copies)
