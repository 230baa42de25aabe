"""Crawls from Python over real sockets: in one call, with hooks, and with pages as they come."""

import ast
import asyncio
import inspect
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
import uvloop

import tarrafa
from crawls import ServedWeb, documents, served
from servers import Server, Visit
from tarrafa.agent import CrawlFolder
from tarrafa.keep import read_pages
from tarrafa.library.page_stream import PAGES_LIMIT

CHILD = Path(__file__).with_name("library_child.py")
HASTE: dict[str, Any] = {
    "scope": "any",
    "allow_private": True,
    "delay": 0,
    "address_delay": 0,
    "back_off": "10ms",
    "suspension": "100ms",
    "suspensions": 1,
    "checkpoint": "500ms",
}


@pytest.fixture(scope="module")
def web() -> Iterator[ServedWeb]:
    with served("--hosts", "6", "--pages", "150", "--rng-seed", "5") as found:
        yield found


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in a folder without a tarrafa.toml."""
    monkeypatch.chdir(tmp_path)


def serving(pages: dict[str, bytes], asked: list[str] | None = None) -> Callable[[Visit], None]:
    """Return a script that serves HTML by path, and 404 for other paths."""

    def answer(visit: Visit) -> None:
        path = visit.request.split()[1].decode()
        if asked is not None:
            asked.append(path)
        status, body = (b"200 OK", pages[path]) if path in pages else (b"404 Not Found", b"")
        header = b"HTTP/1.1 %b\r\nContent-Type: text/html\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
        visit.send(header % (status, len(body)) + body)

    return answer


def children() -> set[int]:
    threads = Path("/proc/self/task").iterdir()
    return {int(word) for thread in threads for word in (thread / "children").read_text().split()}


# One call.


def test_crawl_returns_when_all_is_collected_and_the_call_continues_it(web: ServedWeb, tmp_path: Path) -> None:
    reports: list[tarrafa.Progress] = []
    collection = tarrafa.crawl(web.url, dir=tmp_path / "crawl", pages=5, on_progress=reports.append, **HASTE)
    assert collection.status.progress.pages == reports[-1].pages == 5
    assert reports[-1].ending == "page limit"
    collection = tarrafa.crawl(dir=tmp_path / "crawl", **HASTE)
    assert {row["url"] for row in documents(tmp_path / "crawl") if row["status"] == 200} >= web.collectable()
    assert not collection.status.is_running


def test_crawl_leaves_signals_threads_and_processes_as_they_were(web: ServedWeb, tmp_path: Path) -> None:
    """Twice in one process, also with a page that is read in another process."""
    seen: list[object] = []

    def look(page: tarrafa.CrawledPage) -> None:
        seen.append([signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)])
        seen.append(threading.current_thread() is threading.main_thread())

    hooks = tarrafa.Hooks()
    hooks.on_page(look)
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    before = (threading.enumerate(), children())
    for number in range(2):
        large = Server(serving({"/": b"<title>large</title>" + b"<p>word</p>" * 30_000}))
        try:
            url = f"http://127.0.0.1:{large.port}/"
            collection = tarrafa.crawl([web.url, url], dir=tmp_path / str(number), hooks=hooks, **HASTE)
            assert collection.page(url).title == "large"
        finally:
            large.close()
    assert all(each in (handlers, False) for each in seen)
    assert signal.set_wakeup_fd(-1) == -1
    assert (threading.enumerate(), children()) == before


def test_crawl_that_could_fetch_nothing_is_an_error_that_says_why(tmp_path: Path) -> None:
    server = Server(serving({}))
    server.close()
    with pytest.raises(tarrafa.WorkError, match=r"nothing was fetched \(.*refused"):
        tarrafa.crawl(f"http://127.0.0.1:{server.port}/", dir=tmp_path / "crawl", **{**HASTE, "suspensions": 0})


def test_crawl_inside_of_a_running_event_loop_blocks_and_works(web: ServedWeb, tmp_path: Path) -> None:
    """In a notebook, a cell runs in a loop."""

    async def cell() -> int:
        return tarrafa.crawl(web.url, dir=tmp_path / "crawl", pages=5, **HASTE).status.progress.pages

    assert asyncio.run(cell()) == 5


def test_crawl_that_runs_is_not_started_again_and_stops_when_told(web: ServedWeb, tmp_path: Path) -> None:
    crawl = tarrafa.Crawl(web.url, dir=tmp_path / "crawl", **HASTE)
    errors: list[Exception] = []

    @crawl.on_page
    def stop(page: tarrafa.CrawledPage) -> None:
        try:
            crawl.run()
        except tarrafa.InputError as error:
            errors.append(error)
        crawl.stop()

    collection = crawl.run()
    assert "runs already" in str(errors[0])
    assert collection.status.progress.ending == "stopped"
    crawl.stop()


def test_folder_in_use_is_an_input_error(web: ServedWeb, tmp_path: Path) -> None:
    crawl = tarrafa.Crawl(web.url, dir=tmp_path / "crawl", **HASTE)
    other = tarrafa.Crawl(web.url, dir=tmp_path / "crawl", **HASTE)

    @crawl.on_page
    def collide(page: tarrafa.CrawledPage) -> None:
        with pytest.raises(tarrafa.InputError, match="is in use"):
            other.run()
        page.fields["refused"] = True
        crawl.stop()

    assert crawl.run().documents().to_table(columns=["refused"]).column(0).to_pylist().count(True) >= 1


# Ctrl-C.

INTERRUPTED = """
import os, signal, sys, time, tarrafa
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs begin without it
crawl = tarrafa.Crawl(sys.argv[2], dir=sys.argv[1], scope="any", allow_private=True, delay=0, address_delay=0)
count = 0
@crawl.on_page
def interrupt(page):
    global count
    count += 1
    if count == 10:
        os.kill(os.getpid(), signal.SIGINT)
    if count > 10:
        time.sleep(0.1)  # so that the crawl cannot be over before the signal is seen
