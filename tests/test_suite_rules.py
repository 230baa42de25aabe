import ast
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

SUITE = """
import pytest

def test_runs():
    pass

@pytest.mark.skip(reason="tired")
def test_tired():
    pass
"""


# Each test fails as soon as it draws a large number.
PROPERTIES = """
from hypothesis import Phase, given, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

unshrunk = settings(phases=[Phase.generate])

@unshrunk
@given(st.integers(0, 2**64))
def test_number(number):
    print(f"drawn {number}")
    assert number < 1_000

class Machine(RuleBasedStateMachine):
    @rule(number=st.integers(0, 2**64))
    def draw(self, number):
        print(f"drawn {number}")
        assert number < 1_000

TestMachine = Machine.TestCase
TestMachine.settings = unshrunk
"""
SEED = re.compile(r"property tests draw their cases by seed (\d+)")


def suite(
    folder: Path, ci: str, name: str = "test_some.py", text: str = SUITE, seed: str = ""
) -> subprocess.CompletedProcess[str]:
    (folder / "conftest.py").write_text(Path(__file__).with_name("conftest.py").read_text())
    (folder / name).write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "--assert=plain", "-p", "no:cacheprovider", str(folder)]
    environment = {**os.environ, "CI": ci, "TARRAFA_TEST_SEED": seed}
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)


def drawn(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return every number that the property tests drew, in order."""
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    found = re.findall(r"^drawn (\d+)$", done.stdout, re.MULTILINE)
    assert len(found) > 2
    return found


def test_skipped_test_fails_the_run_under_ci_and_is_named(tmp_path: Path) -> None:
    done = suite(tmp_path, ci="true")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "test_some.py::test_tired" in done.stdout


def test_skipped_module_fails_the_run_under_ci(tmp_path: Path) -> None:
    """A module that skips itself at import, as `importorskip` does when a package is missing."""
    text = "import pytest\npytest.importorskip('no_such_package')\n"
    (tmp_path / "test_other.py").write_text("def test_runs():\n    pass\n")
    done = suite(tmp_path, ci="true", text=text)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "test_some.py" in done.stdout


def test_skipped_test_is_allowed_at_a_desk(tmp_path: Path) -> None:
    assert suite(tmp_path, ci="").returncode == pytest.ExitCode.OK


def test_printed_seed_draws_the_cases_of_a_failed_run_again(tmp_path: Path) -> None:
    """For plain property tests and state machines, also under CI, where hypothesis by default draws the same cases."""
    first = suite(tmp_path, ci="true", text=PROPERTIES)
    seeds = SEED.findall(first.stdout)
    assert len(seeds) == 2
    assert len(set(seeds)) == 1
    again = suite(tmp_path, ci="true", text=PROPERTIES, seed=seeds[0])
    assert SEED.findall(again.stdout) == seeds
    assert drawn(again) == drawn(first)
    assert drawn(suite(tmp_path, ci="true", text=PROPERTIES)) != drawn(first)


def test_seed_is_printed_once_when_all_tests_pass(tmp_path: Path) -> None:
    assert len(SEED.findall(suite(tmp_path, ci="").stdout)) == 1


def test_every_class_name_stands_once_in_the_package() -> None:
    """A newcomer who searches for a class finds one thing."""
    package = Path(__file__).parents[1] / "src/tarrafa"
    trees = [ast.parse(path.read_text()) for path in package.rglob("*.py")]
    names = Counter(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    assert len(names) > 300
    assert [name for name, count in names.items() if count > 1] == []
