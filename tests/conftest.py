"""Rules for the whole suite.

Where CI=true, a skipped test is a failure, because it proves nothing. Property tests draw fresh cases in each run, by
a seed that is printed; TARRAFA_TEST_SEED repeats a run. A busy machine decides nothing: there are no
deadlines, and no health check judges how long it takes to draw a case, or how many are rejected.
"""

import logging
import os
import secrets
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

SEED_VARIABLE = "TARRAFA_TEST_SEED"

settings.register_profile(
    "tarrafa",
    derandomize=False,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
settings.load_profile("tarrafa")

# Filled by the reports of the run, emptied never: the names of tests that did not run.
_skipped: list[str] = []


def is_skip_forbidden() -> bool:
    return os.environ.get("CI") == "true"


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give the plugin of hypothesis its seed, as --hypothesis-seed does, before it looks for one."""
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = os.environ.get(SEED_VARIABLE) or str(secrets.randbelow(10**9))


@pytest.fixture(autouse=True)
def _log_level_of_the_start() -> Iterator[None]:
    """A command that runs in this process sets the level of the log, and later tests would see its events."""
    yield
    logging.getLogger("tarrafa").setLevel(logging.NOTSET)


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Print the seed, also with -q, which leaves out pytest's header."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if isinstance(reporter, pytest.TerminalReporter):
        reporter.line(_seed_line(session.config))


def _seed_line(config: pytest.Config) -> str:
    seed = config.option.hypothesis_seed
    return f"property tests draw their cases by seed {seed}; {SEED_VARIABLE}={seed} draws them again"


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
    if terminalreporter.stats.get("failed") or terminalreporter.stats.get("error"):
        terminalreporter.line(_seed_line(terminalreporter.config))
    if _skipped and is_skip_forbidden():
        terminalreporter.section("skipped, which CI=true does not allow", red=True)
        for name in _skipped:
            terminalreporter.line(name)
