"""The transport over sockets and the one in memory return the same records."""

import asyncio
from dataclasses import replace

import pytest

from tarrafa.configuration import CrawlSection, FetchSection
from tarrafa.fetch import CurlTransport, TableResolver
from tarrafa.lab.web import Fault, MemoryTransport, Plan, SyntheticWeb, open_server, parse_faults
from tarrafa.records import Failure, FailureKind, Page, Request
from webs import AGENT, InstantClock, hosts_of

LIMITS = FetchSection(timeout_seconds=60.0, body_limit_bytes=400_000)
OWN = CrawlSection(user_agent=AGENT, allow_private=True)
GZIP = (("Accept-Encoding", "gzip"),)  # which libcurl always sends
# Headers of the framing exist only over sockets.
FRAMING = {"date", "server", "content-length", "transfer-encoding", "connection"}
# All but HANG, which becomes a reset on a clock without waiting.
FAULTS = parse_faults("hostile") - {Fault.HANG}


def told(outcome: Page | Failure) -> object:
    if isinstance(outcome, Failure):
        return outcome.kind
    headers = sorted((name.lower(), value) for name, value in outcome.headers if name.lower() not in FRAMING)
    return outcome.status, headers, outcome.truncated, outcome.address, outcome.body


def urls_of(web: SyntheticWeb) -> list[str]:
    others = [
        "/robots.txt",
        "/sitemap.xml",
        "/ir/p1",
        "/ir/x1",
        "/ir/c1",
        "/ir/l1",
        "/antigo/2",
        "/doc/1.pdf",
        "/img/1.png",
    ]
    snares = [
        "/fluxo/1",
        "/curto/1",
        "/longo/1",
        "/falso/1",
        "/bomba/1",
        "/calendario/2026/1",
        "/eco/",
        "/filtro?cor=1",
    ]
    return [
        host.origin + path
        for host in hosts_of(web)
        for path in (*(web.pages.entry(host, page).path for page in range(min(host.size, 4))), *others, *snares)
    ]


async def compare(plan: Plan, resolver_of_names: bool) -> list[object]:
    """Send both the same requests in the same order; return the outcomes."""
    async with open_server(replace(plan, port=0), clock=InstantClock()) as server:
        web = SyntheticWeb(server.web.plan)
        table = {host.name: (host.address,) for host in hosts_of(web)}
        curl = CurlTransport(LIMITS, OWN, TableResolver(table) if resolver_of_names else None)
        memory = MemoryTransport(web, InstantClock(), user_agent=AGENT, body_limit_bytes=LIMITS.body_limit_bytes)
        found = []
        for url in urls_of(web):
            over_sockets, from_memory = (
                await curl.fetch(Request(url, any_type=True)),
                await memory.fetch(Request(url, GZIP)),
            )
            assert told(over_sockets) == told(from_memory), url
            found.append(told(from_memory))
        one, other = server.journal.report(), memory.journal.report()
        assert one["by_host"] == other["by_host"]
        assert one["statuses"] == other["statuses"]
        assert one["malformed"] == 0
        curl.close()
        return found


def test_both_transports_of_a_hostile_web_return_the_same() -> None:
    found = asyncio.run(compare(Plan(hosts=16, pages=120, rng_seed=41, faults=FAULTS), resolver_of_names=False))
    assert FailureKind.RESET in found
    assert {answer[0] for answer in found if isinstance(answer, tuple)} >= {200, 301, 302, 403, 404, 410, 429, 500}


def test_both_transports_of_a_web_with_names_return_the_same() -> None:
    found = asyncio.run(compare(Plan(hosts=6, pages=30, rng_seed=42, names=True), resolver_of_names=True))
    assert all(isinstance(answer, tuple) for answer in found)


@pytest.mark.parametrize(
    ("authority", "kind"),
    [
        ("127.0.0.2:{port}", FailureKind.TIMEOUT),  # it hangs
        ("127.250.3.9:{port}", FailureKind.RESET),  # no host has this address
        ("127.0.0.1:1", FailureKind.REFUSED),  # no server listens there
        ("www.tz--nobody7.org:{port}", FailureKind.NAME),
    ],
)
def test_both_transports_fail_alike_if_no_host_answers(authority: str, kind: FailureKind) -> None:
    async def story() -> list[Page | Failure]:
        async with open_server(Plan(hosts=2, pages=4, port=0, faults=frozenset({Fault.HANG}))) as server:
            web = SyntheticWeb(server.web.plan)
            request = Request(f"http://{authority.format(port=web.plan.port)}/")
            curl = CurlTransport(replace(LIMITS, timeout_seconds=0.5), OWN, TableResolver({}))
            outcomes = [await curl.fetch(request), await MemoryTransport(web, InstantClock()).fetch(request)]
            curl.close()
            return outcomes

    assert [told(outcome) for outcome in asyncio.run(story())] == [kind, kind]
