"""The search page asked for what it does not give, and what keeps those safe who look at what strangers wrote."""

from pathlib import Path
from urllib.parse import quote

import pytest

import serving
from serving import (
    NETS,
    FakeSearch,
    Read,
    Served,
    make_crawl,
    served,
    words_of,
)

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


def test_host_header_may_be_anything(page: Served) -> None:
    assert (
        'template="http://search.example:81/search?q={searchTerms}"'
        in page.ask("/opensearch.xml", host="search.example:81").text
    )
    for host in ('a"><script>', "a b", "@", "[::", "a:99999999"):
        answer = page.ask("/opensearch.xml", host=host)
        assert answer.status == 200
        assert f'template="{page.url}search?q=' in answer.text
        assert page.ask("/", host=host).status == 200
