"""The guarantees of the workbench: no random crawl breaks one. A failure begins with the guarantee's number."""

from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from schedules import Crawl

# A crawl that follows from a seed has no smaller form, so that looking for one would only take minutes.
EXAMPLES = settings(max_examples=250, stateful_step_count=30, phases=[Phase.explicit, Phase.generate])


def test_no_random_crawl_breaks_any_of_the_guarantees() -> None:
    run_state_machine_as_test(Crawl, settings=EXAMPLES)
