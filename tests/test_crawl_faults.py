"""Faults that real use showed, each as a small crawl of hosts that the test scripts."""

import re
from pathlib import Path

import pytest

from crawls import hasty, pages, run
from servers import Server, Visit
from tarrafa.agent import CrawlFolder
from tarrafa.verify import Veuniq
from test_crawl_hosts import NOT_FOUND, answer, asked, crawl, host

ROBOTS = "/robots.txt"


def test_chain_of_pages_longer_than_any_depth_of_old_is_crawled_to_its_end_with_its_true_depth(tmp_path: Path) -> None:
    """An archive whose pages lead from one to the next."""
    length = 70

    def answers(path: str) -> bytes:
        if path == ROBOTS:
            return NOT_FOUND
        number = int(path.removeprefix("/") or 0)
        words = " ".join(f"{number * step:b}".translate({48: "a", 49: "b"}) for step in range(1, 40))
        return answer(f"<p>{words} <a href=/{number + 1}>next</a>" if number + 1 < length else f"<p>{words}")

    with host(answers, "127.0.0.2") as server:
        told = crawl(tmp_path, f"http://127.0.0.2:{server.port}/")
        last = f"http://127.0.0.2:{server.port}/{length - 1}"
    assert told["pages"] == length
    with Veuniq(CrawlFolder(tmp_path / "crawl").repository) as repository:
        known = repository.lookup(last)
    assert known is not None
    assert known.depth == length - 1


def test_page_that_is_read_in_another_process_leaves_nothing_on_standard_error(tmp_path: Path) -> None:
    """The pool of that process is closed at the end, so that no semaphore is left for Python to complain about."""
    body = "<table>" + "<tr><td><b>word" * 12_000

    with host(lambda path: NOT_FOUND if path == ROBOTS else answer(body), "127.0.0.2") as server:
        words = ["crawl", f"http://127.0.0.2:{server.port}/", "--dir", str(tmp_path / "crawl"), "--json"]
        done = run("--config", str(hasty(tmp_path)), *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(pages(tmp_path / "crawl")) == 1


def reset(visit: Visit) -> None:
    visit.reset()


@pytest.mark.parametrize(
    ("scheme", "reason", "remedy"),
    [("https", "tls", "The certificate or the TLS handshake is wrong"), ("http", "reset", "breaks connections off")],
)
def test_seed_that_fails_is_exit_code_1_with_the_reason_and_what_to_do(
    scheme: str, reason: str, remedy: str, tmp_path: Path
) -> None:
    server = Server(reset if scheme == "http" else lambda visit: visit.send(b"HTTP/1.1 400 Bad Request\r\n\r\n"))
    try:
        words = ["crawl", f"{scheme}://127.0.0.1:{server.port}/", "--dir", str(tmp_path / "crawl")]
        done = run("--config", str(hasty(tmp_path)), *words)
    finally:
        server.close()
    assert done.returncode == 1
    last = done.stdout.splitlines()[-1]
    assert last.startswith("Nothing was fetched. Why: ")
    assert re.search(rf"visits failed: {reason}\b", last)
    assert remedy in last


def test_robots_txt_that_refuses_a_flood_of_urls_keeps_no_other_host_waiting(tmp_path: Path) -> None:
    """Thousands of URLs of one host end without a visit; the page of another host that is named last is fetched."""
    names = "".join(f"<a href=/no/{number}>x</a>" for number in range(5_000))
    with host(lambda path: NOT_FOUND if path == ROBOTS else answer("<p>page"), "127.0.0.3") as other:

        def answers(path: str) -> bytes:
            if path == ROBOTS:
                return answer("User-agent: *\nDisallow: /no\n", kind="text/plain")
            return answer(f"{names}<a href=http://127.0.0.3:{other.port}/>y</a>")

        with host(answers, "127.0.0.2") as server:
            told = crawl(tmp_path, f"http://127.0.0.2:{server.port}/")
            assert asked(server) == [ROBOTS, "/"]
        assert asked(other) == [ROBOTS, "/"]
    assert told["outcomes"] == {"fetched": 2, "refused": 5_000}
