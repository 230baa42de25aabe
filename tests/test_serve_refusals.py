"""The search page asked for what it does not give, and what keeps those safe who look at what strangers wrote."""

from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

import serving
from serving import (
    HOME,
    NETS,
    FakeSearch,
    Read,
    Served,
    Visit,
    hit,
    keep_visits,
    link,
    make_crawl,
    served,
    words_of,
)
from tarrafa.layout import CrawlPaths
from tarrafa.search import Results, SearchRequest
from tarrafa.serve.connections import RETRY_SECONDS
from tarrafa.serve.params import RefusedError

crawl, page = serving.crawl, serving.page


BAD = [
    f"/search?q={'a' * 1_001}",
    *(f"/search?q=a&page={number}" for number in ("0", "101", "-1", "x", "1e3", "٣", "9" * 5_000)),
    *(f"/search?q=a&after={date}" for date in ("x", "2026-13", "2026-02-30", "26", "2026-1-1", "٢٠٢٦")),
    "/search?q=a&language=%22",
    f"/search?q=a&site={'a' * 301}",
    "/search?q=a&fresh=perhaps",
    "/facts",
    "/facts?url=javascript:alert(1)",
    "/facts?url=file:///etc/passwd",
    f"/copy?url=http://a/{'a' * 8_000}",
]


@pytest.mark.parametrize("path", BAD, ids=lambda path: path[:40])
def test_what_is_out_of_bounds_is_a_clear_page(page: Served, path: str) -> None:
    answer = page.ask(quote(path, safe="/?&=:%"))
    assert answer.status == 400
    assert "Invalid request" in words_of(answer)


@pytest.mark.parametrize(
    "path", ["/api/search?q=a&top=101", "/api/search?querry=a", "/api/facts?url=x", "/api/suggest?n=1"]
)
def test_programs_are_refused_in_json(page: Served, path: str) -> None:
    answer = page.ask(path)
    assert answer.status == 400
    assert answer.json["error"]["status"] == 400
    assert answer.json["error"]["message"]


def test_unknown_address_and_method_are_pages_of_ours(page: Served) -> None:
    assert "Page not found" in words_of(page.ask("/no/such/page"))
    assert page.ask("/assets/../templates/base.html").status == 404
    assert page.ask("/search?q=a", method="POST").status == 405
    assert page.ask("/", method="HEAD").status == 200


def test_failure_reveals_nothing(page: Served) -> None:
    for path in ("/search?q=broken", "/api/search?q=broken"):
        answer = page.ask(path)
        assert answer.status == 500
        assert "secret" not in answer.text
        assert "Traceback" not in answer.text
    assert "Internal error" in words_of(page.ask("/search?q=broken"))


def test_failure_is_told_to_the_operator(page: Served, caplog: pytest.LogCaptureFixture) -> None:
    page.ask("/search?q=broken")
    page.ask("/")  # the reader is answered before the log is written, and the next request comes after it
    assert "/secret/place is broken" in caplog.text


def test_damaged_file_reveals_nothing(tmp_path: Path) -> None:
    root = make_crawl(tmp_path / "crawl")
    for path in root.rglob("*.parquet"):
        path.write_bytes(b"PAR1" * 20)
    with served(root, FakeSearch()) as found:
        answer = found.about("/facts", NETS)
    assert answer.status == 500
    assert str(tmp_path) not in answer.text


ALL_KINDS = [
    *(
        "/",
        "/search?q=rede",
        f"/facts?url={NETS}",
        f"/copy?url={NETS}",
        "/suggest?q=a",
        "/api/search?q=a",
        "/openapi.json",
    ),
    *("/opensearch.xml", "/robots.txt", "/assets/style.css", "/nothing", "/search?q=a&page=0", "/search?q=broken"),
]


