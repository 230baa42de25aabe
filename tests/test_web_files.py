"""What hosts serve besides pages: sitemaps, images, PDF files, redirects, missing pages, traps, false bytes."""

import re
import struct
import zlib
from xml.etree import ElementTree

import pytest

from tarrafa.lab.web import Fault, Plan, SyntheticWeb, WebRequest, parse_faults, resources
from tarrafa.lab.web.history import DAY_MS, size_at
from tarrafa.lab.web.plan import SyntheticHost
from tarrafa.lab.web.synthetic_web import ASKED_MAX, SendMode
from tarrafa.records import Page
from tarrafa.urls import BaseUrl, path_of
from webs import followed, get, hosts_of, sitemap_urls, unpacked


@pytest.fixture(scope="module")
def web() -> SyntheticWeb:
    return SyntheticWeb(Plan(hosts=12, pages=2_600, rng_seed=17))


def only_fault(*faults: Fault) -> tuple[SyntheticWeb, SyntheticHost]:
    """Return a web of two hosts, and the host that has the faults."""
    web = SyntheticWeb(Plan(hosts=2, pages=60, faults=frozenset(faults)))
    return web, web.hosts.host(1)


# Images and PDF.


@pytest.mark.parametrize("number", [0, 1, 96])
def test_png_is_whole_and_its_checksums_are_right(number: int) -> None:
    data = resources.png(number)
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    place, kinds, packed = 8, [], b""
    while place < len(data):
        length, kind = struct.unpack(">I4s", data[place : place + 8])
        content, check = data[place + 8 : place + 8 + length], data[place + 8 + length : place + 12 + length]
        assert struct.pack(">I", zlib.crc32(kind + content)) == check
        packed += content if kind == b"IDAT" else b""
        kinds.append(kind)
        place += 12 + length
    assert kinds == [b"IHDR", b"IDAT", b"IEND"]
    assert len(zlib.decompress(packed)) == 32 * (1 + 3 * 32)


def test_images_differ() -> None:
    assert len({resources.png(number) for number in range(97)}) == 97


def test_pdf_has_its_table_where_it_says_and_its_objects_where_the_table_says(web: SyntheticWeb) -> None:
    page = get(web, web.hosts.host(0), "/doc/3.pdf")
    assert page.media_type == "application/pdf"
    table = int(page.body.rpartition(b"startxref\n")[2].split()[0])
    assert page.body[table:].startswith(b"xref\n0 5\n")
    offsets = [int(line[:10]) for line in re.findall(rb"\d{10} \d{5} n ", page.body[table:])]
    for number, offset in enumerate(offsets, 1):
        assert page.body[offset:].startswith(b"%d 0 obj\n" % number)
    stream = page.body.partition(b"stream\n")[2].partition(b"\nendstream")[0]
    assert b"/Length %d >>" % len(stream) in page.body
    assert page.body.endswith(b"%%EOF\n")


# Sitemaps.


def sitemap_hosts(web: SyntheticWeb) -> list[SyntheticHost]:
    return [host for host in hosts_of(web) if host.sitemap]


def listed(web: SyntheticWeb, host: SyntheticHost, now_ms: int = 0) -> list[str]:
    """Return every page that the host's sitemaps list, including parts."""
    pages, parts = sitemap_urls(get(web, host, "/sitemap.xml", now_ms).body)
    for part in parts:
        found, deeper = sitemap_urls(get(web, host, path_of(part), now_ms).body)
        assert not deeper
        pages += found
    return pages


@pytest.mark.parametrize("day", [0, 100])
def test_sitemaps_name_every_page_that_is_alive_once(web: SyntheticWeb, day: int) -> None:
    now_ms = day * DAY_MS
    for host in sitemap_hosts(web):
        numbers = [page for page in range(size_at(host.size, now_ms)) if web.pages.alive(host, page, now_ms)]
        assert listed(web, host, now_ms) == [host.origin + web.pages.entry(host, page).path for page in numbers]


def test_sitemap_is_well_formed_and_typed(web: SyntheticWeb) -> None:
    for host in sitemap_hosts(web):
        page = get(web, host, "/sitemap.xml")
        assert page.media_type == "application/xml"
        assert ElementTree.fromstring(page.body).tag.startswith("{http://www.sitemaps.org/schemas/sitemap/0.9}")
        for element in ElementTree.fromstring(page.body).iter("{http://www.sitemaps.org/schemas/sitemap/0.9}lastmod"):
            assert re.fullmatch(r"\d{4}-\d\d-\d\d", element.text or "")


