import ast
import os
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


def suite(folder: Path, ci: str, name: str = "test_some.py", text: str = SUITE) -> subprocess.CompletedProcess[str]:
    (folder / "conftest.py").write_text(Path(__file__).with_name("conftest.py").read_text())
    (folder / name).write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    return subprocess.run(
        command, env={**os.environ, "CI": ci}, cwd=folder, capture_output=True, text=True, check=False
    )


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


def test_every_class_name_stands_once_in_the_package() -> None:
    """A newcomer who searches for a class finds one thing."""
    package = Path(__file__).parents[1] / "src/tarrafa"
    trees = [ast.parse(path.read_text()) for path in package.rglob("*.py")]
    names = Counter(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    assert len(names) > 300
    assert [name for name, count in names.items() if count > 1] == []
