"""Visits that bring the challenge page of a bot wall: the host backs off, and the URL gets no page."""

from brains import A, BrainDriver, ended_urls, make_page, told, urls_of
from tarrafa.agent import HostStatus, Outcome, outcome_of, reason_of
from tarrafa.agent.instructions import Fetch, TellSuspended
from tarrafa.agent.outcomes import status_of
from tarrafa.obey import Wall
from tarrafa.records import Failure, FailureKind


def challenge(brain: BrainDriver, fetch: Fetch) -> None:
    page = make_page(fetch.visit.url, 403, b"", (("CF-Mitigated", "challenge"),), brain.at.wall)
    brain.visits.page_walled(fetch.visit, page, Wall.CLOUDFLARE, brain.at)


def test_host_that_sends_only_challenges_is_suspended_for_its_wall() -> None:
    brain = BrainDriver()
    brain.allow_all(A)
    brain.schedule(*urls_of(A, 10))
    suspended: list[TellSuspended] = []
    for _ in range(20):
        challenge(brain, brain.next_fetch())
        suspended = [each for each in told(brain.take()) if isinstance(each, TellSuspended)]
        if suspended:
            break
    assert [(each.host, each.reason) for each in suspended] == [(A, "wall")]
    record = brain.record(A)
    assert (record.status, record.wall, record.pages) == (HostStatus.SUSPENDED, "Cloudflare", 0)


def test_url_behind_a_wall_ends_when_others_of_its_host_are_answered() -> None:
    brain = BrainDriver()
    brain.allow_all(A)
    brain.schedule(*urls_of(A, 12))
    wanted, ended = "", []
    for _ in range(13):
        fetch = brain.next_fetch()
        wanted = wanted or fetch.visit.url
        if fetch.visit.url == wanted:
            challenge(brain, fetch)
        else:
            brain.answer(fetch)
        ended += ended_urls(brain.take())
        if ended:
            break
    for _ in range(3):
        if not ended:
            challenge(brain, brain.next_fetch())
            ended += ended_urls(brain.take())
    assert [(each.url, each.failure) for each in ended] == [(wanted, Failure(wanted, FailureKind.WALL, "Cloudflare"))]
    assert wanted not in brain.pages
    assert brain.record(A).status == HostStatus.WELCOME


def test_outcome_of_a_url_behind_a_wall_is_its_own() -> None:
    status = status_of(Failure(A, FailureKind.WALL, "Anubis"))
    assert (status, outcome_of(status), reason_of(status)) == (1_112, Outcome.WALLED, "wall")
