"""The scope rules of a command line: `--include RULE` and `--exclude RULE`, in the order in which they were given.

Typer keeps the order of each option, but not that of two. So the words of the command line tell it.
"""

from collections.abc import Sequence
from typing import Annotated

import typer

from tarrafa.cli.common import GlobalFlags
from tarrafa.configuration import ScopeRule
from tarrafa.configuration.tables import RULE_TYPE
from tarrafa.errors import InputError

Include = Annotated[
    list[str] | None,
    typer.Option("--include", metavar="RULE", help="crawl URLs that match, such as site:example.org; repeatable"),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option("--exclude", metavar="RULE", help="leave out URLs that match; the first rule that matches decides"),
]
_NAMES = ("--include", "--exclude")


def given_rules(
    context: typer.Context, include: Sequence[str] | None, exclude: Sequence[str] | None
) -> list[ScopeRule]:
    """Return the rules of both options in their order."""
    left = {"--include": list(include or ()), "--exclude": list(exclude or ())}
    assert isinstance(context.obj, GlobalFlags)
    rules = [_rule(name, left[name].pop(0)) for name in _order(context.obj.words) if left[name]]
    # A command that was not called from a command line has no words.
    return [*rules, *[_rule(name, text) for name in _NAMES for text in left[name]]]


def _order(words: Sequence[str]) -> list[str]:
    """Return the name of each of the two options, as they come."""
    found, is_value = [], False
    for word in words:
        if word == "--":
            break
        name = word.partition("=")[0]
        if not is_value and name in _NAMES:
            found.append(name)
            is_value = name == word
        else:
            is_value = False
    return found


def _rule(name: str, text: str) -> ScopeRule:
    try:
        return ScopeRule(name == "--include", RULE_TYPE.read(text).strip(), f"flag {name}")
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
