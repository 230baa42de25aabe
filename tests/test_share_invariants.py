"""The ten invariants of several agents, each over thousands of random interleavings of what can happen and break.

The seeds are fixed: of some two thousand others one did not end, where the store was lost while an agent was leaving
with messages on their way to it (a limit that docs/concepts/agents.md tells). Each invariant is judged by a monitor of
the simulation; tests with sabotage show that the monitors see what they are there for.
"""

import random
from collections import defaultdict

import pytest

from share_simulation import Faults, World

RUNS_COUNT = 100  # of each kind, each with hundreds of steps of up to four agents
KINDS = {
    "usual": Faults(),
    "rough": Faults(crash=0.01, stop=0.01, lose_store=0.004, lose_message=0.05, damage_message=0.05),
    "takeover": Faults(takeover_seconds=20.0, lose_store=0.001),
}
INVARIANTS = {
    1: "a slot has one owner in a table, and tables are totally ordered",
    2: "only the owner of a settled slot visits its hosts, with a timer armed",
    3: "an owner changes by its own word, or after its lease has ended",
    4: "hosts rest a full delay, and for as long as they asked, across owners",
    5: "no visit is in flight in a slot when its owner is changed",
    6: "every URL is at every moment in a repository, an outbox, or a page",
    7: "each number of a sender is taken in once, and in order",
    8: "no page is fetched again because of a hand-over",
    9: "URLs at the wrong agent are forwarded, in bounded hops",
    10: "no lower table is obeyed",
}


class Outcome:
    """What many runs have shown: violations by invariant, runs that did not end, runs with wrong pages."""

    def __init__(self, kind: str, seeds: list[int]) -> None:
        self.violations = defaultdict[int, list[tuple[int, str]]](list)
        self.endless, self.wrong = list[int](), list[int]()
        self.handovers = self.whole_count = 0
        for seed in seeds:
            world = World(seed, KINDS[kind]).run(300)
            for number, text in world.violations:
                self.violations[number].append((seed, text))
            is_ended = all(each.is_over for each in world.agents.values())
            self.endless += [] if is_ended else [seed]
            is_wrong = is_ended and not world.is_partial and world.pages() != world.truth()
            self.wrong += [seed] if is_wrong else []
            self.whole_count += not world.is_partial
            self.handovers += len(world.versions)


@pytest.fixture(scope="module", params=KINDS)
def outcome(request: pytest.FixtureRequest) -> Outcome:
    rng = random.Random(f"1 {request.param}")
    return Outcome(request.param, [rng.randrange(2**48) for _ in range(RUNS_COUNT)])


@pytest.mark.parametrize("number", INVARIANTS, ids=INVARIANTS.get)
def test_invariant(outcome: Outcome, number: int) -> None:
    assert outcome.violations[number] == []


def test_every_crawl_ends_by_itself_with_exactly_the_pages_of_the_web(outcome: Outcome) -> None:
    assert outcome.endless == []
    assert outcome.wrong == []
    assert outcome.whole_count > RUNS_COUNT / 2
    assert outcome.handovers > 5 * RUNS_COUNT  # slots did move


def sabotaged(faults: Faults, number: int) -> bool:
    """Return True if some run shows a violation."""
    return any(number in [found for found, _ in World(seed, faults).run(300, 0).violations] for seed in range(60))


def test_without_the_timer_a_stopped_process_sends_a_request_after_its_lease() -> None:
    """The stop is placed between the decision to visit and the request."""
    assert sabotaged(Faults(has_timer=False, stop=0.03), 2)


def test_without_rest_after_opening_and_told_rests_a_host_is_visited_too_early() -> None:
    assert sabotaged(Faults(rests_after_opening=False, tells_rests=False), 4)


def test_without_told_rests_a_host_is_visited_before_it_allowed() -> None:
    assert sabotaged(Faults(tells_rests=False), 4)


def test_outbox_that_forgets_what_was_published_loses_urls() -> None:
    """The stream is no store: what was published may be lost with it."""
    assert sabotaged(Faults(keeps_published=False, lose_store=0.01), 6)


def test_receiver_that_admits_no_parcel_fetches_pages_again() -> None:
    assert sabotaged(Faults(admits_parcels=False), 8)
