"""The documentation covers everything that exists, and names nothing that does not."""

import ast
import doctest
import re
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer

import tarrafa
from tarrafa.cli.app import app
from tarrafa.configuration import HOST_KEYS, KEYS, SECTIONS, load
from tarrafa.records import FailureKind

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "tarrafa"
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
ROOMS = sorted(path for path in SOURCE.rglob("*") if path.is_dir() and list(path.glob("*.py")))

GLOSSARY = [
    *("URL", "href", "link", "host", "address", "site", "page", "visit", "document", "repository", "block", "batch"),
    *("cycle", "checkpoint", "fresh", "known", "duplicate", "scheduled", "remaining", "frontier", "workbench"),
    *("suspended", "outcome", "archive", "agent", "priority", "score", "rank", "refresh", "slot", "group"),
    *("partition", "routing table", "version"),
]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def reference(name: str) -> str:
    return (DOCS / "reference" / name).read_text(encoding="utf-8")


def section(text: str, heading: str) -> str:
    """Return the text from a heading of the second level to the next one."""
    _, found, rest = text.partition(f"\n## {heading}\n")
    assert found, f"the heading '## {heading}' is missing"
    return rest.partition("\n## ")[0]


# The command line.


def options(command: Any) -> list[str]:
    own = [option for option in command.params if option.param_type_name == "option"]
    return ["--help", *(name for option in own for name in [*option.opts, *option.secondary_opts])]


def test_every_global_flag_is_documented() -> None:
    text = section(reference("cli.md"), "Global flags")
    assert [flag for flag in options(typer.main.get_command(app())) if f"`{flag}" not in text] == []


def commands(group: Any, before: str = "") -> dict[str, Any]:
    """Return every command by its full name."""
    found: dict[str, Any] = {}
    for name, command in group.commands.items():
        inner = commands(command, f"{before}{name} ") if hasattr(command, "commands") else {f"{before}{name}": command}
        found.update(inner)
    return found


EVERY_COMMAND = commands(typer.main.get_command(app()))


@pytest.mark.parametrize("name", EVERY_COMMAND)
def test_every_command_is_documented_with_its_options(name: str) -> None:
    text = section(reference("cli.md"), f"tarrafa {name}")
    assert [option for option in options(EVERY_COMMAND[name]) if f"`{option}" not in text] == []


def test_no_command_is_documented_that_does_not_exist() -> None:
    assert set(re.findall(r"\n## tarrafa (.+)\n", reference("cli.md"))) == set(EVERY_COMMAND)


# The configuration.


@pytest.mark.parametrize("path", KEYS)
def test_every_configuration_key_is_documented_as_it_is(path: str) -> None:
    key = KEYS[path]
    row = f"| `{key.name}` | `{key.type.write(key.default)}` | {key.type.describe()} | {key.help} |"
    assert row in section(reference("configuration.md"), f"[{key.section}]").splitlines()


def test_no_configuration_key_is_documented_that_does_not_exist() -> None:
    text = reference("configuration.md")
    assert re.findall(r"\n## \[(\w+)\]\n", text) == list(SECTIONS)
    rows = [re.findall(r"\n\| `(\w+)` \|", section(text, f"[{name}]")) for name in SECTIONS]
    assert sum(map(len, rows)) == len(KEYS)


def test_every_key_of_a_host_table_is_documented_as_it_is_and_no_other() -> None:
    text = section(reference("configuration.md"), "[[host]]")
    rows = [f"| `{key.name}` | {key.type.describe()} | {key.help} |" for key in HOST_KEYS.values()]
    assert [line for line in text.splitlines() if line.startswith("| `")] == rows


TOML = [(named(page), text) for page in PAGES for text in re.findall(r"```toml\n(.*?)```", page.read_text(), re.DOTALL)]


