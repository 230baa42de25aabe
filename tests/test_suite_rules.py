import ast
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
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


PACKAGE, TESTS = Path(__file__).parents[1] / "src/tarrafa", Path(__file__).parent
# Words with which a function's docstring does not begin: it begins with a verb.
NO_VERBS = {"How", "That", "Those", "What", "Whether", "Which", "Who"}
# What named tuples and the standard library call public in spite of the underscore.
PUBLIC = {"_asdict", "_exit", "_fields", "_make", "_replace"}
# Calls that reach an attribute or a module by its name.
BY_NAME = {"attrgetter", "delattr", "delitem", "getattr", "hasattr", "methodcaller", "object", "patch", "setattr"}


def nodes_of(folder: Path) -> Iterator[tuple[str, ast.AST]]:
    """Yield every node of every module, with the name of its file."""
    for path in sorted(folder.rglob("*.py")):
        yield from ((path.name, node) for node in ast.walk(ast.parse(path.read_text())))


def test_docstring_of_a_function_does_not_begin_with_a_question() -> None:
    functions = [
        (file, node.name, (ast.get_docstring(node) or "").split())
        for folder in (PACKAGE, TESTS)
        for file, node in nodes_of(folder)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("test_")
    ]
    assert len(functions) > 1_000
    assert [(file, name) for file, name, words in functions if words and words[0] in NO_VERBS] == []


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC


def called_name(node: ast.Call) -> str:
    function = node.func
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def privates_of(node: ast.AST) -> list[str]:
    """Return the private names of another object or module that a test uses here."""
    if isinstance(node, ast.Attribute) and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")):
        return [node.attr] if is_private(node.attr) else []
    if isinstance(node, ast.ImportFrom | ast.Import):
        names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
        return [name for name in names if any(map(is_private, name.split(".")))]
    if isinstance(node, ast.Call) and called_name(node) in BY_NAME:
        texts = [each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        return [text for text in texts if any(map(is_private, text.split(".")))]
    return []


def own_privates(node: ast.ClassDef) -> set[str]:
    """Return the private names that a class uses of itself, methods included."""
    inside = list(ast.walk(node))
    used = {each.attr for each in inside if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name)}
    made = {each.name for each in inside if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
    return {name for name in used | made if is_private(name)}


def inherited_privates(node: ast.AST, package: Mapping[str, ast.ClassDef]) -> list[str]:
    """Return the private names of a class of the package that a test's subclass uses."""
    if not isinstance(node, ast.ClassDef):
        return []
    bases = [package[each.id] for each in node.bases if isinstance(each, ast.Name) and each.id in package]
    return sorted(own_privates(node) & {name for base in bases for name in own_privates(base)})


def test_tests_do_not_reach_into_privates() -> None:
    package = {node.name: node for _, node in nodes_of(PACKAGE) if isinstance(node, ast.ClassDef)}
    nodes = list(nodes_of(TESTS))
    assert [(file, name) for file, node in nodes for name in privates_of(node)] == []
    assert [(file, name) for file, node in nodes for name in inherited_privates(node, package)] == []


@pytest.mark.parametrize(
    "text",
    [
        "workers._idle",
        "made()._idle.pop()",
        "from tarrafa.serve.workers import _Worker",
        "import tarrafa._native",
        "from tarrafa._native import hashes",
        "monkeypatch.setattr(workers, '_local', None)",
        "monkeypatch.setattr('tarrafa.serve.workers._SECONDS', 1)",
        "getattr(workers, '_idle')",
        "mock.patch.object(workers, '_idle')",
        "class Mine(Base):\n    def look(self):\n        return self._inner",
        "class Mine(Base):\n    def _turn(self):\n        pass",
    ],
)
def test_reaching_into_privates_is_found(text: str) -> None:
    source = "class Base:\n    def __init__(self):\n        self._inner = 1\n    def _turn(self):\n        pass"
    base = ast.parse(source).body[0]
    assert isinstance(base, ast.ClassDef)
    nodes = list(ast.walk(ast.parse(text)))
    assert [name for node in nodes for name in (*privates_of(node), *inherited_privates(node, {"Base": base}))]


@pytest.mark.parametrize(
    "text",
    [
        "self._idle",
        "row._replace(url='')",
        "module.__name__",
        "class Mine(Base):\n    def look(self):\n        self._own = 1",
    ],
)
def test_own_and_documented_names_are_allowed(text: str) -> None:
    nodes = list(ast.walk(ast.parse(text)))
    base = ast.ClassDef(name="Base", bases=[], keywords=[], body=[], decorator_list=[])
    assert [name for node in nodes for name in (*privates_of(node), *inherited_privates(node, {"Base": base}))] == []


def test_every_class_name_stands_once_in_the_package() -> None:
    """A newcomer who searches for a class finds one thing."""
    names = Counter(node.name for _, node in nodes_of(PACKAGE) if isinstance(node, ast.ClassDef))
    assert len(names) > 300
    assert [name for name, count in names.items() if count > 1] == []


# A module is a noun that a newcomer would search for. The endings of participles, and the nouns that have them.
NO_NOUNS = {
    "about",
    "after",
    "apart",
    "before",
    "beside",
    "between",
    "beyond",
    "through",
    "together",
    "until",
    "within",
}
PARTICIPLES = re.compile(r"(^|_)[a-z]+(ed|ing)$")
NOUNS = {"numbering", "pruning", "unsaved", "wiring"}


def test_module_is_named_by_a_noun() -> None:
    names = {path.stem for path in PACKAGE.rglob("*.py")}
    assert len(names) > 200
    assert {name for name in names if name in NO_NOUNS or (PARTICIPLES.search(name) and name not in NOUNS)} == set()