@pytest.mark.parametrize("path", ALL_KINDS)
def test_every_answer_keeps_browsers_safe(page: Served, path: str) -> None:
    headers = page.ask(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers


def test_no_page_has_script_or_style_within(page: Served) -> None:
    for path in ("/", "/search?q=rede", f"/facts?url={NETS}&q=rede", f"/copy?url={NETS}", "/nothing"):
        read = Read(page.ask(path).text)
        assert not read.all("style")
        assert all(each.get("src") for each in read.all("script"))
        assert not [1 for _, attributes in read.elements if "style" in attributes]


@pytest.mark.parametrize(
    "host", ["search.example", "localhost.example", "127.0.0.1.example:8080", "evil", "localhost_x"]
)
def test_name_of_another_site_is_refused(page: Served, host: str) -> None:
    """DNS rebinding: a page of another site lets its own name lead here, to read what is served."""
    for path in ("/", "/search?q=rede", "/api/search?q=rede", "/assets/style.css", "/opensearch.xml", "/nothing"):
        answer = page.ask(path, host=host)
        assert answer.status == 421
        assert "pesca" not in answer.text
    assert f"--server-name {host.partition(':')[0]}" in words_of(page.ask("/", host=host))
    assert page.ask("/api/search?q=rede", host=host).json["error"]["status"] == 421


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:81", "localhost.", "a.localhost", "127.0.0.1", "10.1.2.3:81", "[::1]:81", "[::1]"]
)
def test_addresses_and_loopback_names_are_answered(page: Served, host: str) -> None:
    assert page.ask("/", host=host).status == 200
    assert f'template="http://{host}/search?q={{searchTerms}}"' in page.ask("/opensearch.xml", host=host).text


@pytest.mark.parametrize("host", ['a"><script>', "a b", "@", "[::", "a:99999999", "localhost/", "a@localhost"])
def test_malformed_host_header_is_refused(page: Served, host: str) -> None:
    assert page.ask("/opensearch.xml", host=host).status == 400


def test_refusals_say_what_may_be_done_instead(page: Served) -> None:
    for path in ("/", "/api/search", "/assets/style.css"):
        for method in ("POST", "OPTIONS", "BREW"):
            answer = page.ask(path, method=method)
            assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")


def test_busy_server_says_when_to_try_again(crawl: Path) -> None:
    class BusySearch(FakeSearch):
        def search(self, request: SearchRequest) -> Results:
            raise RefusedError("busy", 503)

    with served(crawl, BusySearch()) as found:
        for path in ("/search?q=a", "/api/search?q=a"):
            answer = found.ask(path)
            assert (answer.status, answer.headers["retry-after"]) == (503, str(RETRY_SECONDS))


BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def test_text_that_would_be_shown_in_another_order_is_shown_as_it_was_typed(tmp_path: Path) -> None:
    """A right-to-left override makes "exe.cod" of "doc.exe"; also after the end of the text that has it."""
    nasty, plain = "doc".join(BIDI), "doc" * (len(BIDI) - 1)

    class NastySearch(FakeSearch):
        def search(self, request: SearchRequest) -> Results:
            return Results((replace(hit(HOME, nasty, 0), snippet=[(nasty, True), (nasty, False)]),), 1, 0.1, 1)

        def suggest(self, prefix: str, limit: int) -> list[str]:
            return [nasty]

    root = tmp_path / "crawl"
    links = [link(HOME, nasty)]
    keep_visits(CrawlPaths(root, "00"), [Visit(HOME, 0, title=nasty, links=links, headers=(("X-Doc", nasty),))])
    with served(root, NastySearch()) as found:
        pages = [
            found.ask(f"/search?q={quote(nasty)}"),
            found.about("/facts", HOME, q=nasty),
            found.about("/copy", HOME),
            found.ask("/suggest?q=doc"),
        ]
    for answer in pages:
        assert answer.status == 200
        assert plain in answer.text
        assert not set(BIDI) & set(answer.text)
        assert "\\u202e" not in answer.text