@pytest.mark.parametrize(("page", "text"), TOML)
def test_every_configuration_shown_is_valid(page: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "tarrafa.toml"
    path.write_text(text)
    assert load(path)


# Python.


@pytest.mark.parametrize("page", [page for page in PAGES if "\n>>> " in page.read_text()], ids=named)
def test_every_example_gives_what_the_page_shows(page: Path) -> None:
    result = doctest.testfile(str(page), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0


def public_names() -> list[str]:
    """Return each public name of the package, and the public attributes of its classes."""
    named_tuples = {*dir(tuple), "count", "index"}
    found = list(tarrafa.__all__)
    for name in tarrafa.__all__:
        thing = getattr(tarrafa, name)
        if isinstance(thing, type) and not issubclass(thing, Exception) and thing is not tarrafa.Progress:
            base = named_tuples if issubclass(thing, tuple) else dir(str) if issubclass(thing, str) else []
            found += [each for each in dir(thing) if not each.startswith("_") and each not in base]
    return found


def test_every_public_name_is_documented() -> None:
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", reference("python.md")))))
    assert [name for name in public_names() if name not in words] == []


def test_no_name_of_the_package_is_documented_that_does_not_exist() -> None:
    assert set(re.findall(r"`tarrafa\.(\w+)\(", reference("python.md"))) <= {*tarrafa.__all__}


IMPORTS = sorted(
    {found for page in PAGES for found in re.findall(r"from (tarrafa\S*) import (\w[\w, ]*)", page.read_text())}
)


@pytest.mark.parametrize(("module", "names"), IMPORTS)
def test_every_import_shown_works(module: str, names: str) -> None:
    assert [name for name in names.split(", ") if not hasattr(import_module(module), name)] == []


# Events.


def event_calls() -> Iterator[ast.Call]:
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "event":
                yield node


def logged_events() -> dict[str, tuple[str, list[str]]]:
    """Return the level and the fields of each event, by its name, as the code logs them."""
    found = {}
    for call in event_calls():
        name = ast.literal_eval(call.args[1])
        level = ast.unparse(call.args[2]).removeprefix("logging.").lower() if len(call.args) > 2 else "info"
        found[name] = (level, [str(each.arg) for each in call.keywords])
    return found


def test_every_event_is_documented_with_its_level_and_fields_and_no_other() -> None:
    rows = re.findall(r"^\| `([^`]+)` \| (\w+) \| (.*?) \|", reference("events.md"), re.MULTILINE)
    documented = {name: (level, re.findall(r"`(\w+)`", fields)) for name, level, fields in rows}
    # This one has a traceback, so it does not go through `event`.
    assert documented.pop("request failed") == ("error", ["path"])
    assert documented == logged_events()


# Words.


@pytest.mark.parametrize("word", GLOSSARY)
def test_every_word_is_in_the_glossary(word: str) -> None:
    assert f"\n| **{word}** |" in reference("glossary.md")


def test_every_kind_of_failure_is_explained() -> None:
    text = (DOCS / "concepts" / "fetching.md").read_text()
    assert [kind.value for kind in FailureKind if f"\n| `{kind.value}` |" not in text] == []


# Links and rooms.


def headings(page: Path) -> set[str]:
    """Return the anchors of a page, as common renderers make them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def is_dead(page: Path, target: str) -> bool:
    place, _, anchor = target.partition("#")
    path = (page.parent / place).resolve() if place else page
    if not path.exists() or not path.is_relative_to(ROOT):
        return True
    return bool(anchor) and path.suffix == ".md" and anchor not in headings(path)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_no_link_is_dead(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.DOTALL)
    targets = re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", text)
    assert [target for target in targets if "://" not in target and is_dead(page, target)] == []


def test_every_page_is_linked_from_an_index() -> None:
    index = "".join((DOCS / path).read_text() for path in ("README.md", "decisions/README.md"))
    pages = [page for page in DOCS.rglob("*.md") if page.name != "README.md"]
    assert [named(page) for page in pages if f"{page.name})" not in index] == []


def test_decisions_are_numbered_and_listed_in_order() -> None:
    files = sorted(path.name for path in (DOCS / "decisions").glob("0*.md"))
    assert [int(name[:4]) for name in files] == list(range(1, len(files) + 1))
    assert re.findall(r"\((0\S+\.md)\)", (DOCS / "decisions" / "README.md").read_text()) == files
    titles = [(DOCS / "decisions" / name).read_text().splitlines()[0] for name in files]
    assert [title.split(".")[0] for title in titles] == [f"# {int(name[:4])}" for name in files]


def test_every_place_named_in_the_architecture_exists() -> None:
    places = re.findall(r"`(src/[^`]*)`", (ROOT / "ARCHITECTURE.md").read_text())
    assert places
    assert [place for place in places if not (ROOT / place).exists()] == []


def test_every_module_of_the_agent_is_in_the_architecture() -> None:
    text = section((ROOT / "ARCHITECTURE.md").read_text(), "`src/tarrafa/agent/`: how do the rooms make a crawl?")
    rows = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    named_modules = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named_modules == {path.stem for path in (SOURCE / "agent").glob("*.py")} - {"__init__"}


def test_every_step_of_the_journey_names_a_module_that_exists() -> None:
    text = section((ROOT / "ARCHITECTURE.md").read_text(), "The journey of a URL")
    steps = re.findall(r"`agent/(\w+)`", text)
    assert steps
    assert [step for step in steps if not (SOURCE / "agent" / f"{step}.py").is_file()] == []


@pytest.mark.parametrize(
    "part", sorted(path for path in SOURCE.iterdir() if path.suffix == ".py" or path in ROOMS), ids=named
)
def test_every_part_has_its_question_in_the_architecture(part: Path) -> None:
    if part.name.startswith("__"):
        return
    titles = re.findall(r"^## (.*)$", (ROOT / "ARCHITECTURE.md").read_text(), re.MULTILINE)
    questions = [title for title in titles if title.endswith("?")]
    name = named(part) + ("/" if part.is_dir() else "")
    assert [title for title in questions if f"`{name}`" in title]


@pytest.mark.parametrize("room", ROOMS, ids=named)
def test_every_room_tells_its_story(room: Path) -> None:
    """The story says what enters, what leaves and what is not done there, in more than a line."""
    story = ast.get_docstring(ast.parse((room / "__init__.py").read_text()))
    assert story
    assert len(story.splitlines()) >= 3
    assert re.search(r"\b(not|nothing)\b", story, re.IGNORECASE)


def test_every_part_has_its_place_in_the_import_contracts() -> None:
    """A room that is in no contract could import anything unnoticed."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = re.findall(r"tarrafa\.(\w+)", " ".join(contracts[1]["layers"]))
    parts = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or path in ROOMS} - {"__init__", "__main__"}
    assert set(layers) == parts
    rooms = parts & {"extract", "fetch", "keep", "obey", "rank", "refresh", "schedule", "search", "share", "verify"}
    assert {f"tarrafa.{room}" for room in rooms} == set(contracts[0]["modules"])


# Habits for contributors.


def make_check_commands() -> list[str]:
    _, _, rest = (ROOT / "Makefile").read_text().partition("\ncheck: install\n")
    recipe = rest.partition("\n\n")[0]
    return [line.strip().replace("$(BIN)", ".venv/bin") for line in recipe.splitlines()]


def test_pre_commit_runs_the_commands_of_make_check() -> None:
    text = (ROOT / ".pre-commit-config.yaml").read_text()
    assert re.findall(r"^ +entry: (.+)$", text, re.MULTILINE) == make_check_commands() != []
    assert set(re.findall(r"repo: (\S+)", text)) == {"local"}


def test_the_workflow_calls_the_ci_script() -> None:
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert re.findall(r"^ +- run: (.+)$", text, re.MULTILINE) == [".ci/run"]


def test_every_place_named_for_contributors_exists() -> None:
    places = re.findall(r"`((?:src|tests|benchmarks)/[^`]*)`", (ROOT / "CONTRIBUTING.md").read_text())
    assert places
    assert [place for place in places if not (ROOT / place).exists()] == []
