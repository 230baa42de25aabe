"""Crawls of the made-up web by each policy, over real sockets; policies of a user's own; ranks beside a crawl."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from crawls import ServedWeb, arguments, crawled, documents, pages_fetched, run, served
from tarrafa.agent import CrawlFolder, Store
from tarrafa.cli.app import run as run_here
from tarrafa.collection import rank_refresh
from tarrafa.collection.rank_refresh import RankProcess, RankRefresh, start_ranking
from tarrafa.configuration import ORDER_NAMES
from tarrafa.rank import Ranks, fingerprints_of
from tarrafa.verify import Veuniq

OWN = """
from tarrafa.schedule import WeightKind

class Longest:
    weight = WeightKind.NONE

    def priority(self, url, language=""):
        return 1 + len(url)

    def url_keys(self, urls):
        return -urls.priority.astype(int)

    def host_key(self, host):
        return host.first_key

class Unfinished:
    weight = WeightKind.NONE

class Failing:
    def __init__(self):
        raise KeyError("no such \\x1b thing")
"""


@pytest.fixture(scope="module")
def web() -> Iterator[ServedWeb]:
    with served("--hosts", "12", "--pages", "240", "--rng-seed", "6") as found:
        yield found


@pytest.fixture(scope="module")
def collectable(web: ServedWeb) -> set[str]:
    return web.collectable()


@pytest.mark.parametrize("order", ORDER_NAMES)
def test_crawl_by_every_policy_ends_with_what_a_perfect_one_collects(
    web: ServedWeb, collectable: set[str], tmp_path: Path, order: str
) -> None:
    assert crawled(web, tmp_path / "crawl", "--order", order)["ending"] == "done"
    assert pages_fetched(tmp_path / "crawl", web) == collectable


def test_policies_visit_the_pages_in_different_orders(web: ServedWeb, tmp_path: Path) -> None:
    first: dict[str, list[str]] = {}
    for order in ("fifo", "lifo"):
        crawled(web, tmp_path / order, "--order", order, "--in-flight", "1", "--pages", "60")
        first[order] = [row["url"] for row in documents(tmp_path / order)]
    assert first["fifo"] != first["lifo"]


def test_cash_of_opic_flows_from_the_seed_and_is_kept_with_each_page(web: ServedWeb, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    crawled(web, folder, "--order", "opic", "--pages", "100")
    with Veuniq(CrawlFolder(folder).repository) as repository:
        weights = {known.url: known.weight for known in repository.urls()}
    assert weights[web.url] >= 1 << 20
    assert sum(weight > 0 for weight in weights.values()) > 100


def test_seeds_gain_cash_once_also_if_one_of_them_is_refused(web: ServedWeb, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    left = f"{web.url}left?by={{}}"
    refused = f"{web.url}{'same/' * 9}"  # the same segment more than three times

    def cash() -> dict[str, int]:
        with Veuniq(CrawlFolder(folder).repository) as repository:
            return {known.url: known.weight for known in repository.urls()}

    crawled(web, folder, left.format(1), refused, "--order", "opic", "--pages", "1", "--in-flight", "1")
    first = cash()
    assert refused not in first
    assert first[left.format(1)] == 1 << 20
    crawled(web, folder, left.format(2), "--order", "opic", "--pages", "1")
    assert cash() == first | {left.format(2): 1 << 20}


def test_class_of_ones_own_in_the_current_folder_orders_a_crawl(
    web: ServedWeb, collectable: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own_orders_of_a_test.py").write_text(OWN)
    assert crawled(web, tmp_path / "crawl", "--order", "own_orders_of_a_test:Longest")["ending"] == "done"
    assert pages_fetched(tmp_path / "crawl", web) == collectable
    with Veuniq(CrawlFolder(tmp_path / "crawl").repository) as repository:
        assert all(known.priority in (0, 1 + len(known.url)) for known in repository.urls())


@pytest.mark.parametrize(
    ("order", "told"),
    [
        ("own_orders:Missing", "own_orders"),
        ("no_such_module:Newest", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("json:Newest", "AttributeError"),
        ("own_orders:Unfinished", "has no priority; it needs"),
        ("own_orders:Failing", "KeyError"),
        ("levle", 'is not one of "level", "fifo"'),
        ("own-orders:Newest", "is not one of"),
    ],
)
def test_policy_that_cannot_be_used_is_told_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], order: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own_orders.py").write_text(OWN)
    assert run_here(["crawl", "127.0.0.1:9", "--allow-private", "--dir", "crawl", "--order", order]) == 2
    error = capfd.readouterr().err
    assert told in error
    assert "Traceback" not in error
    assert "\x1b" not in error
    assert not Path("crawl").exists()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[crawl]\norder = "mix"\n[order]\nweights = "levle 1"', "[order] weights: "),
        ('[crawl]\norder = "mix"\n[order]\nsuffixes = "br"', "[order] suffixes: "),
        ('[crawl]\norder = "mix"\n[order]\nlanguages = "pt x"', "[order] languages: "),
        ("[repository]\nscheduled = 5", "refill_below = 10 is greater than scheduled = 5"),
    ],
)
def test_settings_that_only_the_policy_can_read_are_checked_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], text: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tarrafa.toml").write_text(text)
    assert run_here(["crawl", "127.0.0.1:9", "--allow-private", "--dir", "crawl"]) == 2
    assert told in capfd.readouterr().err
    assert not Path("crawl").exists()


# Ranks beside a crawl.


@pytest.fixture(scope="module")
def half(web: ServedWeb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl that has collected half of the web."""
    folder = tmp_path_factory.mktemp("half") / "crawl"
    crawled(web, folder, "--pages", "120")
    return folder


