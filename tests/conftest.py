"""Rules for the whole suite.

Where CI=true, a skipped test is a failure, because nobody reads what was not run. Property tests draw the same cases
each time and have no deadline: neither luck nor a busy machine decides.
"""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("tarrafa", derandomize=True, deadline=None)
settings.load_profile("tarrafa")

# Filled by the reports of the run, emptied never: the names of tests that did not run.
_skipped: list[str] = []


def is_skip_forbidden() -> bool:
    return os.environ.get("CI") == "true"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail"):
        _skipped.append(report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.skipped:
        _skipped.append(report.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish(session: pytest.Session) -> Iterator[None]:
    if _skipped and is_skip_forbidden() and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    yield


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _skipped and is_skip_forbidden():
        terminalreporter.section("skipped, which CI=true does not allow", red=True)
        for name in _skipped:
            terminalreporter.line(name)
