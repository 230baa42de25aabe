"""Crawls of hosts that a test scripts by hand: robots.txt elsewhere, answers that ask for patience, private names."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from crawls import HASTE, hasty, run
from servers import Server, Visit
from tarrafa.agent import CrawlFolder, HostDatabase
from tarrafa.verify import Veuniq

Answers = Callable[[str], bytes]


def answer(body: str = "", status: str = "200 OK", kind: str = "text/html", *headers: str) -> bytes:
    data = body.encode()
    lines = [
        f"HTTP/1.1 {status}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(data)}",
        "Connection: close",
        *headers,
    ]
    return "\r\n".join([*lines, "", ""]).encode() + data


def path_of(request: bytes) -> str:
    return request.split(b" ", 2)[1].decode()


@contextmanager
def host(answers: Answers, address: str) -> Iterator[Server]:
    def script(visit: Visit) -> None:
        visit.send(answers(path_of(visit.request)))

    server = Server(script, address=address)
    try:
        yield server
    finally:
        server.close()


def asked(server: Server) -> list[str]:
    return [path_of(request) for request in server.requests]


def crawl(folder: Path, *words: str, code: int = 0) -> dict[str, Any]:
    done = run("--config", str(hasty(folder)), "crawl", "--dir", str(folder / "crawl"), "--json", *words)
    assert done.returncode == code, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {"error": done.stderr}
    return found


NOT_FOUND = answer("no", "404 Not Found")


@pytest.mark.parametrize("rules", ["User-agent: *\nDisallow: /closed\n", "User-agent: tarrafa\nDisallow: /closed\n"])
def test_robots_txt_of_a_host_may_stand_with_another(rules: str, tmp_path: Path) -> None:
    def other(path: str) -> bytes:
        return answer(rules, kind="text/plain") if path == "/shared.txt" else NOT_FOUND

    with ExitStack() as stack:
        elsewhere = stack.enter_context(host(other, "127.0.0.3"))

        def first(path: str) -> bytes:
            if path == "/robots.txt":
                location = f"Location: http://127.0.0.3:{elsewhere.port}/shared.txt"
                return answer("", "301 Moved Permanently", "text/html", location)
            return answer("<a href=/closed/1>no</a><a href=/open>yes</a>")

        server = stack.enter_context(host(first, "127.0.0.2"))
        told = crawl(tmp_path, f"http://127.0.0.2:{server.port}/")
    assert asked(server) == ["/robots.txt", "/", "/open"]
    assert asked(elsewhere) == ["/shared.txt"]
    assert told["refusals"]["robots"] == 1


def redirecting(target: str) -> Answers:
    """A host whose robots.txt is elsewhere."""

    def answers(path: str) -> bytes:
        if path == "/robots.txt":
            return answer("", "301 Moved Permanently", "text/html", f"Location: {target}")
        return answer("<a href=/open>yes</a>")

    return answers


def test_robots_txt_that_several_hosts_lead_to_answers_all_of_them(tmp_path: Path) -> None:
    """As http://x and http://www.x do that both lead to https://www.x, which is crawled too."""

    def other(path: str) -> bytes:
        return (
            answer("User-agent: *\nDisallow: /open\n", kind="text/plain") if path == "/robots.txt" else answer("<p>x")
        )

    with ExitStack() as stack:
        last = stack.enter_context(host(other, "127.0.0.4"))
        target = f"http://127.0.0.4:{last.port}/"
        servers = [stack.enter_context(host(redirecting(f"{target}robots.txt"), f"127.0.0.{n}")) for n in (2, 3, 5, 6)]
        seeds = [f"http://127.0.0.{n}:{each.port}/" for n, each in zip((2, 3, 5, 6), servers, strict=True)]
        told = crawl(tmp_path, *seeds, target)
    assert [asked(each) for each in servers] == [["/robots.txt", "/"]] * 4
    assert told["pages"] == 5
    assert told["refusals"]["robots"] == 4