try:
    crawl.run()
except KeyboardInterrupt:
    print("interrupted", tarrafa.open(sys.argv[1]).status.progress.ending)
"""


def test_ctrl_c_stops_the_crawl_and_is_raised_when_all_is_saved(web: ServedWeb, tmp_path: Path) -> None:
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path / "crawl"), web.url]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("interrupted stopped\n", "")
    assert len(documents(tmp_path / "crawl")) >= 10


# Hooks.


def test_hooks_change_what_is_stored_and_visited(web: ServedWeb, tmp_path: Path) -> None:
    crawl = tarrafa.Crawl([web.url], dir=tmp_path / "crawl", **HASTE)
    dropped: set[str] = set()

    @crawl.on_page
    def change(page: tarrafa.CrawledPage) -> None:
        page.fields["length"] = len(page.text)
        if page.depth == 1:
            page.drop()
            dropped.add(page.url)
        page.links.keep(lambda link: not link.target.endswith("-1.html"))

    @crawl.on_url
    def choose(url: tarrafa.FoundUrl) -> bool:
        return not url.path.endswith("-2.html")

    collection = crawl.run()
    rows = collection.documents().to_table(columns=["url", "text", "length", "status"]).to_pylist()
    fetched = [row for row in rows if row["status"] == 200]
    assert dropped
    assert fetched
    assert dropped.isdisjoint(row["url"] for row in rows)
    assert all(row["length"] == len(row["text"]) for row in fetched)
    links = collection.links().to_table(columns=["target", "kind"]).to_pylist()
    assert not any(link["target"].endswith("-1.html") for link in links if link["kind"] != "redirect")
    assert not any(known.url.endswith("-2.html") for known in collection.urls())
    assert collection.status.progress.refusals["hook"] > 0
    assert collection.status.progress.refusals["dropped"] == len(dropped)
    assert collection.search(f"field:length={fetched[0]['length']}", top=100)
    with pytest.raises(tarrafa.PageMissingError, match="a hook dropped it"):
        collection.page(dropped.pop())


def test_hook_that_fails_is_counted_and_stops_the_crawl_only_if_strict(web: ServedWeb, tmp_path: Path) -> None:
    def crawl_of(strict: bool) -> tarrafa.Crawl:
        crawl = tarrafa.Crawl(web.url, dir=tmp_path / "crawl", pages=4, strict=strict, **HASTE)

        @crawl.on_page
        def fail(page: tarrafa.CrawledPage) -> None:
            raise ValueError("why")

        return crawl

    with pytest.raises(tarrafa.WorkError, match=r"the hook fail failed for http.*ValueError: why"):
        crawl_of(strict=True).run()
    status = tarrafa.open(tmp_path / "crawl").status.progress
    assert (status.ending, status.pages) == ("failed", 0)
    assert "the hook fail failed" in status.reason
    assert crawl_of(strict=False).run().status.progress.hook_errors >= 4


def test_hooks_see_the_pages_that_a_kill_left_unsaved(web: ServedWeb, tmp_path: Path) -> None:
    command = [sys.executable, str(CHILD), str(tmp_path / "crawl"), web.url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(30):
            assert process.stdout.readline()
        process.kill()
        process.communicate()
    stored = {each.page.url for each in read_pages(CrawlFolder(tmp_path / "crawl").archive) if each.page.is_success}
    assert stored
    saved = {row["url"] for row in documents(tmp_path / "crawl")}
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    seen = done.stdout.splitlines()
    assert stored - saved <= set(seen)
    rows = tarrafa.open(tmp_path / "crawl").documents().to_table(columns=["url", "status", "length"]).to_pylist()
    assert len({row["url"] for row in rows}) == len(rows)
    assert all(row["length"] is not None for row in rows if row["status"] == 200)


# Pages as they come.


async def collected_of(crawl: tarrafa.Crawl) -> list[tarrafa.CrawledPage]:
    return [page async for page in crawl]


@pytest.mark.parametrize("make_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_pages_come_as_they_are_stored_each_once(
    web: ServedWeb, tmp_path: Path, make_loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    crawl = tarrafa.Crawl(web.url, dir=tmp_path / "crawl", **HASTE)

    @crawl.on_page
    def keep(page: tarrafa.CrawledPage) -> None:
        page.fields["words"] = len(page.text.split())

    with asyncio.Runner(loop_factory=make_loop) as runner:
        found = runner.run(collected_of(crawl))
    fetched = [row["url"] for row in documents(tmp_path / "crawl") if row["outcome"] == "fetched"]
    assert sorted(page.url for page in found) == sorted(fetched)
    assert all(page.fields["words"] == len(page.text.split()) for page in found)
    assert asyncio.run(collected_of(crawl)) == []


def test_leaving_the_loop_stops_the_crawl_and_saves_it(web: ServedWeb, tmp_path: Path) -> None:
    """Also when the program's event loop ends right after it."""
    crawl = tarrafa.Crawl(web.url, dir=tmp_path / "crawl", **HASTE)
    threads = threading.active_count()

    async def first(count: int) -> list[str]:
        found: list[str] = []
        async for page in crawl:
            found.append(page.url)
            if len(found) == count:
                break
        return found

    found = asyncio.run(first(3))
    assert threading.active_count() == threads
    status = tarrafa.open(tmp_path / "crawl").status
    assert (status.progress.ending, status.is_running) == ("stopped", False)
    assert set(found) <= {row["url"] for row in documents(tmp_path / "crawl")}
    more = asyncio.run(collected_of(crawl))
    assert set(found).isdisjoint(page.url for page in more)


