"""The rules of a scope: the first that matches decides whether a URL is visited.

A rule has one condition or several, all of which must hold. What cannot be told yet, because it needs the address or
the page, leaves a rule open. A URL is let in as long as some answer to the open rules would let it in, and is judged
again when more is known.

Most hosts are decided by conditions on the host alone. `of_host` finds them, so that the verdict can be cached.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tarrafa.configuration import ScopeRule
from tarrafa.errors import ConfigurationError, InputError
from tarrafa.schedule.scope_conditions import (
    ADDRESS_CONDITIONS,
    PAGE_CONDITIONS,
    Condition,
    JudgedUrl,
    TypeCondition,
    read_condition,
)
from tarrafa.texts import cut, quoted

_LABEL_CHARS = 80
_LABELS_LIMIT = 100  # rules whose refusals are counted apart
_OTHERS = "rule"
RULES_LIMIT = 1_000


@dataclass(frozen=True, slots=True)
class CompiledRule:
    rule: ScopeRule
    conditions: tuple[Condition, ...]
    label: str = _OTHERS  # under which its refusals are counted

    def of(self, facts: JudgedUrl) -> bool | None:
        """Return True if all conditions hold, False if one does not, None if that cannot be told yet."""
        answer: bool | None = True
        for condition in self.conditions:
            holds = condition.of(facts)
            if holds is False:
                return False
            if holds is None:
                answer = None
        return answer

    def of_host(self, host: str) -> "CompiledRule | None":
        """Return the rule with what is left to ask about URLs of a host; None if it holds for none of them."""
        left = []
        for condition in self.conditions:
            holds = condition.of_host(host)
            if holds is False:
                return None
            if holds is None:
                left.append(condition)
        return replace(self, conditions=tuple(left))

    def shadows(self, other: "CompiledRule") -> bool:
        """Return True if this holds wherever the other does."""
        return all(any(own.covers(each) for each in other.conditions) for own in self.conditions)


class ScopeVerdict(NamedTuple):
    is_in: bool
    rule: CompiledRule | None = None  # that decided; None if no rule matches
    open_rules: tuple[CompiledRule, ...] = ()  # that may decide otherwise when more is known


def decide(rules: Sequence[CompiledRule], facts: JudgedUrl, *, otherwise: bool) -> ScopeVerdict:
    """Return what the first matching rule says; `otherwise` is what holds if none does."""
    open_rules: list[CompiledRule] = []
    verdict = ScopeVerdict(otherwise)
    for rule in rules:
        holds = rule.of(facts)
        if holds is True:
            verdict = ScopeVerdict(rule.rule.is_included, rule)
            break
        if holds is None:
            open_rules.append(rule)
    opposite = [rule for rule in open_rules if rule.rule.is_included is not verdict.is_in]
    if not opposite:
        return verdict
    return ScopeVerdict(True, verdict.rule if verdict.is_in else None, tuple(opposite))


def rules_of_host(rules: Sequence[CompiledRule], host: str) -> tuple[CompiledRule, ...]:
    """Return the rules that may decide about URLs of a host, without the conditions that hold for all of them."""
    found = []
    for rule in rules:
        left = rule.of_host(host)
        if left is not None:
            found.append(left)
            if not left.conditions:
                break
    return tuple(found)


def needs_address(rules: Iterable[CompiledRule]) -> bool:
    return any(isinstance(each, ADDRESS_CONDITIONS) for rule in rules for each in rule.conditions)


def needs_page(rules: Iterable[CompiledRule]) -> bool:
    return any(isinstance(each, PAGE_CONDITIONS) for rule in rules for each in rule.conditions)


def needs_type(rules: Iterable[CompiledRule]) -> bool:
    return any(isinstance(each, TypeCondition) for rule in rules for each in rule.conditions)


def compile_rules(rules: Sequence[ScopeRule], seeds: Sequence[str]) -> tuple[CompiledRule, ...]:
    """Parse rules; raise ConfigurationError with every problem and its place."""
    compiled: list[CompiledRule] = []
    problems: list[str] = []
    if len(rules) > RULES_LIMIT:
        raise ConfigurationError(f"{place_of(rules[RULES_LIMIT])}: there are more than {RULES_LIMIT:,} rules")
    for rule in rules:
        try:
            one = _compile(rule, seeds, len(compiled))
            _check_reachable(one, compiled)
            compiled.append(one)
        except InputError as error:
            problems.append(f"{place_of(rule)}: {error}")
    if problems:
        raise ConfigurationError("\n".join(problems))
    return tuple(compiled)


def place_of(rule: ScopeRule) -> str:
    """Return where a rule was written: `tarrafa.toml:7: [[scope]] exclude`, or `--exclude`."""
    if not rule.origin.startswith("file "):
        return f"--{rule.verdict}"
    return f"{rule.origin.removeprefix('file ')}: [[scope]] {rule.verdict}"


def _compile(rule: ScopeRule, seeds: Sequence[str], number: int) -> CompiledRule:
    words = rule.text.split()
    if not words:
        raise InputError('the rule has no condition; write for example "site:example.org"')
    conditions = tuple(read_condition(word, seeds) for word in words)
    label = f"{rule.verdict} {cut(rule.text, _LABEL_CHARS)}" if number < _LABELS_LIMIT else _OTHERS
    return CompiledRule(rule, conditions, label)


def _check_reachable(rule: CompiledRule, before: Sequence[CompiledRule]) -> None:
    for earlier in before:
        if earlier.shadows(rule):
            place, text = earlier.rule.origin.removeprefix("file "), earlier.rule.text
            raise InputError(
                f"{quoted(rule.rule.text)} never decides, because {quoted(text)} ({place}) matches the same URLs before"
                " it; move it up, or remove it"
            )