def test_large_host_has_an_index_with_compressed_parts(web: SyntheticWeb) -> None:
    large = [host for host in sitemap_hosts(web) if host.size > resources.SITEMAP_URLS]
    assert large
    for host in large:
        pages, parts = sitemap_urls(get(web, host, "/sitemap.xml").body)
        assert not pages
        assert len(parts) == -(-host.size // resources.SITEMAP_URLS)
        for part in parts:
            got = get(web, host, path_of(part))
            assert got.media_type == "application/gzip"
            assert len(sitemap_urls(got.body)[0]) <= resources.SITEMAP_URLS


@pytest.mark.parametrize("number", ["99", "-1", "00", "", "x", "²", "9" * 5_000])
def test_part_that_is_not_there_is_missing(web: SyntheticWeb, number: str) -> None:
    for host in sitemap_hosts(web):
        assert get(web, host, f"/mapa-{number}.xml.gz").status == 404


def test_hosts_without_a_sitemap_have_none(web: SyntheticWeb) -> None:
    for host in hosts_of(web):
        assert (get(web, host, "/sitemap.xml").status == 200) == host.sitemap


def test_some_pages_are_known_to_sitemaps_alone(web: SyntheticWeb) -> None:
    host = max(sitemap_hosts(web), key=lambda host: host.size)
    alone = [page for page in range(host.size) if web.pages.orphan(host, page)]
    assert len(alone) == host.size // 50
    linked = {target for page in range(host.size) for target in web.outlines.outline(host, page, 0).children}
    assert not linked & set(alone)


# Redirects and what is gone.


def location(page: Page) -> str:
    target = BaseUrl(page.url).link(page.header("location") or "")
    assert target
    return target


@pytest.mark.parametrize(("kind", "status"), [("p", 301), ("m", 308), ("t", 302), ("s", 307), ("u", 303), ("x", 301)])
def test_redirects_of_every_status_lead_to_a_page(web: SyntheticWeb, kind: str, status: int) -> None:
    for host in hosts_of(web):
        page = get(web, host, f"/ir/{kind}7")
        assert page.status == status
        target = web.hosts.find(location(page).split("/")[2])
        assert target
        assert web.pages.find(target, path_of(location(page))) is not None
        assert kind == "x" or target is host


def test_some_redirects_lead_to_other_hosts(web: SyntheticWeb) -> None:
    hosts = hosts_of(web)
    assert any(not location(get(web, host, f"/ir/x{n}")).startswith(host.origin) for host in hosts for n in range(5))


def test_chain_of_redirects_ends_at_a_page_after_three(web: SyntheticWeb) -> None:
    host = web.hosts.host(3)
    path, hops = "/ir/c5", 0
    while (page := get(web, host, path)).status == 302:
        path, hops = path_of(location(page)), hops + 1
    assert (hops, page.status) == (3, 200)


def test_redirect_loop_goes_round_only_where_the_fault_is() -> None:
    web, host = only_fault(Fault.REDIRECT_LOOP)
    seen, path = [], "/ir/l2"
    for _ in range(6):
        page = get(web, host, path)
        assert page.status == 302
        seen.append(path)
        path = path_of(location(page))
    assert len(set(seen)) == 3
    assert get(web, web.hosts.host(0), "/ir/l2").status == 404


def test_old_addresses_are_gone_or_missing(web: SyntheticWeb) -> None:
    host = web.hosts.host(2)
    assert {get(web, host, path).status for path in ("/antigo/1", "/antigo/12", "/antigo/123")} == {404, 410}


@pytest.mark.parametrize(
    "path", ["/ir/", "/ir/z1", "/ir/p", "/ir/p99999999999", "/ir/p1-22", "/doc/x", "/img/x", "/__x"]
)
def test_what_is_not_there_is_404(web: SyntheticWeb, path: str) -> None:
    assert get(web, web.hosts.host(1), path).status == 404


# Traps and false bytes.


def steps(web: SyntheticWeb, host: SyntheticHost, path: str, count: int = 60) -> list[str]:
    """Follow links that were not taken yet, again and again."""
    seen = [path]
    for _ in range(count):
        page = get(web, host, path)
        assert page.status == 200, path
        path = next(
            path_of(url) for url in followed(page) if path_of(url) not in seen and resources.is_trap(host, path_of(url))
        )
        seen.append(path)
    return seen


@pytest.mark.parametrize(
    ("fault", "start"),
    [
        (Fault.CALENDAR, "/calendario/2026/0"),
        (Fault.CALENDAR, "/calendario/2026/12"),
        (Fault.REPETITION, "/eco/"),
        (Fault.COMBINATIONS, "/filtro?cor=1"),
    ],
)
def test_trap_always_leads_on_and_is_only_where_the_fault_is(fault: Fault, start: str) -> None:
    web, host = only_fault(fault)
    assert len(set(steps(web, host, start))) == 61
    assert get(web, web.hosts.host(0), start).status == 404
    assert not resources.is_trap(web.hosts.host(0), start)


def test_session_ids_are_new_on_each_page_and_lead_on_for_ever() -> None:
    web, host = only_fault(Fault.SESSION)
    assert len(set(steps(web, host, "/"))) == 61


def test_session_id_does_not_change_what_page_it_is() -> None:
    web, host = only_fault(Fault.SESSION)
    path = web.pages.entry(host, 1).path
    mark = "&" if "?" in path else "?"
    plain, marked = get(web, host, path), get(web, host, f"{path}{mark}sid=0123abcd")
    assert marked.status == 200
    assert marked.body[:200] == plain.body[:200]
    assert get(web, web.hosts.host(0), f"/{mark}sid=0123abcd").status == 404


def test_months_go_on_across_the_years() -> None:
    web, host = only_fault(Fault.CALENDAR)
    assert [path_of(url) for url in followed(get(web, host, "/calendario/2026/12"))] == [
        "/calendario/2027/1",
        "/calendario/2026/11",
        "/",
    ]
    assert "/calendario/2025/12" in [path_of(url) for url in followed(get(web, host, "/calendario/2026/1"))]


def test_gzip_bomb_is_small_on_the_wire_and_very_large_within() -> None:
    web, host = only_fault(Fault.GZIP_BOMB)
    page = get(web, host, "/bomba/1")
    assert len(page.body) < 300_000
    assert page.header("content-encoding") == "gzip"
    assert len(unpacked(page.body, 20_000_000)) == 20_000_000
    check, size = struct.unpack("<II", page.body[-8:])
    assert size == resources.BOMB_BYTES
    assert check == zlib.crc32(bytes(resources.BOMB_BYTES))


def test_false_type_is_an_image_that_calls_itself_html() -> None:
    web, host = only_fault(Fault.FALSE_TYPE)
    page = get(web, host, "/falso/1")
    assert page.media_type == "text/html"
    assert page.body.startswith(b"\x89PNG")


def test_every_trap_and_snare_is_linked_from_pages_of_its_host() -> None:
    web = SyntheticWeb(Plan(hosts=2, pages=60, faults=parse_faults("hostile")))
    host = web.hosts.host(1)
    linked = {path for page in range(host.size) for path in web.outlines.outline(host, page, 0).special}
    for start in ("/ir/l", "/fluxo/", "/curto/", "/longo/", "/falso/", "/bomba/", "/calendario/", "/eco/", "/filtro?"):
        assert any(path.startswith(start) for path in linked), start


# Hosts whose answers depend on earlier requests.


def test_flaky_host_forgets_the_oldest_urls_and_remembers_the_latest() -> None:
    """A trap on a flaky host has endless URLs, which must not fill the memory."""
    web, host = only_fault(Fault.FLAKY)
    first = web.answer(WebRequest(host, "/x0"))
    assert first.send_mode is SendMode.RESET
    assert web.answer(WebRequest(host, "/x0")).status == 404
    for number in range(1, ASKED_MAX + 1):
        web.answer(WebRequest(host, f"/x{number}"))
    assert web.answer(WebRequest(host, f"/x{ASKED_MAX}")).status == 404
    assert web.answer(WebRequest(host, "/x0")).send_mode is SendMode.RESET


def test_busy_host_puts_off_every_fifth_request_but_never_robots_txt() -> None:
    web, host = only_fault(Fault.BUSY)
    statuses = [web.answer(WebRequest(host, "/")).status for _ in range(20)]
    assert [place for place, status in enumerate(statuses, 1) if status != 200] == [5, 10, 15, 20]
    assert {*statuses} == {200, 429, 503}
    assert {web.answer(WebRequest(host, "/robots.txt")).status for _ in range(10)} <= {200, 404}


def test_busy_host_says_for_how_long() -> None:
    web, host = only_fault(Fault.BUSY)
    answers = [web.answer(WebRequest(host, "/")) for _ in range(5)]
    assert dict(answers[-1].headers)["Retry-After"] == str(answers[-1].retry_after_seconds)
    assert 1 <= answers[-1].retry_after_seconds <= 3
