"""The arrays of tables of a TOML file: `[[scope]]`, `[[host]]` and `[[budget]]`, or every problem with its line."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, NamedTuple

from tarrafa.configuration.tables import (
    BUDGET_KEYS,
    HOST_KEYS,
    LOGIN_KEYS,
    RULE_TYPE,
    HostSettings,
    ScopeRule,
    UrlBudget,
)
from tarrafa.configuration.toml_lines import Path
from tarrafa.errors import InputError
from tarrafa.texts import quoted

ARRAYS = ("scope", "host", "budget")
TABLES_LIMIT = 10_000  # of one array
_VERDICTS = ("include", "exclude")


class TableProblem(NamedTuple):
    line: int
    text: str


class _Place(NamedTuple):
    """A table of an array in a file."""

    array: str
    number: int
    lines: Mapping[Path, int]
    file: str

    def line(self, key: str = "") -> int:
        table = (self.array, str(self.number))
        own = self.lines.get(table, self.lines.get((self.array,), 1))
        return self.lines.get((*table, key), own) if key else own

    def origin(self, key: str = "") -> str:
        return f"file {self.file}:{self.line(key)}"


class _BadKeyError(InputError):
    def __init__(self, key: str, text: str) -> None:
        super().__init__(text)
        self.key = key


def read_rules(
    content: object, lines: Mapping[Path, int], file: str
) -> tuple[tuple[ScopeRule, ...], list[TableProblem]]:
    """Return the scope rules of a file in their order, and what is wrong with the others."""
    return _read_all("scope", _read_rule, content, lines, file)


def read_hosts(
    content: object, lines: Mapping[Path, int], file: str
) -> tuple[tuple[HostSettings, ...], list[TableProblem]]:
    """Return the host tables of a file in their order, and what is wrong with the others."""
    return _read_all("host", _read_host, content, lines, file)


def read_budgets(
    content: object, lines: Mapping[Path, int], file: str
) -> tuple[tuple[UrlBudget, ...], list[TableProblem]]:
    """Return the budgets of a file in their order, and what is wrong with the others."""
    return _read_all("budget", _read_budget, content, lines, file)


def _read_all(
    array: str, read: Any, content: object, lines: Mapping[Path, int], file: str
) -> tuple[tuple[Any, ...], list[TableProblem]]:
    found, problems = [], []
    if not isinstance(content, list) or not all(isinstance(table, dict) for table in content):
        text = f"{quoted(array)} must be tables; write [[{array}]] on a line of its own, with two brackets"
        return (), [TableProblem(_Place(array, 0, lines, file).line(), text)]
    if len(content) > TABLES_LIMIT:
        line = _Place(array, TABLES_LIMIT, lines, file).line()
        return (), [TableProblem(line, f"[[{array}]]: there are more than {TABLES_LIMIT:,} tables")]
    for number, table in enumerate(content):
        place = _Place(array, number, lines, file)
        try:
            found.append(read(table, place))
        except _BadKeyError as error:
            problems.append(TableProblem(place.line(error.key), f"[[{array}]] {error}"))
    return tuple(found), problems


def _read_rule(table: Mapping[str, Any], place: _Place) -> ScopeRule:
    for key in table:
        if key not in _VERDICTS:
            raise _BadKeyError(key, f"unknown key {quoted(key)}; known keys: include, exclude")
    if len(table) != 1:
        raise _BadKeyError("", "needs either include or exclude, one of them")
    ((verdict, raw),) = table.items()
    try:
        return ScopeRule(verdict == "include", RULE_TYPE.read(raw).strip(), place.origin(verdict))
    except InputError as error:
        raise _BadKeyError(verdict, f"{verdict}: {error}") from error


def _read_budget(table: Mapping[str, Any], place: _Place) -> UrlBudget:
    values = {}
    for name, raw in table.items():
        if name not in BUDGET_KEYS:
            raise _BadKeyError(name, f"unknown key {quoted(name)}; known keys: {', '.join(BUDGET_KEYS)}")
        try:
            values[name] = BUDGET_KEYS[name].read(raw)
        except InputError as error:
            raise _BadKeyError(name, f"{name}: {error}") from error
    if len(values) != len(BUDGET_KEYS):
        raise _BadKeyError("", 'needs match and pages; write for example match = "example.org/calendar/", pages = 100')
    return UrlBudget(values["match"].strip(), values["pages"], place.origin("match"))


def _read_host(table: Mapping[str, Any], place: _Place) -> HostSettings:
    if "match" not in table:
        raise _BadKeyError("", 'has no match; write for example match = "host:example.org"')
    values, origins = {}, {}
    for name, raw in table.items():
        key = HOST_KEYS.get(name)
        if key is None:
            raise _BadKeyError(name, f"unknown key {quoted(name)}{_nearest(name)}")
        try:
            values[key.attribute] = key.type.read(raw)
        except InputError as error:
            raise _BadKeyError(name, f"{name}: {error}") from error
        origins[name] = place.origin(name)
    settings = HostSettings(**values, origins=MappingProxyType(origins))
    _check_together(settings, list(table))
    return settings


def _check_together(settings: HostSettings, given: Sequence[str]) -> None:
    if len(given) == 1:
        raise _BadKeyError("match", f"sets nothing for {quoted(settings.match)}; known keys: {', '.join(HOST_KEYS)}")
    logins = [name for name in LOGIN_KEYS if name in given]
    if logins and not settings.match.startswith("host:"):
        hint = 'write match = "host:NAME", so that they are not sent to other hosts'
        raise _BadKeyError(logins[0], f"{logins[0]}: {quoted(settings.match)} may match several hosts; {hint}")
    if settings.basic_login is not None and settings.bearer_token is not None:
        raise _BadKeyError("bearer_token", "basic_login and bearer_token exclude each other; give one of them")


def _nearest(name: str) -> str:
    near = get_close_matches(name, HOST_KEYS, n=1)
    return f'; did you mean "{near[0]}"?' if near else f"; known keys: {', '.join(HOST_KEYS)}"
