"""The TOML files: `load` reads them, together with flags, and `to_toml` writes one.

A flag overrides a file, a file overrides the default. A crawl has a file of its own. With it, the user's file in the
current folder only says how to log and which synthetic web to serve: it may be meant for other crawls.

All problems are reported at once, one line each, with their places and a correction.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from tarrafa.configuration.sections import KEYS, SECTIONS, Configuration, Key
from tarrafa.configuration.tables import BUDGET_KEYS, HOST_KEYS, RULE_TYPE, HostSettings, ScopeRule, UrlBudget
from tarrafa.configuration.toml_lines import locate_keys
from tarrafa.configuration.toml_tables import ARRAYS, read_budgets, read_hosts, read_rules
from tarrafa.errors import ConfigurationError, InputError
from tarrafa.texts import printable, quoted

DEFAULT_FILE = "tarrafa.toml"
FILE_LIMIT_BYTES = 1_000_000
# They concern the user of a command, not a crawl, so a crawl does not store them.
USER_SECTIONS = ("log", "web")

_SYNTAX_PLACE = r" \(at (?:line (\d+), column \d+|end of document)\)"


class _SetValue(NamedTuple):
    value: Any
    origin: str


class _Problem(NamedTuple):
    place: str
    line: int
    text: str


class _Tables(NamedTuple):
    rules: tuple[ScopeRule, ...] = ()
    hosts: tuple[HostSettings, ...] = ()
    budgets: tuple[UrlBudget, ...] = ()

    def before(self, other: "_Tables") -> "_Tables":
        """Return both, these first, each once."""
        rules, hosts = (*self.rules, *other.rules), (*self.hosts, *other.hosts)
        return _Tables(
            tuple(dict.fromkeys(rules)),
            tuple(each for n, each in enumerate(hosts) if each not in hosts[:n]),
            tuple(dict.fromkeys((*self.budgets, *other.budgets))),
        )


def load(
    file: Path | None = None,
    flags: Mapping[str, object] | None = None,
    rules: Sequence[ScopeRule] = (),
    crawl_file: Path | None = None,
) -> Configuration:
    """Return the effective configuration. Without a file, `tarrafa.toml` of the current folder is read if it exists.

    `flags` maps key paths to what the user typed, `{"fetch.timeout": "5s"}`; `None` means not given. `rules` are the
    scope rules of flags; they come before those of files.

    `crawl_file` is that of an existing crawl: its keys are overridden by those of `file`, which the user named, but not
    by those of the current folder.
    """
    problems: list[_Problem] = []
    values, tables = _from_files(file, crawl_file, problems)
    values |= _from_flags(flags or {}, problems)
    if problems:
        problems.sort(key=lambda problem: problem.line)
        raise ConfigurationError("\n".join(f"{problem.place}: {problem.text}" for problem in problems))
    # The file in a crawl's folder has the rules of earlier flags, which may be given again.
    kept = [rule for rule in tables.rules if rule not in rules]
    return replace(
        _build(values), scope_rules=(*dict.fromkeys(rules), *kept), hosts=tables.hosts, budgets=tables.budgets
    )


def _from_files(
    file: Path | None, crawl_file: Path | None, problems: list[_Problem]
) -> tuple[dict[str, _SetValue], _Tables]:
    values: dict[str, _SetValue] = {}
    tables = _Tables()
    if file is None and (default := _default_file()) is not None:
        values, tables = _from_file(default, problems)
    if crawl_file is not None:
        of_user = {path: value for path, value in values.items() if KEYS[path].section in USER_SECTIONS}
        values, tables = _from_file(crawl_file, problems)
        values |= of_user
    if file is not None:
        given, its_tables = _from_file(file, problems)
        values, tables = values | given, its_tables.before(tables)
    return values, tables


def _default_file() -> Path | None:
    path = Path(DEFAULT_FILE)
    return path if path.exists() else None


def _build(values: Mapping[str, _SetValue]) -> Configuration:
    sections: dict[str, Any] = {}
    for section, kind in SECTIONS.items():
        given = {KEYS[path].attribute: each.value for path, each in values.items() if KEYS[path].section == section}
        sections[section] = kind(**given)
    return Configuration(**sections, origins=MappingProxyType({path: each.origin for path, each in values.items()}))


def _from_flags(flags: Mapping[str, object], problems: list[_Problem]) -> dict[str, _SetValue]:
    values = {}
    for path, raw in flags.items():
        key = KEYS[path]
        if raw is None:
            continue
        try:
            values[path] = _SetValue(key.type.read(raw), f"flag {key.flag}")
        except InputError as error:
            problems.append(_Problem(key.flag, 0, str(error)))
    return values


def _from_file(path: Path, problems: list[_Problem]) -> tuple[dict[str, _SetValue], _Tables]:
    name = printable(str(path))
    text = _read(path, name)
    document = _parse(text, name)
    lines = locate_keys(text)
    values = {}
    for keys, raw in _flat(document):
        line = lines.get(keys, lines.get(keys[:1], 1))
        try:
            key, value = _check(keys, raw)
            values[key.path] = _SetValue(value, f"file {name}:{line}")
        except InputError as error:
            problems.append(_Problem(f"{name}:{line}", line, str(error)))
    rules, bad_rules = read_rules(document.get("scope", []), lines, name)
    hosts, bad_hosts = read_hosts(document.get("host", []), lines, name)
    budgets, bad_budgets = read_budgets(document.get("budget", []), lines, name)
    bad = (*bad_rules, *bad_hosts, *bad_budgets)
    problems += [_Problem(f"{name}:{each.line}", each.line, each.text) for each in bad]
    return values, _Tables(rules, hosts, budgets)


def _read(path: Path, name: str) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(FILE_LIMIT_BYTES + 1)
    except OSError as error:
        raise ConfigurationError(f"{name}: cannot be read: {error.strerror}; give a file with --config FILE") from error
    if len(data) > FILE_LIMIT_BYTES:
        raise ConfigurationError(f"{name}: is too large; the limit is {FILE_LIMIT_BYTES:,} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigurationError(f"{name}:{line}: is not UTF-8; save the file as UTF-8") from error


def _parse(text: str, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ConfigurationError(f"{name}: is nested too deeply") from error
    except ValueError as error:  # TOMLDecodeError, and the error of int() for a number with too many digits
        place = re.search(_SYNTAX_PLACE, str(error))
        line = int(place[1]) if place and place[1] else len(text.splitlines()) or 1
        reason = printable(re.sub(_SYNTAX_PLACE, "", str(error)))
        raise ConfigurationError(f"{name}:{line}: is not valid TOML: {reason}") from error


def _flat(document: Mapping[str, Any]) -> Iterable[tuple[tuple[str, ...], Any]]:
    """Yield the path and value of each key; what is not a section has a path of one name."""
    for section, content in document.items():
        if section in ARRAYS:
            continue
        if section in SECTIONS and isinstance(content, dict):
            yield from (((section, name), raw) for name, raw in content.items())
        else:
            yield (section,), content


def _check(keys: tuple[str, ...], raw: object) -> tuple[Key, Any]:
    if len(keys) == 1:
        raise InputError(_not_a_section(keys[0], raw))
    section, name = keys
    key = KEYS.get(f"{section}.{name}")
    if key is None:
        raise InputError(f"[{section}] unknown key {quoted(name)}{_nearest_key(section, name)}")
    try:
        return key, key.type.read(raw)
    except InputError as error:
        raise InputError(f"[{section}] {name}: {error}") from error


def _not_a_section(name: str, content: object) -> str:
    if name in SECTIONS:
        return f"{quoted(name)} must be a section; write [{name}] on a line of its own"
    if not isinstance(content, dict):
        return f"{quoted(name)} is outside of a section{_nearest_key('', name)}"
    near = get_close_matches(name, SECTIONS, n=1)
    hint = f"did you mean [{near[0]}]?" if near else f"known sections are {', '.join(f'[{each}]' for each in SECTIONS)}"
    return f"unknown section {quoted(name)}; {hint}"


def _nearest_key(section: str, name: str) -> str:
    """Return a hint: a similar key of the section, else of another section, else all keys."""
    own = [key.name for key in KEYS.values() if key.section == section]
    if near := get_close_matches(name, own, n=1):
        return f'; did you mean "{near[0]}"?'
    if near := get_close_matches(name, [key.name for key in KEYS.values()], n=1):
        places = [f"[{key.section}] {key.name}" for key in KEYS.values() if key.name == near[0]]
        return f"; did you mean {' or '.join(places)}?"
    return f"; known keys: {', '.join(own)}" if own else f"; sections are {', '.join(f'[{each}]' for each in SECTIONS)}"


def to_toml(configuration: Configuration, *, has_secrets: bool = True) -> str:
    """Return a complete configuration file that loads back to the same values, logins only if it `has_secrets`."""
    first = "# Configuration of Tarrafa: every key. Durations and sizes have units."
    return "\n".join([first, *_lines(configuration, ()), *_table_lines(configuration, has_secrets)]) + "\n"


def _table_lines(configuration: Configuration, has_secrets: bool) -> Iterator[str]:
    for rule in configuration.scope_rules:
        yield from ("", "[[scope]]", f"{rule.verdict} = {RULE_TYPE.write(rule.text)}")
    for table in configuration.hosts:
        yield from _host_lines(table, has_secrets)
    for budget in configuration.budgets:
        yield from ("", "[[budget]]")
        yield from (f"{name} = {kind.write(getattr(budget, name))}" for name, kind in BUDGET_KEYS.items())


def _host_lines(table: HostSettings, has_secrets: bool) -> Iterator[str]:
    given = [key for key in HOST_KEYS.values() if table.value(key) is not None]
    hidden = [key for key in given if key.is_secret and not has_secrets]
    # A table that sets nothing is an error, so without its secrets such a table is a comment.
    before = "# " if len(hidden) == len(given) - 1 else ""
    yield from ("", f"{before}[[host]]")
    for key in given:
        if key in hidden:
            yield f"# {key.name} is set, and not shown"
        else:
            yield f"{before}{key.name} = {key.type.write(table.value(key))}"


def to_crawl_toml(configuration: Configuration) -> str:
    """Return the configuration file of a crawl: every key but those of `USER_SECTIONS`."""
    first = "# Configuration of this crawl. The next run uses it; flags and --config FILE change it."
    return "\n".join([first, *_lines(configuration, USER_SECTIONS), *_table_lines(configuration, True)]) + "\n"


def _lines(configuration: Configuration, left_out: Sequence[str]) -> Iterator[str]:
    for section, keys in groupby(KEYS.values(), key=lambda key: key.section):
        if section in left_out:
            continue
        yield ""
        yield f"# {SECTIONS[section].__doc__}"
        yield f"[{section}]"
        for key in keys:
            yield f"# {key.help} ({key.type.describe()})"
            yield f"{key.name} = {key.type.write(configuration.value(key))}"
