"""Mirrors in the deciding half of an agent: they come last, and what their original has is not asked for."""

import pytest

from brains import A, B, BrainDriver, ended_urls, fetched_urls, make_page, resolved_hosts, told
from tarrafa.agent import HostTable
from tarrafa.agent.host_table import MemoryHostStorage
from tarrafa.agent.instructions import EndUrl, Fetch, Instruction, TellMirror
from tarrafa.agent.mirror_watch import MirrorWatch
from tarrafa.extract import extract
from tarrafa.records import Page
from tarrafa.schedule import Mirror
from tarrafa.schedule.mirrors import COPIES_MIN

HTML = ("Content-Type", "text/html; charset=utf-8")
ADDRESS = "192.0.2.1"
MANY = 40


def html(url: str, text: str) -> Page:
    body = f"<html><head><title>Story</title></head><body><p>Once upon a time, {text}.</p></body></html>"
    return make_page(url, 200, body.encode(), (HTML,))._replace(address=ADDRESS)


def read(brain: BrainDriver, host: str, numbers: range, text: str = "page") -> None:
    """Let stored answers of a host be read."""
    brain.hosts.meet(host)
    for number in numbers:
        page = html(f"{host}/{number}", f"{text} {number}")
        brain.visits.page_read(page, extract(page, page.body))


def with_mirror() -> BrainDriver:
    """B has shown eight pages of A, which has answered at all paths."""
    brain = BrainDriver()
    read(brain, A, range(MANY))
    read(brain, B, range(COPIES_MIN + 1))
    return brain


def run_all(brain: BrainDriver) -> list[Instruction]:
    """Let everything be visited that may be; every host allows all. Return what was decided."""
    seen: list[Instruction] = []
    for _ in range(500):
        fetches = brain.run()
        seen += fetches
        for fetch in fetches:
            brain.answer(fetch, 404)
        if brain.visits.is_exhausted(brain.at):
            break
        brain.pass_time()
    return seen


def test_mirror_is_told_and_stands_in_the_record_of_its_host() -> None:
    brain = with_mirror()
    assert told(brain.take()) == [TellMirror(Mirror(B, A, COPIES_MIN, COPIES_MIN))]
    assert (brain.record(B).mirror_of, brain.record(A).mirror_of) == (A, "")


def test_mirror_waits_until_nothing_else_is_left() -> None:
    brain = with_mirror()
    assert not brain.schedule(f"{B}/new", depth=1)
    assert brain.visits.is_exhausted(brain.at)
    assert brain.frontier.admit_mirrors(is_admitted=True)
    assert brain.schedule(f"{B}/new", depth=1)
    assert fetched_urls(run_all(brain)) == [f"{B}/robots.txt", f"{B}/new"]


def test_nothing_is_to_be_admitted_without_a_mirror() -> None:
    brain = BrainDriver()
    brain.schedule(f"{A}/")
    assert not brain.frontier.admit_mirrors(is_admitted=True)


def test_host_that_turns_out_to_be_a_mirror_leaves_the_workbench_without_a_request() -> None:
    brain = BrainDriver()
    brain.schedule(*(f"{B}/{number}" for number in range(30)), depth=1)
    (robots,) = brain.run()
    read(brain, A, range(MANY))
    read(brain, B, range(COPIES_MIN))
    brain.answer(robots, 404)
    decided = run_all(brain)
    assert fetched_urls(decided) == []
    assert brain.visits.is_exhausted(brain.at)
    assert len(brain.frontier.urls) == 0
    assert brain.frontier.admit_mirrors(is_admitted=True)


def test_url_of_a_mirror_that_its_original_has_ends_without_a_request_not_even_for_robots_txt() -> None:
    brain = with_mirror()
    brain.frontier.admit_mirrors(is_admitted=True)
    # Half of them are visited at first, to compare them.
    refused = [number for number in range(COPIES_MIN + 1, MANY) if refusal_of(f"{B}/{number}") == "mirror"]
    assert len(refused) > 5
    brain.schedule(*(f"{B}/{number}" for number in refused), depth=1)
    ended: list[EndUrl] = []
    while not brain.visits.is_exhausted(brain.at):
        instructions = brain.step()
        assert not [each for each in instructions if isinstance(each, Fetch)]
        ended += ended_urls(instructions)
        for host in resolved_hosts(instructions):
            brain.resolve(host)
    assert ended == [EndUrl(f"{B}/{number}", None, "mirror") for number in refused]


def refusal_of(url: str) -> str | None:
    """Return what a watch says that has seen the same."""
    storage = MemoryHostStorage()
    watch = MirrorWatch(HostTable(storage, storage))
    for host, count in ((A, MANY), (B, COPIES_MIN + 1)):
        for number in range(count):
            page = html(f"{host}/{number}", f"page {number}")
            watch.note(page, extract(page, page.body))
    return watch.refusal(B, url)


def test_seed_at_a_mirror_is_visited_at_once() -> None:
    brain = with_mirror()
    brain.hosts.meet(B).mirror_of = ""  # so that it is scheduled
    brain.schedule(f"{B}/5")
    brain.hosts.meet(B).mirror_of = A
    assert fetched_urls(run_all(brain)) == [f"{B}/robots.txt", f"{B}/5"]


def test_mirror_goes_on_as_one_in_a_new_process() -> None:
    storage = MemoryHostStorage()
    hosts = HostTable(storage, storage)
    hosts.meet(A)
    hosts.meet(B).mirror_of = A
    watch = MirrorWatch(hosts)
    for url in (*(f"{A}/{number}" for number in range(MANY)), f"{B}/0"):
        page = html(url, f"page {url.rpartition('/')[2]}")
        watch.note(page, extract(page, page.body))
    assert {watch.refusal(B, f"{B}/{number}") for number in range(MANY)} == {None, "mirror"}
    assert watch.refusal(B, f"{B}/other") is None


@pytest.mark.parametrize("is_on", [True, False])
def test_watch_that_is_off_finds_no_mirror(is_on: bool) -> None:
    storage = MemoryHostStorage()
    hosts = HostTable(storage, storage)
    watch = MirrorWatch(hosts, is_on=is_on)
    news = []
    for host in (A, B):
        hosts.meet(host)
        for number in range(MANY):
            page = html(f"{host}/{number}", f"page {number}")
            news += watch.note(page, extract(page, page.body))
    assert bool(news) is is_on
    assert any(watch.refusal(B, f"{B}/{number}") for number in range(MANY)) is is_on


def test_link_to_a_name_that_brings_copies_is_refused_and_a_link_to_a_host_with_pages_is_not() -> None:
    storage = MemoryHostStorage()
    hosts = HostTable(storage, storage)
    watch = MirrorWatch(hosts)
    for host in ("http://example.org", *(f"http://x{number}.example.org" for number in range(40))):
        for number in range(4):
            page = html(f"{host}/{number}", f"page {number}")
            watch.note(page, extract(page, page.body))
    assert watch.refusal_of_link("http://x99.example.org/a") == "wildcard"
    assert watch.refusal("http://x99.example.org", "http://x99.example.org/a") == "wildcard"
    assert watch.refusal_of_link("http://x1.example.org/a") is None
    assert watch.refusal_of_link("http://x99.example.net/a") is None
