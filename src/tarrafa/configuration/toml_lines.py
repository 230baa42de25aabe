"""The line of each key in a TOML file, for error messages: `tomllib` gives none.

The text is known to be valid TOML, so a scanner of tokens is enough.
"""

import re
import tomllib
from collections import Counter
from dataclasses import dataclass, field

Path = tuple[str, ...]

_TOKEN = re.compile(
    r"""
    \#[^\n]*
    | (?P<string> \"{3} (?:\\.|[^\\])*? \"{3,5} | '{3} .*? '{3,5} | "(?:\\.|[^"\\\n])*" | '[^'\n]*' )
    | (?P<mark> [\[\]{}=,\n] )
    | (?P<bare> [^\s\[\]{}=,.\#"']+ )
    """,
    re.VERBOSE | re.DOTALL,
)


def locate_keys(text: str) -> dict[Path, int]:
    """Return the line, from 1, on which each key and each section is first named.

    A table of an array is numbered: its key `exclude` in the second `[[scope]]` is `("scope", "1", "exclude")`.
    """
    scanner, line, counted = _TomlScanner(), 1, 0
    for match in _TOKEN.finditer(text):
        line += text.count("\n", counted, match.start())
        counted = match.start()
        if match["mark"]:
            scanner.mark(match["mark"])
        elif match["string"] or match["bare"]:
            scanner.name(match[0], line)
    return scanner.lines


@dataclass
class _TomlScanner:
    lines: dict[Path, int] = field(default_factory=dict)
    table: Path = ()  # the current section
    key: Path = ()  # the parts of the current key so far
    in_value: bool = False
    header_depth: int = 0  # brackets open in a section header: 2 in [[a]]
    tables_count: Counter[Path] = field(default_factory=Counter)  # of each array so far
    line: int = 1  # of the last name
    # Open arrays and inline tables, innermost last: the bracket, and the key that an inline table belongs to.
    open: list[tuple[str, Path]] = field(default_factory=list)

    def name(self, token: str, line: int) -> None:
        if self.in_value:
            return
        self.key += (_unquoted(token),)
        self.line = line
        self.lines.setdefault(self._path(), line)

    def mark(self, mark: str) -> None:
        match mark:
            case "=":
                self.in_value = True
            case "[" | "{":
                self._enter(mark)
            case "]" | "}":
                self._leave()
            case _:
                self._next(mark)

    def _path(self) -> Path:
        return (self.open[-1][1] if self.open else self.table) + self.key

    def _enter(self, mark: str) -> None:
        if not self.in_value:
            self.table = self.key = ()  # a section header, [a] or [[a]]: its name is absolute
            self.header_depth += 1
            return
        self.open.append((mark, self._path()))
        self.key = ()
        self.in_value = mark == "["

    def _leave(self) -> None:
        if self.open:
            self.open.pop()
            self.key, self.in_value = (), True
        elif self.key:
            self.table, self.key = self.key, ()
            if self.header_depth > 1:
                self._number_table()
            self.header_depth = 0

    def _number_table(self) -> None:
        number = self.tables_count[self.table]
        self.tables_count[self.table] += 1
        self.table = (*self.table, str(number))
        self.lines.setdefault(self.table, self.line)

    def _next(self, mark: str) -> None:
        """Start another key after a comma or at the end of a line, except within an array."""
        if self.open and (mark == "\n" or self.open[-1][0] == "["):
            return
        self.key = ()
        self.in_value = False


def _unquoted(token: str) -> str:
    if token[0] in "\"'":
        return str(tomllib.loads(f"text = {token}")["text"])
    return token
