"""`tarrafa serve`, and the way from a crawl to a page that answers."""

import contextlib
import errno
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from crawls import ServedWeb, crawled, run, served
from indexes import row, write
from serving import make_crawl
from tarrafa.errors import InputError
from tarrafa.serve import listen, workers_count


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The command in a process of its own; it must end well when it is asked to."""
    command = [sys.executable, "-m", "tarrafa", "serve", "--dir", str(folder), "--port", "0", "--json", *options]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())["url"], process
    finally:
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        process.communicate()


def children_of(pid: int) -> list[int]:
    """Processes that it has started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            parent = stat.read_text().rpartition(")")[2].split()[1]
            found += [int(stat.parent.name)] * (int(parent) == pid)
    return found


def ask(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as answer:
        text: str = answer.read().decode()
        return text


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_page_is_served_until_it_is_asked_to_end(tmp_path: Path, number: int) -> None:
    with serving(make_crawl(tmp_path / "crawl"), "--lang", "pt") as (url, process):
        assert url.startswith("http://127.0.0.1:")
        assert "Ainda não há o que pesquisar" in ask(url)
        os.kill(process.pid, number)
        _, told = process.communicate(timeout=30)
        assert (process.returncode, told) == (0, "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--lang", "fr"], '"fr" is not supported; --lang takes en or pt'),
        (["--host", "no such host"], 'cannot listen on "no such host": it is neither an address nor a name'),
        (["--host", ""], 'cannot listen on "": it is neither an address nor a name'),
        (["--host", "192.0.2.7"], 'cannot listen on "192.0.2.7", port 8080: it is not an address of this machine'),
        (["--server-name", "http://a/"], '"http://a/" is not a host name'),
        (["--server-name", ""], '"" is not a host name'),
        (["--port", "70000"], "--port"),
    ],
)
def test_wrong_option_is_named(tmp_path: Path, options: list[str], message: str) -> None:
    done = run("serve", "--dir", str(make_crawl(tmp_path / "crawl")), *options)
    assert done.returncode == 2
    assert message in done.stderr


def test_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("serve", "--dir", str(make_crawl(tmp_path / "crawl")), "--port", str(port))
    assert done.returncode == 2
    assert f'cannot listen on "127.0.0.1", port {port}: another process listens there' in done.stderr


def test_port_that_is_not_permitted_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused by a socket of the test: the user who runs it may be permitted every port."""

    class RefusedSocket(socket.socket):
        def bind(self, place: object) -> None:
            raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(socket, "socket", RefusedSocket)
    with pytest.raises(InputError, match=r'cannot listen on "127.0.0.1", port 80: the system does not permit it'):
        listen("127.0.0.1", 80)


def test_name_that_was_given_is_answered_and_others_are_not(tmp_path: Path) -> None:
    with serving(make_crawl(tmp_path / "crawl"), "--server-name", "search.example") as (url, _):
        assert status_of(url, "Search.Example:80") == 200
        assert status_of(url, "other.search.example") == 421


def status_of(url: str, host: str) -> int:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
    with contextlib.closing(connection):
        connection.request("GET", "/", headers={"host": host})
        return connection.getresponse().status


def test_connections_without_a_request_do_not_silence_the_page(tmp_path: Path) -> None:
    """More of them than the server keeps. With --rate 0 one client may have all, since it may be a proxy."""
    with serving(make_crawl(tmp_path / "crawl"), "--rate", "0") as (url, _), contextlib.ExitStack() as opened:
        place = (urlsplit(url).hostname, urlsplit(url).port)
        for _ in range(520):
            half = opened.enter_context(socket.create_connection(place, timeout=30))
            half.sendall(b"GET / HTTP/1.1\r\nHost: ")
        assert "Nothing to search yet" in ask(url)


def test_folder_without_a_crawl_is_refused(tmp_path: Path) -> None:
    done = run("serve", "--dir", str(tmp_path))
    assert done.returncode == 2
    assert "holds no crawl" in done.stderr


def test_killed_search_worker_is_replaced_while_requests_go_on(tmp_path: Path) -> None:
    folder = make_crawl(tmp_path / "crawl")
    write(folder, row("net", "A net of rope"))
    with serving(folder, "--log-level", "info", "--rate", "0") as (url, process):
        assert process.stderr is not None
        told = iter(process.stderr.readline, "")
        for _ in range(workers_count()):
            next(line for line in told if "search worker ready" in line)
        (fork_server,) = children_of(process.pid)
        before = set(children_of(fork_server))
        os.kill(min(before), signal.SIGKILL)
        with ThreadPoolExecutor(1) as reader:
            lines = reader.submit(lambda: [next(told), next(told)])
            while not lines.done():
                assert "http://example.org/net" in ask(f"{url}search?q=rope")
        assert "search worker ended code=-9" in lines.result()[0]
        assert "search worker ready" in lines.result()[1]
        after = set(children_of(fork_server))
        assert len(after) == len(before) == workers_count()
        assert before - after == {min(before)}
        assert "http://example.org/net" in ask(f"{url}search?q=rope")


@pytest.fixture(scope="module")
def web() -> Iterator[ServedWeb]:
    with served("--hosts", "4", "--pages", "60", "--rng-seed", "4") as found:
        yield found


def test_what_was_crawled_ranked_and_indexed_is_found_explained_and_shown(web: ServedWeb, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    crawled(web, folder)
    with serving(folder) as (url, _):
        assert "Nothing to search yet" in ask(url)
    for command in ("rank", "index"):
        assert run(command, "--dir", str(folder)).returncode == 0
    with serving(folder) as (url, _):
        assert "documents can be searched" in ask(url)
        page = next(row for row in web.rows().values() if row.get("title") and row["collectable"])
        words = quote(page["title"])
        results: dict[str, Any] = json.loads(ask(f"{url}api/search?q={words}&explain=1"))
        assert results["count"] > 0
        best = results["hits"][0]
        assert best["rank"] > 0
        assert any(piece["is_marked"] for piece in best["snippet"])
        facts = json.loads(ask(f"{url}api/facts?url={quote(best['url'], safe='')}&q={words}"))
        assert facts["title"] == best["title"]
        assert facts["links_in_count"] > 0
        assert facts["anchors"]
        assert facts["explanation"]
        assert best["title"] in ask(f"{url}copy/content?url={quote(best['url'], safe='')}").replace("&amp;", "&")
        assert best["url"] in ask(f"{url}search?q={words}").replace("&amp;", "&")
        assert "Why it ranks here" in ask(f"{url}facts?url={quote(best['url'], safe='')}&q={words}")
