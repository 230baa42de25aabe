"""Scope rules, host tables and URL cleaning in whole crawls, over sockets and by the command."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from crawls import HASTE, ServedWeb, documents, run
from servers import Server, Visit
from tarrafa.lab.web import served_in_process
from tarrafa.urls import parse

ENGLISH = "these are the words of the first page and it is in english"
GERMAN = "das ist eine Seite mit vielen Worten in deutscher Sprache und sie ist lang genug"
PORTUGUESE = "esta é uma página com muitas palavras em língua portuguesa e ela é longa"
NAMES = '[[host]]\nmatch = "glob:*"\naddress = "127.0.0.1"\ndelay = "0s"\n'


def page(*hrefs: str, language: str = "en", text: str = "some words") -> bytes:
    links = "".join(f'<a href="{href}">x</a>' for href in hrefs)
    return f'<html lang="{language}"><title>t</title><p>{text}</p>{links}'.encode()


class Site:
    """A server of several names: what it answers depends on the name that is asked for, and the path."""

    def __init__(self, pages: dict[str, bytes], types: dict[str, str] | None = None) -> None:
        self.pages = pages
        self.types = types or {}
        self.server = Server(self.answer)

    def answer(self, visit: Visit) -> None:
        body = self.pages.get(self.url_of(visit.request))
        kind = self.types.get(self.url_of(visit.request), "text/html")
        status = "404 Not Found" if body is None else "200 OK"
        if body is not None and body.startswith(b"-> "):
            visit.send(
                b"HTTP/1.1 302 Found\r\nLocation: " + body[3:] + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            )
            return
        head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body or b'')}\r\nConnection: close"
        visit.send(head.encode() + b"\r\n\r\n" + (body or b""))

    def url_of(self, request: bytes) -> str:
        path = request.split()[1].decode()
        name = header_of(request, "host") or ""
        return f"{name.partition(':')[0]}{path}"

    @property
    def requests(self) -> list[str]:
        return [self.url_of(each) for each in self.server.requests]

    @property
    def pages_asked(self) -> set[str]:
        return {url for url in self.requests if not url.endswith(("/robots.txt", "/sitemap.xml"))}


def header_of(request: bytes, name: str) -> str | None:
    found = re.search(rf"^{name}: (.*)\r$".encode(), request, re.IGNORECASE | re.MULTILINE)
    return found[1].decode() if found else None


@contextmanager
def served_site(pages: dict[str, bytes], types: dict[str, str] | None = None) -> Iterator[Site]:
    site = Site(pages, types)
    try:
        yield site
    finally:
        site.server.close()


def crawl(site: Site, folder: Path, *words: str, tables: str = NAMES, seed: str = "a.example") -> dict[str, object]:
    """Crawl from the front page of a host to the end; return what the command tells."""
    settings = folder / "own.toml"
    settings.write_text(f"{HASTE.replace('allow_private = true', '')}\n{tables}")
    url = f"http://{seed}:{site.server.port}/"
    done = run("--config", str(settings), "crawl", url, "--dir", str(folder / "crawl"), "--json", *words)
    assert done.returncode == 0, done.stderr
    told: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return told


def test_excluded_host_is_never_asked_and_the_first_rule_decides(tmp_path: Path) -> None:
    with served_site({"a.example/": b"", "b.example/": b"", "c.example/in": b""}) as site:
        port = site.server.port
        site.pages["a.example/"] = page(
            f"http://b.example:{port}/", f"http://c.example:{port}/in", f"http://c.example:{port}/out"
        )
        rules = ("--include", "glob:*/in", "--exclude", "host:b.example", "--exclude=host:c.example")
        told = crawl(site, tmp_path, *rules)
        assert site.pages_asked == {"a.example/", "c.example/in"}
        assert not any(url.startswith("b.example") for url in site.requests)
    assert told["refusals"] == {"exclude host:b.example": 1, "exclude host:c.example": 1}


def test_rule_of_a_later_run_holds_for_urls_that_were_found_before(tmp_path: Path) -> None:
    with served_site({"a.example/": page("/1", "/2"), "a.example/1": b"", "a.example/2": b""}) as site:
        crawl(site, tmp_path, "--pages", "1")
        told = crawl(site, tmp_path, "--exclude", "glob:*/1")
        assert site.pages_asked == {"a.example/", "a.example/2"}
    assert told["outcomes"] == {"fetched": 2, "refused": 1}


def test_address_in_an_excluded_network_is_not_connected_to(tmp_path: Path) -> None:
    tables = '[[host]]\nmatch = "host:b.example"\naddress = "127.0.0.9"\n' + NAMES
    with served_site({"a.example/": b""}) as site:
        site.pages["a.example/"] = page(f"http://b.example:{site.server.port}/")
        told = crawl(site, tmp_path, "--exclude", "net:127.0.0.8/29", tables=tables)
        assert site.pages_asked == {"a.example/"}
    assert told["refusals"] == {"exclude net:127.0.0.8/29": 1}
    assert told["failures"] == {}


def test_pages_of_an_excluded_type_or_language_are_not_kept_nor_followed(tmp_path: Path) -> None:
    pages = {
        "a.example/": page("/pdf", "/de", "/pt", text=ENGLISH),
        "a.example/pdf": b"%PDF" + b"x" * 500_000,
        "a.example/de": page(
            "/hidden",
            language="de",
            text="das ist eine Seite mit vielen Worten in deutscher Sprache und sie ist lang genug",
        ),
        "a.example/pt": page(
            "/found", language="pt", text="esta é uma página com muitas palavras em língua portuguesa e ela é longa"
        ),
        "a.example/found": b"",
        "a.example/hidden": b"",
    }
    with served_site(pages, {"a.example/pdf": "application/pdf"}) as site:
        rules = ("--exclude", "type:application/pdf", "--exclude", "lang:de")
        told = crawl(site, tmp_path, *rules)
        assert site.pages_asked == {f"a.example/{path}" for path in ("", "pdf", "de", "pt", "found")}
    assert told["refusals"] == {"exclude lang:de": 1, "exclude type:application/pdf": 1}
    assert {row["url"].rpartition("/")[2] for row in documents(tmp_path / "crawl") if row["status"] == 200} == {
        "",
        "pt",
        "found",
    }
    assert told["bytes"] < 100_000  # type: ignore[operator]


def test_hops_outside_end_after_as_many_links(tmp_path: Path) -> None:
    with served_site({}) as site:
        port = site.server.port
        site.pages["a.example/"] = page(f"http://b.example:{port}/")
        site.pages["b.example/"] = page(f"http://c.example:{port}/", f"http://a.example:{port}/back")
        site.pages["a.example/back"] = page(f"http://d.example:{port}/")
        site.pages["d.example/"] = page("/2")
        crawl(site, tmp_path, "--scope", "seeds", "--hops-outside", "1")
        assert site.pages_asked == {"a.example/", "b.example/", "a.example/back", "d.example/"}


def test_url_outside_that_waits_is_explained_as_one_that_waits(tmp_path: Path) -> None:
    with served_site({}) as site:
        port = site.server.port
        site.pages["a.example/"] = page(f"http://b.example:{port}/")
        crawl(site, tmp_path, "--scope", "seeds", "--hops-outside", "1", "--pages", "1")
        done = run("explain", f"http://b.example:{port}/", "--dir", str(tmp_path / "crawl"), "--json")
    found = json.loads(done.stdout)
    assert (found["verdict"], found["facts"]["depth"]) == ("crawl not running", 1)
    assert found["facts"]["delay_rule"] == "delay of its [[host]] table"


# Host tables.


def port_of(url: str) -> int:
    parsed = parse(url)
    assert parsed is not None
    return parsed.port


LOGIN = """match = "host:a.example"
basic_login = "me:secret"
cookies = "k=v"
headers = { "X-Team" = "crawl" }
user_agent_suffix = "(test)"
"""


def test_login_goes_to_its_host_only_not_where_a_redirect_leads(tmp_path: Path) -> None:
    with served_site({"b.example/": b""}) as site:
        site.pages["a.example/"] = f"-> http://b.example:{site.server.port}/".encode()
        crawl(site, tmp_path, tables=f"[[host]]\n{LOGIN}{NAMES}")
        assert site.pages_asked == {"a.example/", "b.example/"}
        for request in site.server.requests:
            names = ("authorization", "cookie", "x-team", "user-agent")
            login, cookies, team, agent = (header_of(request, name) for name in names)
            assert agent is not None
            if site.url_of(request).startswith("a.example"):
                assert (login, cookies, team) == ("Basic bWU6c2VjcmV0", "k=v", "crawl")
                assert agent.endswith(" (test)")
            else:
                assert (login, cookies, team) == (None, None, None)
                assert not agent.endswith(" (test)")
    stored = b"".join(path.read_bytes() for path in (tmp_path / "crawl" / "agents").rglob("*") if path.is_file())
    assert b"secret" not in stored
    assert b"bWU6c2VjcmV0" not in stored


def test_page_limit_of_a_table_holds_for_its_host(tmp_path: Path) -> None:
    pages = {"a.example/": page(*[f"/{number}" for number in range(9)])}
    with served_site({**pages, **{f"a.example/{number}": b"" for number in range(9)}}) as site:
        told = crawl(site, tmp_path, tables='[[host]]\nmatch = "host:a.example"\npages = 3\n' + NAMES)
    assert told["pages"] == 3


def test_synthetic_web_with_names_is_crawled_by_the_command(tmp_path: Path) -> None:
    """Names that look public, so without a contact the table alone says that they are not."""
    settings = tmp_path / "own.toml"
    settings.write_text(f"{HASTE.replace('allow_private = true', '')}\n{NAMES}")
    with served_in_process("--hosts", "6", "--pages", "30", "--rng-seed", "5", "--names") as url:
        web = ServedWeb(f"http://127.0.0.1:{port_of(url)}/")
        rows = web.rows()
        wanted = {url for url, row in rows.items() if row["collectable"] and row["kind"] == "page"}
        first = next(url for url in wanted if rows[url].get("depth") == 0)
        done = run("--config", str(settings), "crawl", first, "--dir", str(tmp_path / "crawl"), "--json")
        assert done.returncode == 0, done.stderr
        assert web.log()["robots_violations"] == 0
    found = {row["url"] for row in documents(tmp_path / "crawl") if row["status"] == 200}
    assert wanted <= found


def test_host_without_a_table_needs_a_contact_as_before(tmp_path: Path) -> None:
    settings = tmp_path / "own.toml"
    settings.write_text('[[host]]\nmatch = "host:a.com.br"\naddress = "127.0.0.1"\n')
    done = run("--config", str(settings), "crawl", "http://b.com.br/", "--dir", str(tmp_path / "crawl"))
    assert done.returncode == 2
    assert "b.com.br is a public host and the user agent has no contact" in done.stderr


# What is followed, and cleaned.


SITEMAP = b'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">%s</urlset>'


def sitemap(*urls: str) -> bytes:
    return SITEMAP % "".join(f"<url><loc>{url}</loc></url>" for url in urls).encode()


def test_sitemaps_only_follows_no_links_and_asks_for_the_usual_place(tmp_path: Path) -> None:
    pages = {"a.example/": page("/linked"), "a.example/linked": b"", "a.example/listed": page("/linked")}
    with served_site(pages, {"a.example/sitemap.xml": "application/xml"}) as site:
        site.pages["a.example/sitemap.xml"] = sitemap(f"http://a.example:{site.server.port}/listed")
        crawl(site, tmp_path, "--sitemaps-only")
        assert site.pages_asked == {"a.example/", "a.example/listed"}


def test_no_follow_visits_the_seeds_and_where_they_redirect_to(tmp_path: Path) -> None:
    with served_site({"a.example/": b"-> /home", "a.example/home": page("/x"), "a.example/x": b""}) as site:
        told = crawl(site, tmp_path, "--no-follow")
        assert site.pages_asked == {"a.example/", "a.example/home"}
    assert told["refusals"] == {"follow": 1}


def test_parameters_are_dropped_but_for_hosts_that_need_them(tmp_path: Path) -> None:
    tables = '[[host]]\nmatch = "host:b.example"\ndrop_parameters = "none"\n' + NAMES
    with served_site({}) as site:
        other = f"http://b.example:{site.server.port}/?utm_id=1"
        site.pages["a.example/"] = page("/p?b=2&utm_source=x&a=1", "/p?b=2&a=1", "/p;jsessionid=7?b=2&a=1", other)
        site.pages["a.example/p?b=2&a=1"] = site.pages["b.example/?utm_id=1"] = b"x"
        crawl(site, tmp_path, tables=tables)
        assert site.pages_asked == {"a.example/", "a.example/p?b=2&a=1", "b.example/?utm_id=1"}
        assert len([url for url in site.requests if "/p" in url]) == 1


def test_host_that_wants_a_session_in_each_url_is_crawled_all_the_same(tmp_path: Path) -> None:
    session = "?phpsessid=0123456789abcdef"
    pages = {"a.example/": f"-> /{session}".encode(), f"a.example/{session}": page(f"/x{session}"), "a.example/x": b"y"}
    with served_site(pages) as site:
        crawl(site, tmp_path)
        assert site.pages_asked == {"a.example/", f"a.example/{session}", "a.example/x"}


# The commands that only tell.


def test_map_lists_urls_once_and_keeps_nothing(tmp_path: Path) -> None:
    settings = tmp_path / "own.toml"
    settings.write_text(f"{HASTE.replace('allow_private = true', '')}\n{NAMES}")
    with served_site(
        {"a.example/": page("/1", "/2", "http://b.example/")}, {"a.example/sitemap.xml": "text/xml"}
    ) as site:
        home = f"http://a.example:{site.server.port}"
        site.pages["a.example/1"] = page("/2", "/3")
        site.pages["a.example/robots.txt"] = f"Sitemap: {home}/sitemap.xml".encode()
        site.types["a.example/robots.txt"] = "text/plain"
        site.pages["a.example/sitemap.xml"] = sitemap(f"{home}/listed", f"{home}/1")
        done = run("--config", str(settings), "map", home, "--scope", "seeds", "--json")
        assert done.returncode == 0, done.stderr
        *found, last = [json.loads(line) for line in done.stdout.splitlines()]
        urls = [each["url"] for each in found]
        assert len(urls) == len(set(urls))
        assert set(urls) == {f"{home}/", *[f"{home}/{name}" for name in ("1", "2", "3", "listed")]}
        assert (last["urls"], last["ending"]) == (5, "done")
        done = run("--config", str(settings), "map", home, "--scope", "seeds", "--urls", "2")
        assert len(done.stdout.splitlines()) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["own.toml"]


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    path = tmp_path / "own.toml"
    path.write_text(
        '[crawl]\nscope = "br"\nuser_agent = "Name/1.0 (me@your.site)"\n'
        '[[scope]]\nexclude = "regex:/print/"\n[[scope]]\ninclude = "suffix:pt lang:pt"\n'
        '[[host]]\nmatch = "host:a.br"\nbasic_login = "me:secret"\ndelay = "9s"\n'
    )
    return path


def test_scope_check_says_in_or_out_and_by_which_rule(settings: Path) -> None:
    urls = ("a.br", "http://a.br/print/1", "c.pt", "d.org", "e.org")
    flags = ("--include", "host:e.org", "--exclude", "host:x.org")
    done = run("--config", str(settings), "scope", "check", *urls, *flags, "--json")
    assert done.returncode == 0, done.stderr
    rows = [(row["is_in"], row["rule"], row["origin"]) for row in json.loads(done.stdout)["urls"]]
    assert rows == [
        (True, "scope br", f"file {settings}:2"),
        (False, "exclude regex:/print/", f"file {settings}:5"),
        (True, "", ""),
        (False, "scope br", f"file {settings}:2"),
        (True, "include host:e.org", "flag --include"),
    ]
    (told,) = json.loads(done.stdout)["urls"][2]["open"]
    assert told == {"rule": "include suffix:pt lang:pt", "origin": f"file {settings}:7"}
    shown = run("--config", str(settings), "scope", "check", *urls).stdout
    assert re.search(r"^out +http://a.br/print/1 +exclude regex:/print/ ", shown, re.MULTILINE)
    assert "if include suffix:pt lang:pt by address or page" in shown


def test_config_for_a_url_says_what_holds_and_hides_logins(settings: Path) -> None:
    done = run("--config", str(settings), "config", "--for", "http://a.br/x", "--json")
    told = json.loads(done.stdout)
    assert told["host"] == "http://a.br"
    assert told["settings"]["delay"] == {"value": "9s", "origin": f"file {settings}:11"}
    assert told["settings"]["basic_login"] == {"value": "(set, not shown)", "origin": f"file {settings}:10"}
    assert told["settings"]["pages"] == {"value": "100000", "origin": "default"}
    assert told["settings"]["connections"] == {"value": 1, "origin": "default"}
    assert told["settings"]["refresh_shortest"] == {"value": "1h", "origin": "default"}
    shown = run("--config", str(settings), "config", "--for", "a.br").stdout
    assert "secret" not in done.stdout + shown + run("--config", str(settings), "config", "--toml").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--scope", "seedz"), '"seedz" is neither a public suffix, such as br, nor a domain'),
        (("--exclude", "tld:br"), '--exclude: "tld:br" is not a condition; write one of any, seeds, suffix:,'),
        (("--include", "any", "--exclude", "host:a.org"), '"host:a.org" never decides, because "any" (flag --include)'),
        (("--exclude", "site:a.example"), "leaves out every seed"),
        (("--sitemaps-only", "--no-follow"), "are exclusive"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_written(
    words: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    done = run("crawl", "http://a.example/", "--dir", str(tmp_path / "crawl"), *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert not (tmp_path / "crawl").exists()