@pytest.mark.parametrize("status", ["refused", "503 Service Unavailable", "500 Internal Server Error"])
def test_robots_txt_that_cannot_be_had_elsewhere_lets_the_crawl_end(status: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        later = answer("later", status, "text/html", "Retry-After: 9999") if status != "refused" else b""
        elsewhere = stack.enter_context(host(lambda _: later, "127.0.0.3"))
        port = elsewhere.port if later else 1
        first = stack.enter_context(host(redirecting(f"http://127.0.0.3:{port}/robots.txt"), "127.0.0.2"))
        told = crawl(tmp_path, f"http://127.0.0.2:{first.port}/", code=1)
    assert asked(first) == ["/robots.txt"]
    assert (told["pages"], told["hosts"], told["ending"]) == (0, 1, "nothing fetched")
    assert list(told["host_statuses"]) == ["suspended"]


def test_many_urls_that_robots_txt_forbids_are_done_with_at_once(tmp_path: Path) -> None:
    links = "".join(f"<a href=/no/{number}>x</a>" for number in range(900))

    def answers(path: str) -> bytes:
        return answer("User-agent: *\nDisallow: /no\n", kind="text/plain") if path == "/robots.txt" else answer(links)

    with host(answers, "127.0.0.2") as server:
        told = crawl(tmp_path, f"http://127.0.0.2:{server.port}/")
    assert asked(server) == ["/robots.txt", "/"]
    assert told["outcomes"] == {"fetched": 1, "refused": 900}


def test_retry_after_outlives_a_restart(tmp_path: Path) -> None:
    def answers(path: str) -> bytes:
        if path == "/robots.txt":
            return NOT_FOUND
        if path == "/":
            return answer("<a href=/1>x</a>")
        return answer("later", "429 Too Many Requests", "text/html", "Retry-After: 300")

    words = ("--allow-private", "--delay", "0s", "--time", "2s")
    with host(answers, "127.0.0.2") as server:
        url = f"http://127.0.0.2:{server.port}/"
        for _ in range(2):
            assert run("crawl", url, "--dir", str(tmp_path / "crawl"), *words).returncode == 0
    assert asked(server) == ["/robots.txt", "/", "/1"]


def test_robots_txt_that_leads_in_circles_allows_everything(tmp_path: Path) -> None:
    def answers(path: str) -> bytes:
        if path.startswith("/robots.txt"):
            return answer("", "302 Found", "text/html", f"Location: {path}x")
        return answer("<p>page")

    with host(answers, "127.0.0.2") as server:
        told = crawl(tmp_path, f"http://127.0.0.2:{server.port}/")
    assert told["pages"] == 1
    assert len(asked(server)) == 1 + 5 + 1


def test_host_without_robots_txt_that_answers_is_set_aside_and_nothing_of_it_is_visited(tmp_path: Path) -> None:
    with host(lambda _: answer("oops", "500 Internal Server Error"), "127.0.0.2") as server:
        told = crawl(tmp_path, f"http://127.0.0.2:{server.port}/", code=1)
        assert asked(server) == ["/robots.txt"]
    assert told["pages"] == 0
    assert told["host_statuses"] == {"suspended": {"robots.txt http-500": 1}}


def test_busy_answers_are_tried_again_and_kept_in_the_end(tmp_path: Path) -> None:
    def answers(path: str) -> bytes:
        if path == "/robots.txt":
            return NOT_FOUND
        return answer("later", "503 Service Unavailable") if path == "/busy" else answer("<a href=/busy>b</a>")

    with host(answers, "127.0.0.2") as server:
        told = crawl(tmp_path, f"http://127.0.0.2:{server.port}/")
    assert asked(server).count("/busy") == 3
    assert told["outcomes"] == {"failed": 1, "fetched": 1}


def test_types_that_are_not_wanted_are_recorded_without_their_body(tmp_path: Path) -> None:
    def answers(path: str) -> bytes:
        if path == "/robots.txt":
            return answer("Sitemap: /s.gz\n", kind="text/plain")
        if path == "/film":
            return answer("x" * 300_000, kind="video/mp4")
        return answer("<a href=/film>f</a>")

    with host(answers, "127.0.0.2") as server:
        url = f"http://127.0.0.2:{server.port}/"
        crawl(tmp_path, url)
        shown = json.loads(run("page", f"{url}film", "--dir", str(tmp_path / "crawl"), "--json").stdout)
    assert (shown["media_type"], shown["size_bytes"], shown["outcome"]) == ("video/mp4", 0, "fetched")


def test_private_host_is_refused_with_a_hint_and_visited_when_that_is_allowed(tmp_path: Path) -> None:
    with host(lambda path: NOT_FOUND if path == "/robots.txt" else answer("<p>page"), "127.0.0.2") as server:
        url = f"http://127.0.0.2:{server.port}/"
        done = run("crawl", url, "--dir", str(tmp_path / "crawl"))
        assert done.returncode == 1
        assert "give --allow-private" in done.stdout
        assert asked(server) == []
        done = run("crawl", "--dir", str(tmp_path / "crawl"), "--allow-private", "--delay", "0s", "--json")
        assert json.loads(done.stdout.splitlines()[-1])["pages"] == 1


def test_crawl_with_a_public_seed_does_not_go_on_without_a_contact(tmp_path: Path) -> None:
    """The contact is removed from the configuration in the middle of a crawl."""
    CrawlFolder(tmp_path / "crawl").lock().release()
    CrawlFolder(tmp_path / "crawl").add_seeds(("https://example.org/",))
    HostDatabase(CrawlFolder(tmp_path / "crawl").hosts).close()
    done = run("crawl", "--dir", str(tmp_path / "crawl"), "--user-agent", "Tarrafa/1")
    assert done.returncode == 2
    assert "no contact" in done.stderr


def test_redirects_are_urls_of_their_own_and_loops_end(tmp_path: Path) -> None:
    def answers(path: str) -> bytes:
        if path == "/robots.txt":
            return NOT_FOUND
        following = {"/": "/a", "/a": "/b", "/b": "/a"}[path]
        return answer("", "302 Found", "text/html", f"Location: {following}")

    with host(answers, "127.0.0.2") as server:
        told = crawl(tmp_path, f"http://127.0.0.2:{server.port}/", code=1)
    assert asked(server) == ["/robots.txt", "/", "/a", "/b"]
    assert told["outcomes"] == {"redirected": 3}


def test_hosts_that_are_set_aside_do_not_keep_others_away_however_many_they_are(tmp_path: Path) -> None:
    """The workbench holds three of them; there are nine."""
    config = tmp_path / "few.toml"
    config.write_text(HASTE.replace("suspensions = 1", "suspensions = 1\nhosts_limit = 3"))
    with ExitStack() as stack:

        def served(numbers: range, answers: Answers) -> tuple[list[Server], list[str]]:
            servers = [stack.enter_context(host(answers, f"127.0.0.{number}")) for number in numbers]
            return servers, [f"http://127.0.0.{n}:{each.port}" for n, each in zip(numbers, servers, strict=True)]

        later = answer("later", "503 Service Unavailable", "text/html", "Retry-After: 9999")
        busy, busy_names = served(range(11, 20), lambda _: later)
        _, free_names = served(range(31, 34), lambda _: answer("<p>page"))
        words = ("--config", str(config), "crawl", *busy_names, *free_names, "--dir", str(tmp_path / "crawl"), "--json")
        done = run(*words)
        assert [asked(each) for each in busy] == [["/robots.txt"]] * 9
    assert done.returncode == 3, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert (told["pages"], told["ending"], told["suspended"]) == (3, "suspended hosts", 9)
    assert told["suspended_until"] > 0
    assert told["host_statuses"] == {"suspended": {"busy": 9}}
    book = HostDatabase(CrawlFolder(tmp_path / "crawl").hosts)
    found = [book.host(name) for name in busy_names]
    book.close()
    assert [each.suspensions for each in found if each] == [1] * 9


# Endings.


def test_scope_that_leaves_out_every_seed_is_an_error_that_lists_the_known_words(tmp_path: Path) -> None:
    """A misspelt word is taken for a suffix of host names."""
    told = crawl(tmp_path, "http://127.0.0.2:9/", "--scope", "seedz", code=2)
    assert '"any", "seeds"' in told["error"]
    assert not (tmp_path / "crawl").exists()


def test_seed_that_cannot_be_fetched_ends_with_exit_code_1_and_says_why(tmp_path: Path) -> None:
    with host(lambda _: answer("<p>page"), "127.0.0.2") as server:
        port = server.port
    done = run("--config", str(hasty(tmp_path)), "crawl", f"http://127.0.0.2:{port}/", "--dir", str(tmp_path / "crawl"))
    assert done.returncode == 1
    last = done.stdout.splitlines()[-1]
    assert last.startswith("Nothing was fetched. Why: hosts ")
    assert "The port is closed" in last


def test_seed_that_is_offered_at_each_start_gains_no_links(tmp_path: Path) -> None:
    with host(lambda path: NOT_FOUND if path == "/robots.txt" else answer("<p>page"), "127.0.0.2") as server:
        url = f"http://127.0.0.2:{server.port}/"
        for words in ([url], [], [url], [f"{url}other"]):
            crawl(tmp_path, *words)
    with Veuniq(CrawlFolder(tmp_path / "crawl").repository) as repository:
        assert {each.url: each.links for each in repository.urls()} == {url: 0, f"{url}other": 0}