class Started:
    """Starts the process that ranks, and waits for its end, so that a test does not depend on time."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, root: Path) -> RankProcess:
        self.count += 1
        process = start_ranking(root)
        process.wait(100)
        return process


@pytest.mark.parametrize("of_hosts", [False, True])
def test_ranks_become_the_weights_of_the_urls_that_are_not_collected(
    half: Path, monkeypatch: pytest.MonkeyPatch, of_hosts: bool
) -> None:
    monkeypatch.setattr(rank_refresh, "FIRST_COUNT", 1)
    folder = CrawlFolder(half)
    refresh = RankRefresh(half, of_hosts=of_hosts, start=Started())
    refresh.current(120)
    store = Store(folder, weighing=refresh)
    store.verify()
    store.close()
    ranks = Ranks.open(folder.ranks)
    assert ranks is not None
    with Veuniq(folder.repository) as repository:
        left = [known for known in repository.urls() if not known.collected]
    urls = pa.array([known.url for known in left], pa.large_string())
    expected = ranks.lookup_hosts(urls) if of_hosts else ranks.lookup_many(urls)
    assert [known.weight for known in left] == (expected.astype(np.float64) * 1_024).astype(np.uint32).tolist()
    assert any(known.weight for known in left)


def test_rank_of_a_host_is_that_of_its_pages(half: Path) -> None:
    assert run("rank", "--dir", str(half), "--json").returncode == 0
    ranks = Ranks.open(CrawlFolder(half).ranks)
    assert ranks is not None
    urls = pa.array([row["url"] for row in documents(half)] + ["http://never.example/"], pa.large_string())
    by_page = ranks.of(fingerprints_of(urls)).host_rank
    assert ranks.lookup_hosts(urls).tolist() == by_page.tolist()
    assert by_page[-1] == 0.0


class EndedProcess:
    """A process that has ended, or goes on until it is ended."""

    def __init__(self, code: int | None, is_stubborn: bool = False) -> None:
        self.code = code
        self.is_stubborn = is_stubborn
        self.told: list[str] = []

    def poll(self) -> int | None:
        return self.code

    def terminate(self) -> None:
        self.told.append("terminate")

    def kill(self) -> None:
        self.told.append("kill")

    def wait(self, timeout: float | None = None) -> int:
        if self.is_stubborn and timeout is not None:
            raise subprocess.TimeoutExpired("rank", timeout)
        return 0


def test_ranks_are_computed_again_when_the_crawl_has_grown_by_half(tmp_path: Path) -> None:
    begun: list[RankProcess] = []

    def start(root: Path) -> RankProcess:
        begun.append(EndedProcess(0))
        return begun[-1]

    refresh = RankRefresh(tmp_path, start=start)
    counts = []
    for collected in (0, 999, 1_000, 1_001, 1_499, 1_500, 2_000, 2_249, 2_250, 2_251):
        assert refresh.current(collected) is None
        counts.append(len(begun))
    assert counts == [0, 0, 1, 1, 1, 2, 2, 2, 3, 3]


def test_ranks_that_cannot_be_computed_are_told_and_tried_again_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    refresh = RankRefresh(tmp_path, start=lambda _: EndedProcess(3))
    refresh.current(1_000)
    assert not caplog.records
    refresh.current(1_001)
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_process_that_cannot_be_started_is_told_and_tried_again_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tries: list[Path] = []

    def start(root: Path) -> RankProcess:
        tries.append(root)
        raise OSError("too many processes")

    refresh = RankRefresh(tmp_path, start=start)
    for collected in (1_000, 1_499, 1_500):
        assert refresh.current(collected) is None
    assert len(tries) == len(caplog.records) == 2
    assert vars(caplog.records[0])["fields"]["reason"] == "too many processes"
    refresh.close()


def test_damaged_ranks_are_told_once_and_do_not_stop_the_crawl(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ranks = CrawlFolder(tmp_path).ranks
    ranks.mkdir(parents=True)
    (ranks / "manifest.json").write_text("{")
    begun: list[Path] = []

    def start(root: Path) -> RankProcess:
        begun.append(root)
        return EndedProcess(None)

    refresh = RankRefresh(tmp_path, start=start)
    assert refresh.current(10) is None
    assert refresh.current(1_000) is None
    assert len(begun) == 1
    (record,) = caplog.records
    assert "is damaged" in vars(record)["fields"]["reason"]


@pytest.mark.parametrize(("is_stubborn", "told"), [(False, ["terminate"]), (True, ["terminate", "kill"])])
def test_computation_under_way_ends_with_the_crawl(tmp_path: Path, is_stubborn: bool, told: list[str]) -> None:
    process = EndedProcess(None, is_stubborn)
    refresh = RankRefresh(tmp_path, start=lambda _: process)
    refresh.close()
    assert process.told == []
    refresh.current(1_000)
    refresh.close()
    assert process.told == told


def test_arguments_of_a_crawl_take_an_order(web: ServedWeb, tmp_path: Path) -> None:
    done = run(*arguments(web, tmp_path / "crawl", "--order", "backlinks", "--pages", "5"))
    assert done.returncode == 0
    assert 'order = "backlinks"' in CrawlFolder(tmp_path / "crawl").configuration.read_text()
