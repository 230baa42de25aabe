"""The hostile web, fetched wholly and at once over real sockets: every fault ends in what it should."""

import asyncio
from collections import defaultdict
from dataclasses import replace

import pytest

from fetching import OWN
from tarrafa.configuration import FetchSection
from tarrafa.fetch import CurlTransport, decode
from tarrafa.lab.web import Fault, Plan, SyntheticWeb, open_server, parse_faults
from tarrafa.lab.web.connections import HANG_SECONDS
from tarrafa.lab.web.plan import SyntheticHost
from tarrafa.records import Failure, FailureKind, Page, Request
from webs import InstantClock, hosts_of

LIMITS = FetchSection(timeout_seconds=60.0, first_byte_timeout_seconds=4.0, body_limit_bytes=300_000)
PLAN = Plan(hosts=40, pages=80, rng_seed=41, faults=parse_faults("hostile"))

SNARES = {
    "/fluxo/1": Fault.ENDLESS,
    "/curto/1": Fault.FALSE_LENGTH,
    "/longo/1": Fault.FALSE_LENGTH,
    "/falso/1": Fault.FALSE_TYPE,
    "/bomba/1": Fault.GZIP_BOMB,
    "/calendario/2026/1": Fault.CALENDAR,
    "/eco/": Fault.REPETITION,
    "/filtro?cor=1": Fault.COMBINATIONS,
    "/ir/l1": Fault.REDIRECT_LOOP,
}
OTHERS = ("/", "/robots.txt", "/img/1.png", "/doc/1.pdf", "/nichts")
Outcomes = dict[tuple[SyntheticHost, str], Page | Failure]


class QuickClock(InstantClock):
    """Slow hosts are quick; who hangs does so for ever."""

    async def sleep(self, seconds: float) -> None:
        if seconds >= HANG_SECONDS:
            await asyncio.Event().wait()
        await super().sleep(seconds)


async def fetch_all() -> Outcomes:
    async with open_server(replace(PLAN, port=0), clock=QuickClock()) as server:
        transport = CurlTransport(LIMITS, OWN)
        web = SyntheticWeb(server.web.plan)
        asks = [(host, path) for host in hosts_of(web) for path in (*OTHERS, *SNARES)]

        async def twice(host: SyntheticHost, path: str) -> Page | Failure:
            """Because a flaky host answers the second time only."""
            request = Request(host.origin + path, any_type=path == "/robots.txt")
            outcome = await transport.fetch(request)
            return await transport.fetch(request) if Fault.FLAKY in host.faults else outcome

        outcomes = await asyncio.gather(*[twice(*ask) for ask in asks])
        transport.close()
        return dict(zip(asks, outcomes, strict=True))


@pytest.fixture(scope="module")
def outcomes() -> Outcomes:
    return asyncio.run(fetch_all())


def told(outcome: Page | Failure) -> object:
    return outcome.kind if isinstance(outcome, Failure) else outcome.status


def answered(outcomes: Outcomes, path: str, fault: Fault | None = None) -> list[Page]:
    """Return the answers of hosts with the fault, without those that were busy, or silent for another fault."""
    found = [page for (host, asked), page in outcomes.items() if asked == path and (not fault or fault in host.faults)]
    pages = [page for page in found if isinstance(page, Page) and page.status not in (429, 503)]
    assert pages, f"no host answers {path}"
    return pages


def test_web_has_every_fault() -> None:
    assert set().union(*(host.faults for host in hosts_of(SyntheticWeb(PLAN)))) == set(Fault)


def test_silent_hosts_fail_everywhere_and_others_nowhere(outcomes: Outcomes) -> None:
    kinds = defaultdict(set)
    for (host, path), outcome in outcomes.items():
        if Fault.HANG in host.faults:
            kinds["hang"].add(told(outcome))
        elif Fault.RESET in host.faults:
            kinds["reset"].add(told(outcome))
        elif Fault.ROBOTS_UNREACHABLE in host.faults and path == "/robots.txt":
            kinds["robots"].add(told(outcome))
        else:
            assert isinstance(outcome, Page), (host.faults, path, outcome)
    reset = {FailureKind.RESET}
    assert kinds == {"hang": {FailureKind.TIMEOUT}, "reset": reset, "robots": reset}


def test_bodies_without_end_are_cut(outcomes: Outcomes) -> None:
    for page in answered(outcomes, "/fluxo/1", Fault.ENDLESS):
        assert (len(page.body), page.truncated) == (LIMITS.body_limit_bytes, True)


def test_bodies_of_a_false_length_are_kept_and_the_short_ones_marked(outcomes: Outcomes) -> None:
    assert {page.truncated for page in answered(outcomes, "/curto/1", Fault.FALSE_LENGTH)} == {True}
    assert {page.truncated for page in answered(outcomes, "/longo/1", Fault.FALSE_LENGTH)} == {False}
    assert all(page.body for page in answered(outcomes, "/curto/1", Fault.FALSE_LENGTH))


def test_false_type_is_believed_here(outcomes: Outcomes) -> None:
    for page in answered(outcomes, "/falso/1", Fault.FALSE_TYPE):
        assert (page.media_type, page.unread) == ("text/html", False)
        assert page.body.startswith(b"\x89PNG")


def test_bombs_do_not_go_off(outcomes: Outcomes) -> None:
    for page in answered(outcomes, "/bomba/1", Fault.GZIP_BOMB):
        decoded = decode(page, LIMITS.body_limit_bytes)
        assert (page.truncated, decoded.truncated, len(decoded.body)) == (False, True, LIMITS.body_limit_bytes)


@pytest.mark.parametrize("path", ["/img/1.png", "/doc/1.pdf"])
def test_types_that_are_not_wanted_are_not_read(outcomes: Outcomes, path: str) -> None:
    for page in answered(outcomes, path):
        assert (page.status, page.body, page.unread, page.truncated) == (200, b"", True, False)


def test_slow_and_dripping_hosts_bring_whole_pages(outcomes: Outcomes) -> None:
    for fault in (Fault.SLOW, Fault.DRIP, Fault.FLAKY):
        for page in answered(outcomes, "/", fault):
            assert (page.status, page.truncated, decode(page, 10**6).truncated) == (200, False, False)


def test_loops_are_redirects_and_traps_are_pages(outcomes: Outcomes) -> None:
    assert {page.status for page in answered(outcomes, "/ir/l1", Fault.REDIRECT_LOOP)} == {302}
    for path in ("/calendario/2026/1", "/eco/", "/filtro?cor=1"):
        assert {page.status for page in answered(outcomes, path, SNARES[path])} == {200}


def test_robots_come_with_every_status_and_size(outcomes: Outcomes) -> None:
    pages = answered(outcomes, "/robots.txt")
    assert {page.status for page in pages} >= {200, 403, 500}
    assert any(page.truncated and len(page.body) == LIMITS.body_limit_bytes for page in pages)