def test_finish_waits_until_all_is_saved(web: ServedWeb, tmp_path: Path) -> None:
    crawl = tarrafa.Crawl(web.url, dir=tmp_path / "crawl", **HASTE)

    async def run() -> None:
        pages = aiter(crawl)
        page = await anext(pages)
        del pages
        collection = await crawl.finish()
        assert not collection.status.is_running
        assert collection.page(page.url).text == page.text

    asyncio.run(run())


@pytest.mark.parametrize("leave", ["error", "cancel"])
def test_error_and_cancelled_task_stop_the_crawl_as_well(web: ServedWeb, tmp_path: Path, leave: str) -> None:
    crawl = tarrafa.Crawl(web.url, dir=tmp_path / "crawl", **HASTE)

    async def consume(begun: asyncio.Event) -> None:
        async for _ in crawl:
            begun.set()
            if leave == "error":
                raise LookupError("of the program")
            await asyncio.Event().wait()

    async def run() -> None:
        begun = asyncio.Event()
        task = asyncio.create_task(consume(begun))
        await begun.wait()
        if leave == "cancel":
            task.cancel()
        with pytest.raises(LookupError if leave == "error" else asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert tarrafa.open(tmp_path / "crawl").status.progress.ending == "stopped"


def test_slow_consumer_slows_the_crawl_down(web: ServedWeb, tmp_path: Path) -> None:
    in_flight = 3
    crawl = tarrafa.Crawl(web.url, dir=tmp_path / "crawl", **HASTE, in_flight=in_flight)
    stored = 0

    @crawl.on_page
    def count(page: tarrafa.CrawledPage) -> None:
        nonlocal stored
        stored += 1

    async def run() -> None:
        reports = 0
        loop, enough = asyncio.get_running_loop(), asyncio.Event()

        @crawl.on_progress
        def report(progress: tarrafa.Progress) -> None:
            nonlocal reports
            reports += 1
            if reports == 3:
                loop.call_soon_threadsafe(enough.set)

        taken = 0
        async for _ in crawl:
            taken += 1
            if taken == 1:
                await enough.wait()
                assert stored <= taken + PAGES_LIMIT + in_flight
        assert taken == stored > 2 * PAGES_LIMIT

    asyncio.run(run())


def test_error_of_the_crawl_is_raised_in_the_loop(web: ServedWeb, tmp_path: Path) -> None:
    crawl = tarrafa.Crawl(web.url, dir=tmp_path / "crawl", strict=True, **HASTE)

    @crawl.on_page
    def fail(page: tarrafa.CrawledPage) -> None:
        raise ValueError("why")

    with pytest.raises(tarrafa.WorkError, match="the hook fail failed"):
        asyncio.run(collected_of(crawl))


# The examples of the docs.

ROOT = Path(__file__).parent.parent
SHOP = {
    "/": b"<title>Nets</title><p>A fishing net.<a href=/one>one</a><a href=/private/two>two</a>",
    "/one": b"<title>One</title><p>A net to fish with costs <span class=price>12.50</span>",
    "/private/two": b"<title>Two</title><p>A secret net.",
}
TOML = """
[crawl]
scope = "any"
allow_private = true
[politeness]
delay = "0s"
address_delay = "0s"
"""


def readme_example() -> str:
    text = (ROOT / "README.md").read_text()
    (example,) = re.findall(r"```python\n(import tarrafa\n.*?)```", text, re.DOTALL)
    return str(example)


def compiled(text: str) -> CodeType:
    """Compile a text as a cell of a notebook, where `async for` may stand as it is."""
    code: CodeType = compile(text, "README.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    return code


def test_example_of_the_readme_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[str] = []
    (tmp_path / "tarrafa.toml").write_text(TOML)
    server = Server(serving(SHOP, asked))
    try:
        text = readme_example().replace("https://example.org", f"http://127.0.0.1:{server.port}")
        names: dict[str, Any] = {}

        async def run() -> None:
            # The second crawl of the example gets a folder of its own, to begin anew.
            first, second = text.split("crawl = ", 1)
            for part in (first, "crawl = " + second.replace('dir="example"', 'dir="other"')):
                made = eval(compiled(part), names)
                if inspect.isawaitable(made):
                    await made

        asyncio.run(run())
    finally:
        server.close()
    out = capsys.readouterr().out
    assert re.search(r"^http://127\.0\.0\.1:\d+/ Nets$", out, re.MULTILINE)
    assert re.search(r"/one \{'price': '12\.50'\}$", out, re.MULTILINE)
    assert asked.count("/private/two") == 1  # by the crawl without hooks
    assert tarrafa.open("other").page(f"http://127.0.0.1:{server.port}/one").fields == {"price": "12.50"}


def test_spider_of_the_guide_runs_as_a_script(tmp_path: Path) -> None:
    """The one of Scrapy beside it was run by hand."""
    guide = (ROOT / "docs/guides/coming-from-scrapy.md").read_text()
    _, spider = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    (tmp_path / "tarrafa.toml").write_text(TOML)
    server = Server(serving(SHOP))
    try:
        text = spider.replace("https://example.org", f"http://127.0.0.1:{server.port}")
        (tmp_path / "shop.py").write_text(text)
        done = subprocess.run([sys.executable, "shop.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    finally:
        server.close()
    assert re.sub(r"http://127\.0\.0\.1:\d+", "", done.stdout).splitlines() == [
        "{'url': '/', 'title': 'Nets', 'price': None}",
        "{'url': '/one', 'title': 'One', 'price': '12.50'}",
    ]


@pytest.mark.parametrize("page", ["guides/python.md", "guides/coming-from-scrapy.md"])
def test_every_example_of_a_guide_compiles(page: str) -> None:
    examples = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)
    assert examples
    for example in examples:
        compiled(example)
